// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-observe-rows="sites=0,2,3" | FileCheck %s
// RUN: not heddle-opt %s -dataflow-observe-rows="sites=4" 2>&1 | FileCheck %s --check-prefix=BEYOND
// RUN: heddle-opt %s -dataflow-observe-rows | FileCheck %s --check-prefix=NONE

// The rows that products read become results, those that were asked for: before attention that is
// observed, once however many products read them, and a copy of columns of a wider buffer. An input
// is one too.

// BEYOND: expects rows of products numbered below 4, got 4
// NONE-NOT: "rows

!x = !dataflow.buffer<[tokens, 40], f32>
!wide = !dataflow.buffer<[tokens, 80], f32>
!half = !dataflow.buffer<[tokens, 40] in 80, f32>
!p = !dataflow.buffer<[tokens, 4, longest], f32>
!ids = !dataflow.buffer<[tokens], i32>
!w = !dataflow.buffer<[40, 40], f32>
!v = !dataflow.buffer<[80, 40], f32>

transformer.parameter @t : tensor<40x40xf32> from "t"
transformer.parameter @a : tensor<40x40xf32> from "a"
transformer.parameter @v : tensor<80x40xf32> from "v"

dataflow.kernel @gather : (!ids, !w) -> !x computes #dataflow.gather<width = 40, lookups = 1> {
^bb0(%e: f32):
  dataflow.yield %e
}
dataflow.kernel @contract : (!x, !w) -> !x computes #dataflow.contract<n = 40, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @widen : (!x, !v) -> !wide computes #dataflow.contract<n = 80, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
dataflow.kernel @narrow : (!half, !w) -> !x computes #dataflow.contract<n = 40, k = 40> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

// CHECK-LABEL: dataflow.graph @embed
// CHECK-SAME: !dataflow.buffer<[tokens, 40], f32> {dataflow.name = "rows 0"}
// CHECK-SAME: !dataflow.buffer<[tokens, 40], f32> {dataflow.name = "rows 2"}
// CHECK-SAME: !dataflow.buffer<[tokens, 40], f32> {dataflow.name = "rows 3"}
// CHECK: %[[X:.*]] = dataflow.dispatch @gather
// CHECK: %[[HALF:.*]] = dataflow.columns
// CHECK: %[[Z:.*]] = dataflow.dispatch @narrow(%[[HALF]]
// CHECK: %[[Y:.*]] = dataflow.dispatch @contract(%[[Z]]
// CHECK: %[[COPY:.*]] = dataflow.dispatch @copy{{.*}}(%[[HALF]])
// CHECK: dataflow.output %[[Y]], %[[X]], %[[COPY]], %[[Z]]
dataflow.graph @embed(%ids: !ids {dataflow.name = "ids", dataflow.limit = 40 : i64}) -> (!x {dataflow.name = "y"}) {
  %t = dataflow.parameter @t : !w
  %a = dataflow.parameter @a : !w
  %v = dataflow.parameter @v : !v
  %x = dataflow.dispatch @gather(%ids, %t) : (!ids, !w) -> !x
  %u = dataflow.dispatch @contract(%x, %a) : (!x, !w) -> !x
  %wide = dataflow.dispatch @widen(%u, %v) : (!x, !v) -> !wide
  %half = dataflow.columns %wide from 40 : !wide -> !half
  %z = dataflow.dispatch @narrow(%half, %a) : (!half, !w) -> !x
  %y = dataflow.dispatch @contract(%z, %a) : (!x, !w) -> !x
  dataflow.output %y : !x
}
