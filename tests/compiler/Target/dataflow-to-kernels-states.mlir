// SPDX-License-Identifier: Apache-2.0
// What kernels over states are made of.
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=x86-64-v3" | FileCheck %s

!state = !dataflow.state<[100], f32>
!rows = !dataflow.buffer<[tokens, 100], f32>

dataflow.kernel @prefix_mean : (!dataflow.buffer<[tokens, 100] in 200, f32>, !state) -> !rows computes #dataflow.prefix_mean {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @accumulate : (!dataflow.state<[96], f32>, !dataflow.buffer<[tokens, 96], f32>) -> !dataflow.state<[96], f32> computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}

dataflow.kernel @running_mean : (!dataflow.buffer<[tokens, 96], f32>, !dataflow.state<[96], f32>) -> (!dataflow.buffer<[tokens, 96], f32>, !dataflow.state<[96], f32>) computes #dataflow.running_mean {
^bb0(%x: f32):
  dataflow.yield %x
}

// Sequences, panels of 48 columns, then the rows of a sequence, with the six sums of a panel in
// registers. A sum is zero where the first row is the first of its sequence.
// CHECK-LABEL: func.func @"prefix_mean.x86-64-v3"
// CHECK: scf.for
// CHECK: arith.cmpi
// CHECK: scf.for
// CHECK: scf.if
// CHECK-COUNT-6: arith.select %{{.*}} : vector<8xf32>
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-6: arith.addf
// CHECK: arith.sitofp
// CHECK-COUNT-6: arith.divf {{.*}} : vector<8xf32>
// The last panel has four columns.
// CHECK: } else {
// CHECK: arith.select %{{.*}} : vector<8xf32>
// CHECK: scf.for {{.*}} -> (vector<8xf32>) : i64
// CHECK: llvm.intr.masked.load

// Whole panels alone; nothing is stored before the last row.
// CHECK-LABEL: func.func @"accumulate.x86-64-v3"
// CHECK-NOT: scf.if
// CHECK: scf.for {{.*}} iter_args(
// CHECK-NOT: llvm.store
// CHECK: scf.yield
// CHECK-COUNT-6: llvm.store %{{.*}} : vector<8xf32>, !llvm.ptr
// CHECK-NOT: arith.divf

// Both: the means at every row, the sums once, after the last.
// CHECK-LABEL: func.func @"running_mean.x86-64-v3"
// CHECK: scf.for {{.*}} iter_args(
// CHECK-COUNT-6: arith.addf
// CHECK-COUNT-6: arith.divf
// CHECK: scf.yield
// CHECK-COUNT-6: llvm.store %{{.*}} : vector<8xf32>, !llvm.ptr
// CHECK-NOT: arith.divf
