// SPDX-License-Identifier: Apache-2.0
// A block has a row of logits; one caller computes the same by itself.
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=sm_80" | FileCheck %s
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=x86-64-v3" | FileCheck %s --check-prefix=CPU

// CPU-NOT: nvvm.
// CPU: func.func @"select.x86-64-v3"
// CPU: math.exp
// CPU-SAME: : f32
// CPU: arith.addf {{.*}} : f64

dataflow.kernel @select : (!dataflow.buffer<[tokens, 1000], f32>) -> !dataflow.buffer<[tokens, 12], f32>
    computes #dataflow.select<columns = 1000, piece = 768, count = 4> {
^bb0(%x: f32):
  dataflow.yield %x
}
// The image also gets the kernels beside a selection.
// CHECK: module @sm_80 attributes {dataflow.selects_tokens}
// A piece is a row, with all of its two chunks and four tokens; shared memory has 16 warps and two chunks.
// CHECK: func.func @select.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 512, 144, 1, 6, 1, 6, 0, 1, 0>}
// Half a warp has a chunk: its best element, and its sums in order.
// CHECK: %[[MASK:.*]] = arith.trunci
// CHECK-COUNT-8: nvvm.shfl.sync bfly %[[MASK]],
// CHECK: math.exp
// CHECK-COUNT-16: nvvm.shfl.sync idx %[[MASK]],
// CHECK: nvvm.barrier
// The best chunk, and its next element: that of a warp, then of all warps.
// CHECK-COUNT-20: nvvm.shfl.sync bfly
// CHECK: nvvm.barrier
// CHECK-COUNT-16: llvm.load {{.*}} vector<2xi32>
// CHECK: nvvm.barrier
// CHECK-NOT: nvvm.barrier
