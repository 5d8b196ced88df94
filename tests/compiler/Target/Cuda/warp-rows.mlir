// SPDX-License-Identifier: Apache-2.0
// Rows that lanes of a warp share: as many of them as the width asks for.
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=sm_80" | FileCheck %s
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=x86-64-v3" | FileCheck %s --check-prefix=CPU

// CPU-NOT: nvvm.

// CHECK-LABEL: module @sm_80

dataflow.kernel @wide : (!dataflow.buffer<[tokens, 100], f32>) -> !dataflow.buffer<[tokens, 100], f32>
    computes #dataflow.rows<width = 100> norm <softmax, 0.0 : f64> {
^bb0(%x: f32):
  dataflow.yield %x
}
// 128 threads are four warps, each with a row; four rows each in long launches.
// CHECK: func.func @wide.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, 16, 16, 1, 4, 1, 512, 6, 0>}
// CHECK: %[[THREAD:.*]] = arith.extui
// CHECK: %[[LANES:.*]] = arith.constant 32 : i64
// CHECK: arith.remui %[[THREAD]], %[[LANES]]
// The largest and the sum: five exchanges each, of all lanes.
// CHECK: %[[ALL:.*]] = arith.constant -1 : i32
// CHECK: nvvm.shfl.sync bfly %[[ALL]],
// CHECK-COUNT-9: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl
// CHECK-NOT: nvvm.barrier

dataflow.kernel @narrow : (!dataflow.buffer<[tokens, 5], f32>) -> !dataflow.buffer<[tokens, 5], f32>
    computes #dataflow.rows<width = 5> norm <softmax, 0.0 : f64> {
^bb0(%x: f32):
  dataflow.yield %x
}
// Eight lanes are a team, of which a block has sixteen. Exchanges name their lanes.
// CHECK: func.func @narrow.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, 16, 64, 1, 16, 1, 512, 6, 0>}
// CHECK: %[[SHIFTED:.*]] = arith.shli
// CHECK: %[[MASK:.*]] = arith.trunci %[[SHIFTED]]
// CHECK-COUNT-6: nvvm.shfl.sync bfly %[[MASK]],
// CHECK-NOT: nvvm.shfl

// One lane copies a row of one number; nothing is exchanged.
dataflow.kernel @number : (!dataflow.buffer<[tokens, 1], f32>) -> !dataflow.buffer<[tokens, 1], f32>
    computes #dataflow.rows<width = 1> {
^bb0(%x: f32):
  dataflow.yield %x
}
// CHECK: func.func @number.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, 16, 512, 1, 128, 1, 512, 6, 0>}

// A norm reads columns by other lanes than have written them, where several inputs lie side by side.
!narrow = !dataflow.buffer<[tokens, 3], f32>
dataflow.kernel @beside : (!narrow, !narrow) -> !dataflow.buffer<[tokens, 6], f32>
    computes #dataflow.collect<[3, 3]> norm <softmax, 0.0 : f64> {
^bb0(%x: f32):
  dataflow.yield %x
}
// CHECK: func.func @beside.sm_80(
// CHECK-NOT: dataflow.block_work
// CHECK: return
