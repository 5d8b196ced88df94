// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-compensate-weights --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t

// Every matrix whose rows cannot be seen on texts is reported, with the reason: rows of sequences in
// the order of steps, and a matrix that is whole to one product and groups to another. Experts have
// moments for each of them; steps of recurrences and rows in the order of time are seen as well.

// REPORT-DAG: reason="rounded to the nearest: its rows are not those of texts in their order", where=ranked
// REPORT-DAG: reason="rounded to the nearest: products divide its rows into different groups", where=divided
// REPORT-NOT: where=experts
// REPORT-NOT: where=state
// REPORT-NOT: where=ordered

!ids = !dataflow.buffer<[tokens], i32>
!x = !dataflow.buffer<[tokens, 8], f32>
!steps = !dataflow.buffer<[steps, 8], f32>
!t = !dataflow.buffer<[20, 8], f32>
!q = !transformer.quantized<i4, 8, bf16>
!w = !dataflow.buffer<[8, 8], !q>
!two = !dataflow.buffer<[16, 8], !q>
!last = !dataflow.buffer<[sequences, 8], f32>
!ranks = !dataflow.buffer<[ranks, 8], f32>
!half = !dataflow.buffer<[tokens, 4] in 8, f32>
!d = !dataflow.buffer<[8, 4], !transformer.quantized<i8, row>>

transformer.parameter @t : tensor<20x8xf32> from "t"
transformer.parameter @a : tensor<8x8xf32> from "a"
transformer.parameter @experts : tensor<16x8xf32> from "experts"
transformer.parameter @parts : tensor<8x4xf32> from "parts"
// CHECK-DAG: @experts.moments : tensor<16x8xf32> from "moments of rows 1"
// CHECK-DAG: @whole.i4 : {{.*}} = {{ *}}compensate(@a, @whole.moments)
// CHECK-DAG: @experts.i4 : {{.*}} = {{ *}}compensate(@experts, @experts.moments)
// CHECK-DAG: @state.i4 : {{.*}} = {{ *}}compensate(@a, @state.moments)
// CHECK-DAG: @ordered.i4 : {{.*}} = {{ *}}compensate(@a, @ordered.moments)
// CHECK-DAG: @ranked.i4 : {{.*}} = {{ *}}convert(@a)
// CHECK-DAG: @divided.i8 : {{.*}} = {{ *}}convert(@parts)
transformer.parameter @whole.i4 : tensor<8x8x!q> = convert(@a) loc("whole")
transformer.parameter @experts.i4 : tensor<16x8x!q> = convert(@experts) loc("experts")
transformer.parameter @state.i4 : tensor<8x8x!q> = convert(@a) loc("state")
transformer.parameter @ordered.i4 : tensor<8x8x!q> = convert(@a) loc("ordered")
transformer.parameter @ranked.i4 : tensor<8x8x!q> = convert(@a) loc("ranked")
transformer.parameter @divided.i8 : tensor<8x4x!transformer.quantized<i8, row>> = convert(@parts) loc("divided")

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
dataflow.kernel @contract_half : (!half, !d) -> !x computes #dataflow.contract<n = 8, k = 4> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @contract_groups : (!x, !d) -> !x computes #dataflow.contract<n = 4, k = 4, groups = 2> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @last : (!steps) -> !last computes #dataflow.collect<[8]> {
^bb0(%e: f32):
  dataflow.yield %e
}
dataflow.kernel @rank : (!last) -> !ranks computes #dataflow.collect<[8]> {
^bb0(%e: f32):
  dataflow.yield %e
}
dataflow.kernel @contract_ranks : (!ranks, !w) -> !ranks computes #dataflow.contract<n = 8, k = 8> {
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
  %r = dataflow.parameter @ranked.i4 : !w
  %d = dataflow.parameter @divided.i8 : !d
  %x = dataflow.dispatch @gather(%ids, %t) : (!ids, !t) -> !x
  %0 = dataflow.dispatch @contract(%x, %w) : (!x, !w) -> !x
  %1 = dataflow.dispatch @chosen(%0, %e, %ids, %ids) : (!x, !two, !ids, !ids) -> !x
  %2 = dataflow.dispatch @collect(%1) : (!x) -> !steps
  %3 = dataflow.dispatch @contract_steps(%2, %o) : (!steps, !w) -> !steps
  %half = dataflow.columns %0 from 4 : !x -> !half
  %whole = dataflow.dispatch @contract_half(%half, %d) : (!half, !d) -> !x
  %parts = dataflow.dispatch @contract_groups(%whole, %d) : (!x, !d) -> !x
  %last = dataflow.dispatch @last(%3) : (!steps) -> !last
  %ranks = dataflow.dispatch @rank(%last) : (!last) -> !ranks
  %first = dataflow.dispatch @contract_ranks(%ranks, %r) : (!ranks, !w) -> !ranks
  %4 = dataflow.loop(%first) : (!ranks) -> (!steps) {
  ^bb0(%before: !steps):
    %next = dataflow.dispatch @contract_steps(%before, %s) : (!steps, !w) -> !steps
    dataflow.next %next : !steps
  }
  %5 = dataflow.dispatch @back(%4) : (!steps) -> !x
  dataflow.output %5 : !x
}
