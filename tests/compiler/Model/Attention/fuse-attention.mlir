// SPDX-License-Identifier: Apache-2.0
// Factors, one function for each spelling. As whole programs: EndToEnd/spellings.
// RUN: heddle-opt %s -transformer-fuse-attention | FileCheck %s

// The factor on the scores: what BERT does.
// CHECK-LABEL: func.func @scale_on_scores(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 0.353553{{[0-9]+}} : f32, visibility = #transformer.visibility<all>}
// CHECK-NEXT: return %[[A]]
func.func @scale_on_scores(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 3.5355339e-01 : tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// The factor on the rows of queries, before they are split.
// CHECK-LABEL: func.func @scale_on_queries(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 0.353553{{[0-9]+}} : f32, visibility = #transformer.visibility<all>}
// CHECK-NEXT: return %[[A]]
func.func @scale_on_queries(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qs = transformer.scale %q, 3.5355339e-01 : tensor<?x24xf32>
  %qh = transformer.split_heads %qs : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// The factor on the queries, after they are split.
// CHECK-LABEL: func.func @scale_on_query_heads(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 0.353553{{[0-9]+}} : f32, visibility = #transformer.visibility<all>}
// CHECK-NEXT: return %[[A]]
func.func @scale_on_query_heads(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %qs = transformer.scale %qh, 3.5355339e-01 : tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qs, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// The factor on the keys.
// CHECK-LABEL: func.func @scale_on_keys(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 0.353553{{[0-9]+}} : f32, visibility = #transformer.visibility<all>}
// CHECK-NEXT: return %[[A]]
func.func @scale_on_keys(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %ks = transformer.scale %kh, 3.5355339e-01 : tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %ks in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// Its square root on queries and on keys, one before and one after they are split.
// CHECK-LABEL: func.func @scale_as_roots(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 0.353553{{[0-9]+}} : f32, visibility = #transformer.visibility<all>}
// CHECK-NEXT: return %[[A]]
func.func @scale_as_roots(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qs = transformer.scale %q, 5.9460355e-01 : tensor<?x24xf32>
  %qh = transformer.split_heads %qs : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %ks = transformer.scale %kh, 5.9460355e-01 : tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %ks in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// Negative factors that cancel, one in front of a mask, and one on each side of it.
// CHECK-LABEL: func.func @scale_negative_twice(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 0.353553{{[0-9]+}} : f32, visibility = #transformer.visibility<causal>}
// CHECK-NEXT: return %[[A]]
func.func @scale_negative_twice(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qs = transformer.scale %q, -7.0710677e-01 : tensor<?x24xf32>
  %qh = transformer.split_heads %qs : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %mask = transformer.mask causal in(%rows, %rows)
  %s1 = transformer.scale %s, -1.0 : tensor<?x3x?xf32>
  %u = transformer.select %mask, %s1 {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %z = transformer.scale %u, 5.0e-01 : tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// No factor at all.
// CHECK-LABEL: func.func @unscaled(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<all>}
// CHECK-NEXT: return %[[A]]
func.func @unscaled(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// Factors on values and on probabilities: they follow the attention.
// CHECK-LABEL: func.func @scale_on_values(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x24xf32>, %[[K:[a-z0-9]+]]: tensor<?x24xf32>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>, %[[R:[a-z0-9]+]]:
// CHECK-NEXT: %[[A:.*]] = transformer.attention %[[Q]], %[[K]], %[[V]] in(%[[R]], %[[R]]) {heads = 3 : i64, scale = 0.353553{{[0-9]+}} : f32, visibility = #transformer.visibility<all>}
// CHECK-NEXT: %[[S:.*]] = transformer.scale %[[A]], 6.000000e+00
// CHECK-NEXT: return %[[S]]
func.func @scale_on_values(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 3.5355339e-01 : tensor<?x3x?xf32>
  %vs = transformer.scale %vh, 3.0e+00 : tensor<?x3x8xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %ps = transformer.scale %p, 2.0e+00 : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %ps, %vs in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}
