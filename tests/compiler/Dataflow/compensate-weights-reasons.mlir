// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-compensate-weights --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t

// Every matrix whose rows cannot be seen on texts is reported, with the reason: experts, steps of
// recurrences, and rows that lie in another order than those of texts.

// REPORT-DAG: reason="rounded to the nearest: rows of a product with chosen weights are not observed", where=experts
// REPORT-DAG: reason="rounded to the nearest: it is one step of a recurrence", where=state
// REPORT-DAG: reason="rounded to the nearest: its rows are not those of texts in their order", where=ordered

!ids = !dataflow.buffer<[tokens], i32>
!x = !dataflow.buffer<[tokens, 8], f32>
!steps = !dataflow.buffer<[steps, 8], f32>
!t = !dataflow.buffer<[20, 8], f32>
!q = !transformer.quantized<i4, 8, bf16>
!w = !dataflow.buffer<[8, 8], !q>
!two = !dataflow.buffer<[16, 8], !q>

transformer.parameter @t : tensor<20x8xf32> from "t"
transformer.parameter @a : tensor<8x8xf32> from "a"
transformer.parameter @experts : tensor<16x8xf32> from "experts"
// CHECK-DAG: @whole.i4 : {{.*}} = {{ *}}compensate(@a, @whole.moments)
// CHECK-DAG: @experts.i4 : {{.*}} = {{ *}}convert(@experts)
// CHECK-DAG: @state.i4 : {{.*}} = {{ *}}convert(@a)
// CHECK-DAG: @ordered.i4 : {{.*}} = {{ *}}convert(@a)
transformer.parameter @whole.i4 : tensor<8x8x!q> = convert(@a) loc("whole")
transformer.parameter @experts.i4 : tensor<16x8x!q> = convert(@experts) loc("experts")
transformer.parameter @state.i4 : tensor<8x8x!q> = convert(@a) loc("state")
transformer.parameter @ordered.i4 : tensor<8x8x!q> = convert(@a) loc("ordered")

dataflow.kernel @gather : (!ids, !t) -> !x computes #dataflow.gather<width = 8, lookups = 1> {
^bb0(%e: f32):
  dataflow.yield %e
}
dataflow.kernel @contract : (!x, !w) -> !x computes #dataflow.contract<n = 8, k = 8> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @chosen : (!x, !two, !ids, !ids) -> !x computes #dataflow.contract_chosen<n = 8, k = 8, groups = 2> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @collect : (!x) -> !steps computes #dataflow.collect<[8]> {
^bb0(%e: f32):
  dataflow.yield %e
}
dataflow.kernel @contract_steps : (!steps, !w) -> !steps computes #dataflow.contract<n = 8, k = 8> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @back : (!steps) -> !x computes #dataflow.collect<[8]> {
^bb0(%e: f32):
  dataflow.yield %e
}

dataflow.graph @embed(%ids: !ids {dataflow.name = "ids", dataflow.limit = 20 : i64}) -> (!x {dataflow.name = "y"}) {
  %t = dataflow.parameter @t : !t
  %w = dataflow.parameter @whole.i4 : !w
  %e = dataflow.parameter @experts.i4 : !two
  %s = dataflow.parameter @state.i4 : !w
  %o = dataflow.parameter @ordered.i4 : !w
  %x = dataflow.dispatch @gather(%ids, %t) : (!ids, !t) -> !x
  %0 = dataflow.dispatch @contract(%x, %w) : (!x, !w) -> !x
  %1 = dataflow.dispatch @chosen(%0, %e, %ids, %ids) : (!x, !two, !ids, !ids) -> !x
  %2 = dataflow.dispatch @collect(%1) : (!x) -> !steps
  %3 = dataflow.dispatch @contract_steps(%2, %o) : (!steps, !w) -> !steps
  %4 = dataflow.loop() : () -> (!steps) {
  ^bb0(%before: !steps):
    %next = dataflow.dispatch @contract_steps(%before, %s) : (!steps, !w) -> !steps
    dataflow.next %next : !steps
  }
  %5 = dataflow.dispatch @back(%4) : (!steps) -> !x
  dataflow.output %5 : !x
}
