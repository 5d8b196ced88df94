// SPDX-License-Identifier: Apache-2.0
// Passes that know nothing of this dialect leave what outlives a run as it is: a dispatch says what
// it reads and changes.
// RUN: heddle-opt %s -canonicalize -cse -sccp -remove-dead-values -symbol-dce -canonicalize -cse | FileCheck %s

!keys = !dataflow.cache<[64], f32, keys>
!state = !dataflow.state<[64], f32>
!rows = !dataflow.buffer<[tokens, 64], f32>
!bias = !dataflow.buffer<[tokens, longest], f32>

dataflow.kernel @append : (!keys, !rows) -> !keys computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @accumulate : (!state, !rows) -> !state computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @prefix_mean : (!rows, !state) -> !rows computes #dataflow.prefix_mean {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @running_mean : (!rows, !state) -> (!rows, !state) computes #dataflow.running_mean {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @rows : (!rows) -> !rows computes #dataflow.rows<width = 64> {
^bb0(%x: f32):
  %0 = arith.mulf %x, %x : f32
  dataflow.yield %0
}
dataflow.kernel @mask : (!keys) -> !bias computes #dataflow.nest<"->tk", none, hidden = -1.0e+04 : f32, keys_from> {
  %zero = arith.constant 0.0 : f32
  dataflow.yield %zero
}

// Nobody has the results of what changes memory, which is no reason to leave it out.
// CHECK-LABEL: dataflow.graph @unread(
// CHECK-NEXT: dataflow.dispatch @append(%{{.*}}, %{{.*}}) changes [0]
// CHECK-NEXT: dataflow.dispatch @accumulate(%{{.*}}, %{{.*}}) changes [0]
// CHECK-NEXT: dataflow.dispatch @running_mean(%{{.*}}, %{{.*}}) changes [1]
// CHECK-NEXT: %[[M:.*]] = dataflow.dispatch @mask
// CHECK-NEXT: dataflow.output %[[M]]
dataflow.graph @unread(%x: !rows {dataflow.name = "x"}, %k: !keys {dataflow.name = "key"}, %s: !state {dataflow.name = "sum"}, %t: !state {dataflow.name = "other"}) -> (!bias {dataflow.name = "mask"}) {
  %k1 = dataflow.dispatch @append(%k, %x) changes [0] : (!keys, !rows) -> !keys
  %s1 = dataflow.dispatch @accumulate(%s, %x) changes [0] : (!state, !rows) -> !state
  %y, %t1 = dataflow.dispatch @running_mean(%x, %t) changes [1] : (!rows, !state) -> (!rows, !state)
  %m = dataflow.dispatch @mask(%k) : (!keys) -> !bias
  dataflow.output %m : !bias
}

// What reads a state is one dispatch where nothing changes memory between, and stays before what
// does; buffers are values: who writes none of another's is merged, dropped or kept as any value is.
// CHECK-LABEL: dataflow.graph @order(
// CHECK-NEXT: %[[A:.*]] = dataflow.dispatch @prefix_mean
// CHECK-NEXT: %[[B:.*]] = dataflow.dispatch @rows(%[[A]])
// CHECK-NEXT: %[[S:.*]] = dataflow.dispatch @accumulate
// CHECK-NEXT: %[[T:.*]] = dataflow.dispatch @accumulate
// CHECK-NEXT: dataflow.output %[[A]], %[[A]], %[[B]], %[[B]], %[[S]], %[[T]]
dataflow.graph @order(%x: !rows {dataflow.name = "x"}, %s: !state {dataflow.name = "sum"}, %t: !state {dataflow.name = "other"}) -> (!rows {dataflow.name = "a"}, !rows {dataflow.name = "b"}, !rows {dataflow.name = "c"}, !rows {dataflow.name = "d"}, !state {dataflow.name = "sum"}, !state {dataflow.name = "other"}) {
  %a = dataflow.dispatch @prefix_mean(%x, %s) : (!rows, !state) -> !rows
  %b = dataflow.dispatch @prefix_mean(%x, %s) : (!rows, !state) -> !rows
  %dead = dataflow.dispatch @prefix_mean(%x, %t) : (!rows, !state) -> !rows
  %c = dataflow.dispatch @rows(%a) : (!rows) -> !rows
  %s1 = dataflow.dispatch @accumulate(%s, %x) changes [0] : (!state, !rows) -> !state
  %t1 = dataflow.dispatch @accumulate(%t, %x) changes [0] : (!state, !rows) -> !state
  %d = dataflow.dispatch @rows(%b) : (!rows) -> !rows
  dataflow.output %a, %b, %c, %d, %s1, %t1 : !rows, !rows, !rows, !rows, !state, !state
}
