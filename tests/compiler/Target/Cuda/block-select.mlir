// SPDX-License-Identifier: Apache-2.0
// A team of 16 lanes has a piece of a row of logits, then a block has the row; one caller computes
// the same by itself.
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=sm_80" | FileCheck %s
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=x86-64-v3" | FileCheck %s --check-prefix=CPU

// CPU-NOT: nvvm.
// CPU: func.func @"peaks.x86-64-v3"
// CPU: math.exp
// CPU-SAME: : f32
// CPU: arith.addf {{.*}} : f64
// CPU: func.func @"select.x86-64-v3"
// CPU-NOT: math.exp

!logits = !dataflow.buffer<[tokens, 1000], f32>
!peaks = !dataflow.buffer<[tokens, 6], f32>
!pairs = !dataflow.buffer<[tokens, 12], f32>

dataflow.kernel @peaks : (!logits) -> !peaks computes #dataflow.peaks<columns = 1000, piece = 768> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @select : (!logits, !peaks) -> !pairs
    computes #dataflow.select<columns = 1000, piece = 768, count = 4> {
^bb0(%x: f32):
  dataflow.yield %x
}
// The image also gets the kernels beside a selection.
// CHECK: module @sm_80 attributes {dataflow.selects_tokens}
// A block has four pieces of a row; shared memory is only a mark.
// CHECK: func.func @peaks.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 64, 16, 1, 4, 1, 4, 0, 1, 0>}
// CHECK: %[[MASK:.*]] = arith.trunci
// A lane loads its 48 elements before it compares any; then the team has the first one.
// CHECK-COUNT-48: llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: arith.cmpf ogt
// CHECK-COUNT-8: nvvm.shfl.sync bfly %[[MASK]],
// Its sums, in order: a pass takes eight elements from the registers of all.
// CHECK: scf.for
// CHECK-COUNT-8: math.exp
// CHECK-NOT: math.exp
// CHECK: scf.yield
// CHECK-COUNT-16: nvvm.shfl.sync idx %[[MASK]],
// CHECK-NOT: nvvm.barrier

// A block has a row, with all of its two pieces and four tokens; shared memory has 8 warps and two pieces.
// CHECK: func.func @select.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 256, 80, 1, 6, 1, 6, 0, 1, 0>}
// CHECK-NOT: math.exp
// CHECK: nvvm.barrier
// The best piece and, unless it is the last token, its next element: that of a warp, then of all warps.
// CHECK-COUNT-10: nvvm.shfl.sync bfly
// CHECK: scf.if
// CHECK-COUNT-10: nvvm.shfl.sync bfly
// CHECK: nvvm.barrier
// CHECK-COUNT-8: llvm.load {{.*}} vector<2xi32>
// CHECK: nvvm.barrier
// The next row.
// CHECK: nvvm.barrier
// CHECK-NOT: nvvm.barrier
