// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-narrow-rows -dataflow-encode-weights="targets=x86-64-v3,x86-64-v4-bf16" -dataflow-share-tables="targets=x86-64-v3,x86-64-v4-bf16" -remarks-filter=heddle 2> %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARKS < %t

// Rows are looked up where products of bf16 or of integers read them, but not where one look-up
// would read both.

!ids = !dataflow.buffer<[tokens], i32>
!x = !dataflow.buffer<[tokens, 40], f32>
!y = !dataflow.buffer<[tokens, 80], f32>
!h = !dataflow.buffer<[80, 40], bf16>
!q = !dataflow.buffer<[80, 40], !transformer.quantized<i8, row>>

transformer.parameter @halves : tensor<80x40xbf16> from "halves"
transformer.parameter @words : tensor<80x40xf32> from "words"
transformer.parameter @codes : tensor<80x40x!transformer.quantized<i8, row>> = convert(@words)

dataflow.kernel @contract_halves : (!x, !h) -> !y computes #dataflow.contract<n = 80, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @contract_codes : (!x, !q) -> !y computes #dataflow.contract<n = 80, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @gather : (!ids, !h) -> !x computes #dataflow.gather<width = 40, lookups = 1> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @gather_both : (!ids, !h, !ids, !q) -> !x computes #dataflow.gather<width = 40, lookups = 2> {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-DAG: dataflow.kernel @gather_encoded : {{.*}} computes #dataflow.gather<width = 40, lookups = 1, encoded = [0], bf16> {
// CHECK-DAG: dataflow.kernel @gather_both_encoded : {{.*}} computes #dataflow.gather<width = 40, lookups = 2, encoded = [0], bf16> {
// CHECK-LABEL: dataflow.graph @encode
// CHECK: %[[HALVES:.*]] = dataflow.parameter @halves as @halves.packed48by2 : !dataflow.buffer<[80, 40], bf16>
// CHECK: dataflow.dispatch @gather_encoded
// CHECK: dataflow.dispatch @gather_both_encoded
// REMARKS-DAG: [Passed] share-tables {{.*}} weight_bytes=6400, what="rows of 'halves' are looked up where products read it", where=one
// REMARKS-DAG: [Passed] share-tables {{.*}} weight_bytes=0, what="rows of 'halves' are looked up where products read it", where=both
// REMARKS-DAG: [Missed] share-tables {{.*}} reason="not shared: 'codes' is multiplied in integers, another table of the look-up in bf16", where=both
dataflow.graph @encode(%ids: !ids {dataflow.name = "ids", dataflow.limit = 80 : i64}) -> (!y {dataflow.name = "y"}, !y {dataflow.name = "z"}) {
  %h = dataflow.parameter @halves : !h
  %q = dataflow.parameter @codes : !q
  %0 = dataflow.dispatch @gather(%ids, %h) : (!ids, !h) -> !x loc("one")
  %1 = dataflow.dispatch @gather_both(%ids, %h, %ids, %q) : (!ids, !h, !ids, !q) -> !x loc("both")
  %2 = dataflow.dispatch @contract_halves(%0, %h) : (!x, !h) -> !y
  %3 = dataflow.dispatch @contract_codes(%1, %q) : (!x, !q) -> !y
  dataflow.output %2, %3 : !y, !y
}
