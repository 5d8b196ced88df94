// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-encode-weights="targets=x86-64-v3,x86-64-v4-vnni" -dataflow-share-tables="targets=x86-64-v3,x86-64-v4-vnni" -remarks-filter=heddle 2> %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARKS < %t

// Look-ups read single rows of panels for products of integers, if all of their tables lie so.

!ids = !dataflow.buffer<[tokens], i32>
!x = !dataflow.buffer<[tokens, 40], f32>
!y = !dataflow.buffer<[tokens, 80], f32>
!w = !dataflow.buffer<[80, 40], !transformer.quantized<i8, row>>

transformer.parameter @a : tensor<80x40xf32> from "a"
transformer.parameter @b : tensor<80x40xf32> from "b"
transformer.parameter @words : tensor<80x40x!transformer.quantized<i8, row>> = convert(@a)
transformer.parameter @others : tensor<80x40x!transformer.quantized<i8, row>> = convert(@b)

dataflow.kernel @integers : (!x, !w) -> !y computes #dataflow.contract<n = 80, k = 40, arithmetic = integers> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @floats : (!x, !w) -> !y computes #dataflow.contract<n = 80, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// CHECK: dataflow.kernel @gather_encoded : {{.*}} computes #dataflow.gather<width = 40, lookups = 1, encoded = [0], integers> {
dataflow.kernel @gather : (!ids, !w) -> !x computes #dataflow.gather<width = 40, lookups = 1> {
^bb0(%e: f32):
  dataflow.yield %e
}
// CHECK: dataflow.kernel @both_encoded : {{.*}} computes #dataflow.gather<width = 40, lookups = 2, encoded = [0], integers> {
dataflow.kernel @both : (!ids, !w, !ids, !w) -> !x computes #dataflow.gather<width = 40, lookups = 2> {
^bb0(%e: f32):
  dataflow.yield %e
}

// CHECK-LABEL: dataflow.graph @encode
// CHECK: dataflow.parameter @words as @words.packed48by4 : !dataflow.buffer
// CHECK-NEXT: %[[WORDS:.*]] = dataflow.parameter @words as @words.packed48by4 : !dataflow.buffer
// CHECK: %[[OTHERS:.*]] = dataflow.parameter @others : !dataflow.buffer
// CHECK: dataflow.dispatch @gather_encoded(%{{.*}}, %[[WORDS]])
// CHECK: dataflow.dispatch @both_encoded(%{{.*}}, %[[WORDS]], %{{.*}}, %[[OTHERS]])
// REMARKS-DAG: [Passed] share-tables {{.*}} weight_bytes=3520, what="rows of 'words' are looked up where products read it", where=first
// REMARKS-DAG: [Missed] share-tables {{.*}} reason="not shared: 'others' is multiplied in f32, another table of the look-up in integers", where=second
dataflow.graph @encode(%ids: !ids {dataflow.name = "ids", dataflow.limit = 80 : i64}) -> (!y {dataflow.name = "y"}, !y {dataflow.name = "z"}) {
  %w = dataflow.parameter @words : !w
  %v = dataflow.parameter @others : !w
  %0 = dataflow.dispatch @gather(%ids, %w) : (!ids, !w) -> !x loc("first")
  %1 = dataflow.dispatch @both(%ids, %w, %ids, %v) : (!ids, !w, !ids, !w) -> !x loc("second")
  %2 = dataflow.dispatch @integers(%0, %w) : (!x, !w) -> !y
  %3 = dataflow.dispatch @floats(%1, %v) : (!x, !w) -> !y
  dataflow.output %2, %3 : !y, !y
}
