// SPDX-License-Identifier: Apache-2.0
///
/// Gemma 2 (Gemma Team, "Gemma 2: improving open language models at a practical size", section 2):
/// alternating local and global layers, norms before and after sub-layers, soft caps of scores and
/// of logits. Gemma 3 for text (Gemma Team, "Gemma 3 technical report", section 2): norms of heads
/// instead of the caps, and rotary positions with another base in local layers.
#include "frontend/Families/DecoderLayers.h"

#include "dialects/Transformer/Transformer.h"
#include "formats/Config/Config.h"

#include <cmath>
#include <fmt/format.h>

namespace heddle {

using transformer::Activation;

namespace {

/// A model of these families: its sizes and its layers.
struct Gemma : DecoderFrame {
  GroupedHeads heads;
  int64_t inner = 0;
  double epsilon = 0;
  Activation activation = Activation::GeluNew;
  Bias attentionBias = Bias::No;
  bool normalizesHeads = false;
  /// Scores are divided by the root of this.
  double scoreDivisor = 256;
  /// 0: none.
  double scoreCap = 0;
  Windows windows;
  /// The positions of layers without a window, and of those with one.
  Rotary global, local;

  Tensor norm(const Scope &scope, std::string_view name, const Tensor &x) const;
  Tensor attention(const Scope &self, const Tensor &x, const Rotation &rotation, int64_t window,
                   Entry &entry) const;
  Tensor feedForward(const Scope &mlp, const Tensor &x) const;
  Tensor layer(const Scope &scope, const Tensor &x, const Rotation &rotation, int64_t window,
               Entry &entry) const;
  Tensor body(const Scope &model, const Tensor &embedded, Entry &entry) const;
};

} // namespace

/// The stored weight of an RMS norm is its difference from one.
Tensor Gemma::norm(const Scope &scope, std::string_view name, const Tensor &x) const {
  const Scope own = scope.scope(name);
  const Parameter ones =
      own.reshape("ones", own.onesFrom("row_of_ones", 0, 1, x.width()), {x.width()});
  const Parameter parts[] = {own.parameter("weight", {x.width()}), ones};
  return own.rmsNorm(x, own.sum("weight.plus_one", parts), epsilon);
}

Tensor Gemma::attention(const Scope &self, const Tensor &x, const Rotation &rotation,
                        int64_t window, Entry &entry) const {
  const Segments rows = entry.segments();
  Projections made = {self.linear("q_proj", x, heads.queryWidth(), attentionBias),
                      self.linear("k_proj", x, heads.keyWidth(), attentionBias),
                      self.linear("v_proj", x, heads.keyWidth(), attentionBias)};
  if (normalizesHeads) {
    made.query = normalizeHeads(made.query, rows, heads.heads,
                                [&](const Tensor &head) { return norm(self, "q_norm", head); });
    made.key = normalizeHeads(made.key, rows, heads.keyHeads,
                              [&](const Tensor &head) { return norm(self, "k_norm", head); });
  }
  const Tensor context = attendToPast(self, entry, made, heads, &rotation, window,
                                      {.scale = 1 / std::sqrt(scoreDivisor), .cap = scoreCap});
  return self.linear("o_proj", context, width, attentionBias);
}

Tensor Gemma::feedForward(const Scope &mlp, const Tensor &x) const {
  return gatedFeedForward(x, inner, activation,
                          [&](std::string_view name, const Tensor &in, int64_t made) {
                            return mlp.linear(name, in, made, Bias::No);
                          });
}

/// Gemma 2, section 2: the input and the output of each sub-layer are normalized.
Tensor Gemma::layer(const Scope &scope, const Tensor &x, const Rotation &rotation, int64_t window,
                    Entry &entry) const {
  const Tensor mixed = attention(scope.scope("self_attn"), norm(scope, "input_layernorm", x),
                                 rotation, window, entry);
  const Tensor attended = norm(scope, "post_attention_layernorm", mixed) + x;
  const Tensor y = norm(scope, "pre_feedforward_layernorm", attended);
  return norm(scope, "post_feedforward_layernorm", feedForward(scope.scope("mlp"), y)) + attended;
}

Tensor Gemma::body(const Scope &model, const Tensor &embedded, Entry &entry) const {
  const Segments rows = entry.segments();
  const Rotation globalRotation(model.scope("rotary_emb"), global, rows);
  const Rotation localRotation(model.scope("rotary_emb_local"), local, rows);
  Tensor x = embedded * std::sqrt(static_cast<double>(width));
  for (int64_t index = 0; index < layers; ++index) {
    const int64_t window = windows[static_cast<size_t>(index)];
    x = layer(model.scope(names.layer, index), x, window > 0 ? localRotation : globalRotation,
              window, entry);
  }
  return norm(model, "norm", x);
}

/// Reads the keys that both families share; the `cap`s are the defaults.
static Result<Gemma> readGemma(const Config &config, double scoreCap, double logitCap) {
  Gemma model;
  HEDDLE_TRY(model.readFrame(config, {}, /*absentTied=*/true));
  HEDDLE_ASSIGN(model.heads, readGroupedHeads(config, model.width, {.keyHeads = 4, .size = 256}));
  HEDDLE_ASSIGN(model.inner, config.integer("intermediate_size", 1, 4 * widthLimit));
  HEDDLE_ASSIGN(model.epsilon, config.numberOr("rms_norm_eps", 0, 1, 1e-6));
  HEDDLE_ASSIGN(model.activation, readActivation(config, "hidden_activation", "gelu_pytorch_tanh"));
  HEDDLE_ASSIGN(const bool bias, config.booleanOr("attention_bias", false));
  model.attentionBias = bias ? Bias::Yes : Bias::No;
  HEDDLE_ASSIGN(model.scoreDivisor, config.numberOr("query_pre_attn_scalar", 1e-6, 1e9, 256));
  // Null disables a cap; a missing key means the published default.
  const auto readCap = [&](const char *key, double absent) {
    return config.numberOr(key, 1e-6, 1e9, config.isPresent(key) ? 0 : absent);
  };
  HEDDLE_ASSIGN(model.scoreCap, readCap("attn_logit_softcapping", scoreCap));
  HEDDLE_ASSIGN(model.logitCap, readCap("final_logit_softcapping", logitCap));
  return model;
}

static Result<FamilyModel> build(mlir::MLIRContext &context, std::string_view modelType,
                                 const Gemma &gemma, const ModelSource &source, ConfigKeys keys) {
  return buildDecoder(context, modelType, gemma, source, std::move(keys),
                      [&](const Scope &model, const Tensor &embedded, Entry &entry) {
                        return gemma.body(model, embedded, entry);
                      },
                      {&gemma.global, &gemma.local});
}

/// A model that sees the whole text at once is not a decoder.
static ConfigKeys configKeys(std::string_view family, std::vector<std::string_view> neutral) {
  neutral.emplace_back("max_position_embeddings");
  return {{},
          {family, {"ForCausalLM", "TextModel", "Model"}, {}},
          std::move(neutral),
          {{"is_encoder_decoder", {"false"}}, {"use_bidirectional_attention", {"false"}}}};
}

Result<FamilyModel> buildGemma2(mlir::MLIRContext &context, const ModelSource &source) {
  const Config &config = source.config;
  HEDDLE_ASSIGN(Gemma model, readGemma(config, 50, 30));
  HEDDLE_ASSIGN(const int64_t window, readWindow(config, 4096));
  HEDDLE_ASSIGN(model.windows, readWindows(config, model.layers, window,
                                           [](int64_t layer) { return layer % 2 == 0; }));
  HEDDLE_ASSIGN(model.global, readRotary(config, model.heads.size, source.textLength));
  model.local = model.global;
  model.local.note.clear();
  // "hidden_act" is the activation's old name; "cache_implementation" only concerns Transformers.
  return build(context, "gemma2", model, source,
               configKeys("Gemma2", {"cache_implementation", "hidden_act"}));
}

Result<FamilyModel> buildGemma3(mlir::MLIRContext &context, const ModelSource &source) {
  const Config &config = source.config;
  HEDDLE_ASSIGN(Gemma model, readGemma(config, 0, 0));
  model.normalizesHeads = true;
  HEDDLE_ASSIGN(const int64_t window, readWindow(config, 4096));
  HEDDLE_ASSIGN(const int64_t pattern,
                config.integerOr("sliding_window_pattern", 1, layerLimit, 6));
  HEDDLE_ASSIGN(model.windows, readWindows(config, model.layers, window, [&](int64_t layer) {
                  return (layer + 1) % pattern != 0;
                }));
  HEDDLE_ASSIGN(model.global, readRotary(config, model.heads.size, source.textLength,
                                         {.absentBase = 1e6, .layers = "full_attention"}));
  HEDDLE_ASSIGN(model.local, readRotary(config, model.heads.size, source.textLength,
                                        {.base = "rope_local_base_freq",
                                         .layers = "sliding_attention",
                                         .isScaled = false}));
  return build(context, "gemma3_text", model, source,
               configKeys("Gemma3", {"_sliding_window_pattern", "cache_implementation"}));
}

} // namespace heddle
