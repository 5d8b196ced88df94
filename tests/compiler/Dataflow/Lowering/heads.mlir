// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow | FileCheck %s

// Attention is a kernel once recognised, and loop nests as long as it is not.

transformer.parameter @query : tensor<12x32x384xf32> from "query"
transformer.parameter @head.bias : tensor<12x32xf32> from "head.bias"

func.func @fused(%x: tensor<?x1152xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x384xf32> {transformer.name = "all"}, tensor<?x384xf32> {transformer.name = "causal"}) {
  %q = transformer.columns %x from 0 : tensor<?x1152xf32> -> tensor<?x384xf32>
  %k = transformer.columns %x from 384 : tensor<?x1152xf32> -> tensor<?x384xf32>
  %v = transformer.columns %x from 768 : tensor<?x1152xf32> -> tensor<?x384xf32>
  %0 = transformer.attention %q, %k, %v in(%rows, %rows) {heads = 12 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  %1 = transformer.attention %q, %k, %v in(%rows, %rows) {heads = 12 : i64, scale = 1.250000e-01 : f32, visibility = #transformer.visibility<causal>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32>
  return %0, %1 : tensor<?x384xf32>, tensor<?x384xf32>
}

// CHECK: dataflow.kernel @attention : {{.*}} computes #dataflow.attention<heads = 12, keySize = 32, valueSize = 32, scale = 1.250000e-01 : f32, visibility = <all>>
// CHECK: dataflow.kernel @attention_0 : {{.*}}, visibility = <causal>>
// CHECK-LABEL: dataflow.graph @fused(
// CHECK-SAME: %[[X:.*]]: !dataflow.buffer<[tokens, 1152], f32> {dataflow.name = "x"})
// CHECK:      %[[Q:.*]] = dataflow.columns %[[X]] from 0 : {{(!dataflow.buffer)?}}<[tokens, 1152], f32> -> {{(!dataflow.buffer)?}}<[tokens, 384] in 1152, f32>
// CHECK:      %[[K:.*]] = dataflow.columns %[[X]] from 384
// CHECK:      %[[V:.*]] = dataflow.columns %[[X]] from 768
// CHECK:      dataflow.dispatch @attention(%[[Q]], %[[K]], %[[V]])
// CHECK:      dataflow.dispatch @attention_0(%[[Q]], %[[K]], %[[V]])

func.func @primitive(%q: tensor<?x384xf32> {transformer.name = "q"}, %kv: tensor<?x768xf32> {transformer.name = "kv"}, %rows: !transformer.segments) -> (tensor<?x384xf32> {transformer.name = "y"}) {
  %k = transformer.columns %kv from 0 : tensor<?x768xf32> -> tensor<?x384xf32>
  %v = transformer.columns %kv from 384 : tensor<?x768xf32> -> tensor<?x384xf32>
  %qh = transformer.split_heads %q : tensor<?x384xf32> -> tensor<?x12x32xf32>
  %kh = transformer.split_heads %k : tensor<?x384xf32> -> tensor<?x12x32xf32>
  %vh = transformer.split_heads %v : tensor<?x384xf32> -> tensor<?x12x32xf32>
  %qs = transformer.scale %qh, 1.250000e-01 : tensor<?x12x32xf32>
  %kt = transformer.transpose %kh [1, 2, 0] : tensor<?x12x32xf32> -> tensor<12x32x?xf32>
  %s = transformer.contract "thd,hdk->thk" %qs, %kt in(%rows, %rows) : tensor<?x12x32xf32>, tensor<12x32x?xf32> -> tensor<?x12x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %b = transformer.mask_bias %m {hidden = -1.000000e+09 : f32} : tensor<?x?xf32>
  %z = transformer.add %s, %b : tensor<?x12x?xf32>, tensor<?x?xf32>
  %n = transformer.select %m, %z {hidden = 0xFF800000 : f32} : tensor<?x12x?xf32>
  %p = transformer.softmax %n in(%rows) : tensor<?x12x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x12x?xf32>, tensor<?x12x32xf32> -> tensor<?x12x32xf32>
  %y = transformer.merge_heads %c : tensor<?x12x32xf32> -> tensor<?x384xf32>
  return %y : tensor<?x384xf32>
}

// CHECK: dataflow.kernel @scale : {{.*}} computes #dataflow.nest<"thd->thd", none>
// CHECK: dataflow.kernel @transpose : (!dataflow.buffer<[tokens, 12, 32] in 768, f32>) -> !dataflow.buffer<[12, 32, tokens], f32> computes #dataflow.nest<"thd->hdt", none>
// CHECK: dataflow.kernel @contract_heads : (!dataflow.buffer<[tokens, 12, 32], f32>, !dataflow.buffer<[12, 32, tokens], f32>) -> !dataflow.buffer<[tokens, 12, longest], f32> computes #dataflow.nest<"thd,hdk->thk", sum> {
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT:   %[[TERM:.*]] = arith.mulf %[[A]], %[[B]] fastmath<contract> : f32
// CHECK-NEXT:   dataflow.yield %[[TERM]]
// CHECK: dataflow.kernel @mask_bias : () -> !dataflow.buffer<[tokens, longest], f32> computes #dataflow.nest<"->tk", none, hidden = -1.000000e+09 : f32> {
// CHECK-NEXT:   %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:   dataflow.yield %[[ZERO]]
// CHECK: dataflow.kernel @add : {{.*}} computes #dataflow.nest<"thk,tk->thk", none>
// CHECK: dataflow.kernel @select : {{.*}} computes #dataflow.nest<"thk->thk", none, hidden = 0xFF800000 : f32>
// CHECK: dataflow.kernel @softmax : {{.*}} computes #dataflow.nest<"thk->thk", softmax>
// CHECK: dataflow.kernel @contract_heads_{{[0-9]+}} : {{.*}} computes #dataflow.nest<"thk,khd->thd", sum>
// CHECK-LABEL: dataflow.graph @primitive(
// CHECK-SAME: %[[Q:.*]]: !dataflow.buffer<[tokens, 384], f32> {dataflow.name = "q"}, %[[KV:.*]]: !dataflow.buffer<[tokens, 768], f32> {dataflow.name = "kv"})
// CHECK:      %[[K:.*]] = dataflow.columns %[[KV]] from 0
// CHECK:      %[[QH:.*]] = dataflow.reshape %[[Q]] : {{(!dataflow.buffer)?}}<[tokens, 384], f32> -> {{(!dataflow.buffer)?}}<[tokens, 12, 32], f32>
// CHECK:      %[[KH:.*]] = dataflow.reshape %[[K]] : {{(!dataflow.buffer)?}}<[tokens, 384] in 768, f32> -> {{(!dataflow.buffer)?}}<[tokens, 12, 32] in 768, f32>
// CHECK:      %[[QS:.*]] = dataflow.dispatch @scale(%[[QH]])
// CHECK:      %[[KT:.*]] = dataflow.dispatch @transpose(%[[KH]])
// CHECK:      %[[S:.*]] = dataflow.dispatch @contract_heads(%[[QS]], %[[KT]])
// CHECK:      %[[B:.*]] = dataflow.dispatch @mask_bias()
// CHECK:      %[[Z:.*]] = dataflow.dispatch @add(%[[S]], %[[B]])
// CHECK:      %[[N:.*]] = dataflow.dispatch @select(%[[Z]])
// CHECK:      dataflow.dispatch @softmax(%[[N]])
// CHECK:      %[[C:.*]] = dataflow.dispatch @contract_heads_
// CHECK:      %[[Y:.*]] = dataflow.reshape %[[C]] : {{(!dataflow.buffer)?}}<[tokens, 12, 32], f32> -> {{(!dataflow.buffer)?}}<[tokens, 384], f32>
// CHECK:      dataflow.output %[[Y]]

// What every row sees hides nothing: the selection is its scores, the bias is zero.
func.func @visible(%q: tensor<?x384xf32> {transformer.name = "q"}, %rows: !transformer.segments) -> (tensor<?x384xf32> {transformer.name = "y"}) {
  %qh = transformer.split_heads %q : tensor<?x384xf32> -> tensor<?x12x32xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %qh in(%rows, %rows) : tensor<?x12x32xf32>, tensor<?x12x32xf32> -> tensor<?x12x?xf32>
  %m = transformer.mask all in(%rows, %rows)
  %n = transformer.select %m, %s {hidden = 0xFF800000 : f32} : tensor<?x12x?xf32>
  %b = transformer.mask_bias %m {hidden = -1.000000e+09 : f32} : tensor<?x?xf32>
  %z = transformer.add %n, %b : tensor<?x12x?xf32>, tensor<?x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x12x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %qh in(%rows, %rows) : tensor<?x12x?xf32>, tensor<?x12x32xf32> -> tensor<?x12x32xf32>
  %y = transformer.merge_heads %c : tensor<?x12x32xf32> -> tensor<?x384xf32>
  return %y : tensor<?x384xf32>
}

// CHECK-LABEL: dataflow.graph @visible(
// CHECK:      %[[S:.*]] = dataflow.dispatch @contract_heads_
// CHECK-NOT:  @select
// CHECK:      %[[B:.*]] = dataflow.dispatch @mask_bias_{{[0-9]+}}()
// CHECK:      dataflow.dispatch @add_{{[0-9]+}}(%[[S]], %[[B]])

// Heads split by a contraction with a weight. Keys alone are rows: the nest computes them as `t`.
func.func @weights(%x: tensor<?x384xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x384xf32> {transformer.name = "y"}) {
  %w = transformer.weight @query : tensor<12x32x384xf32>
  %b = transformer.weight @head.bias : tensor<12x32xf32>
  %q = transformer.contract "te,hde->thd" %x, %w : tensor<?x384xf32>, tensor<12x32x384xf32> -> tensor<?x12x32xf32>
  %qb = transformer.add %q, %b : tensor<?x12x32xf32>, tensor<12x32xf32>
  %k = transformer.contract "ke,hde->hdk" %x, %w in(%rows, %rows) : tensor<?x384xf32>, tensor<12x32x384xf32> -> tensor<12x32x?xf32>
  %s = transformer.contract "thd,hdk->thk" %qb, %k in(%rows, %rows) : tensor<?x12x32xf32>, tensor<12x32x?xf32> -> tensor<?x12x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x12x?xf32>
  %c = transformer.contract "thk,hdk->thd" %p, %k in(%rows, %rows) : tensor<?x12x?xf32>, tensor<12x32x?xf32> -> tensor<?x12x32xf32>
  %y = transformer.merge_heads %c : tensor<?x12x32xf32> -> tensor<?x384xf32>
  return %y : tensor<?x384xf32>
}

// CHECK: dataflow.kernel @contract_heads_{{[0-9]+}} : {{.*}} computes #dataflow.nest<"te,hde->thd", sum>
// CHECK: dataflow.kernel @add_{{[0-9]+}} : {{.*}} computes #dataflow.nest<"thd,hd->thd", none>
// CHECK: dataflow.kernel @contract_heads_{{[0-9]+}} : {{.*}} -> !dataflow.buffer<[12, 32, tokens], f32> computes #dataflow.nest<"te,hde->hdt", sum>
// CHECK: dataflow.kernel @contract_heads_{{[0-9]+}} : {{.*}} -> !dataflow.buffer<[tokens, 12, longest], f32> computes #dataflow.nest<"thd,hdk->thk", sum>
// CHECK-LABEL: dataflow.graph @weights(
