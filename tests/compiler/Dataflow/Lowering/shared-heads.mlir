// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow -dataflow-merge-kernels | FileCheck %s

// Heads that share keys and values: a kernel that reads fewer of these once recognised, and until
// then a copy of rows; a cache is never copied, the nest that reads it has fewer heads there.

// CHECK: dataflow.kernel @nest_thd_thed : (!dataflow.buffer<[tokens, 2, 8], f32>) -> !dataflow.buffer<[tokens, 2, 3, 8], f32> computes #dataflow.nest<"thd->thed", none>
// CHECK: dataflow.dispatch @nest_thd_thed
// CHECK-NEXT: dataflow.reshape %{{.*}} : !dataflow.buffer<[tokens, 2, 3, 8], f32> -> !dataflow.buffer<[tokens, 6, 8], f32>
// CHECK: dataflow.kernel @attention_6x8_keys2_values1 : {{.*}} computes #dataflow.attention<heads = 6, keySize = 8, valueSize = 8, scale = 1.000000e+00 : f32, visibility = <all>, keyShare = 3, valueShare = 6>
// CHECK: dataflow.kernel @attention_weights_6x8_keys2 : {{.*}} computes #dataflow.attention_weights<heads = 6, keySize = 8, scale = 1.000000e+00 : f32, visibility = <all>, keyShare = 3>
// CHECK: dataflow.kernel @attend_6x8_values1 : {{.*}} computes #dataflow.attend<heads = 6, valueSize = 8, visibility = <all>, valueShare = 6>
// CHECK: dataflow.kernel @nest_khd_thd_thk_multiply : (!dataflow.cache<[2, 8], f32, rows>, !dataflow.buffer<[tokens, 6, 8], f32>) -> !dataflow.buffer<[tokens, 6, longest], f32>
// CHECK: dataflow.kernel @nest_thk_khd_thd_multiply : (!dataflow.buffer<[tokens, 6, longest], f32>, !dataflow.cache<[2, 8], f32, rows>) -> !dataflow.buffer<[tokens, 6, 8], f32>
// CHECK-LABEL: dataflow.graph @over_a_cache
// CHECK: dataflow.kernel @nest_htd_khd_htk_multiply : (!dataflow.buffer<[6, tokens, 8], f32>, !dataflow.cache<[2, 8], f32, rows>) -> !dataflow.buffer<[6, tokens, longest], f32>
// CHECK: dataflow.kernel @nest_htk_khd_htd_multiply : (!dataflow.buffer<[6, tokens, longest], f32>, !dataflow.cache<[2, 8], f32, rows>) -> !dataflow.buffer<[6, tokens, 8], f32>
// CHECK-LABEL: dataflow.graph @heads_first
// CHECK: dataflow.kernel @nest_the_khd_thed_multiply : (!dataflow.buffer<[tokens, 6, 8], f32>, !dataflow.cache<[2, 8], f32, rows>) -> !dataflow.buffer<[tokens, 6, 8, 8], f32>
// CHECK-LABEL: dataflow.graph @many_axes
// CHECK: dataflow.kernel @nest_td_khd_thk_multiply : (!dataflow.buffer<[tokens, 8], f32>, !dataflow.cache<[2, 8], f32, rows>) -> !dataflow.buffer<[tokens, 6, longest], f32>
// CHECK: dataflow.kernel @nest_td_khd_tk_multiply_scale : (!dataflow.buffer<[tokens, 8], f32>, !dataflow.cache<[2, 8], f32, rows>) -> !dataflow.buffer<[tokens, longest], f32>
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[K:.*]]: f32):
// CHECK-DAG: %[[PRODUCT:.*]] = arith.mulf %[[X]], %[[K]] fastmath<contract> : f32
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3.000000e+00 : f32
// CHECK-NEXT: arith.mulf %[[PRODUCT]], %[[THREE]] fastmath<contract> : f32
// CHECK-LABEL: dataflow.graph @heads_of_the_cache

func.func @repeat(%x: tensor<?x16xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x48xf32> {transformer.name = "y"}) {
  %h = transformer.split_heads %x : tensor<?x16xf32> -> tensor<?x2x8xf32>
  %r = transformer.repeat_heads %h : tensor<?x2x8xf32> -> tensor<?x6x8xf32>
  %m = transformer.merge_heads %r : tensor<?x6x8xf32> -> tensor<?x48xf32>
  return %m : tensor<?x48xf32>
}

func.func @shared(%q: tensor<?x48xf32> {transformer.name = "q"}, %k: tensor<?x16xf32> {transformer.name = "k"}, %v: tensor<?x8xf32> {transformer.name = "v"}, %rows: !transformer.segments) -> (tensor<?x48xf32> {transformer.name = "y"}) {
  %a = transformer.attention %q, %k, %v in(%rows, %rows) {heads = 6 : i64, key_share = 3 : i64, scale = 1.0 : f32, value_share = 6 : i64, visibility = #transformer.visibility<all>} : tensor<?x48xf32>, tensor<?x16xf32>, tensor<?x8xf32> -> tensor<?x48xf32>
  return %a : tensor<?x48xf32>
}

func.func @halves(%q: tensor<?x48xf32> {transformer.name = "q"}, %k: tensor<?x16xf32> {transformer.name = "k"}, %v: tensor<?x8xf32> {transformer.name = "v"}, %rows: !transformer.segments) -> (tensor<?x48xf32> {transformer.name = "y"}) {
  %p = transformer.attention_weights %q, %k in(%rows, %rows) {heads = 6 : i64, key_share = 3 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x48xf32>, tensor<?x16xf32> -> tensor<?x6x?xf32>
  %a = transformer.attend %p, %v in(%rows, %rows) {value_share = 6 : i64, visibility = #transformer.visibility<all>} : tensor<?x6x?xf32>, tensor<?x8xf32> -> tensor<?x48xf32>
  return %a : tensor<?x48xf32>
}

func.func @over_a_cache(%x: tensor<?x48xf32> {transformer.name = "x"}, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"},
    %c: !transformer.cache<16> {transformer.name = "keys"}) -> (tensor<?x48xf32> {transformer.name = "y"}) {
  %qh = transformer.split_heads %x : tensor<?x48xf32> -> tensor<?x6x8xf32>
  %k = transformer.cached %c in(%memory) : !transformer.cache<16> -> tensor<?x16xf32>
  %kh = transformer.split_heads %k : tensor<?x16xf32> -> tensor<?x2x8xf32>
  %kr = transformer.repeat_heads %kh : tensor<?x2x8xf32> -> tensor<?x6x8xf32>
  %kt = transformer.transpose %kr [1, 2, 0] : tensor<?x6x8xf32> -> tensor<6x8x?xf32>
  %s = transformer.contract "hdk,thd->thk" %kt, %qh in(%rows, %memory) : tensor<6x8x?xf32>, tensor<?x6x8xf32> -> tensor<?x6x?xf32>
  %p = transformer.softmax %s in(%memory) : tensor<?x6x?xf32>
  %o = transformer.contract "thk,khd->thd" %p, %kr in(%rows, %memory) : tensor<?x6x?xf32>, tensor<?x6x8xf32> -> tensor<?x6x8xf32>
  %m = transformer.merge_heads %o : tensor<?x6x8xf32> -> tensor<?x48xf32>
  return %m : tensor<?x48xf32>
}

// The axes of the cache and of the other operand in another order: the heads come first.
func.func @heads_first(%x: tensor<?x48xf32> {transformer.name = "x"}, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"},
    %c: !transformer.cache<16> {transformer.name = "keys"}) -> (tensor<?x48xf32> {transformer.name = "y"}) {
  %qh = transformer.split_heads %x : tensor<?x48xf32> -> tensor<?x6x8xf32>
  %qt = transformer.transpose %qh [1, 0, 2] : tensor<?x6x8xf32> -> tensor<6x?x8xf32>
  %k = transformer.cached %c in(%memory) : !transformer.cache<16> -> tensor<?x16xf32>
  %kh = transformer.split_heads %k : tensor<?x16xf32> -> tensor<?x2x8xf32>
  %kr = transformer.repeat_heads %kh : tensor<?x2x8xf32> -> tensor<?x6x8xf32>
  %kt = transformer.transpose %kr [1, 2, 0] : tensor<?x6x8xf32> -> tensor<6x8x?xf32>
  %s = transformer.contract "htd,hdk->htk" %qt, %kt in(%rows, %memory) : tensor<6x?x8xf32>, tensor<6x8x?xf32> -> tensor<6x?x?xf32>
  %o = transformer.contract "htk,khd->htd" %s, %kr in(%rows, %memory) : tensor<6x?x?xf32>, tensor<?x6x8xf32> -> tensor<6x?x8xf32>
  %ot = transformer.transpose %o [1, 0, 2] : tensor<6x?x8xf32> -> tensor<?x6x8xf32>
  %m = transformer.merge_heads %ot : tensor<?x6x8xf32> -> tensor<?x48xf32>
  return %m : tensor<?x48xf32>
}

// A result of four axes, as many as a buffer has.
func.func @many_axes(%x: tensor<?x48xf32> {transformer.name = "x"}, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"},
    %c: !transformer.cache<16> {transformer.name = "keys"}) -> (tensor<?x6x8x8xf32> {transformer.name = "y"}) {
  %qh = transformer.split_heads %x : tensor<?x48xf32> -> tensor<?x6x8xf32>
  %k = transformer.cached %c in(%memory) : !transformer.cache<16> -> tensor<?x16xf32>
  %kh = transformer.split_heads %k : tensor<?x16xf32> -> tensor<?x2x8xf32>
  %kr = transformer.repeat_heads %kh : tensor<?x2x8xf32> -> tensor<?x6x8xf32>
  %s = transformer.contract "the,khd->thed" %qh, %kr in(%rows, %memory) : tensor<?x6x8xf32>, tensor<?x6x8xf32> -> tensor<?x6x8x8xf32>
  return %s : tensor<?x6x8x8xf32>
}

// Heads that only the cache has: those of the result know how many there are, a sum does not.
func.func @heads_of_the_cache(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"},
    %c: !transformer.cache<16> {transformer.name = "keys"}) -> (tensor<?x8xf32> {transformer.name = "y"}, tensor<?x6x8xf32> {transformer.name = "z"}) {
  %k = transformer.cached %c in(%memory) : !transformer.cache<16> -> tensor<?x16xf32>
  %kh = transformer.split_heads %k : tensor<?x16xf32> -> tensor<?x2x8xf32>
  %kr = transformer.repeat_heads %kh : tensor<?x2x8xf32> -> tensor<?x6x8xf32>
  %s = transformer.contract "td,khd->thk" %x, %kr in(%rows, %memory) : tensor<?x8xf32>, tensor<?x6x8xf32> -> tensor<?x6x?xf32>
  %z = transformer.contract "thk,khd->thd" %s, %kr in(%rows, %memory) : tensor<?x6x?xf32>, tensor<?x6x8xf32> -> tensor<?x6x8xf32>
  %t = transformer.contract "td,khd->tk" %x, %kr in(%rows, %memory) : tensor<?x8xf32>, tensor<?x6x8xf32> -> tensor<?x?xf32>
  %y = transformer.contract "tk,khd->td" %t, %kr in(%rows, %memory) : tensor<?x?xf32>, tensor<?x6x8xf32> -> tensor<?x8xf32>
  return %y, %z : tensor<?x8xf32>, tensor<?x6x8xf32>
}
