// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -transformer-share-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s

// One value of one weight differs: it has another content.
// CHECK-LABEL: func.func @query_weight(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "q1"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "k"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "v"}
func.func @query_weight(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @bk : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @bv : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @+2 {{shares the keys and values of}}
  // expected-remark @below {{the queries differ: bq has other values}}
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func.func @key_weight(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "q"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "k1"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "v"}
func.func @key_weight(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @bk : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @bv : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @+2 {{shares the values and queries of}}
  // expected-remark @below {{the keys differ: bk has other values}}
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Nothing is known of the values: other tensors are other values.
// CHECK-LABEL: func.func @no_content(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq"
transformer.parameter @ak : tensor<4x4xf32> from "ak"
transformer.parameter @av : tensor<4x4xf32> from "av"
transformer.parameter @bq : tensor<4x4xf32> from "bq"
func.func @no_content(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the queries differ: bq has other values}}
  %ob = transformer.attention %qb, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Another scale.
// CHECK-LABEL: func.func @scale(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
func.func @scale(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the scales differ: 0.25 and 0.5}}
  %ob = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.25 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Another function of the scores.
// CHECK-LABEL: func.func @score(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
func.func @score(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the maths of the scores differ: tanh(s0), multiply(s1, 2) and none}}
  %ob = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>, score = #transformer.score<tanh(s0), multiply(s1, 2.0)>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Pairs that look at other numbers of keys.
// CHECK-LABEL: func.func @looked(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @v : tensor<1x4xf32> from "v" {content = "v"}
transformer.parameter @w : tensor<4x3xf32> from "w" {content = "w"}
func.func @looked(%x: tensor<?x4xf32>, %s: tensor<?x1x?xf32>, %t: tensor<?x1x?xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) locations(%s : tensor<?x1x?xf32>) {heads = 1 : i64, location_taps = array<i64: 3>, location_weights = @w, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the locations of pairs differ}}
  %ob = transformer.attention %qa, %ka, %va in(%rows, %rows) locations(%t : tensor<?x1x?xf32>) {heads = 1 : i64, location_taps = array<i64: 3>, location_weights = @w, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// The same numbers, otherwise.
// CHECK-LABEL: func.func @looked_by_others(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @v : tensor<1x4xf32> from "v" {content = "v"}
transformer.parameter @w : tensor<4x3xf32> from "w" {content = "w"}
transformer.parameter @u : tensor<4x3xf32> from "u" {content = "u"}
func.func @looked_by_others(%x: tensor<?x4xf32>, %s: tensor<?x1x?xf32>, %t: tensor<?x1x?xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) locations(%s : tensor<?x1x?xf32>) {heads = 1 : i64, location_taps = array<i64: 3>, location_weights = @w, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{what pairs make of the numbers of keys differs: u has other values}}
  %ob = transformer.attention %qa, %ka, %va in(%rows, %rows) locations(%s : tensor<?x1x?xf32>) {heads = 1 : i64, location_taps = array<i64: 3>, location_weights = @u, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// With filters between.
// CHECK-LABEL: func.func @looked_by_filters(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @v : tensor<1x4xf32> from "v" {content = "v"}
transformer.parameter @w : tensor<4x3xf32> from "w" {content = "w"}
transformer.parameter @f : tensor<3x3xf32> from "f" {content = "f"}
func.func @looked_by_filters(%x: tensor<?x4xf32>, %s: tensor<?x1x?xf32>, %t: tensor<?x1x?xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) locations(%s : tensor<?x1x?xf32>) {heads = 1 : i64, location_taps = array<i64: 3>, location_weights = @w, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{what pairs make of the numbers of keys differs: one has filters}}
  %ob = transformer.attention %qa, %ka, %va in(%rows, %rows) locations(%s : tensor<?x1x?xf32>) {heads = 1 : i64, location_taps = array<i64: 3>, location_filters = @f, location_weights = @w, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Another mask.
// CHECK-LABEL: func.func @mask(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
func.func @mask(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the masks differ: causal and all}}
  %ob = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Heads split in another way.
// CHECK-LABEL: func.func @heads(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
func.func @heads(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the heads differ: 1 and 2}}
  %ob = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 1 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Another position bias, and one where the other has none.
// CHECK-LABEL: func.func @bias(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @at : tensor<2x5xf32> from "at" {content = "t"}
transformer.parameter @bt : tensor<2x5xf32> from "bt" {content = "u"}
func.func @bias(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {bias = @at, heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the position biases differ: bt has other values}}
  %ob = transformer.attention %qa, %ka, %va in(%rows, %rows) {bias = @bt, heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func.func @bias_shape(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @at : tensor<2x5xf32> from "at" {content = "t"}
transformer.parameter @bt : tensor<2x7xf32> from "bt" {content = "t"}
func.func @bias_shape(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {bias = @at, heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the position biases differ: bt has another shape than at}}
  %ob = transformer.attention %qa, %ka, %va in(%rows, %rows) {bias = @bt, heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func.func @bias_alone(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @at : tensor<2x5xf32> from "at" {content = "t"}
func.func @bias_alone(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the position biases differ: at is given to one of them alone}}
  %ob = transformer.attention %qa, %ka, %va in(%rows, %rows) {bias = @at, heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// A position is added to what the queries of the second are computed from.
// CHECK-LABEL: func.func @position_between(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @p : tensor<8x4xf32> from "p" {content = "p"}
func.func @position_between(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %n = transformer.positions %rows
  %e = transformer.gather @p[%n] : tensor<?x4xf32>
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %y = transformer.add %x, %e : tensor<?x4xf32>, tensor<?x4xf32>
  %qb = transformer.linear %y, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the queries differ: transformer.add is computed for one of them alone}}
  %ob = transformer.attention %qb, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func.func @position_offset(
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attend
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @p : tensor<8x4xf32> from "p" {content = "p"}
func.func @position_offset(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %n = transformer.positions %rows
  %e = transformer.gather @p[%n] : tensor<?x4xf32>
  %qa = transformer.linear %e, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %e, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %e, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %m = transformer.positions %rows {offset = 1 : i64}
  %f = transformer.gather @p[%m] : tensor<?x4xf32>
  %qb = transformer.linear %f, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the queries differ: offset of transformer.positions is 1, not 0}}
  %ob = transformer.attention %qb, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}
