// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-observe-rows="sites=0,1,2,3" | FileCheck %s

// What a step of a loop reads is copied by the step, given by the loop and brought into the order
// of texts; rows that lie in the order of time before a loop are brought there as well. Where rows
// choose groups of weights, the numbers of these are results too: a row of each choice lies beside
// those of the other choices of its token.

!x = !dataflow.buffer<[tokens, 8], f32>
!ids = !dataflow.buffer<[tokens], i32>
!t = !dataflow.buffer<[20, 8], f32>
!w = !dataflow.buffer<[8, 8], f32>
!steps = !dataflow.buffer<[steps_reversed, 8], f32>
!best = !dataflow.buffer<[tokens, 2], f32>
!numbers = !dataflow.buffer<[choices(tokens, 2)], i32>
!c = !dataflow.buffer<[choices(tokens, 2), 8], f32>
!eight = !dataflow.buffer<[64, 8], f32>

// CHECK-DAG: transformer.parameter @numbers.step : tensor<8xf32> = {{ *}}zeros
// CHECK-DAG: transformer.parameter @nothing : tensor<8x8xf32> = {{ *}}zeros
// CHECK-DAG: transformer.parameter @numbers : tensor<8xf32> = {{ *}}sum(@numbers.step, @numbers.step_0, @numbers.step_1, {{.*}}, @numbers.step_6)
transformer.parameter @t : tensor<20x8xf32> from "t"
transformer.parameter @w : tensor<8x8xf32> from "w"
transformer.parameter @u : tensor<8x8xf32> from "u"
transformer.parameter @inner : tensor<64x8xf32> from "inner"
transformer.parameter @outer : tensor<64x8xf32> from "outer"

dataflow.kernel @gather : (!ids, !t) -> !x computes #dataflow.gather<width = 8, lookups = 1> {
^bb0(%e: f32):
  dataflow.yield %e
}
dataflow.kernel @order : (!x) -> !steps computes #dataflow.collect<[8]> {
^bb0(%e: f32):
  dataflow.yield %e
}
dataflow.kernel @step : (!steps, !w) -> !steps computes #dataflow.contract<n = 8, k = 8> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @back : (!steps) -> !x computes #dataflow.collect<[8]> {
^bb0(%e: f32):
  dataflow.yield %e
}
dataflow.kernel @route : (!x) -> (!best, !numbers) computes #dataflow.top_k<count = 2, columns = 8> {
^bb0(%e: f32):
  dataflow.yield %e
}
dataflow.kernel @sort : (!numbers) -> !numbers computes #dataflow.order<groups = 8> {
^bb0(%e: f32):
  dataflow.yield %e
}
dataflow.kernel @chosen : (!x, !eight, !numbers, !numbers) -> !c computes #dataflow.contract_chosen<n = 8, k = 8, groups = 8> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @chosen_again : (!c, !eight, !numbers, !numbers) -> !c computes #dataflow.contract_chosen<n = 8, k = 8, groups = 8> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// CHECK-LABEL: dataflow.graph @embed
// CHECK-SAME: !dataflow.buffer<[tokens, 8], f32> {dataflow.name = "rows 0"}
// CHECK-SAME: !dataflow.buffer<[tokens, 8], f32> {dataflow.name = "rows 2"}
// CHECK-SAME: !dataflow.buffer<[tokens, 2], f32> {dataflow.name = "choices 2"}
// CHECK-SAME: !dataflow.buffer<[tokens, 16], f32> {dataflow.name = "rows 3"}
// CHECK-SAME: !dataflow.buffer<[tokens, 2], f32> {dataflow.name = "choices 3"}
// CHECK-SAME: !dataflow.buffer<[tokens, 8], f32> {dataflow.name = "rows 1"}
// CHECK: %[[ORDERED:.*]] = dataflow.dispatch @order
// CHECK: %[[LOOP:.*]]:2 = dataflow.loop() : () -> (!dataflow.buffer<[steps_reversed, 8], f32>, !dataflow.buffer<[steps_reversed, 8], f32>)
// CHECK: ^bb0(%[[BEFORE:.*]]: !dataflow.buffer<[steps_reversed, 8], f32>):
// CHECK: %[[NEXT:.*]] = dataflow.dispatch @step
// CHECK: %[[COPY:.*]] = dataflow.dispatch @copy{{.*}}(%[[BEFORE]])
// CHECK: dataflow.next %[[NEXT]], %[[COPY]]
// CHECK: %[[TOKENS:.*]] = dataflow.dispatch @back(%[[LOOP]]#0)
// CHECK: %[[ROUTES:.*]]:2 = dataflow.dispatch @route
// CHECK: %[[Y:.*]] = dataflow.dispatch @chosen(
// CHECK: %[[Z:.*]] = dataflow.dispatch @chosen_again(%[[Y]]
// CHECK: %[[FIRST:.*]] = dataflow.dispatch @collect{{.*}}(%[[ORDERED]])
// CHECK: %[[GROUPS:.*]] = dataflow.dispatch @contract_chosen{{.*}}(%[[TOKENS]], %{{.*}}, %[[ROUTES]]#1, %{{.*}}, %{{.*}}) :
// CHECK: dataflow.reshape %[[GROUPS]] : {{.*}} -> !dataflow.buffer<[tokens, 2], f32>
// CHECK: dataflow.reshape %[[Y]] : {{.*}} -> !dataflow.buffer<[tokens, 16], f32>
// CHECK: dataflow.dispatch @collect{{.*}}(%[[LOOP]]#1)
dataflow.graph @embed(%ids: !ids {dataflow.name = "ids", dataflow.limit = 20 : i64}) -> (!c {dataflow.name = "y"}) {
  %t = dataflow.parameter @t : !t
  %w = dataflow.parameter @w : !w
  %u = dataflow.parameter @u : !w
  %inner = dataflow.parameter @inner : !eight
  %outer = dataflow.parameter @outer : !eight
  %x = dataflow.dispatch @gather(%ids, %t) : (!ids, !t) -> !x
  %ordered = dataflow.dispatch @order(%x) : (!x) -> !steps
  %in = dataflow.dispatch @step(%ordered, %w) : (!steps, !w) -> !steps
  %h = dataflow.loop() : () -> (!steps) {
  ^bb0(%before: !steps):
    %next = dataflow.dispatch @step(%before, %u) : (!steps, !w) -> !steps
    dataflow.next %next : !steps
  }
  %tokens = dataflow.dispatch @back(%h) : (!steps) -> !x
  %best, %numbers = dataflow.dispatch @route(%tokens) : (!x) -> (!best, !numbers)
  %places = dataflow.dispatch @sort(%numbers) : (!numbers) -> !numbers
  %y = dataflow.dispatch @chosen(%tokens, %inner, %numbers, %places) : (!x, !eight, !numbers, !numbers) -> !c
  %z = dataflow.dispatch @chosen_again(%y, %outer, %numbers, %places) : (!c, !eight, !numbers, !numbers) -> !c
  dataflow.output %z : !c
}
