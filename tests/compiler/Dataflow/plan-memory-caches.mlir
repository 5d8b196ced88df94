// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-plan-memory | FileCheck %s

// Caches have memory of their own: no place in the arena, no copy where they are results. Scores
// that are output twice are copied over the keys of the cache they are about.

!keys = !dataflow.cache<[64], f32, keys>
!rows = !dataflow.buffer<[tokens, 64], f32>
!scores = !dataflow.buffer<[tokens, 4, longest], f32>

dataflow.kernel @append : (!keys, !rows) -> !keys computes #dataflow.append {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @rows : (!rows) -> !rows computes #dataflow.rows<width = 64> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @scores : (!dataflow.buffer<[tokens, 4, 16], f32>, !dataflow.cache<[4, 16], f32, keys>) -> !scores computes #dataflow.nest<"thd,khd->thk", sum> {
^bb0(%q: f32, %k: f32):
  %0 = arith.mulf %q, %k : f32
  dataflow.yield %0
}

// CHECK: dataflow.kernel @copy : (!dataflow.buffer<[tokens, 4, longest], f32>, !dataflow.cache<[4, 16], f32, keys>) -> {{.*}} computes #dataflow.nest<"thk->thk", none, keys_from>
// CHECK-LABEL: dataflow.graph @decode(
// CHECK-SAME: attributes {arena = #dataflow.size<tokens = 256>}
dataflow.graph @decode(%key: !keys {dataflow.name = "key"}, %x: !rows {dataflow.name = "x"}) -> (!keys {dataflow.name = "key"}, !scores {dataflow.name = "a"}, !scores {dataflow.name = "b"}) {
  // CHECK: dataflow.dispatch @rows(%{{.*}}) at <> :
  %y = dataflow.dispatch @rows(%x) : (!rows) -> !rows
  // CHECK: %[[K:.*]] = dataflow.dispatch @append(%{{.*}}, %{{.*}}) changes [0] :
  %k = dataflow.dispatch @append(%key, %y) changes [0] : (!keys, !rows) -> !keys
  // CHECK: %[[HEADS:.*]] = dataflow.reshape %[[K]]
  %heads = dataflow.reshape %k : !keys -> !dataflow.cache<[4, 16], f32, keys>
  %q = dataflow.reshape %y : !rows -> !dataflow.buffer<[tokens, 4, 16], f32>
  // CHECK: %[[S:.*]] = dataflow.dispatch @scores(
  %s = dataflow.dispatch @scores(%q, %heads) : (!dataflow.buffer<[tokens, 4, 16], f32>, !dataflow.cache<[4, 16], f32, keys>) -> !scores
  // CHECK: %[[COPY:.*]] = dataflow.dispatch @copy(%[[S]], %[[HEADS]])
  // CHECK: dataflow.output %[[K]], %[[S]], %[[COPY]]
  dataflow.output %k, %s, %s : !keys, !scores, !scores
}
