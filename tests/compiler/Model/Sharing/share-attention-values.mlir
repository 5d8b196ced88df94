// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -transformer-share-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s

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
