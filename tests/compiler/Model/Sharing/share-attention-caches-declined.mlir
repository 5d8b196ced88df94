// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -transformer-share-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s

// What is appended to the second caches is computed from the first: all are equal together.
// CHECK-LABEL: func.func @towers(
// CHECK-SAME: "a.0"}, {{.*}} "a.1"}) -> (tensor<?x4xf32>, tensor<?x4xf32>, {{.*}} "a.0"}, {{.*}} "a.1"})
// CHECK-COUNT-2: transformer.attention %
// CHECK-NOT: transformer.attention
transformer.parameter @q : tensor<4x4xf32> from "q"
transformer.parameter @k : tensor<4x4xf32> from "k"
transformer.parameter @aw : tensor<4x4xf32> from "aw" {content = "w"}
transformer.parameter @bw : tensor<4x4xf32> from "bw" {content = "w"}
func.func @towers(%x: tensor<?x4xf32>, %rows: !transformer.segments, %ca0: !transformer.cache<4> {transformer.name = "a.0"}, %ca1: !transformer.cache<4> {transformer.name = "a.1"}, %cb0: !transformer.cache<4> {transformer.name = "b.0"}, %cb1: !transformer.cache<4> {transformer.name = "b.1"}) -> (tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4> {transformer.name = "a.0"}, !transformer.cache<4> {transformer.name = "a.1"}, !transformer.cache<4> {transformer.name = "b.0"}, !transformer.cache<4> {transformer.name = "b.1"}) {
  %seen = transformer.history %rows
  %qa = transformer.linear %x, @q : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @k : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka1 = transformer.append %ca0, %ka in(%rows) : !transformer.cache<4>
  %kka = transformer.cached %ka1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %kka, %kka in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %ma = transformer.linear %oa, @aw : tensor<?x4xf32> -> tensor<?x4xf32>
  %ma1 = transformer.append %ca1, %ma in(%rows) : !transformer.cache<4>
  %mma = transformer.cached %ma1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %ua = transformer.attention %ma, %mma, %mma in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @q : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @k : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb1 = transformer.append %cb0, %kb in(%rows) : !transformer.cache<4>
  %kkb = transformer.cached %kb1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  // expected-remark @below {{what="shares the output of}}
  %ob = transformer.attention %qb, %kkb, %kkb in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %mb = transformer.linear %ob, @bw : tensor<?x4xf32> -> tensor<?x4xf32>
  %mb1 = transformer.append %cb1, %mb in(%rows) : !transformer.cache<4>
  %mmb = transformer.cached %mb1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  // expected-remark @below {{what="shares the output of}}
  %ub = transformer.attention %mb, %mmb, %mmb in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %ua, %ub, %ka1, %ma1, %kb1, %mb1 : tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4>, !transformer.cache<4>, !transformer.cache<4>, !transformer.cache<4>
}

// -----

// One weight between them differs: the first caches are equal, the second are not.
// CHECK-LABEL: func.func @other_tower(
// CHECK-SAME: "a.0"}, {{.*}} "a.1"}, {{.*}} "b.1"}) -> (
// CHECK-COUNT-3: transformer.attention %
transformer.parameter @q : tensor<4x4xf32> from "q"
transformer.parameter @k : tensor<4x4xf32> from "k"
transformer.parameter @aw : tensor<4x4xf32> from "aw" {content = "w"}
transformer.parameter @bw : tensor<4x4xf32> from "bw" {content = "w1"}
func.func @other_tower(%x: tensor<?x4xf32>, %rows: !transformer.segments, %ca0: !transformer.cache<4> {transformer.name = "a.0"}, %ca1: !transformer.cache<4> {transformer.name = "a.1"}, %cb0: !transformer.cache<4> {transformer.name = "b.0"}, %cb1: !transformer.cache<4> {transformer.name = "b.1"}) -> (tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4> {transformer.name = "a.0"}, !transformer.cache<4> {transformer.name = "a.1"}, !transformer.cache<4> {transformer.name = "b.0"}, !transformer.cache<4> {transformer.name = "b.1"}) {
  %seen = transformer.history %rows
  %qa = transformer.linear %x, @q : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka = transformer.linear %x, @k : tensor<?x4xf32> -> tensor<?x4xf32>
  %ka1 = transformer.append %ca0, %ka in(%rows) : !transformer.cache<4>
  %kka = transformer.cached %ka1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %oa = transformer.attention %qa, %kka, %kka in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %ma = transformer.linear %oa, @aw : tensor<?x4xf32> -> tensor<?x4xf32>
  %ma1 = transformer.append %ca1, %ma in(%rows) : !transformer.cache<4>
  %mma = transformer.cached %ma1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %ua = transformer.attention %ma, %mma, %mma in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %qb = transformer.linear %x, @q : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb = transformer.linear %x, @k : tensor<?x4xf32> -> tensor<?x4xf32>
  %kb1 = transformer.append %cb0, %kb in(%rows) : !transformer.cache<4>
  %kkb = transformer.cached %kb1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  // expected-remark @below {{what="shares the output of}}
  %ob = transformer.attention %qb, %kkb, %kkb in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %mb = transformer.linear %ob, @bw : tensor<?x4xf32> -> tensor<?x4xf32>
  %mb1 = transformer.append %cb1, %mb in(%rows) : !transformer.cache<4>
  %mmb = transformer.cached %mb1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %ub = transformer.attention %mb, %mmb, %mmb in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<causal>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %ua, %ub, %ka1, %ma1, %kb1, %mb1 : tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4>, !transformer.cache<4>, !transformer.cache<4>, !transformer.cache<4>
}

// -----

// Other rows in one of two entries that append to the caches: keys of earlier runs differ.
// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: "a.key"}, {{.*}} "b.key"})
// CHECK-LABEL: func.func @step(
// CHECK-SAME: "a.key"}, {{.*}} "b.key"})
// CHECK-COUNT-2: transformer.attention %
transformer.parameter @w : tensor<4x4xf32> from "w" {content = "w"}
transformer.parameter @u : tensor<4x4xf32> from "u" {content = "w1"}
func.func @prefill(%x: tensor<?x4xf32>, %rows: !transformer.segments, %c0: !transformer.cache<4> {transformer.name = "a.key"}, %c1: !transformer.cache<4> {transformer.name = "b.key"}) -> (!transformer.cache<4> {transformer.name = "a.key"}, !transformer.cache<4> {transformer.name = "b.key"}) {
  %k = transformer.linear %x, @w : tensor<?x4xf32> -> tensor<?x4xf32>
  %l = transformer.linear %x, @u : tensor<?x4xf32> -> tensor<?x4xf32>
  %k1 = transformer.append %c0, %k in(%rows) : !transformer.cache<4>
  %l1 = transformer.append %c1, %l in(%rows) : !transformer.cache<4>
  return %k1, %l1 : !transformer.cache<4>, !transformer.cache<4>
}
func.func @step(%x: tensor<?x4xf32>, %rows: !transformer.segments, %c0: !transformer.cache<4> {transformer.name = "a.key"}, %c1: !transformer.cache<4> {transformer.name = "b.key"}) -> (tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4> {transformer.name = "a.key"}, !transformer.cache<4> {transformer.name = "b.key"}) {
  %seen = transformer.history %rows
  %k = transformer.linear %x, @w : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{what=transformer.linear}}
  %l = transformer.linear %x, @w : tensor<?x4xf32> -> tensor<?x4xf32>
  %k1 = transformer.append %c0, %k in(%rows) : !transformer.cache<4>
  %l1 = transformer.append %c1, %l in(%rows) : !transformer.cache<4>
  %kk = transformer.cached %k1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %ll = transformer.cached %l1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %oa = transformer.attention %x, %kk, %x in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the keys differ: @prefill appends other rows to cache "b.key" than to "a.key": u has other values}}
  %ob = transformer.attention %x, %ll, %x in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob, %k1, %l1 : tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4>, !transformer.cache<4>
}

// -----

// An entry that appends to one of the caches alone.
// CHECK-LABEL: func.func @one(
// CHECK-LABEL: func.func @step(
// CHECK-SAME: "a.key"}, {{.*}} "b.key"})
transformer.parameter @w : tensor<4x4xf32> from "w" {content = "w"}
func.func @one(%x: tensor<?x4xf32>, %rows: !transformer.segments, %c1: !transformer.cache<4> {transformer.name = "b.key"}) -> (!transformer.cache<4> {transformer.name = "b.key"}) {
  %l = transformer.linear %x, @w : tensor<?x4xf32> -> tensor<?x4xf32>
  %l1 = transformer.append %c1, %l in(%rows) : !transformer.cache<4>
  return %l1 : !transformer.cache<4>
}
func.func @step(%x: tensor<?x4xf32>, %rows: !transformer.segments, %c0: !transformer.cache<4> {transformer.name = "a.key"}, %c1: !transformer.cache<4> {transformer.name = "b.key"}) -> (tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4> {transformer.name = "a.key"}, !transformer.cache<4> {transformer.name = "b.key"}) {
  %seen = transformer.history %rows
  %k = transformer.linear %x, @w : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{what=transformer.linear}}
  %l = transformer.linear %x, @w : tensor<?x4xf32> -> tensor<?x4xf32>
  %k1 = transformer.append %c0, %k in(%rows) : !transformer.cache<4>
  %l1 = transformer.append %c1, %l in(%rows) : !transformer.cache<4>
  %kk = transformer.cached %k1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %ll = transformer.cached %l1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %oa = transformer.attention %x, %kk, %x in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the keys differ: @one appends to cache "b.key" and not to "a.key"}}
  %ob = transformer.attention %x, %ll, %x in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob, %k1, %l1 : tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4>, !transformer.cache<4>
}

// -----

// The same rows in all, appended in another order: one cache begins with what the other ends with.
// CHECK-LABEL: func.func @p(
// CHECK-SAME: "a.key"}, {{.*}} "b.key"})
// CHECK-LABEL: func.func @q(
// CHECK-SAME: "a.key"}, {{.*}} "b.key"})
// CHECK-LABEL: func.func @step(
// CHECK-COUNT-2: transformer.attention %
transformer.parameter @w : tensor<4x4xf32> from "w" {content = "w"}
transformer.parameter @u : tensor<4x4xf32> from "u" {content = "u"}
func.func @p(%x: tensor<?x4xf32>, %rows: !transformer.segments, %c0: !transformer.cache<4> {transformer.name = "a.key"}, %c1: !transformer.cache<4> {transformer.name = "b.key"}) -> (!transformer.cache<4> {transformer.name = "a.key"}, !transformer.cache<4> {transformer.name = "b.key"}) {
  %k = transformer.linear %x, @w : tensor<?x4xf32> -> tensor<?x4xf32>
  %l = transformer.linear %x, @u : tensor<?x4xf32> -> tensor<?x4xf32>
  %k1 = transformer.append %c0, %k in(%rows) : !transformer.cache<4>
  %l1 = transformer.append %c1, %l in(%rows) : !transformer.cache<4>
  return %k1, %l1 : !transformer.cache<4>, !transformer.cache<4>
}
func.func @q(%x: tensor<?x4xf32>, %rows: !transformer.segments, %c0: !transformer.cache<4> {transformer.name = "a.key"}, %c1: !transformer.cache<4> {transformer.name = "b.key"}) -> (!transformer.cache<4> {transformer.name = "a.key"}, !transformer.cache<4> {transformer.name = "b.key"}) {
  %k = transformer.linear %x, @u : tensor<?x4xf32> -> tensor<?x4xf32>
  %l = transformer.linear %x, @w : tensor<?x4xf32> -> tensor<?x4xf32>
  %k1 = transformer.append %c0, %k in(%rows) : !transformer.cache<4>
  %l1 = transformer.append %c1, %l in(%rows) : !transformer.cache<4>
  return %k1, %l1 : !transformer.cache<4>, !transformer.cache<4>
}
func.func @step(%x: tensor<?x4xf32>, %rows: !transformer.segments, %c0: !transformer.cache<4> {transformer.name = "a.key"}, %c1: !transformer.cache<4> {transformer.name = "b.key"}) -> (tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4> {transformer.name = "a.key"}, !transformer.cache<4> {transformer.name = "b.key"}) {
  %seen = transformer.history %rows
  %k = transformer.linear %x, @w : tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{what=transformer.linear}}
  %l = transformer.linear %x, @w : tensor<?x4xf32> -> tensor<?x4xf32>
  %k1 = transformer.append %c0, %k in(%rows) : !transformer.cache<4>
  %l1 = transformer.append %c1, %l in(%rows) : !transformer.cache<4>
  %kk = transformer.cached %k1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %ll = transformer.cached %l1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %oa = transformer.attention %x, %kk, %x in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the keys differ: @p appends other rows to cache "b.key" than to "a.key": u has other values}}
  %ob = transformer.attention %x, %ll, %x in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob, %k1, %l1 : tensor<?x4xf32>, tensor<?x4xf32>, !transformer.cache<4>, !transformer.cache<4>
}

// -----

// Nothing appends to them: what they have, the program does not say.
// CHECK-LABEL: func.func @given(
// CHECK-SAME: "a.key"}, {{.*}} "b.key"})
func.func @given(%x: tensor<?x4xf32>, %rows: !transformer.segments, %memory: !transformer.segments, %c0: !transformer.cache<4> {transformer.name = "a.key"}, %c1: !transformer.cache<4> {transformer.name = "b.key"}) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %kk = transformer.cached %c0 in(%memory) : !transformer.cache<4> -> tensor<?x4xf32>
  %ll = transformer.cached %c1 in(%memory) : !transformer.cache<4> -> tensor<?x4xf32>
  %oa = transformer.attention %x, %kk, %x in(%rows, %memory) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  // expected-remark @below {{the keys differ: nothing appends to cache "b.key"}}
  %ob = transformer.attention %x, %ll, %x in(%rows, %memory) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %oa, %ob : tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// Equal rows that are read as keys and as values lie in memory in two ways.
// CHECK-LABEL: func.func @two_ways(
// CHECK-SAME: "a.key"}, {{.*}} "a.value"})
// CHECK-COUNT-2: transformer.append
transformer.parameter @w : tensor<4x4xf32> from "w"
func.func @two_ways(%x: tensor<?x4xf32>, %rows: !transformer.segments, %c0: !transformer.cache<4> {transformer.name = "a.key"}, %c1: !transformer.cache<4> {transformer.name = "a.value"}) -> (tensor<?x4xf32>, !transformer.cache<4> {transformer.name = "a.key"}, !transformer.cache<4> {transformer.name = "a.value"}) {
  %seen = transformer.history %rows
  %k = transformer.linear %x, @w : tensor<?x4xf32> -> tensor<?x4xf32>
  %k1 = transformer.append %c0, %k in(%rows) : !transformer.cache<4>
  %v1 = transformer.append %c1, %k in(%rows) : !transformer.cache<4>
  %kk = transformer.cached %k1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %vv = transformer.cached %v1 in(%seen) : !transformer.cache<4> -> tensor<?x4xf32>
  %o = transformer.attention %x, %kk, %vv in(%rows, %seen) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %o, %k1, %v1 : tensor<?x4xf32>, !transformer.cache<4>, !transformer.cache<4>
}

// -----

// A cache of another width.
// CHECK-LABEL: func.func @width(
// CHECK-SAME: "a.key"}, {{.*}} "b.key"})
transformer.parameter @w : tensor<4x4xf32> from "w"
transformer.parameter @u : tensor<8x4xf32> from "u"
func.func @width(%x: tensor<?x4xf32>, %rows: !transformer.segments, %c0: !transformer.cache<4> {transformer.name = "a.key"}, %c1: !transformer.cache<8> {transformer.name = "b.key"}) -> (!transformer.cache<4> {transformer.name = "a.key"}, !transformer.cache<8> {transformer.name = "b.key"}) {
  %k = transformer.linear %x, @w : tensor<?x4xf32> -> tensor<?x4xf32>
  %l = transformer.linear %x, @u : tensor<?x4xf32> -> tensor<?x8xf32>
  %k1 = transformer.append %c0, %k in(%rows) : !transformer.cache<4>
  %l1 = transformer.append %c1, %l in(%rows) : !transformer.cache<8>
  return %k1, %l1 : !transformer.cache<4>, !transformer.cache<8>
}
