// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -transformer-share-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s

// Two layers of the same rows with the same weights: one key cache and one value cache.
// CHECK-LABEL: func.func @both(
// CHECK-SAME: %[[KC:[a-z0-9]+]]: !transformer.cache<4> {transformer.name = "a.key"}, %[[VC:[a-z0-9]+]]: !transformer.cache<4> {transformer.name = "a.value"}) -> (tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4> {transformer.name = "a.key"}, !transformer.cache<4> {transformer.name = "a.value"})
// CHECK: %[[K:.*]] = transformer.append %[[KC]]
// CHECK: %[[V:.*]] = transformer.append %[[VC]]
// CHECK-NOT: transformer.append
// CHECK: %[[O:.*]] = transformer.attention
// CHECK: return %[[O]], %[[O]], %[[K]], %[[V]]
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "q"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "k"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "v"}
func.func @both(%x: tensor<?x4xf32>, %rows: !transformer.segments, %cak: !transformer.cache<4> {transformer.name = "a.key"}, %cav: !transformer.cache<4> {transformer.name = "a.value"}, %cbk: !transformer.cache<4> {transformer.name = "b.key"}, %cbv: !transformer.cache<4> {transformer.name = "b.value"}) -> (tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4> {transformer.name = "a.key"}, !transformer.cache<4> {transformer.name = "a.value"}, !transformer.cache<4> {transformer.name = "b.key"}, !transformer.cache<4> {transformer.name = "b.value"}) {
  %seen = transformer.history %rows
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka1 = transformer.append %cak, %ka in(%rows) : !transformer.cache<4>
  %kka = transformer.cached %ka1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %va1 = transformer.append %cav, %va in(%rows) : !transformer.cache<4>
  %vva = transformer.cached %va1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %kka, %vva in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @bk : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @bv : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb1 = transformer.append %cbk, %kb in(%rows) : !transformer.cache<4>
  %kkb = transformer.cached %kb1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %vb1 = transformer.append %cbv, %vb in(%rows) : !transformer.cache<4>
  %vvb = transformer.cached %vb1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  // expected-remark @below {{cache_bytes_per_token=32, flops_per_token=96, flops_per_token_and_key=16, weight_bytes=192, what="shares the output of}}
  %ob = transformer.attention %qb, %kkb, %vvb in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob, %ka1, %va1, %kb1, %vb1 : tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4>, !transformer.cache<4>, !transformer.cache<4>, !transformer.cache<4>
}

// -----

// Keys alone: the values have a cache each, the weights are computed once.
// CHECK-LABEL: func.func @key_cache(
// CHECK-SAME: "a.key"}, {{.*}} "a.value"}, {{.*}} "b.value"}) -> ({{.*}} "a.key"}, {{.*}} "a.value"}, {{.*}} "b.value"})
// CHECK: %[[P:.*]] = transformer.attention_weights
// CHECK: transformer.attend %[[P]]
// CHECK: transformer.attend %[[P]]
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "q"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "k"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "w"}
func.func @key_cache(%x: tensor<?x4xf32>, %rows: !transformer.segments, %cak: !transformer.cache<4> {transformer.name = "a.key"}, %cav: !transformer.cache<4> {transformer.name = "a.value"}, %cbk: !transformer.cache<4> {transformer.name = "b.key"}, %cbv: !transformer.cache<4> {transformer.name = "b.value"}) -> (tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4> {transformer.name = "a.key"}, !transformer.cache<4> {transformer.name = "a.value"}, !transformer.cache<4> {transformer.name = "b.key"}, !transformer.cache<4> {transformer.name = "b.value"}) {
  %seen = transformer.history %rows
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka1 = transformer.append %cak, %ka in(%rows) : !transformer.cache<4>
  %kka = transformer.cached %ka1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %va1 = transformer.append %cav, %va in(%rows) : !transformer.cache<4>
  %vva = transformer.cached %va1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %kka, %vva in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @bk : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @bv : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb1 = transformer.append %cbk, %kb in(%rows) : !transformer.cache<4>
  %kkb = transformer.cached %kb1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %vb1 = transformer.append %cbv, %vb in(%rows) : !transformer.cache<4>
  %vvb = transformer.cached %vb1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  // expected-remark @below {{cache_bytes_per_token=16, flops_per_token=64, flops_per_token_and_key=8, weight_bytes=128, what="shares the weights of}}
  %ob = transformer.attention %qb, %kkb, %vvb in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob, %ka1, %va1, %kb1, %vb1 : tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4>, !transformer.cache<4>, !transformer.cache<4>, !transformer.cache<4>
}

// -----

// Cross-layer sharing of keys and values: one layer's caches are read by two, each with its queries.
// CHECK-LABEL: func.func @cross_layer(
// CHECK-SAME: "a.key"}, {{.*}} "a.value"}) -> ({{.*}} "a.key"}, {{.*}} "a.value"})
// CHECK: %[[K:.*]] = transformer.cached
// CHECK: %[[V:.*]] = transformer.cached
// CHECK: transformer.attention %{{.*}}, %[[K]], %[[V]]
// CHECK: transformer.attention %{{.*}}, %[[K]], %[[V]]
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "r"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "k"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "v"}
func.func @cross_layer(%x: tensor<?x4xf32>, %rows: !transformer.segments, %cak: !transformer.cache<4> {transformer.name = "a.key"}, %cav: !transformer.cache<4> {transformer.name = "a.value"}, %cbk: !transformer.cache<4> {transformer.name = "b.key"}, %cbv: !transformer.cache<4> {transformer.name = "b.value"}) -> (tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4> {transformer.name = "a.key"}, !transformer.cache<4> {transformer.name = "a.value"}, !transformer.cache<4> {transformer.name = "b.key"}, !transformer.cache<4> {transformer.name = "b.value"}) {
  %seen = transformer.history %rows
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka1 = transformer.append %cak, %ka in(%rows) : !transformer.cache<4>
  %kka = transformer.cached %ka1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %va1 = transformer.append %cav, %va in(%rows) : !transformer.cache<4>
  %vva = transformer.cached %va1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %kka, %vva in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @bk : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @bv : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb1 = transformer.append %cbk, %kb in(%rows) : !transformer.cache<4>
  %kkb = transformer.cached %kb1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %vb1 = transformer.append %cbv, %vb in(%rows) : !transformer.cache<4>
  %vvb = transformer.cached %vb1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  // expected-remark @+2 {{cache_bytes_per_token=32, flops_per_token=64, flops_per_token_and_key=0, weight_bytes=128, what="shares the keys and values of}}
  // expected-remark @below {{the queries differ: bq has other values}}
  %ob = transformer.attention %qb, %kkb, %vvb in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob, %ka1, %va1, %kb1, %vb1 : tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4>, !transformer.cache<4>, !transformer.cache<4>, !transformer.cache<4>
}

// -----

// Cross-attention: an entry fills the caches that another reads.
// CHECK-LABEL: func.func @encode(
// CHECK-SAME: "a.key"}, {{.*}} "a.value"}) -> ({{.*}} "a.key"}, {{.*}} "a.value"})
// CHECK-COUNT-2: transformer.append
// CHECK-NOT: transformer.append
// CHECK-LABEL: func.func @decode(
// CHECK-SAME: "memory"}, {{.*}} "a.key"}, {{.*}} "a.value"}) -> (tensor<?x4xf32>, tensor<?x4xf32>)
// CHECK: %[[O:.*]] = transformer.attention
// CHECK: return %[[O]], %[[O]]
transformer.parameter @aq : tensor<4x4xf32> from "aq" {content = "q"}
transformer.parameter @ak : tensor<4x4xf32> from "ak" {content = "k"}
transformer.parameter @av : tensor<4x4xf32> from "av" {content = "v"}
transformer.parameter @bq : tensor<4x4xf32> from "bq" {content = "q"}
transformer.parameter @bk : tensor<4x4xf32> from "bk" {content = "k"}
transformer.parameter @bv : tensor<4x4xf32> from "bv" {content = "v"}
func.func @encode(%x: tensor<?x4xf32>, %rows: !transformer.segments, %cak: !transformer.cache<4> {transformer.name = "a.key"}, %cav: !transformer.cache<4> {transformer.name = "a.value"}, %cbk: !transformer.cache<4> {transformer.name = "b.key"}, %cbv: !transformer.cache<4> {transformer.name = "b.value"}) -> (!transformer.cache<4> {transformer.name = "a.key"}, !transformer.cache<4> {transformer.name = "a.value"}, !transformer.cache<4> {transformer.name = "b.key"}, !transformer.cache<4> {transformer.name = "b.value"}) {
  %ka = transformer.linear %x, @ak : tensor<?x4xf32> -> tensor<?x4xf32>
  %va = transformer.linear %x, @av : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka1 = transformer.append %cak, %ka in(%rows) : !transformer.cache<4>
  %va1 = transformer.append %cav, %va in(%rows) : !transformer.cache<4>
  %kb = transformer.linear %x, @bk : tensor<?x4xf32> -> tensor<?x4xf32>
  %vb = transformer.linear %x, @bv : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb1 = transformer.append %cbk, %kb in(%rows) : !transformer.cache<4>
  %vb1 = transformer.append %cbv, %vb in(%rows) : !transformer.cache<4>
  return %ka1, %va1, %kb1, %vb1 : !transformer.cache<4>, !transformer.cache<4>, !transformer.cache<4>, !transformer.cache<4>
}
func.func @decode(%x: tensor<?x4xf32>, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}, %cak: !transformer.cache<4> {transformer.name = "a.key"}, %cav: !transformer.cache<4> {transformer.name = "a.value"}, %cbk: !transformer.cache<4> {transformer.name = "b.key"}, %cbv: !transformer.cache<4> {transformer.name = "b.value"}) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %qa = transformer.linear %x, @aq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kka = transformer.cached %cak in(%memory) : !transformer.cache<4> -> tensor<?x4xf32>
  %vva = transformer.cached %cav in(%memory) : !transformer.cache<4> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %kka, %vva in(%rows, %memory) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @bq : tensor<?x4xf32> -> tensor<?x4xf32>
  %kkb = transformer.cached %cbk in(%memory) : !transformer.cache<4> -> tensor<?x4xf32>
  %vvb = transformer.cached %cbv in(%memory) : !transformer.cache<4> -> tensor<?x4xf32>
  // expected-remark @below {{cache_bytes_per_token=32, flops_per_token=96, flops_per_token_and_key=16, weight_bytes=192, what="shares the output of}}
  %ob = transformer.attention %qb, %kkb, %vvb in(%rows, %memory) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// An entry that has only the second of two equal caches has it under the name of the first.
// CHECK-LABEL: func.func @fill(
// CHECK-SAME: "a.key"}) -> ({{.*}} "a.key"})
// CHECK-LABEL: func.func @read_second(
// CHECK-SAME: %[[C:[a-z0-9]+]]: !transformer.cache<4> {transformer.name = "a.key"})
// CHECK: transformer.cached %[[C]]
// CHECK-LABEL: func.func @read_first(
// CHECK-SAME: %[[C:[a-z0-9]+]]: !transformer.cache<4> {transformer.name = "a.key"})
transformer.parameter @w : tensor<4x4xf32> from "w" {content = "w"}
transformer.parameter @u : tensor<4x4xf32> from "u" {content = "w"}
func.func @fill(%x: tensor<?x4xf32>, %rows: !transformer.segments, %c0: !transformer.cache<4> {transformer.name = "a.key"}, %c1: !transformer.cache<4> {transformer.name = "b.key"}) -> (!transformer.cache<4> {transformer.name = "a.key"}, !transformer.cache<4> {transformer.name = "b.key"}) {
  %k = transformer.linear %x, @w : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{what=transformer.linear}}
  %l = transformer.linear %x, @u : tensor<?x4xf32> -> tensor<?x4xf32>
  %k1 = transformer.append %c0, %k in(%rows) : !transformer.cache<4>
  // expected-remark @below {{cache_bytes_per_token=16, flops_per_token=0, flops_per_token_and_key=0, weight_bytes=0, what=transformer.append}}
  %l1 = transformer.append %c1, %l in(%rows) : !transformer.cache<4>
  return %k1, %l1 : !transformer.cache<4>, !transformer.cache<4>
}
func.func @read_second(%x: tensor<?x4xf32>, %rows: !transformer.segments, %memory: !transformer.segments, %c: !transformer.cache<4> {transformer.name = "b.key"}) -> tensor<?x4xf32> {
  %k = transformer.cached %c in(%memory) : !transformer.cache<4> -> tensor<?x4xf32>
  %o = transformer.attention %x, %k, %k in(%rows, %memory) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}
func.func @read_first(%x: tensor<?x4xf32>, %rows: !transformer.segments, %memory: !transformer.segments, %c: !transformer.cache<4> {transformer.name = "a.key"}) -> tensor<?x4xf32> {
  %k = transformer.cached %c in(%memory) : !transformer.cache<4> -> tensor<?x4xf32>
  %o = transformer.attention %x, %k, %k in(%rows, %memory) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

// -----

// The cache that stays is the first by name, what appends to it the first in the program.
// CHECK-LABEL: func.func @appended_later(
// CHECK-SAME: %[[KC:[a-z0-9]+]]: !transformer.cache<4> {transformer.name = "a.key"}, %{{[a-z0-9]+}}: !transformer.cache<4> {transformer.name = "value"})
// CHECK: %[[K:.*]] = transformer.append %[[KC]]
// CHECK: %[[R:.*]] = transformer.cached %[[K]]
// CHECK: transformer.attention %{{.*}}, %[[R]], %{{.*}}
// CHECK: transformer.attention %{{.*}}, %[[R]], %{{.*}}
// CHECK: return %{{.*}}, %{{.*}}, %[[K]], %{{.*}} :
transformer.parameter @w : tensor<4x4xf32> from "w" {content = "w"}
func.func @appended_later(%x: tensor<?x4xf32>, %rows: !transformer.segments, %c0: !transformer.cache<4> {transformer.name = "a.key"}, %c1: !transformer.cache<4> {transformer.name = "b.key"}, %c2: !transformer.cache<4> {transformer.name = "value"}) -> (tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4> {transformer.name = "a.key"}, !transformer.cache<4> {transformer.name = "b.key"}, !transformer.cache<4> {transformer.name = "value"}) {
  %seen = transformer.history %rows
  %k = transformer.linear %x, @w : tensor<?x4xf32> -> tensor<?x4xf32>
  %v1 = transformer.append %c2, %x in(%rows) : !transformer.cache<4>
  %v = transformer.cached %v1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %l1 = transformer.append %c1, %k in(%rows) : !transformer.cache<4>
  %l = transformer.cached %l1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %oa = transformer.attention %x, %l, %v in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %k1 = transformer.append %c0, %k in(%rows) : !transformer.cache<4>
  %kk = transformer.cached %k1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %y = transformer.activate relu %oa : tensor<?x4xf32>
  // expected-remark @+2 {{cache_bytes_per_token=16, flops_per_token=0, flops_per_token_and_key=0, weight_bytes=0, what="shares the keys and values of}}
  // expected-remark @below {{the queries differ: transformer.activate is computed for one of them alone}}
  %ob = transformer.attention %y, %kk, %v in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob, %k1, %l1, %v1 : tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4>, !transformer.cache<4>, !transformer.cache<4>
}
