// SPDX-License-Identifier: Apache-2.0
// What is not attention, or must not be fused, and the reason that the report gives.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s --implicit-check-not=transformer.attention

// CHECK: module

func.func @mask_an_argument(%a: tensor<?x?xi1>, %q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.select %a, %s {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the mask is no predicate of positions (an argument)}}
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// A relative position bias, for example.
func.func @bias_an_argument(%a: tensor<?x?xf32>, %q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.add %s, %a : tensor<?x3x?xf32>, tensor<?x?xf32>
  // expected-remark @below {{not fused: something other than a mask is added to the scores (an argument)}}
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// A negative factor makes the hidden keys the largest.
func.func @mask_turned_round(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %mask = transformer.mask causal in(%rows, %rows)
  %y = transformer.select %mask, %s {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %z = transformer.scale %y, -5.0e-01 : tensor<?x3x?xf32>
  // expected-remark @below {{not fused: a factor of -0.5 follows the mask}}
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

func.func @mask_of_transposed_scores(%q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->kht" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %mask = transformer.mask causal in(%rows, %rows)
  %y = transformer.select %mask, %s {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %z = transformer.transpose %y [2, 1, 0] : tensor<?x3x?xf32> -> tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the mask is applied to scores with their axes in another order}}
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

func.func @mask_of_other_segments(%other: !transformer.segments, %q: tensor<?x24xf32>, %k: tensor<?x24xf32>, %v: tensor<?x24xf32>,
    %rows: !transformer.segments) -> tensor<?x24xf32> {
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %mask = transformer.mask causal in(%rows, %other)
  %z = transformer.select %mask, %s {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the mask is that of other segments than the scores}}
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %m : tensor<?x24xf32>
}

// A number for each head of the keys that are seen, and not of the others.
transformer.parameter @numbers : tensor<3x1xf32> from "numbers"
func.func @mask_over_one_column(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %b = transformer.relative_bias @numbers in(%rows, %rows) : tensor<?x3x?xf32>
  %a = transformer.add %s, %b : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %z = transformer.select %m, %a {hidden = -1.0e4 : f32} : tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the mask writes over a bias by distance that has one column}}
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// A sum that f32 does not have.
func.func @mask_past_the_range(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %b = transformer.mask_bias %m {hidden = -1.0e38 : f32} : tensor<?x?xf32>
  %f = transformer.scale %b, -2.0 : tensor<?x?xf32>
  %z = transformer.add %s, %f : tensor<?x3x?xf32>, tensor<?x?xf32>
  // expected-remark @below {{not fused: a factor of -2 follows the mask}}
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// Their sum would repeat the ends of the narrow one thousands of times.
transformer.parameter @near : tensor<3x5xf32> from "near"
transformer.parameter @far : tensor<3x4103xf32> from "far"
func.func @tables_of_distances_apart(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %n = transformer.relative_bias @near in(%rows, %rows) : tensor<?x3x?xf32>
  %f = transformer.relative_bias @far in(%rows, %rows) : tensor<?x3x?xf32>
  %a = transformer.add %s, %n : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  %z = transformer.add %a, %f : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  // expected-remark @below {{not fused: two tables of distances have 5 and 4103 columns, expected at most 4096 more}}
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}
