// SPDX-License-Identifier: Apache-2.0
// What is not attention, or must not be fused, and the reason that the report gives.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s --implicit-check-not=transformer.attention

// CHECK: module

func.func @probabilities_unused(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: nothing uses the probabilities}}
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  return %q : tensor<?x24xf32>
}

// The softmax of the transposed scores.
func.func @over_queries(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->kht" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the softmax is over the queries, not over the keys}}
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

func.func @scores_an_argument(%a: tensor<?x3x?xf32>, %q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  // expected-remark @below {{not fused: the scores are an argument of the function}}
  %p = transformer.softmax %a in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

func.func @softmax_of_other_segments(%other: !transformer.segments, %q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the softmax is over the keys of other segments than the scores}}
  %p = transformer.softmax %s in(%other) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// The mean of the values.
func.func @zero_scale(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 0.0 : tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the scale is zero}}
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

func.func @scale_overflow(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %y = transformer.scale %s, 1.0e+30 : tensor<?x3x?xf32>
  %z = transformer.scale %y, 1.0e+30 : tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the product of the factors is not finite in f32}}
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// Not a product of queries and keys: sums of each.
func.func @sizes_apart(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khe->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: queries and keys are not contracted over one axis}}
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// The third axis of the queries is that of the keys.
func.func @queries_without_size(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %first = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %s = transformer.contract "thk,khd->thk" %first, %kh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the heads of the queries have no constant size}}
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}
