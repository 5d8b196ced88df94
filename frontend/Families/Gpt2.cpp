// SPDX-License-Identifier: Apache-2.0
///
/// GPT-2: Radford et al., "Language models are unsupervised multitask learners", the decoder of the
/// Transformer with learned positions, norms before sub-layers and one at the end. Its matrices are
/// stored [inputs, outputs].
#include "frontend/Families/Family.h"

#include "dialects/Transformer/Transformer.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Config/Config.h"
#include "formats/Config/Generation.h"
#include "frontend/Builder/ModelBuilder.h"
#include "frontend/Families/DotProductAttention.h"

#include <fmt/format.h>

namespace heddle {

using transformer::Activation;
using transformer::Visibility;

namespace {

/// A model of the family: its sizes and its mathematics.
struct Gpt2 {
  /// What the names of all tensors but the output's begin with.
  std::string prefix;
  int64_t vocabulary = 0;
  int64_t width = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t inner = 0;
  int64_t positions = 0;
  double epsilon = 0;
  Activation activation = Activation::GeluNew;
  /// Whether scores are divided by sqrt(d_k), and by the number of the layer, from 1 on.
  bool scaleScores = true;
  bool scaleByLayer = false;
  /// The output uses the table of the embeddings.
  bool tied = true;

  Tensor linear(const Scope &scope, std::string_view name, const Tensor &x, int64_t size) const;
  double scoreScale(int64_t layer) const;
  Tensor attention(const Scope &self, int64_t layer, const Tensor &x, Entry &entry) const;
  void decode(const Scope &root, Entry entry) const;
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

void Gpt2::decode(const Scope &root, Entry entry) const {
  const Scope model = prefix.empty() ? root : root.scope(prefix);
  const Parameter table = model.parameter("wte.weight", {vocabulary, width});
  Tensor x = model.gather(table, entry.input("input_ids")) +
             model.gather("wpe", model.positions(entry.segments()), positions, width);
  for (int64_t index = 0; index < layers; ++index) {
    const Scope layer = model.scope("h", index);
    x = residualSubLayer(layer, {"ln_1", true, epsilon}, x, [&](const Tensor &y) {
      return attention(layer.scope("attn"), index, y, entry);
    });
    x = residualSubLayer(layer, {"ln_2", true, epsilon}, x, [&](const Tensor &y) {
      const Scope mlp = layer.scope("mlp");
      return linear(mlp, "c_proj", linear(mlp, "c_fc", y, inner).activate(activation), width);
    });
  }
  x = model.layerNorm("ln_f", x, epsilon);
  const Parameter output = tied ? table : root.parameter("lm_head.weight", {vocabulary, width});
  entry.output("logits", model.linear(x, output));
}

static Result<Gpt2> readGpt2(const Config &config) {
  Gpt2 gpt;
  HEDDLE_ASSIGN(gpt.vocabulary, config.integer("vocab_size", 1, tableLimit));
  HEDDLE_ASSIGN(gpt.width, config.integer("n_embd", 1, widthLimit));
  HEDDLE_ASSIGN(gpt.layers, config.integer("n_layer", 1, layerLimit));
  HEDDLE_ASSIGN(gpt.heads, config.integer("n_head", 1, widthLimit));
  HEDDLE_TRY(checkHeads(config, "n_head", gpt.heads, "n_embd", gpt.width));
  HEDDLE_ASSIGN(gpt.inner, config.integerOr("n_inner", 1, 4 * widthLimit, 4 * gpt.width));
  HEDDLE_ASSIGN(gpt.positions, config.integer("n_positions", 1, tableLimit));
  HEDDLE_ASSIGN(gpt.epsilon, config.numberOr("layer_norm_epsilon", 0, 1, 1e-5));
  HEDDLE_ASSIGN(gpt.activation, readActivation(config, "activation_function", "gelu_new"));
  HEDDLE_ASSIGN(gpt.scaleScores, config.booleanOr("scale_attn_weights", true));
  HEDDLE_ASSIGN(gpt.scaleByLayer, config.booleanOr("scale_attn_by_inverse_layer_idx", false));
  HEDDLE_ASSIGN(gpt.tied, config.booleanOr("tie_word_embeddings", true));
  return gpt;
}

/// Tensors that some folders have: the mask, once for each layer, and the tied output.
static std::vector<std::string> unusedTensors(const Gpt2 &gpt) {
  std::vector<std::string> unused;
  const std::string start = gpt.prefix.empty() ? "" : gpt.prefix + ".";
  for (int64_t index = 0; index < gpt.layers; ++index) {
    for (const char *const name : {"bias", "masked_bias"}) {
      unused.push_back(fmt::format("{}h.{}.attn.{}", start, index, name));
    }
  }
  if (gpt.tied) {
    unused.emplace_back("lm_head.weight");
  }
  return unused;
}

/// The upcast changes where rounding happens, and summaries belong to other heads.
static ConfigKeys configKeys() {
  return {{},
          {"GPT2", {"LMHeadModel", "Model"}, {"DoubleHeadsModel"}},
          {"attn_pdrop", "embd_pdrop", "n_ctx", "reorder_and_upcast_attn", "resid_pdrop",
           "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
           "summary_use_proj"},
          {{"add_cross_attention", {"false"}}, {"is_encoder_decoder", {"false"}}}};
}

Result<FamilyModel> buildGpt2(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(Gpt2 gpt, readGpt2(source.config));
  // A model without a head has no prefix, and neither have the first folders that were published.
  gpt.prefix = source.checkpoint.find("wte.weight") == nullptr ? "transformer" : "";
  HEDDLE_ASSIGN(const Generation generation,
                readContinuation(source.config, source.generation, gpt.vocabulary));
  ModelBuilder builder(context, "gpt2");
  builder.generation(generation);
  gpt.decode(builder.scope(), builder.entry("decode"));
  HEDDLE_ASSIGN(auto module, builder.build());
  return FamilyModel{std::move(module), unusedTensors(gpt), configKeys()};
}

} // namespace heddle
