// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-fuse-states -remarks-filter=heddle 2> %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARKS < %t
// RUN: heddle-opt %s -dataflow-fuse-states -dataflow-fold-epilogues -remarks-filter=heddle 2>&1 >/dev/null | FileCheck %s --check-prefix=FOLDED
// RUN: heddle-opt %s -dataflow-fuse-states -dataflow-merge-kernels -dataflow-plan-memory | FileCheck %s --check-prefix=PLANNED

!state = !dataflow.state<[512], f32>
!rows = !dataflow.buffer<[tokens, 512], f32>

dataflow.kernel @prefix_mean : (!rows, !state) -> !rows computes #dataflow.prefix_mean {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @accumulate : (!state, !rows) -> !state computes #dataflow.accumulate {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @rows : (!rows) -> !rows computes #dataflow.rows<width = 512> {
^bb0(%x: f32):
  %0 = arith.mulf %x, %x : f32
  dataflow.yield %0
}

// The means are read at once: the sums are stored where they are computed.
// CHECK-LABEL: dataflow.graph @early(
// CHECK-SAME: %[[X:[a-z0-9]*]]: {{.*}} {dataflow.name = "x"}, %[[S:[a-z0-9]*]]:
// CHECK-NEXT: %[[BOTH:.*]]:2 = dataflow.dispatch @running_mean(%[[X]], %[[S]]) changes [1] : (!dataflow.buffer<[tokens, 512], f32>, !dataflow.state<[512], f32>) -> (!dataflow.buffer<[tokens, 512], f32>, !dataflow.state<[512], f32>)
// CHECK-NEXT: %[[Z:.*]] = dataflow.dispatch @rows(%[[BOTH]]#0)
// CHECK-NEXT: dataflow.output %[[Z]], %[[BOTH]]#1
// REMARKS: [Passed] fuse-states {{.*}} what="means and the sum of the same rows in one pass (early.sum)", where=early.mean
// FOLDED: [Missed] fold-epilogues {{.*}} reason="not folded: its input is a running mean, which has no epilogue", where=early.rows
// PLANNED-LABEL: dataflow.graph @early(
// PLANNED-SAME: arena = #dataflow.size<tokens = 2048>
// PLANNED: dataflow.dispatch @running_mean_512(%{{.*}}, %{{.*}}) changes [1] at [<>, none] :
dataflow.graph @early(%x: !rows {dataflow.name = "x"}, %s: !state {dataflow.name = "sum"}) -> (!rows {dataflow.name = "z"}, !state {dataflow.name = "sum"}) {
  %y = dataflow.dispatch @prefix_mean(%x, %s) : (!rows, !state) -> !rows loc("early.mean")
  %z = dataflow.dispatch @rows(%y) : (!rows) -> !rows loc("early.rows")
  %s1 = dataflow.dispatch @accumulate(%s, %x) changes [0] : (!state, !rows) -> !state loc("early.sum")
  dataflow.output %z, %s1 : !rows, !state
}

// Somebody else reads the state as it was: both wait for it.
// CHECK-LABEL: dataflow.graph @late(
// CHECK: dataflow.dispatch @rows
// CHECK-NEXT: %[[OTHER:.*]] = dataflow.dispatch @prefix_mean(
// CHECK-NEXT: %[[BOTH:.*]]:2 = dataflow.dispatch @running_mean
// CHECK-NEXT: dataflow.output %[[BOTH]]#0, %[[OTHER]], %[[BOTH]]#1
// REMARKS: [Passed] fuse-states {{.*}}, where=late.mean
// REMARKS: [Missed] fuse-states {{.*}} reason="not fused: other rows are added to its state{{.*}}", where=late.other
// Both outputs lie in the caller's memory: no place, but none is needed.
// PLANNED-LABEL: dataflow.graph @late(
// PLANNED: dataflow.dispatch @running_mean_512(%{{.*}}, %{{.*}}) changes [1] :
dataflow.graph @late(%x: !rows {dataflow.name = "x"}, %s: !state {dataflow.name = "sum"}) -> (!rows {dataflow.name = "y"}, !rows {dataflow.name = "z"}, !state {dataflow.name = "sum"}) {
  %y = dataflow.dispatch @prefix_mean(%x, %s) : (!rows, !state) -> !rows loc("late.mean")
  %a = dataflow.dispatch @rows(%x) : (!rows) -> !rows
  %z = dataflow.dispatch @prefix_mean(%a, %s) : (!rows, !state) -> !rows loc("late.other")
  %s1 = dataflow.dispatch @accumulate(%s, %x) changes [0] : (!state, !rows) -> !state loc("late.sum")
  dataflow.output %y, %z, %s1 : !rows, !rows, !state
}

// The means are needed for what the other reader reads: no order does both at once.
// CHECK-LABEL: dataflow.graph @between(
// CHECK-NOT: running_mean
// CHECK: dataflow.output
// REMARKS: [Missed] fuse-states {{.*}} reason="not fused: another kernel reads the state between it and what changes it (between.other)", where=between.mean
dataflow.graph @between(%x: !rows {dataflow.name = "x"}, %s: !state {dataflow.name = "sum"}) -> (!rows {dataflow.name = "z"}, !state {dataflow.name = "sum"}) {
  %y = dataflow.dispatch @prefix_mean(%x, %s) : (!rows, !state) -> !rows loc("between.mean")
  %z = dataflow.dispatch @prefix_mean(%y, %s) : (!rows, !state) -> !rows loc("between.other")
  %s1 = dataflow.dispatch @accumulate(%s, %x) changes [0] : (!state, !rows) -> !state
  dataflow.output %z, %s1 : !rows, !state
}

// CHECK-LABEL: dataflow.graph @read(
// CHECK: dataflow.dispatch @prefix_mean(
// REMARKS: [Missed] fuse-states {{.*}} reason="not fused: the entry does not change its state", where=read.mean
dataflow.graph @read(%x: !rows {dataflow.name = "x"}, %s: !state {dataflow.name = "sum"}) -> (!rows {dataflow.name = "y"}) {
  %y = dataflow.dispatch @prefix_mean(%x, %s) : (!rows, !state) -> !rows loc("read.mean")
  dataflow.output %y : !rows
}
