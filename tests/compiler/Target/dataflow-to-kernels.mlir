// SPDX-License-Identifier: Apache-2.0
// One kernel function for each kernel and target, and what its inner loop is made of.
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=x86-64-v3,x86-64-v4" | FileCheck %s
// RUN: not heddle-opt %s -convert-dataflow-to-kernels="targets=sparc" 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: unknown target "sparc", expected one of x86-64-v3, x86-64-v4

dataflow.kernel @contract : (!dataflow.buffer<[tokens, 40], f32>, !dataflow.buffer<[72, 40], f32>, !dataflow.buffer<[72], f32>) -> !dataflow.buffer<[tokens, 72], f32>
    computes #dataflow.contract<n = 72, k = 40> {
^bb0(%sum: f32, %bias: f32):
  %0 = arith.addf %sum, %bias fastmath<contract> : f32
  dataflow.yield %0
}
dataflow.kernel @contract_norm : (!dataflow.buffer<[tokens, 40], f32>, !dataflow.buffer<[48, 40], f32>, !dataflow.buffer<[48], f32>, !dataflow.buffer<[48], f32>) -> !dataflow.buffer<[tokens, 48], f32>
    computes #dataflow.contract<n = 48, k = 40> norm #dataflow.norm<layer_norm, 1.000000e-05 : f32> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @attention : (!dataflow.buffer<[tokens, 48], f32>, !dataflow.buffer<[tokens, 48], f32>, !dataflow.buffer<[tokens, 48], f32>) -> !dataflow.buffer<[tokens, 48], f32>
    computes #dataflow.attention<heads = 2, keySize = 24, valueSize = 24, scale = 5.000000e-01 : f32, visibility = <causal>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// Six vectors of eight lanes for the lesser target: tiles of 6 rows and 2 vectors.
// CHECK-LABEL: module @"x86-64-v3"
// The last panel has 24 columns: three vectors are multiplied, those of the panel's rest are not.
// CHECK: func.func private @"tile/contract_6x24.x86-64-v3"
// CHECK: func.func private @"tile/contract_6x48.x86-64-v3"
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>
// CHECK: func.func @"contract.x86-64-v3"(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64)
// Three whole vectors, and nothing masked.
// CHECK-NOT: masked
// CHECK: func.func @"contract_norm.x86-64-v3"
// CHECK: func.func @"contract_norm.finish.x86-64-v3"
// CHECK: math.sqrt

// CHECK-LABEL: module @"x86-64-v4"
// CHECK: func.func private @"tile/contract_8x32.x86-64-v4"
// CHECK: func.func private @"tile/contract_8x48.x86-64-v4"
// CHECK: llvm.intr.prefetch
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK: func.func @"contract.x86-64-v4"
// CHECK: scf.index_switch
// The last panel's second vector has 8 of 16 lanes.
// CHECK: llvm.intr.masked.store
// CHECK: func.func @"attention.x86-64-v4"
// CHECK: scf.while
// CHECK: vector.shuffle
// CHECK: math.exp2 {{.*}} : vector<16xf32>
