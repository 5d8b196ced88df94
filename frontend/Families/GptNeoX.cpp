// SPDX-License-Identifier: Apache-2.0
///
/// GPT-NeoX: Black et al., "GPT-NeoX-20B: an open-source autoregressive language model", section
/// 2.1: rotary positions in part of each head, parallel attention and feed-forward layers, and one
/// projection tensor, in which the query, key and value of each head are adjacent.
#include "frontend/Families/DecoderLayers.h"

#include "dialects/Transformer/Transformer.h"
#include "formats/Config/Config.h"

#include <fmt/format.h>

namespace heddle {

using transformer::Activation;

namespace {

/// A model of the family: its sizes and its layers.
struct GptNeoX : DecoderFrame {
  GroupedHeads heads;
  int64_t inner = 0;
  double epsilon = 0;
  Activation activation = Activation::Gelu;
  Bias attentionBias = Bias::Yes;
  /// Whether both sub-layers read the same rows, instead of one after the other.
  bool isParallel = true;
  Rotary rotary;

  Tensor project(const Scope &all, const Tensor &x, std::string_view name, int64_t part) const;
  Tensor attention(const Scope &self, const Tensor &x, const Rotation &rotation,
                   Entry &entry) const;
  Tensor feedForward(const Scope &mlp, const Tensor &x) const;
  Tensor body(const Scope &model, const Tensor &embedded, Entry &entry) const;
};

} // namespace

/// Returns part 0, 1 or 2 of all heads in the tensor; in a matrix with a row for each head, these
/// are columns.
Tensor GptNeoX::project(const Scope &all, const Tensor &x, std::string_view name,
                        int64_t part) const {
  const auto take = [&](std::string_view kind, const Parameter &whole, int64_t inputs) {
    const Scope own = all.scope(name).scope(kind);
    const int64_t each = heads.size * inputs;
    const Parameter ofHeads = own.reshape("heads", whole, {heads.heads, 3 * each});
    const Parameter some = own.columns("part", ofHeads, part * each, each);
    return inputs == 1 ? own.reshape("rows", some, {width})
                       : own.reshape("rows", some, {width, inputs});
  };
  const Parameter weight = take("weight", all.parameter("weight", {3 * width, width}), width);
  return all.linear(x, weight,
                    attentionBias == Bias::Yes ? take("bias", all.parameter("bias", {3 * width}), 1)
                                               : Parameter());
}

Tensor GptNeoX::attention(const Scope &self, const Tensor &x, const Rotation &rotation,
                          Entry &entry) const {
  const Scope all = self.scope("query_key_value");
  const Projections made = {project(all, x, "query", 0), project(all, x, "key", 1),
                            project(all, x, "value", 2)};
  const Tensor context = attendToPast(self, entry, made, heads, &rotation, /*window=*/0,
                                      {.scale = dotProductScale(heads.size)});
  return self.linear("dense", context, width, attentionBias);
}

Tensor GptNeoX::feedForward(const Scope &mlp, const Tensor &x) const {
  return mlp.linear("dense_4h_to_h", mlp.linear("dense_h_to_4h", x, inner).activate(activation),
                    width);
}

Tensor GptNeoX::body(const Scope &model, const Tensor &embedded, Entry &entry) const {
  const Rotation rotation(model.scope("rotary_emb"), rotary, entry.segments());
  Tensor x = embedded;
  for (int64_t index = 0; index < layers; ++index) {
    const Scope layer = model.scope(names.layer, index);
    const Tensor attended =
        attention(layer.scope("attention"), layer.layerNorm("input_layernorm", x, epsilon),
                  rotation, entry) +
        x;
    // Section 2.1: x + attention(norm(x)) + f(norm'(x)).
    const Tensor y =
        layer.layerNorm("post_attention_layernorm", isParallel ? x : attended, epsilon);
    x = feedForward(layer.scope("mlp"), y) + attended;
  }
  return model.layerNorm("final_layer_norm", x, epsilon);
}

static Result<GptNeoX> readGptNeoX(const ModelSource &source) {
  const Config &config = source.config;
  GptNeoX model;
  HEDDLE_TRY(model.readFrame(
      config,
      {.prefix = "gpt_neox",
       .embeddings = "embed_in",
       .output = "embed_out",
       // Masks and frequencies.
       .buffers = {"attention.bias", "attention.masked_bias", "attention.rotary_emb.inv_freq"}},
      /*absentTied=*/false));
  HEDDLE_ASSIGN(model.heads, readGroupedHeads(config, model.width));
  if (model.heads.keyHeads != model.heads.heads || model.heads.queryWidth() != model.width) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: \"num_key_value_heads\" or \"head_dim\" is set, expected "
                                    "a model without",
                                    config.where()));
  }
  HEDDLE_ASSIGN(model.inner, config.integer("intermediate_size", 1, 4 * widthLimit));
  HEDDLE_ASSIGN(model.epsilon, config.numberOr("layer_norm_eps", 0, 1, 1e-5));
  HEDDLE_ASSIGN(model.activation, readActivation(config, "hidden_act", "gelu"));
  HEDDLE_ASSIGN(const bool bias, config.booleanOr("attention_bias", true));
  model.attentionBias = bias ? Bias::Yes : Bias::No;
  HEDDLE_ASSIGN(model.isParallel, config.booleanOr("use_parallel_residual", true));
  HEDDLE_ASSIGN(
      model.rotary,
      readRotary(config, model.heads.size, source.textLength,
                 {.base = "rotary_emb_base", .fraction = "rotary_pct", .absentFraction = 0.25}));
  return model;
}

Result<FamilyModel> buildGptNeoX(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(const GptNeoX gpt, readGptNeoX(source));
  ConfigKeys keys = {{},
                     {"GPTNeoX", {"ForCausalLM", "Model"}, {}},
                     {"max_position_embeddings"},
                     {{"is_encoder_decoder", {"false"}}}};
  return buildDecoder(context, "gpt_neox", gpt, source, std::move(keys),
                      [&](const Scope &model, const Tensor &embedded, Entry &entry) {
                        return gpt.body(model, embedded, entry);
                      },
                      {&gpt.rotary});
}

} // namespace heddle
