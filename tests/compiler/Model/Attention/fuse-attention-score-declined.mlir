// SPDX-License-Identifier: Apache-2.0
// Functions of scores that are not fused, and the reason that the report gives.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s --implicit-check-not=transformer.attention

// CHECK: module

!rows = tensor<?x24xf32>
!heads = tensor<?x3x8xf32>
!scores = tensor<?x3x?xf32>

transformer.parameter @near : tensor<3x9xf32> from "near"
transformer.parameter @one : tensor<3x1xf32> from "one"
transformer.parameter @number : tensor<1xf32> from "number"

// tanh(-inf) is -1: the keys that the mask hides have weights.
func.func @mask_before(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %mask = transformer.mask causal in(%rows, %rows)
  %h = transformer.select %mask, %s {hidden = 0xFF800000 : f32} : !scores
  %y = transformer.activate tanh %h : !scores
  // expected-remark @below {{not fused: a mask is applied before a function of the scores, by which the keys that it hides would have weights}}
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

func.func @mask_added_before(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %mask = transformer.mask causal in(%rows, %rows)
  %hide = transformer.mask_bias %mask {hidden = 0xFF800000 : f32} : tensor<?x?xf32>
  %h = transformer.add %s, %hide : !scores, tensor<?x?xf32>
  %y = transformer.activate relu %h : !scores
  // expected-remark @below {{not fused: a mask is applied before a function of the scores, by which the keys that it hides would have weights}}
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

// Of two tables one would be added within the function.
func.func @biases_on_both_sides(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %b = transformer.relative_bias @near in(%rows, %rows) : !scores
  %w = transformer.add %s, %b : !scores, !scores
  %t = transformer.activate tanh %w : !scores
  %y = transformer.add %t, %b : !scores, !scores
  // expected-remark @below {{not fused: biases by distance are added before and after a function of the scores, of which the kernel has one table}}
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

// A number for each head changes a softmax of no function.
func.func @bias_of_one_column(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %b = transformer.relative_bias @one in(%rows, %rows) : !scores
  %w = transformer.add %s, %b : !scores, !scores
  %y = transformer.activate tanh %w : !scores
  // expected-remark @below {{not fused: a bias by distance that has one column is added before a function of the scores}}
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

func.func @learned_number_after(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %n = transformer.weight @number : tensor<1xf32>
  %t = transformer.activate tanh %s : !scores
  %y = transformer.multiply %t, %n : !scores, tensor<1xf32>
  // expected-remark @below {{not fused: a factor that only a run knows follows a function of the scores (transformer.weight)}}
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

func.func @function_of_one_product(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %s2 = transformer.contract "thd,khd->thk" %vh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %t = transformer.activate tanh %s : !scores
  %y = transformer.add %s2, %t : !scores, !scores
  // expected-remark @below {{not fused: a function is applied to one of several products whose sum the scores are (transformer.activate)}}
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

func.func @product_of_products(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %s2 = transformer.contract "thd,khd->thk" %vh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %y = transformer.multiply %s, %s2 : !scores
  // expected-remark @below {{not fused: the scores are not a contraction of queries and keys (transformer.multiply)}}
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

func.func @more_steps(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %a1 = transformer.activate relu %s : !scores
  %a2 = transformer.activate relu %a1 : !scores
  %a3 = transformer.activate relu %a2 : !scores
  %a4 = transformer.activate relu %a3 : !scores
  %a5 = transformer.activate relu %a4 : !scores
  %a6 = transformer.activate relu %a5 : !scores
  %a7 = transformer.activate relu %a6 : !scores
  %a8 = transformer.activate relu %a7 : !scores
  %a9 = transformer.activate relu %a8 : !scores
  %a10 = transformer.activate relu %a9 : !scores
  %a11 = transformer.activate relu %a10 : !scores
  %a12 = transformer.activate relu %a11 : !scores
  %a13 = transformer.activate relu %a12 : !scores
  %a14 = transformer.activate relu %a13 : !scores
  %a15 = transformer.activate relu %a14 : !scores
  %a16 = transformer.activate relu %a15 : !scores
  %a17 = transformer.activate relu %a16 : !scores
  // expected-remark @below {{not fused: the function of the scores has more than 16 steps}}
  %p = transformer.softmax %a17 in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

func.func @factor_overflow(%q: !rows, %k: !rows, %v: !rows, %rows: !transformer.segments) -> !rows {
  %qh = transformer.split_heads %q : !rows -> !heads
  %kh = transformer.split_heads %k : !rows -> !heads
  %vh = transformer.split_heads %v : !rows -> !heads
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : !heads, !heads -> !scores
  %t = transformer.activate tanh %s : !scores
  %a = transformer.scale %t, 1.0e+30 : !scores
  %y = transformer.scale %a, 1.0e+30 : !scores
  // expected-remark @below {{not fused: the product of the factors is not finite in f32}}
  %p = transformer.softmax %y in(%rows) : !scores
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : !scores, !heads -> !heads
  %m = transformer.merge_heads %c : !heads -> !rows
  return %m : !rows
}

// Keys in a cache are what they are: a number of each would be multiplied there.
func.func @numbers_of_cached_keys(%x: tensor<?x8xf32> {transformer.name = "x"}, %g: tensor<?x1xf32>, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !transformer.cache<8> {transformer.name = "c"}, %d: !transformer.cache<8> {transformer.name = "d"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !transformer.cache<8> -> tensor<?x8xf32>
  %v = transformer.cached %d in(%m) : !transformer.cache<8> -> tensor<?x8xf32>
  %qh = transformer.split_heads %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %kh = transformer.split_heads %k : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %vh = transformer.split_heads %v : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %s = transformer.contract "thd,khd->kht" %qh, %kh in(%rows, %m) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  %z = transformer.multiply %s, %g : tensor<?x2x?xf32>, tensor<?x1xf32>
  %t = transformer.transpose %z [2, 1, 0] : tensor<?x2x?xf32> -> tensor<?x2x?xf32>
  // expected-remark @below {{not fused: a number of each key multiplies scores whose keys lie in a cache}}
  %p = transformer.softmax %t in(%m) : tensor<?x2x?xf32>
  %o = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %m) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  %y = transformer.merge_heads %o : tensor<?x2x4xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
