// SPDX-License-Identifier: Apache-2.0
// Values that are summed with weights which no softmax gives: of another normaliser, or changed after
// it. A kernel sums them all the same.
// RUN: heddle-opt %s -split-input-file -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s

!rows = tensor<?x12xf32>
!heads = tensor<?x2x6xf32>
!scores = tensor<?x2x?xf32>

// CHECK-LABEL: func.func @divided_by_their_sum(
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<?x2x?xf32>, %[[V:[a-z0-9]+]]: tensor<?x12xf32>
// CHECK: %[[P:.*]] = transformer.divide_by_sum
// CHECK: %[[A:.*]] = transformer.attend %[[P]], %[[V]] in(%[[R:.*]], %[[K:.*]]) {visibility = #transformer.visibility<all>} : tensor<?x2x?xf32>, tensor<?x12xf32> -> tensor<?x12xf32>
// CHECK: return %[[A]]
func.func @divided_by_their_sum(%s: !scores, %v: !rows, %rows: !transformer.segments, %source: !transformer.segments) -> !rows {
  %g = transformer.activate sigmoid %s : !scores
  %p = transformer.divide_by_sum %g in(%source) : !scores
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{2 heads of weights that no softmax gives, values of 6}}
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %source) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

// Other orders: values first and the same for all heads, the result with its heads in front. A factor
// of the values stays where it is.
// CHECK-LABEL: func.func @in_other_orders(
// CHECK: %[[X:.*]] = transformer.scale %{{.*}}, 3.000000e+00
// CHECK: %[[A:.*]] = transformer.attend %{{.*}}, %[[X]] in(%{{.*}}, %{{.*}}) {value_share = 2 : i64, visibility = #transformer.visibility<all>} : tensor<?x2x?xf32>, tensor<?x12xf32> -> tensor<?x24xf32>
// CHECK: %[[H:.*]] = transformer.split_heads %[[A]]
// CHECK: transformer.transpose %[[H]] [1, 0, 2]
func.func @in_other_orders(%p: !scores, %v: !rows, %rows: !transformer.segments) -> tensor<2x?x12xf32> {
  %x = transformer.scale %v, 3.0 : !rows
  %q = transformer.multiply %p, %p : !scores, !scores
  // expected-remark @below {{2 heads of weights that no softmax gives, values of 12}}
  %c = transformer.contract "kd,thk->htd" %x, %q in(%rows, %rows) : !rows, !scores -> tensor<2x?x12xf32>
  return %c : tensor<2x?x12xf32>
}

// The difference of two softmaxes: each is weights alone.
// CHECK-LABEL: func.func @differential(
// CHECK-COUNT-2: transformer.attention_weights
// CHECK: %[[D:.*]] = transformer.add
// CHECK: transformer.attend %[[D]],
// CHECK-NOT: transformer.contract
func.func @differential(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  // expected-remark @below {{weights alone: the probabilities are not contracted with values (transformer.add)}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  // expected-remark @below {{weights alone: the probabilities are not contracted with values (transformer.add)}}
  %t = transformer.contract "thd,khd->thk" %kh, %qh in(%rows, %rows) : !heads, !heads -> !scores
  %p = transformer.softmax %s in(%rows) : !scores
  %r = transformer.softmax %t in(%rows) : !scores
  %less = transformer.scale %r, -8.0e-01 : !scores
  %d = transformer.add %p, %less : !scores, !scores
  // expected-remark @below {{2 heads of weights that no softmax gives, values of 6}}
  %c = transformer.contract "thk,khd->thd" %d, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

// -----

!rows = tensor<?x12xf32>
!scores = tensor<?x2x?xf32>

// Values of other axes, and those of a cache that lies as keys.
// CHECK-LABEL: func.func @declined(
// CHECK-NOT: transformer.attend{{ }}
func.func @declined(%p: !scores, %q: !rows, %v: tensor<?x3x4xf32>, %c: !transformer.cache<12> {transformer.name = "c"}, %rows: !transformer.segments, %source: !transformer.segments) -> (tensor<?x2x3x4xf32>, tensor<?x2x12xf32>) {
  %keys = transformer.cached %c in(%source) : !transformer.cache<12> -> !rows
  %g = transformer.activate sigmoid %p : !scores
  // expected-remark @below {{not fused: the values are not split into the heads of the scores}}
  %x = transformer.contract "thk,kgd->thgd" %g, %v in(%rows, %rows) : !scores, tensor<?x3x4xf32> -> tensor<?x2x3x4xf32>
  %w = transformer.attention_weights %q, %keys in(%rows, %source) {heads = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : !rows, !rows -> !scores
  %h = transformer.activate sigmoid %w : !scores
  // expected-remark @below {{not fused: cache "c" is read as keys and as values}}
  %y = transformer.contract "thk,kd->thd" %h, %keys in(%rows, %source) : !scores, !rows -> tensor<?x2x12xf32>
  return %x, %y : tensor<?x2x3x4xf32>, tensor<?x2x12xf32>
}

// -----

// Weights that were turned: as many for each key as there are rows.
// CHECK-LABEL: func.func @turned(
// CHECK-NOT: transformer.attend{{ }}
func.func @turned(%p: tensor<?x2x?xf32>, %v: tensor<?x12xf32>, %rows: !transformer.segments) -> tensor<?x12xf32> {
  %t = transformer.transpose %p [2, 1, 0] : tensor<?x2x?xf32> -> tensor<?x2x?xf32>
  %vh = transformer.split_heads %v : tensor<?x12xf32> -> tensor<?x2x6xf32>
  // expected-remark @below {{not fused: its weights were turned, or more than 64 operations make them}}
  %c = transformer.contract "thk,khd->thd" %t, %vh in(%rows, %rows) : tensor<?x2x?xf32>, tensor<?x2x6xf32> -> tensor<?x2x6xf32>
  %m = transformer.merge_heads %c : tensor<?x2x6xf32> -> tensor<?x12xf32>
  return %m : tensor<?x12xf32>
}

// Scores of pairs without a softmax, as linear attention has them.
transformer.parameter @v : tensor<1x12xf32> from "v"
// CHECK-LABEL: func.func @scores_as_weights(
// CHECK: %[[S:.*]] = transformer.attention_weights {{.*}} raw
// CHECK: transformer.attend %[[S]],
func.func @scores_as_weights(%q: tensor<?x12xf32>, %v: tensor<?x12xf32>, %rows: !transformer.segments) -> tensor<?x1x12xf32> {
  %w = transformer.weight @v : tensor<1x12xf32>
  %sum = transformer.pair_sum %q, %v in(%rows, %rows) : tensor<?x12xf32>, tensor<?x12xf32> -> tensor<?x?x12xf32>
  // expected-remark @below {{1 heads of 12, scale 1, all, pairs multiply(s0, 1), scores alone}}
  %s = transformer.contract "tkw,hw->thk" %sum, %w in(%rows, %rows) : tensor<?x?x12xf32>, tensor<1x12xf32> -> tensor<?x1x?xf32>
  // expected-remark @below {{1 head of weights that no softmax gives, values of 12}}
  %c = transformer.contract "thk,kd->thd" %s, %v in(%rows, %rows) : tensor<?x1x?xf32>, tensor<?x12xf32> -> tensor<?x1x12xf32>
  return %c : tensor<?x1x12xf32>
}
