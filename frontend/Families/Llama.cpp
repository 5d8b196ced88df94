// SPDX-License-Identifier: Apache-2.0
///
/// LLaMA (Touvron et al.), versions 1 to 3; Mistral (Jiang et al., "Mistral 7B"), with windows of
/// keys; Qwen 2 (Yang et al.), whose projections have biases; and Qwen 3, which normalizes heads
/// before they are rotated.
#include "frontend/Families/Llama.h"

#include "dialects/Transformer/Transformer.h"
#include "formats/Config/Config.h"

namespace heddle {

/// Returns queries, keys and values of rows; section 2.2.2 of Qwen 3's report for norms of heads.
Projections Llama::projections(const Scope &self, const Tensor &x, const Segments &rows) const {
  Projections made = project
                         ? project(self, x)
                         : Projections{self.linear("q_proj", x, heads.queryWidth(), projectionBias),
                                       self.linear("k_proj", x, heads.keyWidth(), projectionBias),
                                       self.linear("v_proj", x, heads.keyWidth(), projectionBias)};
  if (normalizesHeads) {
    const auto norm = [&](std::string_view name) {
      return [&, name](const Tensor &head) { return self.rmsNorm(name, head, epsilon); };
    };
    made.query = normalizeHeads(made.query, rows, heads.heads, norm("q_norm"));
    made.key = normalizeHeads(made.key, rows, heads.keyHeads, norm("k_norm"));
  }
  return made;
}

Tensor Llama::attention(const Scope &self, int64_t layer, const Tensor &x, const Rotation &rotation,
                        Entry &entry) const {
  const Tensor context =
      attendToPast(self, entry, projections(self, x, entry.segments()), heads, &rotation,
                   windows[static_cast<size_t>(layer)], {.scale = dotProductScale(heads.size)});
  return self.linear("o_proj", context, width, outputBias);
}

/// Section 2.2, SwiGLU.
Tensor Llama::gated(const Scope &mlp, const Tensor &x) const {
  const auto map = [&](std::string_view name, const Tensor &in, int64_t made) {
    return mlp.linear(name, in, made, feedForwardBias);
  };
  return gatedFeedForward(x, inner, activation, map);
}

/// Section 2.2: the input of each sub-layer is normalized.
Tensor Llama::layer(const Scope &scope, int64_t index, const Tensor &x, const Rotation &rotation,
                    Entry &entry) const {
  const Tensor attended = attention(scope.scope("self_attn"), index,
                                    scope.rmsNorm("input_layernorm", x, epsilon), rotation, entry) +
                          x;
  const Tensor y = scope.rmsNorm("post_attention_layernorm", attended, epsilon);
  const Tensor made =
      feedForward ? feedForward(scope, index, y, entry.segments()) : gated(scope.scope("mlp"), y);
  return made + attended;
}

Tensor Llama::body(const Scope &model, const Tensor &embedded, Entry &entry) const {
  const Rotation rotation(model.scope("rotary_emb"), rotary, entry.segments());
  Tensor x = embedded;
  for (int64_t index = 0; index < layers; ++index) {
    x = layer(model.scope(names.layer, index), index, x, rotation, entry);
  }
  return model.rmsNorm("norm", x, epsilon);
}

Result<Llama> readLlama(const ModelSource &source, const AbsentLlama &absent) {
  const Config &config = source.config;
  Llama model;
  // Frequencies, which the first folders contain.
  HEDDLE_TRY(model.readFrame(config, {.buffers = {"self_attn.rotary_emb.inv_freq"}},
                             /*absentTied=*/false));
  HEDDLE_ASSIGN(model.heads, readGroupedHeads(config, model.width, absent.heads));
  HEDDLE_ASSIGN(model.inner, config.integer("intermediate_size", 1, 4 * widthLimit));
  HEDDLE_ASSIGN(model.epsilon, config.numberOr("rms_norm_eps", 0, 1, absent.epsilon));
  HEDDLE_ASSIGN(model.activation, readActivation(config, "hidden_act", "silu"));
  HEDDLE_ASSIGN(model.rotary,
                readRotary(config, model.heads.size, source.textLength, absent.rotary));
  model.windows.assign(static_cast<size_t>(model.layers), 0);
  return model;
}

ConfigKeys llamaKeys(std::string_view family, std::vector<std::string_view> neutral,
                     std::vector<FixedKey> fixed) {
  // The length of training texts, unless a kind of scaling reads it.
  neutral.emplace_back("max_position_embeddings");
  fixed.push_back({"is_encoder_decoder", {"false"}});
  return {{}, {family, {"ForCausalLM", "Model"}, {}}, std::move(neutral), std::move(fixed)};
}

Result<FamilyModel> buildLlamaModel(mlir::MLIRContext &context, std::string_view modelType,
                                    const Llama &llama, const ModelSource &source,
                                    ConfigKeys keys) {
  return buildDecoder(context, modelType, llama, source, std::move(keys),
                      [&](const Scope &model, const Tensor &embedded, Entry &entry) {
                        return llama.body(model, embedded, entry);
                      },
                      {&llama.rotary});
}

// --- Families --------------------------------------------------------------------------------

Result<FamilyModel> buildLlama(mlir::MLIRContext &context, const ModelSource &source) {
  const Config &config = source.config;
  HEDDLE_ASSIGN(Llama model, readLlama(source));
  HEDDLE_ASSIGN(const bool attentionBias, config.booleanOr("attention_bias", false));
  HEDDLE_ASSIGN(const bool mlpBias, config.booleanOr("mlp_bias", false));
  model.projectionBias = model.outputBias = attentionBias ? Bias::Yes : Bias::No;
  model.feedForwardBias = mlpBias ? Bias::Yes : Bias::No;
  return buildLlamaModel(context, "llama", model, source,
                         llamaKeys("Llama", {}, {{"pretraining_tp", {"1"}}}));
}

Result<FamilyModel> buildMistral(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(Llama model, readLlama(source, {.heads = {.keyHeads = 8}}));
  HEDDLE_ASSIGN(const int64_t window, readWindow(source.config, 4096));
  model.windows.assign(static_cast<size_t>(model.layers), window);
  return buildLlamaModel(context, "mistral", model, source,
                         llamaKeys("Mistral", {}, {{"layer_types", {}}}));
}

Status readQwenWindows(const Config &config, Llama &model) {
  HEDDLE_ASSIGN(const bool hasWindows, config.booleanOr("use_sliding_window", false));
  HEDDLE_ASSIGN(int64_t window, readWindow(config, 4096));
  window = hasWindows ? window : 0;
  HEDDLE_ASSIGN(const int64_t first, config.integerOr("max_window_layers", 0, tableLimit, 28));
  HEDDLE_ASSIGN(model.windows, readWindows(config, model.layers, window, [&](int64_t layer) {
                  return window > 0 && layer >= first;
                }));
  return {};
}

Result<FamilyModel> buildQwen2(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(Llama model, readLlama(source, {.heads = {.keyHeads = 32}}));
  model.projectionBias = Bias::Yes;
  HEDDLE_TRY(readQwenWindows(source.config, model));
  return buildLlamaModel(context, "qwen2", model, source,
                         llamaKeys("Qwen2", {}, {{"use_mrope", {"false"}}}));
}

Result<FamilyModel> buildQwen3(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(Llama model, readLlama(source, {.heads = {.keyHeads = 32, .size = 128}}));
  HEDDLE_ASSIGN(const bool bias, source.config.booleanOr("attention_bias", false));
  model.projectionBias = model.outputBias = bias ? Bias::Yes : Bias::No;
  model.normalizesHeads = true;
  HEDDLE_TRY(readQwenWindows(source.config, model));
  return buildLlamaModel(context, "qwen3", model, source, llamaKeys("Qwen3"));
}

} // namespace heddle
