// SPDX-License-Identifier: Apache-2.0
///
/// T5: Raffel et al., "Exploring the limits of transfer learning with a unified text-to-text
/// Transformer", section 2.1: RMS norms before sub-layers, no biases, no positions but a bias of
/// the scores by distance, which all layers of a stack share. Version 1.1 has gated feed-forward
/// layers (Shazeer, "GLU variants improve Transformer").
#include "frontend/Families/Family.h"

#include "dialects/Transformer/Transformer.h"
#include "formats/Config/Config.h"
#include "formats/Config/Generation.h"
#include "frontend/Builder/ModelBuilder.h"
#include "frontend/Families/DotProductAttention.h"

#include <cmath>
#include <fmt/format.h>

namespace heddle {

using transformer::Activation;
using transformer::Visibility;

namespace {

/// A model of the family: its sizes and its layers.
struct T5 {
  int64_t vocabulary = 0;
  int64_t width = 0;
  int64_t encoderLayers = 0;
  int64_t decoderLayers = 0;
  int64_t heads = 0;
  /// The size of one head. The number of heads times this size is not always the width.
  int64_t keySize = 0;
  int64_t inner = 0;
  int64_t buckets = 0;
  int64_t distance = 0;
  double epsilon = 1e-6;
  Activation activation = Activation::Relu;
  bool gated = false;
  /// Whether the output uses the table of the embeddings.
  bool tied = true;
  bool scaleOutputs = true;

  int64_t keyWidth() const { return heads * keySize; }
  Tensor linear(const Scope &scope, std::string_view name, const Tensor &x, int64_t outputs) const {
    return scope.linear(name, x, outputs, Bias::No);
  }
  Tensor embed(const Scope &model, const Ids &tokens) const;
  Tensor distances(const Scope &stack, bool bidirectional, const Segments &queries,
                   const Segments &keys) const;
  Tensor attention(const Scope &scope, const Tensor &x, const Segments &rows, const Memory &memory,
                   const Scoring &scoring, Tensor *probabilities = nullptr) const;
  Tensor feedForward(const Scope &scope, const Tensor &x) const;
  void encode(const Scope &model, Entry entry) const;
  Tensor decodeLayer(const Scope &block, const Tensor &x, Entry &entry, const Segments &source,
                     const Tensor &bias, Tensor &probabilities) const;
  void decode(const Scope &model, Entry entry) const;
};

} // namespace

Tensor T5::embed(const Scope &model, const Ids &tokens) const {
  return model.gather("shared", tokens, vocabulary, width);
}

/// The bias of scores by distance. The table is the first layer's; all layers use it.
Tensor T5::distances(const Scope &stack, bool bidirectional, const Segments &queries,
                     const Segments &keys) const {
  const Scope self = stack.scope("block.0.layer.0.SelfAttention.relative_attention_bias");
  const Parameter table = self.parameter("weight", {buckets, heads});
  return self.relativeBias(self.relativeBuckets("distances", table, bidirectional, distance),
                           queries, keys);
}

/// Attention without a scale. If `probabilities` is not null, it receives the weights of the keys.
Tensor T5::attention(const Scope &scope, const Tensor &x, const Segments &rows,
                     const Memory &memory, const Scoring &scoring, Tensor *probabilities) const {
  const Attended attended =
      attend(scope, linear(scope, "q", x, keyWidth()), rows, memory, heads, scoring);
  if (probabilities) {
    *probabilities = attended.probabilities;
  }
  return linear(scope, "o", attended.context, width);
}

Tensor T5::feedForward(const Scope &scope, const Tensor &x) const {
  const Scope dense = scope.scope("DenseReluDense");
  const Tensor y = scope.rmsNorm("layer_norm", x, epsilon);
  const Tensor hidden =
      gated ? linear(dense, "wi_0", y, inner).activate(activation) * linear(dense, "wi_1", y, inner)
            : linear(dense, "wi", y, inner).activate(activation);
  return linear(dense, "wo", hidden, width) + x;
}

void T5::encode(const Scope &model, Entry entry) const {
  const Ids tokens = entry.input("input_ids");
  const Segments rows = entry.segments();
  const Scope stack = model.scope("encoder");
  Tensor x = embed(model, tokens);
  const Tensor bias = distances(stack, true, rows, rows);
  for (int64_t index = 0; index < encoderLayers; ++index) {
    const Scope block = stack.scope("block", index);
    const Scope self = block.scope("layer.0.SelfAttention");
    const Tensor y = block.scope("layer.0").rmsNorm("layer_norm", x, epsilon);
    const Memory all = {linear(self, "k", y, keyWidth()), linear(self, "v", y, keyWidth()), rows};
    x = attention(self, y, rows, all, {.bias = bias}) + x;
    x = feedForward(block.scope("layer.1"), x);
  }
  x = stack.rmsNorm("final_layer_norm", x, epsilon);
  entry.output("encoder_last_hidden_state", x);
  // The encoder computes the keys and values of the decoder's cross-attention, once for each
  // sentence.
  for (int64_t index = 0; index < decoderLayers; ++index) {
    const Scope cross = model.scope("decoder.block", index).scope("layer.1.EncDecAttention");
    for (std::string_view name : {"k", "v"}) {
      entry.cache(cross.scope(name).name(), keyWidth())
          .append(linear(cross, name, x, keyWidth()), rows);
    }
  }
}

/// `probabilities` receives the weights of the layer's cross-attention.
Tensor T5::decodeLayer(const Scope &block, const Tensor &x, Entry &entry, const Segments &source,
                       const Tensor &bias, Tensor &probabilities) const {
  const Segments rows = entry.segments();
  const Segments seen = rows.history();
  const Scope self = block.scope("layer.0.SelfAttention");
  const Tensor y = block.scope("layer.0").rmsNorm("layer_norm", x, epsilon);
  const auto keep = [&](std::string_view name) {
    return entry.cache(self.scope(name).name(), keyWidth())
        .append(linear(self, name, y, keyWidth()), rows)
        .rows(seen);
  };
  const Tensor key = keep("k");
  const Tensor value = keep("v");
  const Tensor attended = attention(self, y, rows, {key, value, seen},
                                    {.bias = bias, .visibility = Visibility::causal()}) +
                          x;

  const Scope cross = block.scope("layer.1.EncDecAttention");
  const Memory memory = {entry.cache(cross.scope("k").name(), keyWidth()).rows(source),
                         entry.cache(cross.scope("v").name(), keyWidth()).rows(source), source};
  const Tensor crossed =
      attention(cross, block.scope("layer.1").rmsNorm("layer_norm", attended, epsilon), rows,
                memory, {}, &probabilities) +
      attended;
  return feedForward(block.scope("layer.2"), crossed);
}

void T5::decode(const Scope &model, Entry entry) const {
  const Ids tokens = entry.input("decoder_input_ids");
  const Segments rows = entry.segments();
  const Segments source = entry.memory("memory");
  const Scope stack = model.scope("decoder");
  Tensor x = embed(model, tokens);
  const Tensor bias = distances(stack, false, rows, rows.history());
  Tensor probabilities;
  for (int64_t index = 0; index < decoderLayers; ++index) {
    x = decodeLayer(stack.scope("block", index), x, entry, source, bias, probabilities);
  }
  x = stack.rmsNorm("final_layer_norm", x, epsilon);
  if (scaleOutputs) {
    x = x * (1 / std::sqrt(static_cast<double>(width)));
  }
  const Parameter table =
      model.parameter(tied ? "shared.weight" : "lm_head.weight", {vocabulary, width});
  entry.output("logits", model.linear(x, table));
  entry.output("attention", probabilities);
}

/// "gated-gelu" means a gate with the activation of version 1.1, which is GELU by tanh.
static Status readFeedForward(T5 &model, const Config &config) {
  static constexpr std::string_view key = "feed_forward_proj", gate = "gated-";
  if (!config.has(key)) {
    return {};
  }
  std::vector<std::string> choices = activationNames();
  for (const std::string &name : activationNames()) {
    choices.push_back(std::string(gate) + name);
  }
  HEDDLE_ASSIGN(const std::string name, config.oneOf(key, choices));
  model.gated = name.starts_with(gate);
  model.activation = name == "gated-gelu"
                         ? Activation::GeluNew
                         : *parseActivation(name.substr(model.gated ? gate.size() : 0));
  return {};
}

static Result<T5> readT5(const Config &config) {
  T5 model;
  HEDDLE_ASSIGN(model.vocabulary, config.integer("vocab_size", 1, tableLimit));
  HEDDLE_ASSIGN(model.width, config.integer("d_model", 1, widthLimit));
  HEDDLE_ASSIGN(model.encoderLayers, config.integer("num_layers", 1, layerLimit));
  HEDDLE_ASSIGN(model.decoderLayers,
                config.integerOr("num_decoder_layers", 1, layerLimit, model.encoderLayers));
  HEDDLE_ASSIGN(model.heads, config.integer("num_heads", 1, widthLimit));
  HEDDLE_ASSIGN(model.keySize, config.integer("d_kv", 1, widthLimit));
  HEDDLE_ASSIGN(model.inner, config.integer("d_ff", 1, 4 * widthLimit));
  HEDDLE_ASSIGN(model.epsilon, config.numberOr("layer_norm_epsilon", 0, 1, 1e-6));
  HEDDLE_TRY(readFeedForward(model, config));
  HEDDLE_ASSIGN(model.buckets, config.integerOr("relative_attention_num_buckets", 4, 1 << 16, 32));
  // Half of the buckets, or a quarter per direction if both count, hold a single distance each.
  HEDDLE_ASSIGN(model.distance, config.integerOr("relative_attention_max_distance",
                                                 model.buckets / 2 + 1, 1 << 16, 128));
  if (model.buckets % 2 != 0) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: \"relative_attention_num_buckets\" is "
                                                     "{}, expected an even number",
                                                     config.where(), model.buckets));
  }
  HEDDLE_ASSIGN(model.tied, config.booleanOr("tie_word_embeddings", true));
  HEDDLE_ASSIGN(model.scaleOutputs, config.booleanOr("scale_decoder_outputs", model.tied));
  return model;
}

Result<FamilyModel> buildT5(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(const T5 model, readT5(source.config));
  HEDDLE_ASSIGN(const Generation generation,
                readGeneration(source.config, source.generation, model.vocabulary));
  ModelBuilder builder(context, "t5");
  builder.generation(generation);
  model.encode(builder.scope(), builder.entry("encode"));
  model.decode(builder.scope(), builder.entry("decode"));
  HEDDLE_ASSIGN(auto module, builder.build());
  // Some folders store tied tables once for each name; the first ones contain a bias that no model
  // uses.
  std::vector<std::string> unused = {
      "encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
      "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"};
  if (model.tied) {
    unused.emplace_back("lm_head.weight");
  }
  // Keys that repeat "feed_forward_proj", and the length of training texts.
  ConfigKeys keys = {{},
                     {"T5", {"ForConditionalGeneration", "Model", "WithLMHeadModel"}, {}},
                     {"dense_act_fn", "is_gated_act", "n_positions"},
                     {{"is_encoder_decoder", {"true"}}}};
  return FamilyModel{std::move(module), std::move(unused), std::move(keys)};
}

} // namespace heddle
