// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -transformer-share-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s

// The same weights under other names: the whole second attention is the first. Each linear map has
// 2 * 4 * 4 operations a row, attention 2 * (4 + 4) a row and key; three matrices of 64 bytes go.
// CHECK: transformer.parameter @av
// CHECK-NOT: transformer.parameter
// CHECK-LABEL: func.func @output(
// CHECK: %[[O:.*]] = transformer.attention
// CHECK-NOT: transformer.linear
// CHECK: return %[[O]], %[[O]]
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "q"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "k"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "v"}
func.func @output(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @bk : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @bv : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{flops_per_token=96, flops_per_token_and_key=16, weight_bytes=192, what="shares the output of}}
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Only the values differ: the weights are computed once.
// CHECK-LABEL: func.func @weights(
// CHECK: %[[Q:.*]] = transformer.linear %{{.*}}, @aq
// CHECK: %[[K:.*]] = transformer.linear %{{.*}}, @ak
// CHECK: %[[V:.*]] = transformer.linear %{{.*}}, @av
// CHECK: %[[P:.*]] = transformer.attention_weights %[[Q]], %[[K]] in(%{{.*}}, %{{.*}}) {heads = 2 : i64, scale = 5.000000e-01 : f32, visibility = #transformer.visibility<causal>} : {{.*}} -> tensor<?x2x?xf32>
// CHECK: %[[A:.*]] = transformer.attend %[[P]], %[[V]] in(%{{.*}}, %{{.*}}) {visibility = #transformer.visibility<causal>}
// CHECK: %[[W:.*]] = transformer.linear %{{.*}}, @bv
// CHECK: %[[B:.*]] = transformer.attend %[[P]], %[[W]]
// CHECK: return %[[A]], %[[B]]
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "q"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "k"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "w"}
func.func @weights(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @bk : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @bv : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{with values of its own}}
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Three layers, the second with all of the first, the third with its weights.
// CHECK-LABEL: func.func @three(
// CHECK: %[[P:.*]] = transformer.attention_weights
// CHECK: %[[A:.*]] = transformer.attend %[[P]]
// CHECK: %[[C:.*]] = transformer.attend %[[P]]
// CHECK: return %[[A]], %[[A]], %[[C]]
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "q"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "k"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "v"}
transformer.parameter @cq : tensor<4x4xf32> from "cq" {content = "q"}
transformer.parameter @ck : tensor<4x4xf32> from "ck" {content = "k"}
transformer.parameter @cv : tensor<4x4xf32> from "cv" {content = "w"}
func.func @three(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @bk : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @bv : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{shares the output of}}
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qc = transformer.linear %x, @cq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kc = transformer.linear %x, @ck : tensor<?x4xf32> -> tensor<?x4xf32>
  %vc = transformer.linear %x, @cv : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{shares the weights of}}
  %oc = transformer.attention %qc, %kc, %vc in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob, %oc : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Keys and values of one layer read by another, with queries of its own.
// CHECK-LABEL: func.func @keys_values(
// CHECK: %[[K:.*]] = transformer.linear %{{.*}}, @ak
// CHECK: %[[V:.*]] = transformer.linear %{{.*}}, @av
// CHECK: transformer.attention %{{.*}}, %[[K]], %[[V]]
// CHECK: %[[Q:.*]] = transformer.linear %{{.*}}, @bq
// CHECK: transformer.attention %[[Q]], %[[K]], %[[V]]
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "r"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "k"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "v"}
func.func @keys_values(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @bk : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @bv : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @+2 {{flops_per_token=64, flops_per_token_and_key=0, weight_bytes=128, what="shares the keys and values of}}
  // expected-remark @below {{the queries differ: bq has other values}}
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func.func @values_alone(
// CHECK: %[[V:.*]] = transformer.linear %{{.*}}, @av
// CHECK: transformer.attention %{{.*}}, %{{.*}}, %[[V]]
// CHECK: transformer.attention %{{.*}}, %{{.*}}, %[[V]]
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "r"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "l"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "v"}
func.func @values_alone(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @bk : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @bv : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{shares the values of}}
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// A sum in another order is the same sum, and so is a product.
// CHECK-LABEL: func.func @commutative(
// CHECK: transformer.add
// CHECK-NOT: transformer.add
// CHECK: transformer.multiply
// CHECK-NOT: transformer.multiply
// CHECK: %[[O:.*]] = transformer.attention
// CHECK: return %[[O]], %[[O]]
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
func.func @commutative(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %s = transformer.add %x, %y : tensor<?x4xf32>, tensor<?x4xf32>
  %m = transformer.multiply %s, %x : tensor<?x4xf32>
  %qa = transformer.linear %m, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %m, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %m, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %s2 = transformer.add %y, %x : tensor<?x4xf32>, tensor<?x4xf32>
  %m2 = transformer.multiply %x, %s2 : tensor<?x4xf32>
  %qb = transformer.linear %m2, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %m2, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %m2, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{shares the output of}}
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// No bias is a bias of zeros.
// CHECK-LABEL: func.func @zero_bias(
// CHECK: transformer.attention_weights
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "q"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "k"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "w"}
transformer.parameter @z : tensor<4xf32> = zeros()
func.func @zero_bias(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @bq, @z : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @bk, @z : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @bv, @z : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{shares the weights of}}
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Queries, keys and values that are columns of one map with concatenated weights.
// CHECK-LABEL: func.func @columns(
// CHECK: %[[O:.*]] = transformer.attention
// CHECK-NOT: transformer.columns
// CHECK: return %[[O]], %[[O]]
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "q"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "k"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "v"}
transformer.parameter @qkv : tensor<12x4xf32> = concat(@bq, @bk, @bv)
func.func @columns(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %m = transformer.linear %x, @qkv : tensor<?x4xf32> -> tensor<?x12xf32>
  %kv = transformer.columns %m from 4 : tensor<?x12xf32> -> tensor<?x8xf32>
  %qb = transformer.columns %m from 0 : tensor<?x12xf32> -> tensor<?x4xf32>
  %kb = transformer.columns %kv from 0 : tensor<?x8xf32> -> tensor<?x4xf32>
  %vb = transformer.columns %kv from 4 : tensor<?x8xf32> -> tensor<?x4xf32>
  // expected-remark @below {{shares the output of}}
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Weights made of equal contents in the same way.
// CHECK-LABEL: func.func @expressions(
// CHECK: transformer.attention_weights
transformer.parameter @aq : tensor<2x2x4xf32> from "aq" {content = "q"}
transformer.parameter @aqm : tensor<4x4xf32> = reshape(@aq)
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @akt : tensor<4x4xf32> = transpose(@ak)
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<2x2x4xf32> from "bq" {content = "q"}
transformer.parameter @bqm : tensor<4x4xf32> = reshape(@bq)
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "k"}
transformer.parameter @bkt : tensor<4x4xf32> = transpose(@bk)
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "w"}
func.func @expressions(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aqm : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @akt : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @bqm : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @bkt : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @bv : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{shares the weights of}}
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Tables of position biases: one name for one content, whatever else differs.
// CHECK-LABEL: func.func @biases(
// CHECK: transformer.attention {{.*}}bias = @at
// CHECK: transformer.attention {{.*}}bias = @at
// CHECK: transformer.attention {{.*}}bias = @at
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "r"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "l"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "w"}
transformer.parameter @at : tensor<2x5xf32> from "at" {content = "t"}
transformer.parameter @bt : tensor<2x5xf32> from "bt" {content = "t"}
func.func @biases(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {bias = @at, heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @bk : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @bv : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the position bias @bt is @at}}
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {bias = @bt, heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the queries differ: aq has other values}}
  %oc = transformer.attention %qa, %kb, %va in(%rows, %rows) {bias = @at, heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob, %oc : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Equal values beside attention.
// CHECK-LABEL: func.func @others(
// CHECK: %[[L:.*]] = transformer.linear
// CHECK: %[[N:.*]] = transformer.layer_norm %[[L]]
// CHECK: return %[[N]], %[[N]]
transformer.parameter @aw : tensor<4x4xf32> from "aw" {content = "w"}
transformer.parameter @bw : tensor<4x4xf32> from "bw" {content = "w"}
transformer.parameter @an : tensor<4xf32> from "an" {content = "n"}
transformer.parameter @bn : tensor<4xf32> from "bn" {content = "n"}
transformer.parameter @ab : tensor<4xf32> from "ab" {content = "b"}
transformer.parameter @bb : tensor<4xf32> from "bb" {content = "b"}
func.func @others(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %la = transformer.linear %x, @aw : tensor<?x4xf32> -> tensor<?x4xf32>
  %na = transformer.layer_norm %la, @an, @ab {epsilon = 1.0e-6 : f32} : tensor<?x4xf32>
  // expected-remark @below {{what=transformer.linear}}
  %lb = transformer.linear %x, @bw : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{what=transformer.layer_norm}}
  %nb = transformer.layer_norm %lb, @bn, @bb {epsilon = 1.0e-6 : f32} : tensor<?x4xf32>
  return %na, %nb : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Weights that one layer has declared are those of another.
// CHECK-LABEL: func.func @declared(
// CHECK: %[[P:.*]] = transformer.attention_weights
// CHECK: transformer.attend %[[P]]
// CHECK-NOT: transformer.attention
// CHECK: transformer.attend %[[P]]
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "q"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "k"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "w"}
func.func @declared(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %p = transformer.attention_weights %qa, %ka in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x2x?xf32>
  %oa = transformer.attend %p, %va in(%rows, %rows) {visibility = #transformer.visibility<all>} : tensor<?x2x?xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @bk : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @bv : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{shares the weights of}}
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}
