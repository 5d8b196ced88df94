// SPDX-License-Identifier: Apache-2.0
// Probabilities that something else than a sum of values reads: the kernel of weights computes them,
// and what reads them stays as it is.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s --implicit-check-not=transformer.softmax

// CHECK-LABEL: func.func @weighted_over_queries(
// CHECK: %[[P:.*]] = transformer.attention_weights
// CHECK: transformer.transpose %[[P]]
func.func @weighted_over_queries(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all, weights alone: the contraction with values is not over the keys}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %pt = transformer.transpose %p [2, 1, 0] : tensor<?x3x?xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: its weights were turned, or more than 64 operations make them}}
  %c = transformer.contract "thk,khd->thd" %pt, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// CHECK-LABEL: func.func @values_of_other_segments(
// CHECK: %[[P:.*]] = transformer.attention_weights
// CHECK: transformer.contract "thk,khd->thd" %[[P]]
func.func @values_of_other_segments(%other: !transformer.segments, %q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all, weights alone: the contraction with values is over other segments than the scores}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %other) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// Six heads of values for three of scores.
// CHECK-LABEL: func.func @values_with_other_heads(
// CHECK: %[[P:.*]] = transformer.attention_weights
// CHECK: transformer.contract "thk,kgd->thgd" %[[P]]
func.func @values_with_other_heads(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x3x6x4xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x6x4xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all, weights alone: the values are not split into the heads of the scores}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %m = transformer.contract "thk,kgd->thgd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x6x4xf32> -> tensor<?x3x6x4xf32>
  return %m : tensor<?x3x6x4xf32>
}

// CHECK-LABEL: func.func @sizes_summed(
// CHECK: %[[P:.*]] = transformer.attention_weights
// CHECK: transformer.contract "thk,khd->th" %[[P]]
func.func @sizes_summed(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x3xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all, weights alone: the contraction with values sums over more than the keys}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %m = transformer.contract "thk,khd->th" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3xf32>
  return %m : tensor<?x3xf32>
}

// The third axis of the values is that of the queries: one row of values for each of them.
// CHECK-LABEL: func.func @values_without_size(
// CHECK: %[[P:.*]] = transformer.attention_weights
// CHECK: transformer.contract "thk,kht->th" %[[P]]
func.func @values_without_size(%q: tensor<?x24xf32>, %rows: !transformer.segments) -> tensor<?x3xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all, weights alone: the heads of the values have no constant size}}
  %s = transformer.contract "thd,khd->thk" %qh, %qh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %v = transformer.contract "khd,thd->kht" %qh, %qh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %o = transformer.contract "thk,kht->th" %p, %v in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x?xf32> -> tensor<?x3xf32>
  return %o : tensor<?x3xf32>
}

// CHECK-LABEL: func.func @activated(
// CHECK: %[[P:.*]] = transformer.attention_weights
// CHECK: transformer.attend %[[P]]
// CHECK: transformer.activate tanh %[[P]]
func.func @activated(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x3x?xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all, and its weights: the probabilities are not contracted with values (transformer.activate)}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %wh = transformer.split_heads %w : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %b = transformer.activate tanh %p : tensor<?x3x?xf32>
  return %a, %b : tensor<?x24xf32>, tensor<?x3x?xf32>
}

// The second layer attends with the transposed weights: those that keys give to queries.
// CHECK-LABEL: func.func @sum_over_queries(
// CHECK: %[[P:.*]] = transformer.attention_weights
// CHECK: transformer.attend %[[P]]
// CHECK: transformer.transpose %[[P]]
func.func @sum_over_queries(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all, and its weights: the contraction with values is not over the keys}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %wh = transformer.split_heads %w : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %pt = transformer.transpose %p [2, 1, 0] : tensor<?x3x?xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: its weights were turned, or more than 64 operations make them}}
  %d = transformer.contract "thk,khd->thd" %pt, %wh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %b = transformer.merge_heads %d : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %a, %b : tensor<?x24xf32>, tensor<?x24xf32>
}

// The second layer attends with other weights.
// CHECK-LABEL: func.func @shifted(
// CHECK: %[[P:.*]] = transformer.attention_weights
// CHECK: transformer.attend %[[P]]
// CHECK: %[[G:.*]] = transformer.add %[[P]]
// CHECK: transformer.attend %[[G]]
func.func @shifted(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments, %shift: tensor<?x3x?xf32>) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all, and its weights: the probabilities are not contracted with values (transformer.add)}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %wh = transformer.split_heads %w : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %g = transformer.add %p, %shift : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  // expected-remark @below {{3 heads of weights that no softmax gives, values of 8}}
  %d = transformer.contract "thk,khd->thd" %g, %wh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %b = transformer.merge_heads %d : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %a, %b : tensor<?x24xf32>, tensor<?x24xf32>
}

// What observe-attention shows is no second user: the reason is that of the program's own one.
// CHECK-LABEL: func.func @observed(
// CHECK: %[[P:.*]] = transformer.attention_weights
// CHECK: %[[T:.*]] = transformer.activate tanh %[[P]]
// CHECK: return %[[T]], %[[P]]
func.func @observed(%x: tensor<?x3x8xf32>, %rows: !transformer.segments)
    -> (tensor<?x3x?xf32>, tensor<?x3x?xf32> {transformer.name = "p", transformer.observed = "encoder"}) {
  // expected-remark @below {{3 heads of 8, scale 1, all, weights alone: the probabilities are not contracted with values (transformer.activate)}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %t = transformer.activate tanh %p : tensor<?x3x?xf32>
  return %t, %p : tensor<?x3x?xf32>, tensor<?x3x?xf32>
}
