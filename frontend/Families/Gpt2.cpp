// SPDX-License-Identifier: Apache-2.0
///
/// GPT-2: Radford et al., "Language models are unsupervised multitask learners", the decoder of the
/// Transformer with learned positions, norms before sub-layers and one at the end. Its matrices are
/// stored [inputs, outputs].
#include "frontend/Families/DecoderLayers.h"

#include "dialects/Transformer/Transformer.h"
#include "formats/Config/Config.h"

namespace heddle {

using transformer::Activation;
using transformer::Visibility;

namespace {

/// A model of the family: its sizes and its layers.
struct Gpt2 : DecoderFrame {
  int64_t heads = 0;
  int64_t inner = 0;
  int64_t positions = 0;
  double epsilon = 0;
  Activation activation = Activation::GeluNew;
  /// Whether scores are divided by sqrt(d_k), and by the layer's number, starting at 1.
  bool scaleScores = true;
  bool scaleByLayer = false;

  Tensor linear(const Scope &scope, std::string_view name, const Tensor &x, int64_t size) const;
  double scoreScale(int64_t layer) const;
  Tensor attention(const Scope &self, int64_t layer, const Tensor &x, Entry &entry) const;
  Tensor body(const Scope &model, const Tensor &embedded, Entry &entry) const;
};

} // namespace

Tensor Gpt2::linear(const Scope &scope, std::string_view name, const Tensor &x,
                    int64_t size) const {
  const Scope own = scope.scope(name);
  const Parameter stored = own.parameter("weight", {x.width(), size});
  return own.linear(x, own.transposed("weight.transposed", stored), own.parameter("bias", {size}));
}

double Gpt2::scoreScale(int64_t layer) const {
  const double scale = scaleScores ? dotProductScale(width / heads) : 1;
  return scaleByLayer ? scale / static_cast<double>(layer + 1) : scale;
}

Tensor Gpt2::attention(const Scope &self, int64_t layer, const Tensor &x, Entry &entry) const {
  const Segments rows = entry.segments();
  const Segments seen = rows.history();
  // Queries, keys and values side by side.
  const Tensor all = linear(self, "c_attn", x, 3 * width);
  const Tensor query = all.columns(0, width);
  const auto keep = [&](std::string_view name, int64_t first) {
    return entry.cache(self.scope(name).name(), width)
        .append(all.columns(first, width), rows)
        .rows(seen);
  };
  const Tensor key = keep("key", width);
  const Tensor value = keep("value", 2 * width);
  const Tensor context = attend(self, query, rows, {key, value, seen}, heads,
                                {.scale = scoreScale(layer), .visibility = Visibility::causal()})
                             .context;
  return linear(self, "c_proj", context, width);
}

Tensor Gpt2::body(const Scope &model, const Tensor &embedded, Entry &entry) const {
  Tensor x = embedded + model.gather("wpe", model.positions(entry.segments()), positions, width);
  for (int64_t index = 0; index < layers; ++index) {
    const Scope layer = model.scope(names.layer, index);
    x = residualSubLayer(layer, {"ln_1", true, epsilon}, x, [&](const Tensor &y) {
      return attention(layer.scope("attn"), index, y, entry);
    });
    x = residualSubLayer(layer, {"ln_2", true, epsilon}, x, [&](const Tensor &y) {
      const Scope mlp = layer.scope("mlp");
      return linear(mlp, "c_proj", linear(mlp, "c_fc", y, inner).activate(activation), width);
    });
  }
  return model.layerNorm("ln_f", x, epsilon);
}

static Result<Gpt2> readGpt2(const Config &config) {
  Gpt2 gpt;
  HEDDLE_TRY(gpt.readFrame(config,
                           {.width = "n_embd",
                            .layers = "n_layer",
                            .prefix = "transformer",
                            .embeddings = "wte",
                            .layer = "h",
                            // The masks.
                            .buffers = {"attn.bias", "attn.masked_bias"}},
                           /*absentTied=*/true));
  HEDDLE_ASSIGN(gpt.heads, config.integer("n_head", 1, widthLimit));
  HEDDLE_TRY(checkHeads(config, "n_head", gpt.heads, "n_embd", gpt.width));
  HEDDLE_ASSIGN(gpt.inner, config.integerOr("n_inner", 1, 4 * widthLimit, 4 * gpt.width));
  HEDDLE_ASSIGN(gpt.positions, config.integer("n_positions", 1, tableLimit));
  HEDDLE_ASSIGN(gpt.epsilon, config.numberOr("layer_norm_epsilon", 0, 1, 1e-5));
  HEDDLE_ASSIGN(gpt.activation, readActivation(config, "activation_function", "gelu_new"));
  HEDDLE_ASSIGN(gpt.scaleScores, config.booleanOr("scale_attn_weights", true));
  HEDDLE_ASSIGN(gpt.scaleByLayer, config.booleanOr("scale_attn_by_inverse_layer_idx", false));
  return gpt;
}

/// The upcast only affects rounding, and the summary keys belong to other heads.
static ConfigKeys configKeys() {
  return {{},
          {"GPT2", {"LMHeadModel", "Model"}, {"DoubleHeadsModel"}},
          {"attn_pdrop", "embd_pdrop", "n_ctx", "reorder_and_upcast_attn", "resid_pdrop",
           "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
           "summary_use_proj"},
          {{"add_cross_attention", {"false"}}, {"is_encoder_decoder", {"false"}}}};
}

Result<FamilyModel> buildGpt2(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(const Gpt2 gpt, readGpt2(source.config));
  return buildDecoder(context, "gpt2", gpt, source, configKeys(),
                      [&](const Scope &model, const Tensor &embedded, Entry &entry) {
                        return gpt.body(model, embedded, entry);
                      });
}

} // namespace heddle
