// SPDX-License-Identifier: Apache-2.0
///
/// GPT-NeoX: Black et al., "GPT-NeoX-20B: an open-source autoregressive language model", section
/// 2.1: rotary positions in part of each head, attention and feed-forward layer side by side, and
/// one tensor of projections, in which each head has its query, key and value together.
#include "frontend/Families/DecoderLayers.h"

#include "dialects/Transformer/Transformer.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Config/Config.h"
#include "formats/Config/Generation.h"

#include <fmt/format.h>

namespace heddle {

using transformer::Activation;

namespace {

/// A model of the family: its sizes and its mathematics.
struct GptNeoX {
  /// What the names of all tensors but the output's begin with.
  std::string prefix;
  int64_t vocabulary = 0;
  int64_t width = 0;
  int64_t layers = 0;
  GroupedHeads heads;
  int64_t inner = 0;
  double epsilon = 0;
  Activation activation = Activation::Gelu;
  Bias attentionBias = Bias::Yes;
  /// Both sub-layers read the same rows, instead of one after the other.
  bool isParallel = true;
  bool tied = false;
  Rotary rotary;

  Tensor project(const Scope &all, const Tensor &x, std::string_view name, int64_t part) const;
  Tensor attention(const Scope &self, const Tensor &x, const Rotation &rotation,
                   Entry &entry) const;
  Tensor feedForward(const Scope &mlp, const Tensor &x) const;
  void decode(const Scope &root, Entry entry) const;
};

} // namespace

/// Part 0, 1 or 2 of what each head has in the tensor, of all heads: of a matrix with a row for
/// each head these are columns.
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

void GptNeoX::decode(const Scope &root, Entry entry) const {
  const Scope model = prefix.empty() ? root : root.scope(prefix);
  const Parameter table = model.parameter("embed_in.weight", {vocabulary, width});
  const Rotation rotation(model.scope("rotary_emb"), rotary, entry.segments());
  Tensor x = model.gather(table, entry.input("input_ids"));
  for (int64_t index = 0; index < layers; ++index) {
    const Scope layer = model.scope("layers", index);
    const Tensor attended =
        attention(layer.scope("attention"), layer.layerNorm("input_layernorm", x, epsilon),
                  rotation, entry) +
        x;
    // Section 2.1: x + attention(norm(x)) + f(norm'(x)).
    const Tensor y =
        layer.layerNorm("post_attention_layernorm", isParallel ? x : attended, epsilon);
    x = feedForward(layer.scope("mlp"), y) + attended;
  }
  x = model.layerNorm("final_layer_norm", x, epsilon);
  const Parameter output = tied ? table : root.parameter("embed_out.weight", {vocabulary, width});
  entry.output("logits", model.linear(x, output));
}

static Result<GptNeoX> readGptNeoX(const Config &config) {
  GptNeoX model;
  HEDDLE_ASSIGN(model.vocabulary, config.integer("vocab_size", 1, tableLimit));
  HEDDLE_ASSIGN(model.width, config.integer("hidden_size", 1, widthLimit));
  HEDDLE_ASSIGN(model.layers, config.integer("num_hidden_layers", 1, layerLimit));
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
  HEDDLE_ASSIGN(model.tied, config.booleanOr("tie_word_embeddings", false));
  HEDDLE_ASSIGN(
      model.rotary,
      readRotary(config, model.heads.size,
                 {.base = "rotary_emb_base", .fraction = "rotary_pct", .absentFraction = 0.25}));
  return model;
}

/// Tensors that some folders have: masks and frequencies, once for each layer, and the tied output.
static std::vector<std::string> unusedTensors(const GptNeoX &model) {
  std::vector<std::string> unused;
  const std::string start = model.prefix.empty() ? "" : model.prefix + ".";
  for (int64_t index = 0; index < model.layers; ++index) {
    for (const char *const name : {"bias", "masked_bias", "rotary_emb.inv_freq"}) {
      unused.push_back(fmt::format("{}layers.{}.attention.{}", start, index, name));
    }
  }
  if (model.tied) {
    unused.emplace_back("embed_out.weight");
  }
  return unused;
}

Result<FamilyModel> buildGptNeoX(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(GptNeoX model, readGptNeoX(source.config));
  // A model without a head has no prefix.
  model.prefix = source.checkpoint.find("embed_in.weight") == nullptr ? "gpt_neox" : "";
  HEDDLE_ASSIGN(const Generation generation,
                readContinuation(source.config, source.generation, model.vocabulary));
  ModelBuilder builder(context, "gpt_neox");
  builder.generation(generation);
  model.decode(builder.scope(), builder.entry("decode"));
  HEDDLE_ASSIGN(auto module, builder.build());
  const ConfigKeys keys = {{},
                           {"GPTNeoX", {"ForCausalLM", "Model"}, {}},
                           {"max_position_embeddings"},
                           {{"is_encoder_decoder", {"false"}}}};
  FamilyModel built{std::move(module), unusedTensors(model), keys};
  if (!model.rotary.note.empty()) {
    built.notes.push_back(fmt::format("{}: {}", source.config.where(), model.rotary.note));
  }
  return built;
}

} // namespace heddle
