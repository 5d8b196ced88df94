// SPDX-License-Identifier: Apache-2.0
// Scores that are sums over pairs of a row and a key. No value of [rows, keys, width] is left.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s --implicit-check-not=transformer.pair_sum --implicit-check-not=transformer.softmax --implicit-check-not=transformer.convolve_keys --implicit-check-not="tensor<?x?x"

!rows = tensor<?x20xf32>
!pairs = tensor<?x?x20xf32>
!scores = tensor<?x1x?xf32>
!values = tensor<?x1x12xf32>

transformer.parameter @v : tensor<1x20xf32> from "v"
transformer.parameter @turned : tensor<20x1xf32> from "turned"
transformer.parameter @line : tensor<20xf32> from "line"
transformer.parameter @two : tensor<2x20xf32> from "two"
transformer.parameter @bias : tensor<20xf32> from "bias"
transformer.parameter @number : tensor<1xf32> from "number"
transformer.parameter @near : tensor<1x9xf32> from "near"
transformer.parameter @ones : tensor<1x1xf32> = ones_from(0)
transformer.parameter @one : tensor<1xf32> = reshape(@ones)
transformer.parameter @v1 : tensor<1x1xf32> from "v1"
transformer.parameter @three : tensor<20x1x3xf32> from "near3"
transformer.parameter @of_two : tensor<20x2x5xf32> from "of_two"
transformer.parameter @map : tensor<20x4xf32> from "map"
transformer.parameter @filters : tensor<4x18xf32> from "filters"
transformer.parameter @both : tensor<20x18xf32> = product(@map, @filters)
transformer.parameter @first : tensor<20x7xf32> = columns(@both, 0)
transformer.parameter @second : tensor<20x11xf32> = columns(@both, 7)
transformer.parameter @first_keys : tensor<20x1x7xf32> = reshape(@first)
transformer.parameter @second_keys : tensor<20x1x11xf32> = reshape(@second)

// v . tanh(q + k), with rows of another memory.
// CHECK-LABEL: func.func @additive(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x20xf32>, %[[K:[a-z0-9]+]]: tensor<?x20xf32>, %[[V:[a-z0-9]+]]: tensor<?x12xf32>
// CHECK: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%{{.*}}, %{{.*}}) {heads = 1 : i64, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<all>} : tensor<?x20xf32>, tensor<?x20xf32>, tensor<?x12xf32> -> tensor<?x12xf32>
func.func @additive(%q: !rows, %k: !rows, %v: tensor<?x12xf32>, %rows: !transformer.segments, %source: !transformer.segments) -> tensor<?x12xf32> {
  %vh = transformer.split_heads %v : tensor<?x12xf32> -> !values
  %w = transformer.weight @v : tensor<1x20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %source) : !rows, !rows -> !pairs
  %t = transformer.activate tanh %sum : !pairs
  // expected-remark @below {{1 heads of 20 (values 12), scale 1, all, pairs tanh(s0)}}
  %s = transformer.contract "tkw,hw->thk" %t, %w in(%rows, %source) : !pairs, tensor<1x20xf32> -> !scores
  %p = transformer.softmax %s in(%source) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %source) : !scores, !values -> !values
  %m = transformer.merge_heads %c : !values -> tensor<?x12xf32>
  return %m : tensor<?x12xf32>
}

// Maths before and after the sum over columns, a bias of columns, the weight transposed and times a
// number, operands and axes in another order, a table and a mask.
// CHECK-LABEL: func.func @spelt_otherwise(
// CHECK: %[[QB:.*]] = transformer.add %{{.*}}, %{{.*}} : tensor<?x20xf32>, tensor<20xf32>
// CHECK: transformer.attention %[[QB]], %{{.*}}, %{{.*}} in(%{{.*}}, %{{.*}}) {bias = @near, heads = 1 : i64, pair_weights = @turned.scaled, pairs = #transformer.score<multiply(s0, 5.000000e-01), sigmoid(s1), multiply(s1, s2)>, scale = 2.500000e-01 : f32, score = #transformer.score<tanh(s0), multiply(s1, 4.000000e+00)>, visibility = #transformer.visibility<causal>}
func.func @spelt_otherwise(%q: !rows, %k: !rows, %v: tensor<?x12xf32>, %rows: !transformer.segments) -> tensor<?x12xf32> {
  %vh = transformer.split_heads %v : tensor<?x12xf32> -> !values
  %w = transformer.weight @turned : tensor<20x1xf32>
  %b = transformer.weight @bias : tensor<20xf32>
  %number = transformer.weight @number : tensor<1xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  %biased = transformer.add %sum, %b : !pairs, tensor<20xf32>
  %half = transformer.scale %biased, 5.0e-01 : !pairs
  %gate = transformer.activate sigmoid %half : !pairs
  %f = transformer.multiply %half, %gate : !pairs, !pairs
  %turned = transformer.transpose %f [2, 0, 1] : !pairs -> tensor<20x?x?xf32>
  // expected-remark @below {{1 heads of 20 (values 12), scale 0.25, causal, pairs multiply(s0, 0.5), sigmoid(s1), multiply(s1, s2), bias @near, score tanh(s0), multiply(s1, 4)}}
  %s = transformer.contract "wh,wtk->thk" %w, %turned in(%rows, %rows) : tensor<20x1xf32>, tensor<20x?x?xf32> -> !scores
  %n = transformer.multiply %s, %number : !scores, tensor<1xf32>
  %z = transformer.scale %n, 2.5e-01 : !scores
  %capped = transformer.activate tanh %z : !scores
  %y = transformer.scale %capped, 4.0 : !scores
  %near = transformer.relative_bias @near in(%rows, %rows) : !scores
  %x = transformer.add %y, %near : !scores, !scores
  %mask = transformer.mask causal in(%rows, %rows)
  %h = transformer.select %mask, %x {hidden = 0xFF800000 : f32} : !scores
  %p = transformer.softmax %h in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !values -> !values
  %m = transformer.merge_heads %c : !values -> tensor<?x12xf32>
  return %m : tensor<?x12xf32>
}

// Two heads of the same pairs: rows and keys are shared.
// CHECK-LABEL: func.func @two_heads(
// CHECK: %[[REPEATED:.*]] = transformer.repeat_heads
// CHECK: %[[ROWS:.*]] = transformer.merge_heads %[[REPEATED]] : tensor<?x2x20xf32> -> tensor<?x40xf32>
// CHECK: transformer.attention %[[ROWS]], %{{.*}}, %{{.*}} in(%{{.*}}, %{{.*}}) {heads = 2 : i64, key_share = 2 : i64, pair_weights = @two, pairs = #transformer.score<relu(s0)>, {{.*}}} : tensor<?x40xf32>, tensor<?x20xf32>, tensor<?x12xf32> -> tensor<?x12xf32>
func.func @two_heads(%q: !rows, %k: !rows, %v: tensor<?x12xf32>, %rows: !transformer.segments) -> tensor<?x12xf32> {
  %vh = transformer.split_heads %v : tensor<?x12xf32> -> tensor<?x2x6xf32>
  %w = transformer.weight @two : tensor<2x20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  %t = transformer.activate relu %sum : !pairs
  // expected-remark @below {{2 heads of 20 (values 6), keys of 1 head, scale 1, all, pairs relu(s0)}}
  %s = transformer.contract "hw,tkw->thk" %w, %t in(%rows, %rows) : tensor<2x20xf32>, !pairs -> tensor<?x2x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x2x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x2x?xf32>, tensor<?x2x6xf32> -> tensor<?x2x6xf32>
  %m = transformer.merge_heads %c : tensor<?x2x6xf32> -> tensor<?x12xf32>
  return %m : tensor<?x12xf32>
}

// The sum itself, and weights alone.
// CHECK-LABEL: func.func @weights_alone(
// CHECK: transformer.attention_weights %{{.*}}, %{{.*}} in(%{{.*}}, %{{.*}}) {heads = 1 : i64, pair_weights = @v, pairs = #transformer.score<multiply(s0, 1.000000e+00)>, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<all>}
func.func @weights_alone(%q: !rows, %k: !rows, %rows: !transformer.segments) -> !scores {
  %w = transformer.weight @v : tensor<1x20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  // expected-remark @below {{1 heads of 20, scale 1, all, pairs multiply(s0, 1), weights alone}}
  %s = transformer.contract "tkw,hw->thk" %sum, %w in(%rows, %rows) : !pairs, tensor<1x20xf32> -> !scores
  %p = transformer.softmax %s in(%rows) : !scores
  return %p : !scores
}

// Two sums of pairs added are no one attention: each is a kernel of scores. Numbers that are derived
// from nothing are constants.
// CHECK-LABEL: func.func @scores_alone(
// CHECK-DAG: transformer.attention_weights %{{.*}}, %{{.*}} in(%{{.*}}, %{{.*}}) {heads = 1 : i64, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, raw, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<all>}
// CHECK-DAG: transformer.attention_weights %{{.*}}, %{{.*}} in(%{{.*}}, %{{.*}}) {heads = 1 : i64, pair_weights = @v1, pairs = #transformer.score<abs(s0), multiply(s1, -5.000000e-01), add(s2, 1.000000e+00), relu(s3)>, raw, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<all>}
func.func @scores_alone(%q: !rows, %k: !rows, %place: tensor<?x1xf32>, %places: tensor<?x1xf32>, %rows: !transformer.segments) -> !scores {
  %w = transformer.weight @v : tensor<1x20xf32>
  %w1 = transformer.weight @v1 : tensor<1x1xf32>
  %one = transformer.weight @one : tensor<1xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  %t = transformer.activate tanh %sum : !pairs
  // expected-remark @below {{1 heads of 20, scale 1, all, pairs tanh(s0), scores alone}}
  %s = transformer.contract "tkw,hw->thk" %t, %w in(%rows, %rows) : !pairs, tensor<1x20xf32> -> !scores
  %far = transformer.pair_sum %place, %places in(%rows, %rows) : tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x?x1xf32>
  %size = transformer.activate abs %far : tensor<?x?x1xf32>
  %less = transformer.scale %size, -5.0e-01 : tensor<?x?x1xf32>
  %near = transformer.add %less, %one : tensor<?x?x1xf32>, tensor<1xf32>
  %inside = transformer.activate relu %near : tensor<?x?x1xf32>
  // expected-remark @below {{1 heads of 1, scale 1, all, pairs abs(s0), multiply(s1, -0.5), add(s2, 1), relu(s3), scores alone}}
  %s1 = transformer.contract "tkw,hw->thk" %inside, %w1 in(%rows, %rows) : tensor<?x?x1xf32>, tensor<1x1xf32> -> !scores
  %both = transformer.add %s, %s1 : !scores, !scores
  return %both : !scores
}

// Pairs that look at numbers of keys: convolutions on either side of the sum, of several heads.
// CHECK-LABEL: func.func @looks(
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<?x1x?xf32>, %[[T:[a-z0-9]+]]: tensor<?x2x?xf32>
// CHECK: transformer.attention_weights %{{.*}}, %{{.*}} in(%{{.*}}, %{{.*}}) locations(%[[T]], %[[S]] : tensor<?x2x?xf32>, tensor<?x1x?xf32>) {heads = 1 : i64, location_taps = array<i64: 5, 3>, location_weights = @[[M:.*]], pair_weights = @v, pairs = #transformer.score<tanh(s0)>, raw, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<all>}
func.func @looks(%q: !rows, %k: !rows, %s: !scores, %t: tensor<?x2x?xf32>, %rows: !transformer.segments) -> !scores {
  %w = transformer.weight @v : tensor<1x20xf32>
  %b = transformer.weight @bias : tensor<20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  %f = transformer.convolve_keys %s, @three in(%rows, %rows) : !scores -> !pairs
  %g = transformer.convolve_keys %t, @of_two in(%rows, %rows) : tensor<?x2x?xf32> -> !pairs
  %left = transformer.add %g, %sum : !pairs, !pairs
  %biased = transformer.add %left, %b : !pairs, tensor<20xf32>
  %all = transformer.add %biased, %f : !pairs, !pairs
  %x = transformer.activate tanh %all : !pairs
  // expected-remark @below {{1 heads of 20, scale 1, all, pairs tanh(s0), locations of 5 and 3 keys, scores alone}}
  %y = transformer.contract "tkw,hw->thk" %x, %w in(%rows, %rows) : !pairs, tensor<1x20xf32> -> !scores
  return %y : !scores
}

// What was composed of filters and one map after them takes fewer products as both.
// CHECK-LABEL: func.func @locations_by_filters(
// CHECK: transformer.attention_weights %{{.*}}, %{{.*}} in(%{{.*}}, %{{.*}}) locations(%[[S:.*]], %[[S]] : tensor<?x1x?xf32>, tensor<?x1x?xf32>) {heads = 1 : i64, location_filters = @[[F:.*]], location_taps = array<i64: 7, 11>, location_weights = @map, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<all>}
func.func @locations_by_filters(%q: !rows, %k: !rows, %s: !scores, %rows: !transformer.segments) -> !scores {
  %w = transformer.weight @v : tensor<1x20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  %f = transformer.convolve_keys %s, @first_keys in(%rows, %rows) : !scores -> !pairs
  %g = transformer.convolve_keys %s, @second_keys in(%rows, %rows) : !scores -> !pairs
  %left = transformer.add %sum, %f : !pairs, !pairs
  %all = transformer.add %left, %g : !pairs, !pairs
  %x = transformer.activate tanh %all : !pairs
  // expected-remark @below {{1 heads of 20, scale 1, all, pairs tanh(s0), locations of 7 and 11 keys by 4 filters, weights alone}}
  %y = transformer.contract "tkw,hw->thk" %x, %w in(%rows, %rows) : !pairs, tensor<1x20xf32> -> !scores
  %p = transformer.softmax %y in(%rows) : !scores
  return %p : !scores
}
