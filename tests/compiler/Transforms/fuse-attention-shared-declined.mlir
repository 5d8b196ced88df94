// SPDX-License-Identifier: Apache-2.0
// Shared probabilities of which one user is no sum of values over the keys: all stays as it is.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s --implicit-check-not=transformer.atten

// CHECK: module

func.func @activated(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x3x?xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the probabilities have a second user (transformer.activate)}}
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %wh = transformer.split_heads %w : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %b = transformer.activate tanh %p : tensor<?x3x?xf32>
  return %a, %b : tensor<?x24xf32>, tensor<?x3x?xf32>
}

// The sum of the second layer is over keys of its own.
func.func @other_segments(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments, %other: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the contraction with values is over other segments than the scores}}
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %wh = transformer.split_heads %w : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %d = transformer.contract "thk,khd->thd" %p, %wh in(%rows, %other) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %b = transformer.merge_heads %d : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %a, %b : tensor<?x24xf32>, tensor<?x24xf32>
}

func.func @heads_summed(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x8xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the contraction with values sums over the heads}}
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %wh = transformer.split_heads %w : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %b = transformer.contract "thk,khd->td" %p, %wh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x8xf32>
  return %a, %b : tensor<?x24xf32>, tensor<?x8xf32>
}

// The second layer attends with the transposed weights: those that keys give to queries.
func.func @over_queries(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the contraction with values is not over the keys}}
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %wh = transformer.split_heads %w : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %pt = transformer.transpose %p [2, 1, 0] : tensor<?x3x?xf32> -> tensor<?x3x?xf32>
  %d = transformer.contract "thk,khd->thd" %pt, %wh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %b = transformer.merge_heads %d : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %a, %b : tensor<?x24xf32>, tensor<?x24xf32>
}

// The second layer attends with other weights.
func.func @shifted(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments, %shift: tensor<?x3x?xf32>) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the probabilities have a second user (transformer.add)}}
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %wh = transformer.split_heads %w : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %g = transformer.add %p, %shift : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  %d = transformer.contract "thk,khd->thd" %g, %wh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %b = transformer.merge_heads %d : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %a, %b : tensor<?x24xf32>, tensor<?x24xf32>
}

func.func @infinite(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>, %w: tensor<?x24xf32>,
    %rows: !transformer.segments) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the product of the factors is not finite in f32}}
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %wh = transformer.split_heads %w : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %x = transformer.scale %p, 1.0e+30 : tensor<?x3x?xf32>
  %y = transformer.scale %x, 1.0e+30 : tensor<?x3x?xf32>
  %d = transformer.contract "thk,khd->thd" %y, %wh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %b = transformer.merge_heads %d : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %a, %b : tensor<?x24xf32>, tensor<?x24xf32>
}

// One cache cannot be the keys and the values of another layer.
func.func @keys_as_values(%q: tensor<?x24xf32>, %rows: !transformer.segments, %memory: !transformer.segments,
    %kc: !transformer.cache<24> {transformer.name = "c"}, %vc: !transformer.cache<24> {transformer.name = "d"}) -> (tensor<?x24xf32>, tensor<?x24xf32>) {
  %k = transformer.cached %kc in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %v = transformer.cached %vc in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %memory) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: cache "c" is read as keys and as values}}
  %p = transformer.softmax %s in(%memory) : tensor<?x3x?xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %a = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %d = transformer.contract "thk,khd->thd" %p, %kh in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %b = transformer.merge_heads %d : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %a, %b : tensor<?x24xf32>, tensor<?x24xf32>
}
