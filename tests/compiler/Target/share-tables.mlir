// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-encode-weights="targets=x86-64-v3:16,x86-64-v4" -dataflow-share-tables="targets=x86-64-v3:16,x86-64-v4" -remarks-filter=heddle 2> %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARKS < %t
// RUN: heddle-opt %s -dataflow-share-tables="targets=x86-64-v3" | FileCheck %s --check-prefix=LOGICAL
// RUN: not heddle-opt %s -dataflow-share-tables 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: no target, expected one of x86-64-v3, x86-64-v4
// Before weights are encoded there is nothing to share.
// LOGICAL-NOT: encoded

!ids = !dataflow.buffer<[tokens], i32>
!x = !dataflow.buffer<[tokens, 40], f32>
!y = !dataflow.buffer<[tokens, 80], f32>
!w = !dataflow.buffer<[80, 40], f32>

transformer.parameter @words : tensor<80x40xf32> from "words"
transformer.parameter @types : tensor<80x40xf32> from "types"
transformer.parameter @split : tensor<80x40xf32> from "split"

dataflow.kernel @contract : (!x, !w) -> !y computes #dataflow.contract<n = 80, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @groups : (!y, !w) -> !y computes #dataflow.contract<n = 40, k = 40, groups = 2> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @gather : (!ids, !w) -> !x computes #dataflow.gather<width = 40, lookups = 1> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @gather_both : (!ids, !w, !ids, !w) -> !x computes #dataflow.gather<width = 40, lookups = 2> {
^bb0(%x: f32):
  dataflow.yield %x
}

// One kernel of three dispatches becomes two: one table is a product's, the others are not.
// CHECK-DAG: dataflow.kernel @gather : {{.*}} computes #dataflow.gather<width = 40, lookups = 1> {
// CHECK-DAG: dataflow.kernel @gather_encoded : {{.*}} computes #dataflow.gather<width = 40, lookups = 1, encoded = [0]> {
// CHECK-DAG: dataflow.kernel @gather_both_encoded : {{.*}} computes #dataflow.gather<width = 40, lookups = 2, encoded = [1]> {
// CHECK-NOT: @gather_both :
// CHECK-LABEL: dataflow.graph @encode
// CHECK: dataflow.parameter @words as [@words.packed16, @words.packed48]
// CHECK-NEXT: %[[SHARED:.*]] = dataflow.parameter @words as [@words.packed16, @words.packed48] : !dataflow.buffer<[80, 40], f32>
// CHECK-DAG: %[[TYPES:.*]] = dataflow.parameter @types : !dataflow.buffer<[80, 40], f32>
// CHECK-DAG: %[[SPLIT:.*]] = dataflow.parameter @split : !dataflow.buffer<[80, 40], f32>
// CHECK: dataflow.dispatch @gather_encoded(%{{.*}}, %[[SHARED]])
// CHECK-NEXT: dataflow.dispatch @gather(%{{.*}}, %[[TYPES]])
// CHECK-NEXT: dataflow.dispatch @gather(%{{.*}}, %[[SPLIT]])
// CHECK-NEXT: dataflow.dispatch @gather_both_encoded(%{{.*}}, %[[TYPES]], %{{.*}}, %[[SHARED]])
// REMARKS-DAG: [Passed] share-tables {{.*}} weight_bytes=12800, what="rows of 'words' are looked up where products read it", where=words
// REMARKS-DAG: [Passed] share-tables {{.*}} weight_bytes=0, what="rows of 'words' are looked up where products read it", where=both
// REMARKS-DAG: [Missed] share-tables {{.*}} reason="not shared: target 'x86-64-v3' cannot look up rows of 'split' as it stores it for products", where=split
dataflow.graph @encode(%ids: !ids {dataflow.name = "ids", dataflow.limit = 80 : i64}) -> (!y {dataflow.name = "y"}, !y {dataflow.name = "z"}, !x {dataflow.name = "t"}, !x {dataflow.name = "b"}) {
  %w = dataflow.parameter @words : !w
  %t = dataflow.parameter @types : !w
  %s = dataflow.parameter @split : !w
  %0 = dataflow.dispatch @gather(%ids, %w) : (!ids, !w) -> !x loc("words")
  %1 = dataflow.dispatch @gather(%ids, %t) : (!ids, !w) -> !x loc("types")
  %2 = dataflow.dispatch @gather(%ids, %s) : (!ids, !w) -> !x loc("split")
  %3 = dataflow.dispatch @gather_both(%ids, %t, %ids, %w) : (!ids, !w, !ids, !w) -> !x loc("both")
  %4 = dataflow.dispatch @contract(%0, %w) : (!x, !w) -> !y
  %5 = dataflow.dispatch @groups(%4, %s) : (!y, !w) -> !y
  %6 = dataflow.dispatch @contract(%2, %w) : (!x, !w) -> !y
  dataflow.output %5, %6, %1, %3 : !y, !y, !x, !x
}
