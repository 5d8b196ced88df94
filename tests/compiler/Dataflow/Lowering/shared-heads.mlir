// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow -dataflow-merge-kernels -split-input-file -verify-diagnostics | FileCheck %s

// Heads that share keys and values: a kernel that reads fewer of these once recognised, and until
// then a copy of rows; a cache is never copied, the nest that reads it has an axis more.

// CHECK: dataflow.kernel @nest_thd_thed : (!dataflow.buffer<[tokens, 2, 8], f32>) -> !dataflow.buffer<[tokens, 2, 3, 8], f32> computes #dataflow.nest<"thd->thed", none>
// CHECK: dataflow.dispatch @nest_thd_thed
// CHECK-NEXT: dataflow.reshape %{{.*}} : !dataflow.buffer<[tokens, 2, 3, 8], f32> -> !dataflow.buffer<[tokens, 6, 8], f32>
// CHECK: dataflow.kernel @attention_6x8_keys2_values1 : {{.*}} computes #dataflow.attention<heads = 6, keySize = 8, valueSize = 8, scale = 1.000000e+00 : f32, visibility = <all>, keyShare = 3, valueShare = 6>
// CHECK: dataflow.kernel @attention_weights_6x8_keys2 : {{.*}} computes #dataflow.attention_weights<heads = 6, keySize = 8, scale = 1.000000e+00 : f32, visibility = <all>, keyShare = 3>
// CHECK: dataflow.kernel @attend_6x8_values1 : {{.*}} computes #dataflow.attend<heads = 6, valueSize = 8, visibility = <all>, valueShare = 6>
// CHECK: dataflow.kernel @nest_khd_thad_thak_multiply : (!dataflow.cache<[2, 8], f32, rows>, !dataflow.buffer<[tokens, 2, 3, 8], f32>) -> !dataflow.buffer<[tokens, 2, 3, longest], f32>
// CHECK: dataflow.kernel @nest_thak_khd_thad_multiply : (!dataflow.buffer<[tokens, 2, 3, longest], f32>, !dataflow.cache<[2, 8], f32, rows>) -> !dataflow.buffer<[tokens, 2, 3, 8], f32>
// CHECK-LABEL: dataflow.graph @over_a_cache
// CHECK: dataflow.reshape %{{.*}} : !dataflow.buffer<[tokens, 2, 3, longest], f32> -> !dataflow.buffer<[tokens, 6, longest], f32>
// CHECK-NOT: dataflow.nest<"khd

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

// -----

// Two rows of heads before the cache's own: the nest would have five axes.
!heads = tensor<?x6x8xf32>
func.func @too_many_axes(%x: tensor<?x48xf32> {transformer.name = "x"}, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"},
    %c: !transformer.cache<16> {transformer.name = "keys"}) -> (tensor<?x6x8x8xf32> {transformer.name = "y"}) {
  %qh = transformer.split_heads %x : tensor<?x48xf32> -> !heads
  %k = transformer.cached %c in(%memory) : !transformer.cache<16> -> tensor<?x16xf32>
  %kh = transformer.split_heads %k : tensor<?x16xf32> -> tensor<?x2x8xf32>
  %kr = transformer.repeat_heads %kh : tensor<?x2x8xf32> -> !heads
  // expected-error @below {{'transformer.contract' op reads a cache with one head for several by 'the,khd->thed', expected rows before heads, and 3 axes at most}}
  %s = transformer.contract "the,khd->thed" %qh, %kr in(%rows, %memory) : !heads, !heads -> tensor<?x6x8x8xf32>
  return %s : tensor<?x6x8x8xf32>
}
