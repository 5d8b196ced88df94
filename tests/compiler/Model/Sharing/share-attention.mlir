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

// -----

// Weights that a caller may ask for are those of the layer that is left, and no candidates.
// CHECK-LABEL: func.func @asked_for(
// CHECK: %[[O:.*]] = transformer.attention %
// CHECK: %[[P:.*]] = transformer.attention_weights
// CHECK-NOT: transformer.attention
// CHECK: return %[[O]], %[[P]], %[[O]], %[[P]]
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "q"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "k"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "v"}
func.func @asked_for(%x: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x4xf32>, tensor<?x2x?xf32>, tensor<?x4xf32>, tensor<?x2x?xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %ka, %va in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %pa = transformer.attention_weights %qa, %ka in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x2x?xf32>
  %qb = transformer.linear %x, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @bk : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @bv : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{flops_per_token=96, flops_per_token_and_key=16, weight_bytes=192, what="shares the output of}}
  %ob = transformer.attention %qb, %kb, %vb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %pb = transformer.attention_weights %qb, %kb in(%rows, %rows) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x2x?xf32>
  return %oa, %pa, %ob, %pb : tensor<?x4xf32>, tensor<?x2x?xf32>, tensor<?x4xf32>, tensor<?x2x?xf32>
}
