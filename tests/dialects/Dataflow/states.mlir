// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s | heddle-opt | FileCheck %s

!state = !dataflow.state<[512], f32>
!rows = !dataflow.buffer<[tokens, 512], f32>

// CHECK-LABEL: dataflow.kernel @accumulate
// CHECK-SAME: (!dataflow.state<[512], f32>, !dataflow.buffer<[tokens, 512], f32>) -> !dataflow.state<[512], f32> computes #dataflow.accumulate
dataflow.kernel @accumulate : (!state, !rows) -> !state computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.kernel @prefix_mean
// CHECK-SAME: (!dataflow.buffer<[tokens, 512] in 1024, f32>, !dataflow.state<[512], f32>) -> !dataflow.buffer<[tokens, 512], f32> computes #dataflow.prefix_mean
dataflow.kernel @prefix_mean : (!dataflow.buffer<[tokens, 512] in 1024, f32>, !state) -> !rows computes #dataflow.prefix_mean {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.kernel @running_mean
// CHECK-SAME: (!dataflow.buffer<[tokens, 512], f32>, !dataflow.state<[512], f32>) -> (!dataflow.buffer<[tokens, 512], f32>, !dataflow.state<[512], f32>) computes #dataflow.running_mean
dataflow.kernel @running_mean : (!rows, !state) -> (!rows, !state) computes #dataflow.running_mean {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.graph @decode
// CHECK-SAME: %arg1: !dataflow.state<[512], f32> {dataflow.name = "sum"}
dataflow.graph @decode(%wide: !dataflow.buffer<[tokens, 1024], f32> {dataflow.name = "x"}, %s: !state {dataflow.name = "sum"}) -> (!rows {dataflow.name = "y"}, !state {dataflow.name = "sum"}) {
  %x = dataflow.columns %wide from 512 : !dataflow.buffer<[tokens, 1024], f32> -> !dataflow.buffer<[tokens, 512] in 1024, f32>
  // CHECK: %[[Y:.*]] = dataflow.dispatch @prefix_mean(%{{.*}}, %arg1)
  %y = dataflow.dispatch @prefix_mean(%x, %s) : (!dataflow.buffer<[tokens, 512] in 1024, f32>, !state) -> !rows
  // CHECK: %[[S:.*]] = dataflow.dispatch @accumulate(%arg1, %[[Y]]) changes [0] :
  %s1 = dataflow.dispatch @accumulate(%s, %y) changes [0] : (!state, !rows) -> !state
  // CHECK: dataflow.output %[[Y]], %[[S]]
  dataflow.output %y, %s1 : !rows, !state
}

// Two results: one has a place in the arena, the other memory of its own.
// CHECK-LABEL: dataflow.graph @both
dataflow.graph @both(%x: !rows {dataflow.name = "x"}, %s: !state {dataflow.name = "sum"}) -> (!rows {dataflow.name = "y"}, !state {dataflow.name = "sum"}) {
  // CHECK: %[[B:.*]]:2 = dataflow.dispatch @running_mean(%arg0, %arg1) changes [1] at [<tokens = 2048>, none] : (!dataflow.buffer<[tokens, 512], f32>, !dataflow.state<[512], f32>) -> (!dataflow.buffer<[tokens, 512], f32>, !dataflow.state<[512], f32>)
  %y, %s1 = dataflow.dispatch @running_mean(%x, %s) changes [1] at [<tokens = 2048>, none] : (!rows, !state) -> (!rows, !state)
  // CHECK: dataflow.output %[[B]]#0, %[[B]]#1
  dataflow.output %y, %s1 : !rows, !state
}
