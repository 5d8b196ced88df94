// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow | FileCheck %s
// RUN: heddle-opt %s -convert-transformer-to-dataflow -dataflow-plan-memory | FileCheck %s --check-prefix=PLANNED

!x = tensor<?x18xf32>
!h = tensor<?x20xf32>

transformer.parameter @w : tensor<20x18xf32> from "w"
transformer.parameter @u : tensor<20x20xf32> from "u"

// Rows go into the order of time, through the loop, and back; what is carried and given is one
// result; both directions side by side are
// collected from where they are.
func.func @encode(%x: !x {transformer.name = "x"}, %rows: !transformer.segments)
    -> (tensor<?x40xf32> {transformer.name = "y"}, !h {transformer.name = "last"}) {
  %last, %f = transformer.recurrence(%x : !x) in(%rows) -> !h, !h {
  ^bb0(%now: !x, %before: !h):
    %a = transformer.linear %now, @w : !x -> !h
    %b = transformer.linear %before, @u : !h -> !h
    %new = transformer.add %a, %b : !h, !h
    transformer.next %new, %new : !h, !h
  }
  %unread, %b = transformer.recurrence(%x : !x) from(%last : !h) in(%rows) reversed -> !h, !h {
  ^bb0(%now: !x, %before: !h):
    %a = transformer.linear %now, @w : !x -> !h
    %new = transformer.add %a, %before : !h, !h
    transformer.next %new, %before : !h, !h
  }
  %y = transformer.concat %f, %b : (!h, !h) -> tensor<?x40xf32>
  return %y, %last : tensor<?x40xf32>, !h
}
// CHECK-LABEL: dataflow.graph @encode(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !dataflow.buffer<[tokens, 18], f32>
// CHECK: %[[XS:.*]] = dataflow.dispatch @collect(%[[X]]) : (!dataflow.buffer<[tokens, 18], f32>) -> !dataflow.buffer<[steps, 18], f32>
// CHECK-DAG: %[[W:.*]] = dataflow.parameter @w
// CHECK-DAG: %[[U:.*]] = dataflow.parameter @u
// CHECK: %[[F:.*]] = dataflow.loop() : () -> !dataflow.buffer<[steps, 20], f32> {
// CHECK-NEXT: ^bb0(%[[BEFORE:.*]]: !dataflow.buffer<[steps, 20], f32>):
// CHECK-NEXT: %[[A:.*]] = dataflow.dispatch @{{.*}}(%[[XS]], %[[W]])
// CHECK-NEXT: %[[B:.*]] = dataflow.dispatch @{{.*}}(%[[BEFORE]], %[[U]])
// CHECK-NEXT: %[[NEW:.*]] = dataflow.dispatch @{{.*}}(%[[A]], %[[B]])
// CHECK-NEXT: dataflow.next %[[NEW]] :
// CHECK: %[[LAST:.*]] = dataflow.dispatch @{{.*}}(%[[F]]) : (!dataflow.buffer<[steps, 20], f32>) -> !dataflow.buffer<[sequences, 20], f32>
// CHECK: %[[XR:.*]] = dataflow.dispatch @{{.*}}(%[[X]]) : (!dataflow.buffer<[tokens, 18], f32>) -> !dataflow.buffer<[steps_reversed, 18], f32>
// CHECK: %[[BEGIN:.*]] = dataflow.dispatch @{{.*}}(%[[LAST]]) : (!dataflow.buffer<[sequences, 20], f32>) -> !dataflow.buffer<[ranks, 20], f32>
// CHECK: %[[R:.*]]:2 = dataflow.loop(%[[BEGIN]]) : (!dataflow.buffer<[ranks, 20], f32>)
// CHECK: ^bb0(%[[EARLIER:.*]]: !dataflow.buffer<[steps_reversed, 20], f32>):
// CHECK: %[[OLD:.*]] = dataflow.dispatch @copy{{.*}}(%[[EARLIER]])
// CHECK-NEXT: dataflow.next %{{.*}}, %[[OLD]]
// CHECK: %[[Y:.*]] = dataflow.dispatch @{{.*}}(%[[F]], %[[R]]#1) : (!dataflow.buffer<[steps, 20], f32>, !dataflow.buffer<[steps_reversed, 20], f32>) -> !dataflow.buffer<[tokens, 40], f32>
// CHECK: dataflow.output %[[Y]], %[[LAST]]

// A decoder goes on where it ended: states are loaded in the order of a step, and stored from where
// the last step has left what is carried. A step looks at the memory by rows of its own.
!s = !transformer.state<20>
!c = !transformer.cache<20>
func.func @decode(%x: !x {transformer.name = "x"}, %rows: !transformer.segments, %source: !transformer.segments {transformer.name = "memory"},
    %c: !c {transformer.name = "c"}, %s: !s {transformer.name = "s"}, %t: !s {transformer.name = "t"})
    -> (!h {transformer.name = "y"}, !s {transformer.name = "s"}) {
  %keys = transformer.cached %c in(%source) : !c -> !h
  %begin = transformer.load %s {given} : !s
  %constant = transformer.load %t : !s
  %every = transformer.spread %constant to(%rows) : !h
  %last, %y = transformer.recurrence(%x, %every : !x, !h) from(%begin : !h) in(%rows) -> !h, !h {
  ^bb0(%now: !x, %other: !h, %before: !h):
    %a = transformer.linear %now, @w : !x -> !h
    %pairs = transformer.pair_sum %before, %keys in(%rows, %source) : !h, !h -> tensor<?x?x20xf32>
    %new = transformer.add %a, %other : !h, !h
    transformer.next %new, %new : !h, !h
  }
  %s1 = transformer.store %s, %last : !s
  return %y, %s1 : !h, !s
}
// CHECK-LABEL: dataflow.graph @decode(
// CHECK-SAME: %[[DX:[a-z0-9]+]]: !dataflow.buffer<[tokens, 18], f32>
// CHECK-SAME: %[[C:[a-z0-9]+]]: !dataflow.cache<[20], f32, rows> {dataflow.name = "c"}, %[[S:[a-z0-9]+]]: !dataflow.state<[20], f32> {dataflow.name = "s"}, %[[T:[a-z0-9]+]]: !dataflow.state<[20], f32> {dataflow.name = "t"}
// A state is loaded in the order in which it is read, and in no other.
// CHECK-NOT: dataflow.dispatch
// CHECK: %[[CONSTANT:.*]] = dataflow.dispatch @load{{.*}}(%[[T]]) : (!dataflow.state<[20], f32>) -> !dataflow.buffer<[sequences, 20], f32>
// CHECK: %[[EVERY:.*]] = dataflow.dispatch @collect{{.*}}(%[[CONSTANT]]) : (!dataflow.buffer<[sequences, 20], f32>) -> !dataflow.buffer<[steps, 20], f32>
// CHECK: %[[BEGIN:.*]] = dataflow.dispatch @load{{.*}}(%[[S]]) : (!dataflow.state<[20], f32>) -> !dataflow.buffer<[ranks, 20], f32>
// CHECK: %[[L:.*]] = dataflow.loop(%[[BEGIN]]) :
// CHECK: dataflow.dispatch @pair_sum{{.*}}(%{{.*}}, %[[C]]) : (!dataflow.buffer<[steps, 20], f32>, !dataflow.cache<[20], f32, rows>) -> !dataflow.buffer<[steps, longest, 20], f32>
// CHECK: %[[DY:.*]] = dataflow.dispatch @collect{{.*}}(%[[L]]) : (!dataflow.buffer<[steps, 20], f32>) -> !dataflow.buffer<[tokens, 20], f32>
// CHECK: %[[S1:.*]] = dataflow.dispatch @store{{.*}}(%[[S]], %[[L]]) changes [0] : (!dataflow.state<[20], f32>, !dataflow.buffer<[steps, 20], f32>) -> !dataflow.state<[20], f32>
// CHECK-NOT: dataflow.dispatch
// CHECK: dataflow.output %[[DY]], %[[S1]]

// What a loop reads and writes lives as long as the loop: each of its buffers has its own place.
// PLANNED-LABEL: dataflow.graph @encode(
// PLANNED: dataflow.loop()
// PLANNED: at <steps = [[A:[0-9]+]]>
// PLANNED-NOT: at <steps = [[A]]>
// PLANNED: dataflow.next
