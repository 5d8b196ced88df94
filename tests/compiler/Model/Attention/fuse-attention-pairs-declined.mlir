// SPDX-License-Identifier: Apache-2.0
// Scores of pairs that attention does not take in, and the reason that the report gives. What can be
// a kernel of scores is one.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s

!rows = tensor<?x20xf32>
!pairs = tensor<?x?x20xf32>
!scores = tensor<?x1x?xf32>

transformer.parameter @v : tensor<1x20xf32> from "v"
transformer.parameter @line : tensor<20xf32> from "line"
transformer.parameter @two : tensor<2x20xf32> from "two"
transformer.parameter @far : tensor<20x1x1048577xf32> from "far"
transformer.parameter @three : tensor<20x1x3xf32> from "three"
transformer.parameter @cube : tensor<1x1x20xf32> from "cube"

// CHECK-LABEL: func.func @no_weight(
// CHECK-NOT: transformer.attention
func.func @no_weight(%q: !rows, %k: !rows, %v: tensor<?x1x20xf32>, %rows: !transformer.segments) -> !scores {
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  // expected-remark @below {{not fused: pairs of rows and keys are summed with numbers that are no weight (an argument)}}
  %s = transformer.contract "tkw,thw->thk" %sum, %v in(%rows, %rows) : !pairs, tensor<?x1x20xf32> -> !scores
  // expected-remark @below {{not fused: pairs of rows and keys are summed with numbers that are no weight (an argument)}}
  %p = transformer.softmax %s in(%rows) : !scores
  return %p : !scores
}

// CHECK-LABEL: func.func @other_weight(
// CHECK-NOT: transformer.attention
func.func @other_weight(%q: !rows, %k: !rows, %rows: !transformer.segments) -> !scores {
  %w = transformer.weight @cube : tensor<1x1x20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  // expected-remark @below {{not fused: the weight of pairs has other axes than head and column}}
  %s = transformer.contract "tkw,hgw->thk" %sum, %w in(%rows, %rows) : !pairs, tensor<1x1x20xf32> -> !scores
  return %s : !scores
}

// Every column a head of its own, and a sum over heads: the weights are not those of scores.
// CHECK-LABEL: func.func @columns_as_heads(
// CHECK-NOT: transformer.attention
func.func @columns_as_heads(%q: !rows, %k: !rows, %rows: !transformer.segments) -> tensor<?x20x?xf32> {
  %w = transformer.weight @line : tensor<20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  // expected-remark @below {{not fused: the columns of pairs are not summed}}
  %s = transformer.contract "tkw,w->twk" %sum, %w in(%rows, %rows) : !pairs, tensor<20xf32> -> tensor<?x20x?xf32>
  // expected-remark @below {{not fused: the columns of pairs are not summed}}
  %p = transformer.softmax %s in(%rows) : tensor<?x20x?xf32>
  return %p : tensor<?x20x?xf32>
}

// CHECK-LABEL: func.func @heads_summed(
// CHECK-NOT: transformer.attention
func.func @heads_summed(%q: !rows, %k: !rows, %rows: !transformer.segments) -> tensor<?x2x?xf32> {
  %w = transformer.weight @two : tensor<2x20xf32>
  %qh = transformer.split_heads %q : !rows -> tensor<?x2x10xf32>
  %kh = transformer.split_heads %k : !rows -> tensor<?x2x10xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  // expected-remark @below {{not fused: the scores of pairs have their axes in another order than row, head and key}}
  %s = transformer.contract "tkw,hw->tk" %sum, %w in(%rows, %rows) : !pairs, tensor<2x20xf32> -> tensor<?x?xf32>
  %s2 = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x2x10xf32>, tensor<?x2x10xf32> -> tensor<?x2x?xf32>
  %both = transformer.add %s2, %s : tensor<?x2x?xf32>, tensor<?x?xf32>
  // expected-remark @below {{not fused: pairs are summed over the heads too}}
  %p = transformer.softmax %both in(%rows) : tensor<?x2x?xf32>
  return %p : tensor<?x2x?xf32>
}

// CHECK-LABEL: func.func @two_sums(
// CHECK-NOT: transformer.attention
func.func @two_sums(%q: !rows, %k: !rows, %rows: !transformer.segments) -> !scores {
  %w = transformer.weight @v : tensor<1x20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  %other = transformer.pair_sum %k, %q in(%rows, %rows) : !rows, !rows -> !pairs
  %t = transformer.activate tanh %sum : !pairs
  %gated = transformer.multiply %t, %other : !pairs, !pairs
  // expected-remark @below {{not fused: pairs are no sum of a row and a key (transformer.multiply)}}
  %s = transformer.contract "tkw,hw->thk" %gated, %w in(%rows, %rows) : !pairs, tensor<1x20xf32> -> !scores
  return %s : !scores
}

// CHECK-LABEL: func.func @places_changed(
// CHECK-NOT: transformer.attention
func.func @places_changed(%q: !rows, %k: !rows, %rows: !transformer.segments) -> !scores {
  %w = transformer.weight @v : tensor<1x20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  %turned = transformer.transpose %sum [1, 0, 2] : !pairs -> !pairs
  // expected-remark @below {{not fused: rows and keys of pairs change places}}
  %s = transformer.contract "tkw,hw->thk" %turned, %w in(%rows, %rows) : !pairs, tensor<1x20xf32> -> !scores
  return %s : !scores
}

// CHECK-LABEL: func.func @other_segments(
// CHECK-NOT: transformer.attention
func.func @other_segments(%q: !rows, %k: !rows, %rows: !transformer.segments, %source: !transformer.segments) -> !scores {
  %w = transformer.weight @v : tensor<1x20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %source) : !rows, !rows -> !pairs
  // expected-remark @below {{not fused: pairs are of other segments than their scores}}
  %s = transformer.contract "tkw,hw->thk" %sum, %w in(%rows, %rows) : !pairs, tensor<1x20xf32> -> !scores
  return %s : !scores
}

// CHECK-LABEL: func.func @order_of_axes(
// CHECK-NOT: transformer.attention
func.func @order_of_axes(%q: !rows, %k: !rows, %rows: !transformer.segments) -> tensor<1x?x?xf32> {
  %w = transformer.weight @v : tensor<1x20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  // expected-remark @below {{not fused: the scores of pairs have their axes in another order than row, head and key}}
  %s = transformer.contract "tkw,hw->htk" %sum, %w in(%rows, %rows) : !pairs, tensor<1x20xf32> -> tensor<1x?x?xf32>
  return %s : tensor<1x?x?xf32>
}

// CHECK-LABEL: func.func @long(
// CHECK-NOT: transformer.attention
func.func @long(%q: !rows, %k: !rows, %rows: !transformer.segments) -> !scores {
  %w = transformer.weight @v : tensor<1x20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  %0 = transformer.activate tanh %sum : !pairs
  %1 = transformer.activate tanh %0 : !pairs
  %2 = transformer.activate tanh %1 : !pairs
  %3 = transformer.activate tanh %2 : !pairs
  %4 = transformer.activate tanh %3 : !pairs
  %5 = transformer.activate tanh %4 : !pairs
  %6 = transformer.activate tanh %5 : !pairs
  %7 = transformer.activate tanh %6 : !pairs
  %8 = transformer.activate tanh %7 : !pairs
  %9 = transformer.activate tanh %8 : !pairs
  %10 = transformer.activate tanh %9 : !pairs
  %11 = transformer.activate tanh %10 : !pairs
  %12 = transformer.activate tanh %11 : !pairs
  %13 = transformer.activate tanh %12 : !pairs
  %14 = transformer.activate tanh %13 : !pairs
  %15 = transformer.activate tanh %14 : !pairs
  %16 = transformer.activate tanh %15 : !pairs
  // expected-remark @below {{not fused: the function of pairs has more than 16 steps}}
  %s = transformer.contract "tkw,hw->thk" %16, %w in(%rows, %rows) : !pairs, tensor<1x20xf32> -> !scores
  return %s : !scores
}

// What softmax is of is a sum: its first summand is a kernel of scores all the same.
// CHECK-LABEL: func.func @with_a_product(
// CHECK: transformer.attention_weights {{.*}} raw
// CHECK: transformer.softmax
func.func @with_a_product(%q: !rows, %k: !rows, %rows: !transformer.segments) -> !scores {
  %w = transformer.weight @v : tensor<1x20xf32>
  %qh = transformer.split_heads %q : !rows -> tensor<?x1x20xf32>
  %kh = transformer.split_heads %k : !rows -> tensor<?x1x20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  // expected-remark @below {{1 heads of 20, scale 1, all, pairs multiply(s0, 1), scores alone}}
  %s = transformer.contract "tkw,hw->thk" %sum, %w in(%rows, %rows) : !pairs, tensor<1x20xf32> -> !scores
  %s1 = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x1x20xf32>, tensor<?x1x20xf32> -> !scores
  %both = transformer.add %s, %s1 : !scores, !scores
  // expected-remark @below {{not fused: scores of pairs are summed with other scores}}
  %p = transformer.softmax %both in(%rows) : !scores
  return %p : !scores
}

// CHECK-LABEL: func.func @number_of_rows(
// CHECK: transformer.attention_weights {{.*}} raw
// CHECK: transformer.softmax
func.func @number_of_rows(%q: !rows, %k: !rows, %number: tensor<?x1xf32>, %rows: !transformer.segments) -> !scores {
  %w = transformer.weight @v : tensor<1x20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  // expected-remark @below {{1 heads of 20, scale 1, all, pairs multiply(s0, 1), scores alone}}
  %s = transformer.contract "tkw,hw->thk" %sum, %w in(%rows, %rows) : !pairs, tensor<1x20xf32> -> !scores
  %z = transformer.multiply %s, %number : !scores, tensor<?x1xf32>
  // expected-remark @below {{not fused: a number of each row or key multiplies scores of pairs}}
  %p = transformer.softmax %z in(%rows) : !scores
  return %p : !scores
}

// CHECK-LABEL: func.func @locations_of_other_segments(
// CHECK-NOT: transformer.attention
func.func @locations_of_other_segments(%q: !rows, %k: !rows, %t: !scores, %rows: !transformer.segments, %source: !transformer.segments) -> !scores {
  %w = transformer.weight @v : tensor<1x20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  %f = transformer.convolve_keys %t, @three in(%rows, %source) : !scores -> !pairs
  %all = transformer.add %sum, %f : !pairs, !pairs
  // expected-remark @below {{not fused: pairs are of other segments than their scores}}
  %s = transformer.contract "tkw,hw->thk" %all, %w in(%rows, %rows) : !pairs, tensor<1x20xf32> -> !scores
  return %s : !scores
}

// CHECK-LABEL: func.func @taps_beyond_the_limit(
// CHECK-NOT: transformer.attention
func.func @taps_beyond_the_limit(%q: !rows, %k: !rows, %t: !scores, %rows: !transformer.segments) -> !scores {
  %w = transformer.weight @v : tensor<1x20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  %f = transformer.convolve_keys %t, @far in(%rows, %rows) : !scores -> !pairs
  %all = transformer.add %sum, %f : !pairs, !pairs
  // expected-remark @below {{not fused: convolutions over more than 64 heads or 1048576 numbers near a key are added to pairs}}
  %s = transformer.contract "tkw,hw->thk" %all, %w in(%rows, %rows) : !pairs, tensor<1x20xf32> -> !scores
  return %s : !scores
}

// CHECK-LABEL: func.func @two_sums_added(
// CHECK-NOT: transformer.attention
func.func @two_sums_added(%q: !rows, %k: !rows, %rows: !transformer.segments) -> !scores {
  %w = transformer.weight @v : tensor<1x20xf32>
  %sum = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  %other = transformer.pair_sum %k, %q in(%rows, %rows) : !rows, !rows -> !pairs
  %both = transformer.add %sum, %other : !pairs, !pairs
  // expected-remark @below {{not fused: pairs are a sum of two rows and two keys}}
  %s = transformer.contract "tkw,hw->thk" %both, %w in(%rows, %rows) : !pairs, tensor<1x20xf32> -> !scores
  return %s : !scores
}

// CHECK-LABEL: func.func @many_biases(
// CHECK-NOT: transformer.attention
func.func @many_biases(%q: !rows, %k: !rows, %rows: !transformer.segments) -> !scores {
  %w = transformer.weight @v : tensor<1x20xf32>
  %bias = transformer.weight @line : tensor<20xf32>
  %b0 = transformer.pair_sum %q, %k in(%rows, %rows) : !rows, !rows -> !pairs
  %b1 = transformer.add %b0, %bias : !pairs, tensor<20xf32>
  %b2 = transformer.add %b1, %bias : !pairs, tensor<20xf32>
  %b3 = transformer.add %b2, %bias : !pairs, tensor<20xf32>
  %b4 = transformer.add %b3, %bias : !pairs, tensor<20xf32>
  %b5 = transformer.add %b4, %bias : !pairs, tensor<20xf32>
  %b6 = transformer.add %b5, %bias : !pairs, tensor<20xf32>
  %b7 = transformer.add %b6, %bias : !pairs, tensor<20xf32>
  %b8 = transformer.add %b7, %bias : !pairs, tensor<20xf32>
  %b9 = transformer.add %b8, %bias : !pairs, tensor<20xf32>
  %b10 = transformer.add %b9, %bias : !pairs, tensor<20xf32>
  %b11 = transformer.add %b10, %bias : !pairs, tensor<20xf32>
  %b12 = transformer.add %b11, %bias : !pairs, tensor<20xf32>
  %b13 = transformer.add %b12, %bias : !pairs, tensor<20xf32>
  %b14 = transformer.add %b13, %bias : !pairs, tensor<20xf32>
  %b15 = transformer.add %b14, %bias : !pairs, tensor<20xf32>
  %b16 = transformer.add %b15, %bias : !pairs, tensor<20xf32>
  %b17 = transformer.add %b16, %bias : !pairs, tensor<20xf32>
  // expected-remark @below {{not fused: more than 16 convolutions and biases are added to pairs}}
  %s = transformer.contract "tkw,hw->thk" %b17, %w in(%rows, %rows) : !pairs, tensor<1x20xf32> -> !scores
  return %s : !scores
}
