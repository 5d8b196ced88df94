// SPDX-License-Identifier: Apache-2.0
///
/// ModernBERT: Warner et al., "Smarter, better, faster, longer: a modern bidirectional encoder",
/// section 2.1: no biases, norms before sub-layers, rotary positions, gated feed-forward layers,
/// and local layers between global ones.
#include "dialects/Transformer/Transformer.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Config/Config.h"
#include "frontend/Families/DecoderLayers.h"
#include "frontend/Families/Encoder.h"
#include "heddle/RowSpace.h"

namespace heddle {

using transformer::Activation;
using transformer::Visibility;

namespace {

/// A model of the family: its sizes and its layers.
struct ModernBert final : Encoder {
  /// The prefix of all tensors of the encoder: "model" in a checkpoint with a head, else empty.
  std::string prefix;
  int64_t vocabulary = 0;
  int64_t width = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t inner = 0;
  double epsilon = 1e-5;
  Activation activation = Activation::Gelu;
  Bias attentionBias = Bias::No;
  Bias feedForwardBias = Bias::No;
  Bias normBias = Bias::No;
  /// For each layer, the number of keys in the window around a row; 0: all.
  Windows windows;
  /// The positions of layers without a window, and of those with one.
  Rotary global, local;
  /// The classifier: the pooling of a sequence, and the layer before the scores.
  transformer::Pooling pooling = transformer::Pooling::Cls;
  Bias headBias = Bias::No;
  Activation headActivation = Activation::Gelu;

  Tensor norm(const Scope &scope, std::string_view name, const Tensor &x) const;
  Tensor attention(const Scope &self, const Tensor &x, const Rotation &rotation, int64_t window,
                   const Segments &rows) const;
  Tensor feedForward(const Scope &mlp, const Tensor &x) const;

  int64_t stateWidth() const override { return width; }
  Tensor encode(const Scope &root, Entry &entry) const override;
  Tensor summarize(const Scope &, const Tensor &, const Segments &) const override { return {}; }
  Tensor classify(const Scope &root, const ClassifierHead &head, const Tensor &states,
                  const Segments &rows) const override;
};

} // namespace

/// A layer norm, whose bias is zero unless the model has one.
Tensor ModernBert::norm(const Scope &scope, std::string_view name, const Tensor &x) const {
  if (normBias == Bias::Yes) {
    return scope.layerNorm(name, x, epsilon);
  }
  const Scope own = scope.scope(name);
  const Parameter zeros = own.reshape("zeros", own.onesFrom("row_of_zeros", 1, 1, width), {width});
  return own.layerNorm(x, own.parameter("weight", {width}), zeros, epsilon);
}

/// Section 2.1.2: a row of a local layer sees half of a window on each side.
Tensor ModernBert::attention(const Scope &self, const Tensor &x, const Rotation &rotation,
                             int64_t window, const Segments &rows) const {
  const Tensor all = self.linear("Wqkv", x, 3 * width, attentionBias);
  const Tensor query = rotation.of(self.scope("query"), all.columns(0, width), heads);
  const Tensor key = rotation.of(self.scope("key"), all.columns(width, width), heads);
  const Tensor value = all.columns(2 * width, width);
  Scoring scoring = {.scale = dotProductScale(width / heads)};
  if (window > 0) {
    scoring.neighbourhood = Visibility::band(window / 2, window / 2);
  }
  const Tensor context = attend(self, query, rows, {key, value, rows}, heads, scoring).context;
  return self.linear("Wo", context, width, attentionBias);
}

/// Section 2.1.1, GeGLU: the activated half comes first in the tensor.
Tensor ModernBert::feedForward(const Scope &mlp, const Tensor &x) const {
  const Tensor both = mlp.linear("Wi", x, 2 * inner, feedForwardBias);
  const Tensor gated = both.columns(0, inner).activate(activation) * both.columns(inner, inner);
  return mlp.linear("Wo", gated, width, feedForwardBias);
}

/// Section 2.1.1: a norm after the embeddings replaces that of the first attention.
Tensor ModernBert::encode(const Scope &root, Entry &entry) const {
  const Scope model = prefix.empty() ? root : root.scope(prefix);
  const Segments rows = entry.segments();
  const Scope embeddings = model.scope("embeddings");
  Tensor x = embeddings.gather("tok_embeddings", entry.input("input_ids"), vocabulary, width);
  x = norm(embeddings, "norm", x);
  const Rotation globalRotation(model.scope("rotary_emb"), global, rows);
  const Rotation localRotation(model.scope("rotary_emb_local"), local, rows);
  for (int64_t index = 0; index < layers; ++index) {
    const Scope layer = model.scope("layers", index);
    const int64_t window = windows[static_cast<size_t>(index)];
    const Tensor y = index == 0 ? x : norm(layer, "attn_norm", x);
    x = attention(layer.scope("attn"), y, window > 0 ? localRotation : globalRotation, window,
                  rows) +
        x;
    x = feedForward(layer.scope("mlp"), norm(layer, "mlp_norm", x)) + x;
  }
  return norm(model, "final_norm", x);
}

Tensor ModernBert::classify(const Scope &root, const ClassifierHead &head, const Tensor &states,
                            const Segments &rows) const {
  const Tensor x = head.isOfTokens ? states : states.pool(pooling, rows);
  const Scope layer = root.scope("head");
  const Tensor hidden = layer.linear("dense", x, width, headBias).activate(headActivation);
  return root.linear("classifier", norm(layer, "norm", hidden), head.width());
}

static Result<Bias> readBias(const Config &config, std::string_view key) {
  HEDDLE_ASSIGN(const bool has, config.booleanOr(key, false));
  return has ? Bias::Yes : Bias::No;
}

static Result<Windows> readLocalLayers(const Config &config, int64_t layers) {
  // With a window of one row, attention would be the identity.
  HEDDLE_ASSIGN(const int64_t window, config.integerOr("local_attention", 2, tableLimit, 128));
  HEDDLE_ASSIGN(const int64_t every,
                config.integerOr("global_attn_every_n_layers", 1, layerLimit, 3));
  return readWindows(config, layers, window, [&](int64_t layer) { return layer % every != 0; });
}

static Status readClassifier(const Config &config, ModernBert &bert) {
  HEDDLE_ASSIGN(const std::string pooling,
                config.oneOfOr("classifier_pooling", {"cls", "mean"}, "cls"));
  bert.pooling = pooling == "cls" ? transformer::Pooling::Cls : transformer::Pooling::Mean;
  HEDDLE_ASSIGN(bert.headBias, readBias(config, "classifier_bias"));
  HEDDLE_ASSIGN(bert.headActivation, readActivation(config, "classifier_activation", "gelu"));
  return {};
}

static Result<ModernBert> readModernBert(const ModelSource &source) {
  const Config &config = source.config;
  ModernBert bert;
  HEDDLE_ASSIGN(bert.vocabulary, config.integer("vocab_size", 1, tableLimit));
  HEDDLE_ASSIGN(bert.width, config.integer("hidden_size", 1, widthLimit));
  HEDDLE_ASSIGN(bert.layers, config.integer("num_hidden_layers", 1, layerLimit));
  HEDDLE_ASSIGN(bert.heads, config.integer("num_attention_heads", 1, SplitSize::mostParts));
  HEDDLE_TRY(checkHeads(config, "num_attention_heads", bert.heads, "hidden_size", bert.width));
  HEDDLE_ASSIGN(bert.inner, config.integer("intermediate_size", 1, 4 * widthLimit));
  HEDDLE_ASSIGN(bert.epsilon, config.numberOr("norm_eps", 0, 1, 1e-5));
  HEDDLE_ASSIGN(bert.activation, readActivation(config, "hidden_activation", "gelu"));
  HEDDLE_ASSIGN(bert.attentionBias, readBias(config, "attention_bias"));
  HEDDLE_ASSIGN(bert.feedForwardBias, readBias(config, "mlp_bias"));
  HEDDLE_ASSIGN(bert.normBias, readBias(config, "norm_bias"));
  HEDDLE_ASSIGN(bert.windows, readLocalLayers(config, bert.layers));
  const int64_t size = bert.width / bert.heads;
  RotarySpelling spelling = {.base = "global_rope_theta",
                             .absentBase = 160000,
                             .fraction = {},
                             .layers = "full_attention"};
  HEDDLE_ASSIGN(bert.global, readRotary(config, size, source.textLength, spelling));
  spelling.layers = "sliding_attention";
  // Null means the base of the other layers.
  if (!config.isPresent("local_rope_theta") || config.has("local_rope_theta")) {
    spelling.base = "local_rope_theta";
    spelling.absentBase = RotarySpelling().absentBase;
  }
  HEDDLE_ASSIGN(bert.local, readRotary(config, size, source.textLength, spelling));
  HEDDLE_TRY(readClassifier(config, bert));
  return bert;
}

Result<FamilyModel> buildModernBert(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(ModernBert bert, readModernBert(source));
  bert.prefix =
      source.checkpoint.find("embeddings.tok_embeddings.weight") == nullptr ? "model" : "";
  // Keys of training, and of the first implementation. "layer_norm_eps" is written, but never read.
  ConfigKeys keys = encoderKeys(
      "ModernBert", {"cls_token_id", "decoder_bias", "deterministic_flash_attn",
                     "embedding_dropout", "initializer_cutoff_factor", "layer_norm_eps",
                     "max_position_embeddings", "mlp_dropout", "reference_compile",
                     "repad_logits_with_grad", "sparse_pred_ignore_index", "sparse_prediction"});
  HEDDLE_ASSIGN(FamilyModel built, buildEncoder(context, "modernbert", bert, source,
                                                {"head.", "decoder.", "classifier."}, keys));
  for (const Rotary *const rotary : {&bert.global, &bert.local}) {
    describeRotary(*rotary, source.config.where(), built);
  }
  return built;
}

} // namespace heddle
