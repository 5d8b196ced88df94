// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow -dataflow-fold-epilogues -dataflow-merge-kernels -dataflow-plan-memory | FileCheck %s
// RUN: heddle-opt %s -convert-transformer-to-dataflow -dataflow-merge-kernels -dataflow-plan-memory | FileCheck %s --check-prefix=UNFOLDED
// RUN: heddle-opt %s -convert-transformer-to-dataflow -dataflow-fold-epilogues -dataflow-plan-memory=reuse=false | FileCheck %s --check-prefix=APART

// Two layers of all-MiniLM-L6-v2 as the fusing passes leave them: five dispatches each, whose kernels
// both layers share.

module attributes {transformer.model_type = "bert"} {
  transformer.parameter @word : tensor<30522x384xf32> from "embeddings.word_embeddings.weight"
  transformer.parameter @type : tensor<2x384xf32> from "embeddings.token_type_embeddings.weight"
  transformer.parameter @position : tensor<512x384xf32> from "embeddings.position_embeddings.weight"
  transformer.parameter @norm.weight : tensor<384xf32> from "embeddings.LayerNorm.weight"
  transformer.parameter @norm.bias : tensor<384xf32> from "embeddings.LayerNorm.bias"
  transformer.parameter @layer.0.qkv.weight : tensor<1152x384xf32> from "layer.0.qkv.weight"
  transformer.parameter @layer.0.qkv.bias : tensor<1152xf32> from "layer.0.qkv.bias"
  transformer.parameter @layer.0.output.weight : tensor<384x384xf32> from "layer.0.output.weight"
  transformer.parameter @layer.0.output.bias : tensor<384xf32> from "layer.0.output.bias"
  transformer.parameter @layer.0.attention.norm.weight : tensor<384xf32> from "layer.0.attention.norm.weight"
  transformer.parameter @layer.0.attention.norm.bias : tensor<384xf32> from "layer.0.attention.norm.bias"
  transformer.parameter @layer.0.inner.weight : tensor<1536x384xf32> from "layer.0.inner.weight"
  transformer.parameter @layer.0.inner.bias : tensor<1536xf32> from "layer.0.inner.bias"
  transformer.parameter @layer.0.outer.weight : tensor<384x1536xf32> from "layer.0.outer.weight"
  transformer.parameter @layer.0.outer.bias : tensor<384xf32> from "layer.0.outer.bias"
  transformer.parameter @layer.0.norm.weight : tensor<384xf32> from "layer.0.norm.weight"
  transformer.parameter @layer.0.norm.bias : tensor<384xf32> from "layer.0.norm.bias"
  transformer.parameter @layer.1.qkv.weight : tensor<1152x384xf32> from "layer.1.qkv.weight"
  transformer.parameter @layer.1.qkv.bias : tensor<1152xf32> from "layer.1.qkv.bias"
  transformer.parameter @layer.1.output.weight : tensor<384x384xf32> from "layer.1.output.weight"
  transformer.parameter @layer.1.output.bias : tensor<384xf32> from "layer.1.output.bias"
  transformer.parameter @layer.1.attention.norm.weight : tensor<384xf32> from "layer.1.attention.norm.weight"
  transformer.parameter @layer.1.attention.norm.bias : tensor<384xf32> from "layer.1.attention.norm.bias"
  transformer.parameter @layer.1.inner.weight : tensor<1536x384xf32> from "layer.1.inner.weight"
  transformer.parameter @layer.1.inner.bias : tensor<1536xf32> from "layer.1.inner.bias"
  transformer.parameter @layer.1.outer.weight : tensor<384x1536xf32> from "layer.1.outer.weight"
  transformer.parameter @layer.1.outer.bias : tensor<384xf32> from "layer.1.outer.bias"
  transformer.parameter @layer.1.norm.weight : tensor<384xf32> from "layer.1.norm.weight"
  transformer.parameter @layer.1.norm.bias : tensor<384xf32> from "layer.1.norm.bias"

  func.func @embed(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %types: tensor<?xi32> {transformer.name = "token_type_ids", transformer.optional}, %rows: !transformer.segments) -> (tensor<?x384xf32> {transformer.name = "embedding"}) {
    %x0 = transformer.embed [@word, @type, @position] ids(%ids, %types) positions(%rows) {norm_weight = @norm.weight, norm_bias = @norm.bias, epsilon = 9.99999996E-13 : f32, position_offsets = array<i64: 0>} : tensor<?x384xf32> loc("embeddings")

    %qkv0 = transformer.linear %x0, @layer.0.qkv.weight, @layer.0.qkv.bias : tensor<?x384xf32> -> tensor<?x1152xf32> loc("encoder.layer.0.attention.self")
    %q0 = transformer.columns %qkv0 from 0 : tensor<?x1152xf32> -> tensor<?x384xf32>
    %k0 = transformer.columns %qkv0 from 384 : tensor<?x1152xf32> -> tensor<?x384xf32>
    %v0 = transformer.columns %qkv0 from 768 : tensor<?x1152xf32> -> tensor<?x384xf32>
    %a0 = transformer.attention %q0, %k0, %v0 in(%rows, %rows) {heads = 12 : i64, scale = 0.176776692 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32> loc("encoder.layer.0.attention.self")
    %o0 = transformer.linear %a0, @layer.0.output.weight, @layer.0.output.bias : tensor<?x384xf32> -> tensor<?x384xf32> loc("encoder.layer.0.attention.output.dense")
    %r0 = transformer.add %o0, %x0 : tensor<?x384xf32>, tensor<?x384xf32> loc("encoder.layer.0.attention.output")
    %n0 = transformer.layer_norm %r0, @layer.0.attention.norm.weight, @layer.0.attention.norm.bias {epsilon = 9.99999996E-13 : f32} : tensor<?x384xf32> loc("encoder.layer.0.attention.output.LayerNorm")
    %i0 = transformer.linear %n0, @layer.0.inner.weight, @layer.0.inner.bias : tensor<?x384xf32> -> tensor<?x1536xf32> loc("encoder.layer.0.intermediate.dense")
    %g0 = transformer.activate gelu %i0 : tensor<?x1536xf32> loc("encoder.layer.0.intermediate")
    %f0 = transformer.linear %g0, @layer.0.outer.weight, @layer.0.outer.bias : tensor<?x1536xf32> -> tensor<?x384xf32> loc("encoder.layer.0.output.dense")
    %s0 = transformer.add %f0, %n0 : tensor<?x384xf32>, tensor<?x384xf32> loc("encoder.layer.0.output")
    %x1 = transformer.layer_norm %s0, @layer.0.norm.weight, @layer.0.norm.bias {epsilon = 9.99999996E-13 : f32} : tensor<?x384xf32> loc("encoder.layer.0.output.LayerNorm")

    %qkv1 = transformer.linear %x1, @layer.1.qkv.weight, @layer.1.qkv.bias : tensor<?x384xf32> -> tensor<?x1152xf32> loc("encoder.layer.1.attention.self")
    %q1 = transformer.columns %qkv1 from 0 : tensor<?x1152xf32> -> tensor<?x384xf32>
    %k1 = transformer.columns %qkv1 from 384 : tensor<?x1152xf32> -> tensor<?x384xf32>
    %v1 = transformer.columns %qkv1 from 768 : tensor<?x1152xf32> -> tensor<?x384xf32>
    %a1 = transformer.attention %q1, %k1, %v1 in(%rows, %rows) {heads = 12 : i64, scale = 0.176776692 : f32, visibility = #transformer.visibility<all>} : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32> -> tensor<?x384xf32> loc("encoder.layer.1.attention.self")
    %o1 = transformer.linear %a1, @layer.1.output.weight, @layer.1.output.bias : tensor<?x384xf32> -> tensor<?x384xf32> loc("encoder.layer.1.attention.output.dense")
    %r1 = transformer.add %o1, %x1 : tensor<?x384xf32>, tensor<?x384xf32> loc("encoder.layer.1.attention.output")
    %n1 = transformer.layer_norm %r1, @layer.1.attention.norm.weight, @layer.1.attention.norm.bias {epsilon = 9.99999996E-13 : f32} : tensor<?x384xf32> loc("encoder.layer.1.attention.output.LayerNorm")
    %i1 = transformer.linear %n1, @layer.1.inner.weight, @layer.1.inner.bias : tensor<?x384xf32> -> tensor<?x1536xf32> loc("encoder.layer.1.intermediate.dense")
    %g1 = transformer.activate gelu %i1 : tensor<?x1536xf32> loc("encoder.layer.1.intermediate")
    %f1 = transformer.linear %g1, @layer.1.outer.weight, @layer.1.outer.bias : tensor<?x1536xf32> -> tensor<?x384xf32> loc("encoder.layer.1.output.dense")
    %s1 = transformer.add %f1, %n1 : tensor<?x384xf32>, tensor<?x384xf32> loc("encoder.layer.1.output")
    %x2 = transformer.layer_norm %s1, @layer.1.norm.weight, @layer.1.norm.bias {epsilon = 9.99999996E-13 : f32} : tensor<?x384xf32> loc("encoder.layer.1.output.LayerNorm")

    %m = transformer.pool mean %x2 in(%rows) : tensor<?x384xf32> loc("pooling")
    %u = transformer.normalize %m {epsilon = 9.99999996E-13 : f32} : tensor<?x384xf32> loc("normalize")
    return %u : tensor<?x384xf32>
  }
}

// CHECK:     dataflow.kernel @gather_384_layer_norm
// CHECK:     dataflow.kernel @contract_1152x384
// CHECK:     dataflow.kernel @attention_12x32
// CHECK:     dataflow.kernel @contract_384x384_add_layer_norm
// CHECK:     dataflow.kernel @contract_1536x384_gelu
// CHECK:     dataflow.kernel @contract_384x1536_add_layer_norm
// CHECK:     dataflow.kernel @pool_mean_384_normalize
// CHECK-NOT: dataflow.kernel

// 2304 floats a token: a row, its inner row, and the residual.
// CHECK-LABEL: dataflow.graph @embed(
// CHECK-SAME: attributes {arena = #dataflow.size<tokens = 9216>, max_length = 512 : i64}
// CHECK:     %[[X:.*]] = dataflow.dispatch @gather_384_layer_norm(
// CHECK:     %[[QKV:.*]] = dataflow.dispatch @contract_1152x384(%[[X]], %{{.*}}, %{{.*}}) at {{(#dataflow.size)?}}<{{.*}}>
// CHECK:     %[[Q:.*]] = dataflow.columns %[[QKV]] from 0
// CHECK:     %[[K:.*]] = dataflow.columns %[[QKV]] from 384
// CHECK:     %[[V:.*]] = dataflow.columns %[[QKV]] from 768
// CHECK:     %[[A:.*]] = dataflow.dispatch @attention_12x32(%[[Q]], %[[K]], %[[V]])
// CHECK:     %[[N:.*]] = dataflow.dispatch @contract_384x384_add_layer_norm(%[[A]], %{{.*}}, %{{.*}}, %[[X]], %{{.*}}, %{{.*}})
// CHECK:     %[[G:.*]] = dataflow.dispatch @contract_1536x384_gelu(%[[N]], %{{.*}}, %{{.*}})
// CHECK:     %[[X1:.*]] = dataflow.dispatch @contract_384x1536_add_layer_norm(%[[G]], %{{.*}}, %{{.*}}, %[[N]], %{{.*}}, %{{.*}})
// CHECK:     dataflow.dispatch @contract_1152x384(%[[X1]],
// CHECK:     dataflow.dispatch @attention_12x32(
// CHECK:     dataflow.dispatch @contract_384x384_add_layer_norm(
// CHECK:     dataflow.dispatch @contract_1536x384_gelu(
// CHECK:     %[[X2:.*]] = dataflow.dispatch @contract_384x1536_add_layer_norm(
// CHECK:     %[[Y:.*]] = dataflow.dispatch @pool_mean_384_normalize(%[[X2]]) :
// CHECK-NEXT: dataflow.output %[[Y]]

// UNFOLDED-LABEL: dataflow.graph @embed(
// UNFOLDED-SAME: arena = #dataflow.size<tokens = 13824, sequences = 1536>
// UNFOLDED:       dataflow.dispatch @contract_384x384(
// UNFOLDED:       dataflow.dispatch @rows_384_add(
// UNFOLDED:       dataflow.dispatch @rows_384_layer_norm(
// UNFOLDED:       dataflow.dispatch @contract_1536x384(
// UNFOLDED:       dataflow.dispatch @rows_1536_gelu(
// UNFOLDED:       dataflow.dispatch @rows_384_normalize(

// APART-LABEL: dataflow.graph @embed(
// APART-SAME: arena = #dataflow.size<tokens = 32256>
// APART:      dataflow.dispatch @gather({{.*}}) at {{(#dataflow.size)?}}<> :
// APART:      dataflow.dispatch @{{.*}} at {{(#dataflow.size)?}}<tokens = 1536> :
// APART:      dataflow.dispatch @{{.*}} at {{(#dataflow.size)?}}<tokens = 6144> :
