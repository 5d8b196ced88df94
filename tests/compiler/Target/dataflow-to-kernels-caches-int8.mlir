// SPDX-License-Identifier: Apache-2.0
// What kernels over caches of codes are made of.
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=x86-64-v3" | FileCheck %s

!codes = !transformer.quantized<i8, 16>
!keys = !dataflow.cache<[32], !codes, keys>
!values = !dataflow.cache<[32], !codes, rows>
!rows = !dataflow.buffer<[tokens, 32], f32>

dataflow.kernel @append_keys : (!keys, !rows) -> !keys computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @append_rows : (!values, !rows) -> !values computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @attention : (!rows, !keys, !values) -> !rows computes #dataflow.attention<heads = 2, keySize = 16, valueSize = 16, scale = 5.000000e-01 : f32, visibility = <causal>> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @nest : (!dataflow.buffer<[tokens, 2, 16], f32>, !dataflow.cache<[2, 16], !codes, keys>) -> !dataflow.buffer<[tokens, 2, longest], f32> computes #dataflow.nest<"thd,khd->thk", sum> {
^bb0(%q: f32, %k: f32):
  %0 = arith.mulf %q, %k fastmath<contract> : f32
  dataflow.yield %0
}

// A head has its scale, which is no number where an element is none or infinite; codes of keys are
// a block apart, those of rows side by side.
// CHECK-LABEL: func.func @"append_keys.x86-64-v3"
// CHECK: math.absf %{{.*}} : vector<8xf32>
// CHECK: arith.cmpf olt
// CHECK: arith.divf %{{.*}} : f32
// CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr
// CHECK: arith.divf %{{.*}} : vector<8xf32>
// CHECK: arith.trunci %{{.*}} : vector<8xi32> to vector<8xi8>
// CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 1 : i64} : i8, !llvm.ptr
// CHECK-LABEL: func.func @"append_rows.x86-64-v3"
// CHECK: llvm.store %{{.*}} {alignment = 1 : i64} : vector<8xi8>, !llvm.ptr

// Codes of keys are widened in the loop over the head, and their sum is scaled after it; the weight
// of a position is scaled before its values are multiplied.
// CHECK-LABEL: func.func @"attention.x86-64-v3"
// CHECK: llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr -> vector<8xi8>
// CHECK: arith.sitofp %{{.*}} : vector<8xi8> to vector<8xf32>
// CHECK: math.fma
// CHECK: scf.yield
// CHECK: arith.mulf %{{.*}} : vector<8xf32>
// CHECK-LABEL: func.func @"nest.x86-64-v3"
// CHECK: llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr -> i8
// CHECK: arith.mulf %{{.*}} : f32
