// SPDX-License-Identifier: Apache-2.0
// One softmax, several values: weights once, and a sum for each value. Probabilities that are a
// result are computed beside.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s

// Two layers that share attention.
// CHECK-LABEL: func.func @two_values(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[W:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[P:.*]] = transformer.attention_weights %[[Q]], %[[K]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<all>} : tensor<?x24xf32>, tensor<?x24xf32> -> tensor<?x3x?xf32>
// CHECK-NEXT: %[[A:.*]] = transformer.attend %[[P]], %[[V]] in(%[[R]], %[[R]]) {visibility = #transformer.visibility<all>} : tensor<?x3x?xf32>, tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[B:.*]] = transformer.attend %[[P]], %[[W]] in(%[[R]], %[[R]]) {visibility = #transformer.visibility<all>} : tensor<?x3x?xf32>, tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @two_values(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all, weights of 2 sums}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %wh = transformer.split_heads %w : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %d = transformer.contract "thk,khd->thd" %p, %wh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %b = transformer.merge_heads %d : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %a, %b : tensor<?x24xf32>, tensor<?x24xf32>
}

// Each sum has its own factor, order of axes and size of heads.
// CHECK-LABEL: func.func @values_spelt_differently(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[W:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK: %[[P:.*]] = transformer.attention_weights %[[Q]], %[[K]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<all>} : tensor<?x24xf32>, tensor<?x24xf32> -> tensor<?x3x?xf32>
// CHECK: %[[A:.*]] = transformer.attend %[[P]], %[[V]] in(%[[R]], %[[R]]) {visibility = #transformer.visibility<all>} : tensor<?x3x?xf32>, tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK: transformer.scale %[[A]], 2.000000e+00
// CHECK: %[[B:.*]] = transformer.attend %[[P]], %{{.*}} : tensor<?x3x?xf32>, tensor<?x12xf32> -> tensor<?x12xf32>
// CHECK: %[[BH:.*]] = transformer.split_heads %[[B]] : tensor<?x12xf32> -> tensor<?x3x4xf32>
// CHECK: transformer.transpose %[[BH]] [1, 0, 2]
// CHECK: %[[C:.*]] = transformer.attend %[[P]], %[[W]] in(%[[R]], %[[R]]) {visibility = #transformer.visibility<all>} : tensor<?x3x?xf32>, tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NOT: transformer.scale %[[C]]
func.func @values_spelt_differently(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments, %u: tensor<?x12xf32>) -> (tensor<?x24xf32>, tensor<3x?x4xf32>, tensor<?x24xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all, weights of 3 sums}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %twice = transformer.scale %p, 2.0 : tensor<?x3x?xf32>
  %back = transformer.transpose %p [2, 1, 0] : tensor<?x3x?xf32> -> tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %twice, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %uh = transformer.split_heads %u : tensor<?x12xf32> -> tensor<?x3x4xf32>
  %b = transformer.contract "kht,khd->htd" %back, %uh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x4xf32> -> tensor<3x?x4xf32>
  %wh = transformer.split_heads %w : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %d = transformer.contract "khd,thk->thd" %wh, %p in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x?xf32> -> tensor<?x3x8xf32>
  %e = transformer.merge_heads %d : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %a, %b, %e : tensor<?x24xf32>, tensor<3x?x4xf32>, tensor<?x24xf32>
}

// A step of a decoder: keys of one layer, values of two, a mask over the history.
// CHECK-LABEL: func.func @cached(
// CHECK: %[[S:.*]] = transformer.history %[[R:.*]]
// CHECK: %[[P:.*]] = transformer.attention_weights %{{.*}}, %{{.*}} in(%[[R]], %[[S]]) {heads = 3 : i64, scale = 5.000000e-01 : f32, visibility = #transformer.visibility<causal>}
// CHECK: transformer.attend %[[P]], %{{.*}} in(%[[R]], %[[S]]) {visibility = #transformer.visibility<causal>}
// CHECK: transformer.attend %[[P]], %{{.*}} in(%[[R]], %[[S]]) {visibility = #transformer.visibility<causal>}
func.func @cached(%q: tensor<?x24xf32>, %rows: !transformer.segments, %kc: !transformer.cache<24>, %vc: !transformer.cache<24>,
    %wc: !transformer.cache<24>) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %seen = transformer.history %rows
  %k = transformer.cached %kc in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %v = transformer.cached %vc in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %w = transformer.cached %wc in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 0.5, causal, weights of 2 sums}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 0.5 : tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %seen)
  %h = transformer.select %m, %z {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %h in(%seen) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %wh = transformer.split_heads %w : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %d = transformer.contract "thk,khd->thd" %p, %wh in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %b = transformer.merge_heads %d : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %a, %b : tensor<?x24xf32>, tensor<?x24xf32>
}

// The result of attention itself may have several users: A reused, as in shared cross-attention.
// CHECK-LABEL: func.func @result_used_twice(
// CHECK: %[[A:.*]] = transformer.attention %
// CHECK-NOT: transformer.attention
// CHECK: return %[[A]], %[[A]]
func.func @result_used_twice(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %b = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %a, %b : tensor<?x24xf32>, tensor<?x24xf32>
}

// --- Probabilities that are a result

// CHECK-LABEL: func.func @result(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[W:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(
// CHECK-NEXT: %[[P:.*]] = transformer.attention_weights %[[Q]], %[[K]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<all>} : tensor<?x24xf32>, tensor<?x24xf32> -> tensor<?x3x?xf32>
// CHECK-NEXT: return %[[A]], %[[P]]
func.func @result(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x3x?xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all, and its weights}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %a, %p : tensor<?x24xf32>, tensor<?x3x?xf32>
}

// Seen through a factor and a transpose, one of which the sum goes through too: they move behind.
// CHECK-LABEL: func.func @result_seen(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[W:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(
// CHECK-NEXT: %[[P:.*]] = transformer.attention_weights %[[Q]], %[[K]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<all>} : tensor<?x24xf32>, tensor<?x24xf32> -> tensor<?x3x?xf32>
// CHECK-NEXT: %[[T:.*]] = transformer.scale %[[P]], 2.000000e+00
// CHECK-NEXT: %[[X:.*]] = transformer.transpose %[[T]] [1, 0, 2]
// CHECK-NEXT: %[[AT:.*]] = transformer.scale %[[A]], 2.000000e+00
// CHECK-NEXT: return %[[AT]], %[[X]]
func.func @result_seen(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<3x?x?xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all, and its weights}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %twice = transformer.scale %p, 2.0 : tensor<?x3x?xf32>
  %x = transformer.transpose %twice [1, 0, 2] : tensor<?x3x?xf32> -> tensor<3x?x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %twice, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %a, %x : tensor<?x24xf32>, tensor<3x?x?xf32>
}

// CHECK-LABEL: func.func @result_of_two_values(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[W:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[P:.*]] = transformer.attention_weights %[[Q]], %[[K]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<all>} : tensor<?x24xf32>, tensor<?x24xf32> -> tensor<?x3x?xf32>
// CHECK-NEXT: %[[A:.*]] = transformer.attend %[[P]], %[[V]] in(%[[R]], %[[R]]) {visibility = #transformer.visibility<all>} : tensor<?x3x?xf32>, tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: %[[B:.*]] = transformer.attend %[[P]], %[[W]] in(%[[R]], %[[R]]) {visibility = #transformer.visibility<all>} : tensor<?x3x?xf32>, tensor<?x24xf32> -> tensor<?x24xf32>
// CHECK-NEXT: return %[[P]], %[[A]], %[[B]]
func.func @result_of_two_values(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments) -> (tensor<?x3x?xf32>, tensor<?x24xf32>, tensor<?x24xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all, weights of 2 sums}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %wh = transformer.split_heads %w : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %d = transformer.contract "thk,khd->thd" %p, %wh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %b = transformer.merge_heads %d : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %p, %a, %b : tensor<?x3x?xf32>, tensor<?x24xf32>, tensor<?x24xf32>
}

// CHECK-LABEL: func.func @result_alone(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[W:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[P:.*]] = transformer.attention_weights %[[Q]], %[[K]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<all>} : tensor<?x24xf32>, tensor<?x24xf32> -> tensor<?x3x?xf32>
// CHECK-NEXT: return %[[P]]
func.func @result_alone(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x3x?xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{3 heads of 8, scale 1, all, weights alone}}
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  return %p : tensor<?x3x?xf32>
}
