// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -transformer-share-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s

// The same two heads, the second first.
// CHECK-LABEL: func.func @swapped(
// CHECK-COUNT-2: transformer.attention %
transformer.parameter @q : tensor<4x4xf32> from "q" {content = "q"}
transformer.parameter @k : tensor<4x4xf32> from "k" {content = "k"}
transformer.parameter @v : tensor<4x4xf32> from "v" {content = "v"}
transformer.parameter @q0 : tensor<2x4xf32> = rows(@q, 0)
transformer.parameter @q1 : tensor<2x4xf32> = rows(@q, 2)
transformer.parameter @k0 : tensor<2x4xf32> = rows(@k, 0)
transformer.parameter @k1 : tensor<2x4xf32> = rows(@k, 2)
transformer.parameter @v0 : tensor<2x4xf32> = rows(@v, 0)
transformer.parameter @v1 : tensor<2x4xf32> = rows(@v, 2)
transformer.parameter @oq : tensor<4x4xf32> = concat(@q1, @q0)
transformer.parameter @ok : tensor<4x4xf32> = concat(@k1, @k0)
transformer.parameter @ov : tensor<4x4xf32> = concat(@v1, @v0)
func.func @swapped(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @q : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @k : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @v : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @oq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @ok : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @ov : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark-re @below {{not shared with {{.*}}: its heads are there in another order (1, 0)}}
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Heads that are not the same have no order: the values stayed where they were.
// CHECK-LABEL: func.func @swapped_queries(
// CHECK-COUNT-2: transformer.attention %
transformer.parameter @q : tensor<4x4xf32> from "q" {content = "q"}
transformer.parameter @k : tensor<4x4xf32> from "k" {content = "k"}
transformer.parameter @v : tensor<4x4xf32> from "v" {content = "v"}
transformer.parameter @q0 : tensor<2x4xf32> = rows(@q, 0)
transformer.parameter @q1 : tensor<2x4xf32> = rows(@q, 2)
transformer.parameter @k0 : tensor<2x4xf32> = rows(@k, 0)
transformer.parameter @k1 : tensor<2x4xf32> = rows(@k, 2)
transformer.parameter @v0 : tensor<2x4xf32> = rows(@v, 0)
transformer.parameter @v1 : tensor<2x4xf32> = rows(@v, 2)
transformer.parameter @oq : tensor<4x4xf32> = concat(@q1, @q0)
transformer.parameter @ok : tensor<4x4xf32> = concat(@k1, @k0)
transformer.parameter @ov : tensor<4x4xf32> = concat(@v0, @v1)
func.func @swapped_queries(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @q : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @k : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @v : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @oq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @ok : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @ov : tensor<?x4xf32> -> tensor<?x4xf32>
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// One head twice is not the two heads of the other layer.
// CHECK-LABEL: func.func @one_head_twice(
// CHECK-COUNT-2: transformer.attention %
transformer.parameter @q : tensor<4x4xf32> from "q" {content = "q"}
transformer.parameter @k : tensor<4x4xf32> from "k" {content = "k"}
transformer.parameter @v : tensor<4x4xf32> from "v" {content = "v"}
transformer.parameter @q0 : tensor<2x4xf32> = rows(@q, 0)
transformer.parameter @q1 : tensor<2x4xf32> = rows(@q, 2)
transformer.parameter @k0 : tensor<2x4xf32> = rows(@k, 0)
transformer.parameter @k1 : tensor<2x4xf32> = rows(@k, 2)
transformer.parameter @v0 : tensor<2x4xf32> = rows(@v, 0)
transformer.parameter @v1 : tensor<2x4xf32> = rows(@v, 2)
transformer.parameter @oq : tensor<4x4xf32> = concat(@q1, @q1)
transformer.parameter @ok : tensor<4x4xf32> = concat(@k1, @k1)
transformer.parameter @ov : tensor<4x4xf32> = concat(@v1, @v1)
func.func @one_head_twice(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @q : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @k : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @v : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @oq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @ok : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @ov : tensor<?x4xf32> -> tensor<?x4xf32>
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// One head of values for both heads of queries: its halves are no heads.
// CHECK-LABEL: func.func @swapped_halves(
// CHECK-COUNT-2: transformer.attention %
transformer.parameter @q : tensor<4x4xf32> from "q" {content = "q"}
transformer.parameter @k : tensor<4x4xf32> from "k" {content = "k"}
transformer.parameter @v : tensor<4x4xf32> from "v" {content = "v"}
transformer.parameter @q0 : tensor<2x4xf32> = rows(@q, 0)
transformer.parameter @q1 : tensor<2x4xf32> = rows(@q, 2)
transformer.parameter @k0 : tensor<2x4xf32> = rows(@k, 0)
transformer.parameter @k1 : tensor<2x4xf32> = rows(@k, 2)
transformer.parameter @v0 : tensor<2x4xf32> = rows(@v, 0)
transformer.parameter @v1 : tensor<2x4xf32> = rows(@v, 2)
transformer.parameter @oq : tensor<4x4xf32> = concat(@q1, @q0)
transformer.parameter @ok : tensor<4x4xf32> = concat(@k1, @k0)
transformer.parameter @ov : tensor<4x4xf32> = concat(@v1, @v0)
func.func @swapped_halves(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %qa = transformer.linear %x, @q : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @k : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @v : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, value_share = 2 : i64, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  %qb = transformer.linear %x, @oq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @ok : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @ov : tensor<?x4xf32> -> tensor<?x4xf32>
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, value_share = 2 : i64, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x8xf32>
  return %oa, %ob : tensor<?x8xf32>, tensor<?x8xf32>
}
