// SPDX-License-Identifier: Apache-2.0
// Rows that choose, at both levels: what they look like and how one becomes the other.
// RUN: heddle-opt %s -split-input-file -convert-transformer-to-dataflow -dataflow-fold-epilogues -verify-diagnostics | FileCheck %s
// RUN: heddle-opt %s -split-input-file | heddle-opt -split-input-file | FileCheck %s --check-prefix=OP

transformer.parameter @gate : tensor<16x512xf32> from "gate"
transformer.parameter @inner : tensor<32768x512xf32> from "inner"
transformer.parameter @outer : tensor<8192x2048xf32> from "outer"
transformer.parameter @outer.bias : tensor<8192xf32> from "outer.bias"

// OP-LABEL: func.func @encode
// OP: %[[TWO:.*]] = transformer.choices %{{.*}}, 2
// OP: %[[E:.*]], %[[V:.*]] = transformer.top_k %{{.*}} to(%[[TWO]]) : tensor<?x16xf32> -> tensor<?x2xf32>
// OP: %[[G:.*]] = transformer.row_softmax %[[V]] : tensor<?x2xf32>
// OP: transformer.place_columns %[[G]] at %[[E]] : tensor<?x2xf32> -> tensor<?x16xf32>
// OP: %[[C:.*]] = transformer.repeat %{{.*}} to(%[[TWO]]) : tensor<?x512xf32>
// OP: transformer.chosen_linear %[[C]], @inner of(%[[E]]) {maps = 16 : i64} : tensor<?x512xf32> -> tensor<?x2048xf32>
// OP: transformer.chosen_linear %{{.*}}, @outer, @outer.bias of(%[[E]]) {maps = 16 : i64} : tensor<?x2048xf32> -> tensor<?x512xf32>
// OP: transformer.split_rows %[[G]] to(%[[TWO]]) : tensor<?x2xf32> -> tensor<?x1xf32>
// OP: transformer.pool sum %{{.*}} in(%[[TWO]]) to(%{{.*}}) : tensor<?x512xf32>

// The first product reads rows where they are; both share one order; what follows is their epilogue.
// CHECK-DAG: dataflow.kernel @[[TOP:top_k[0-9_]*]] : (!dataflow.buffer<[tokens, 16], f32>) -> (!dataflow.buffer<[tokens, 2], f32>, !dataflow.buffer<[choices(tokens, 2)], i32>) computes #dataflow.top_k<count = 2, columns = 16>
// CHECK-DAG: dataflow.kernel @[[INNER:contract_chosen[0-9_]*]] : (!dataflow.buffer<[tokens, 512], f32>, !dataflow.buffer<[32768, 512], f32>, !dataflow.buffer<[choices(tokens, 2)], i32>, !dataflow.buffer<[choices(tokens, 2)], i32>) -> !dataflow.buffer<[choices(tokens, 2), 2048], f32> computes #dataflow.contract_chosen<n = 2048, k = 512, groups = 16>
// CHECK-DAG: dataflow.kernel @[[OUTER:contract_chosen[0-9_]*]] : ({{.*}}, !dataflow.buffer<[8192], f32>, !dataflow.buffer<[choices(tokens, 2), 1], f32>) -> !dataflow.buffer<[choices(tokens, 2), 512], f32> computes #dataflow.contract_chosen<n = 512, k = 2048, groups = 16, biased = true>
// CHECK-DAG: dataflow.kernel @[[POOL:pool[0-9_]*]] : {{.*}} -> !dataflow.buffer<[tokens, 512], f32> computes #dataflow.pool<sum, width = 512>
// CHECK: dataflow.graph @encode(%[[X:[a-z0-9]*]]:
// CHECK: %[[CHOSEN:.*]]:2 = dataflow.dispatch @[[TOP]]
// CHECK: %[[ORDER:.*]] = dataflow.dispatch @order(%[[CHOSEN]]#1)
// CHECK: %[[H:.*]] = dataflow.dispatch @[[INNER]](%[[X]], %{{.*}}, %[[CHOSEN]]#1, %[[ORDER]])
// CHECK: dataflow.reshape %{{.*}} : !dataflow.buffer<[tokens, 2], f32> -> !dataflow.buffer<[choices(tokens, 2), 1], f32>
// CHECK: %[[Y:.*]] = dataflow.dispatch @[[OUTER]](%[[H]], %{{.*}}, %[[CHOSEN]]#1, %[[ORDER]],
// CHECK: dataflow.dispatch @[[POOL]](%[[Y]], %[[X]])
func.func @encode(%x: tensor<?x512xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x512xf32> {transformer.name = "y"}, tensor<?x16xf32> {transformer.name = "gates"}) {
  %two = transformer.choices %rows, 2
  %l = transformer.linear %x, @gate : tensor<?x512xf32> -> tensor<?x16xf32>
  %e, %v = transformer.top_k %l to(%two) : tensor<?x16xf32> -> tensor<?x2xf32>
  %g = transformer.row_softmax %v : tensor<?x2xf32>
  %p = transformer.place_columns %g at %e : tensor<?x2xf32> -> tensor<?x16xf32>
  %c = transformer.repeat %x to(%two) : tensor<?x512xf32>
  %i = transformer.chosen_linear %c, @inner of(%e) {maps = 16 : i64} : tensor<?x512xf32> -> tensor<?x2048xf32>
  %a = transformer.activate relu %i : tensor<?x2048xf32>
  %o = transformer.chosen_linear %a, @outer, @outer.bias of(%e) {maps = 16 : i64} : tensor<?x2048xf32> -> tensor<?x512xf32>
  %w = transformer.split_rows %g to(%two) : tensor<?x2xf32> -> tensor<?x1xf32>
  %z = transformer.multiply %o, %w : tensor<?x512xf32>, tensor<?x1xf32>
  %s = transformer.pool sum %z in(%two) to(%rows) : tensor<?x512xf32>
  %y = transformer.add %s, %x : tensor<?x512xf32>, tensor<?x512xf32>
  return %y, %p : tensor<?x512xf32>, tensor<?x16xf32>
}

// -----

transformer.parameter @words : tensor<35x8xf32> from "words"

// Rows may choose by an input: it must be below the number of maps.
// CHECK: dataflow.graph @encode(%{{.*}}, %{{.*}}: !dataflow.buffer<[tokens], i32> {dataflow.limit = 7 : i64
// OP-LABEL: func.func @encode
func.func @encode(%x: tensor<?x8xf32> {transformer.name = "x"}, %language: tensor<?xi32> {transformer.name = "language"}, %rows: !transformer.segments) -> (tensor<?x5xf32> {transformer.name = "y"}) {
  %y = transformer.chosen_linear %x, @words of(%language) {maps = 7 : i64} : tensor<?x8xf32> -> tensor<?x5xf32>
  return %y : tensor<?x5xf32>
}

// -----

transformer.parameter @inner.weight : tensor<32768x512xf32> from "inner.weight"

// Gates of all maps.
// OP-LABEL: func.func @gates
func.func @gates(%logits: tensor<?x16xf32> {transformer.name = "logits"}, %rows: !transformer.segments) -> (tensor<?x16xf32> {transformer.name = "gates"}) {
  %two = transformer.choices %rows, 2
  %e, %v = transformer.top_k %logits to(%two) : tensor<?x16xf32> -> tensor<?x2xf32>
  %gates = transformer.row_softmax %v : tensor<?x2xf32>
  %g = transformer.place_columns %gates at %e : tensor<?x2xf32> -> tensor<?x16xf32>
  return %g : tensor<?x16xf32>
}

// What is chosen, weighed and added up; rows of another width.
// OP-LABEL: func.func @chosen
func.func @chosen(%logits: tensor<?x16xf32> {transformer.name = "logits"}, %x: tensor<?x512xf32> {transformer.name = "x"}, %other: tensor<?x384xf32> {transformer.name = "other"}, %rows: !transformer.segments) -> (tensor<?x2048xf32> {transformer.name = "h"}, tensor<?x384xf32> {transformer.name = "y"}) {
  %two = transformer.choices %rows, 2
  %e, %gates = transformer.top_k %logits to(%two) : tensor<?x16xf32> -> tensor<?x2xf32>
  %g = transformer.split_rows %gates to(%two) : tensor<?x2xf32> -> tensor<?x1xf32>
  %c = transformer.repeat %x to(%two) : tensor<?x512xf32>
  %h = transformer.chosen_linear %c, @inner.weight of(%e) {maps = 16 : i64} : tensor<?x512xf32> -> tensor<?x2048xf32>
  %hs = transformer.pool sum %h in(%two) to(%rows) : tensor<?x2048xf32>
  %o = transformer.repeat %other to(%two) : tensor<?x384xf32>
  %z = transformer.multiply %o, %g : tensor<?x384xf32>, tensor<?x1xf32>
  %y = transformer.pool sum %z in(%two) to(%rows) : tensor<?x384xf32>
  return %hs, %y : tensor<?x2048xf32>, tensor<?x384xf32>
}

// -----

// OP-LABEL: func.func @joined
// OP: transformer.join_rows %{{.*}} in(%{{.*}}) : tensor<?x32xf32> -> tensor<?x64xf32>
func.func @joined(%x: tensor<?x64xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x64xf32> {transformer.name = "y"}) {
  %two = transformer.choices %rows, 2
  %h = transformer.split_rows %x to(%two) : tensor<?x64xf32> -> tensor<?x32xf32>
  %q = transformer.join_rows %h in(%two) : tensor<?x32xf32> -> tensor<?x64xf32>
  return %q : tensor<?x64xf32>
}
