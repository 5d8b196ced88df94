// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -dataflow-select-tokens --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t

// The logits of "decode" are selected from, after all other results.

!x = !dataflow.buffer<[tokens, 40], f32>
!logits = !dataflow.buffer<[tokens, 1000], f32>
!p = !dataflow.buffer<[tokens, 4, longest], f32>
!w = !dataflow.buffer<[1000, 40], f32>

transformer.parameter @w : tensor<1000x40xf32> from "w"

dataflow.kernel @contract : (!x, !w) -> !logits computes #dataflow.contract<n = 1000, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// CHECK: dataflow.kernel @peaks : (!dataflow.buffer<[tokens, 1000], f32>) -> !dataflow.buffer<[tokens, 6], f32>
// CHECK-SAME: computes #dataflow.peaks<columns = 1000, piece = 768>
// CHECK: dataflow.kernel @select : (!dataflow.buffer<[tokens, 1000], f32>, !dataflow.buffer<[tokens, 6], f32>) -> !dataflow.buffer<[tokens, 132], f32>
// CHECK-SAME: computes #dataflow.select<columns = 1000, piece = 768, count = 64>
// CHECK-LABEL: dataflow.graph @decode
// CHECK-SAME: !dataflow.buffer<[tokens, 132], f32> {dataflow.name = "selection", dataflow.observed = "selection"})
// CHECK: %[[LOGITS:.*]] = dataflow.dispatch @contract
// CHECK: %[[PEAKS:.*]] = dataflow.dispatch @peaks(%[[LOGITS]])
// CHECK: %[[PAIRS:.*]] = dataflow.dispatch @select(%[[LOGITS]], %[[PEAKS]])
// CHECK: dataflow.output %[[LOGITS]], %{{.*}}, %[[PAIRS]]
// REPORT: a GPU selects the best tokens of a step, and copies only these
dataflow.graph @decode(%x: !x {dataflow.name = "x"}, %p: !p {dataflow.name = "q"})
    -> (!logits {dataflow.name = "logits"}, !p {dataflow.name = "p", dataflow.observed = "decoder"}) {
  %w = dataflow.parameter @w : !w
  %0 = dataflow.dispatch @contract(%x, %w) : (!x, !w) -> !logits
  dataflow.output %0, %p : !logits, !p
}

// Other entries stay, whatever their results are called.
// CHECK-LABEL: dataflow.graph @classify
// CHECK-NOT: selection
dataflow.graph @classify(%x: !x {dataflow.name = "x"}) -> (!logits {dataflow.name = "logits"}) {
  %w = dataflow.parameter @w : !w
  %0 = dataflow.dispatch @contract(%x, %w) : (!x, !w) -> !logits
  dataflow.output %0 : !logits
}

// -----

// Fewer tokens than are ever selected.
!logits = !dataflow.buffer<[tokens, 20], f32>
// CHECK: computes #dataflow.peaks<columns = 20, piece = 768>
// CHECK: computes #dataflow.select<columns = 20, piece = 768, count = 20>
// CHECK-LABEL: dataflow.graph @decode
// CHECK-SAME: dataflow.observed = "selection"
dataflow.graph @decode(%x: !logits {dataflow.name = "x"}) -> (!logits {dataflow.name = "logits"}) {
  dataflow.output %x : !logits
}

// -----

// REPORT: tokens are selected on the host: the logits are no rows of tokens
!logits = !dataflow.buffer<[sequences, 20], f32>
// CHECK-LABEL: dataflow.graph @decode
// CHECK-NOT: selection
dataflow.graph @decode(%x: !logits {dataflow.name = "x"}) -> (!logits {dataflow.name = "logits"}) {
  dataflow.output %x : !logits
}

// -----

// REPORT: tokens are selected on the host: 2147483648 tokens, more than i32 can number
!logits = !dataflow.buffer<[tokens, 2147483648], f32>
// CHECK-LABEL: dataflow.graph @decode
// CHECK-NOT: selection
dataflow.graph @decode(%x: !logits {dataflow.name = "x"}) -> (!logits {dataflow.name = "logits"}) {
  dataflow.output %x : !logits
}
