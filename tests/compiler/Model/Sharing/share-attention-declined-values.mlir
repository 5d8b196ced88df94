// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -transformer-share-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @norm_between(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @n : tensor<4xf32> from "n" {content = "n"}
transformer.parameter @m : tensor<4xf32> from "m" {content = "m"}
func.func @norm_between(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %y = transformer.rms_norm %x, @n {epsilon = 1.0e-6 : f32} : tensor<?x4xf32>
  %qa = transformer.linear %y, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %y, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %y, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %z = transformer.rms_norm %x, @m {epsilon = 1.0e-6 : f32} : tensor<?x4xf32>
  %qb = transformer.linear %z, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the queries differ: m has other values}}
  %ob = transformer.attention %qb, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func.func @epsilon(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @n : tensor<4xf32> from "n" {content = "n"}
func.func @epsilon(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %y = transformer.rms_norm %x, @n {epsilon = 1.0e-6 : f32} : tensor<?x4xf32>
  %qa = transformer.linear %y, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %y, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %y, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %z = transformer.rms_norm %x, @n {epsilon = 1.0e-5 : f32} : tensor<?x4xf32>
  %qb = transformer.linear %z, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the queries differ: epsilon of transformer.rms_norm is 1e-05, not 1e-06}}
  %ob = transformer.attention %qb, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func.func @activation(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
func.func @activation(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %y = transformer.activate relu %x : tensor<?x4xf32>
  %qa = transformer.linear %y, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %y, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %y, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %z = transformer.activate gelu %x : tensor<?x4xf32>
  %qb = transformer.linear %z, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the queries differ: function of transformer.activate is}}
  %ob = transformer.attention %qb, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// A factor on the queries that the scale does not have.
// CHECK-LABEL: func.func @factor(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
func.func @factor(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.scale %qa, 2.0 : tensor<?x4xf32>
  // expected-remark @below {{the queries differ: transformer.scale is not transformer.linear}}
  %ob = transformer.attention %qb, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func.func @linear_bias(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @z : tensor<4xf32> from "z" {content = "b"}
func.func @linear_bias(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @aq, @z : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the queries differ: z is given to one of them alone}}
  %ob = transformer.attention %qb, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Other rows of one weight.
// CHECK-LABEL: func.func @other_rows(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @w : tensor<8x4xf32> from "w" {content = "w"}
transformer.parameter @w0 : tensor<4x4xf32> = rows(@w, 0)
transformer.parameter @w1 : tensor<4x4xf32> = rows(@w, 4)
func.func @other_rows(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @w0 : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @w1 : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the queries differ: w1 has other values}}
  %ob = transformer.attention %qb, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func.func @other_columns(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @w : tensor<12x4xf32> from "w" {content = "w"}
func.func @other_columns(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %m = transformer.linear %x, @w : tensor<?x4xf32> -> tensor<?x12xf32>
  %qa = transformer.columns %m from 0 : tensor<?x12xf32> -> tensor<?x4xf32>
  %ka = transformer.columns %m from 4 : tensor<?x12xf32> -> tensor<?x4xf32>
  %va = transformer.columns %m from 8 : tensor<?x12xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the queries differ: first of transformer.columns is 8, not 0}}
  %ob = transformer.attention %va, %ka, %qa in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// A sum with something else.
// CHECK-LABEL: func.func @sum(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
func.func @sum(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %s = transformer.add %x, %y : tensor<?x4xf32>, tensor<?x4xf32>
  %qa = transformer.linear %s, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %s, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %s, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %t = transformer.add %y, %y : tensor<?x4xf32>, tensor<?x4xf32>
  %qb = transformer.linear %t, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the queries differ: transformer.add has other operands}}
  %ob = transformer.attention %qb, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Two layers of an ordinary model are no candidates: nothing of them is equal.
// CHECK-LABEL: func.func @normal(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "q"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "k"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "v"}
func.func @normal(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %oa, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %oa, @bk : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %oa, @bv : tensor<?x4xf32> -> tensor<?x4xf32>
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Keys of other rows are not alike, whatever is computed from them.
// CHECK-LABEL: func.func @other_keys(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
func.func @other_keys(%x: tensor<?x4xf32>, %rows: !transformer.segments, %memory: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %ob = transformer.attention %qa, %ka, %va in(%rows, %memory) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Weights that a caller may ask for are computed when he does: attention stays one operation.
// CHECK-LABEL: func.func @asked_for(
// CHECK: transformer.attention_weights
// CHECK: transformer.attention %
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
func.func @asked_for(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x2x?xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %p = transformer.attention_weights %qa, %ka in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x2x?xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %p : tensor<?x4xf32>, tensor<?x2x?xf32>
}

// -----

// Entries run at different times: what one computes, another cannot use.
// CHECK-LABEL: func.func @first(
// CHECK: transformer.attention %
// CHECK-LABEL: func.func @second(
// CHECK: transformer.attention %
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
func.func @first(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> tensor<?x4xf32> {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa : tensor<?x4xf32>
}
func.func @second(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> tensor<?x4xf32> {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa : tensor<?x4xf32>
}
