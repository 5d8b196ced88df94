// SPDX-License-Identifier: Apache-2.0
///
/// BART: Lewis et al., "BART: denoising sequence-to-sequence pre-training", the Transformer with
/// learned positions that begin at 2 and a norm after the embeddings. mBART (Liu et al.) has its
/// norms before sub-layers and one after each stack. Marian (Junczys-Dowmunt et al.) has sinusoidal
/// positions and neither of these norms; PEGASUS (Zhang et al.) and M2M-100 (Fan et al.), which is
/// NLLB's architecture as well (Costa-jussa et al.), have both the sinusoids and mBART's norms.
#include "frontend/Families/Family.h"

#include "dialects/Transformer/Transformer.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Config/Config.h"
#include "formats/Config/Generation.h"
#include "frontend/Builder/ModelBuilder.h"
#include "frontend/Families/DotProductAttention.h"

#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace heddle {

using transformer::Activation;
using transformer::Visibility;

namespace {

/// Rows of BART's position tables before the row of the first token.
constexpr int64_t reservedPositions = 2;
/// The default of torch.nn.LayerNorm, which no configuration changes.
constexpr double epsilon = 1e-5;

/// The sizes of the encoder or the decoder.
struct Stack {
  std::string name;
  int64_t vocabulary = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t inner = 0;
};

/// A model of the family: its sizes and its layers.
struct Bart {
  Stack encoder = {"encoder"};
  Stack decoder = {"decoder"};
  int64_t width = 0;
  int64_t positions = 0;
  Activation activation = Activation::Gelu;
  /// The sinusoids of positions, if these are not learned.
  std::optional<Sinusoid> sinusoid = std::nullopt;
  bool preNorm = false;
  bool embeddingNorm = true;
  bool scaleEmbeddings = false;
  /// Whether there is one table for both embeddings.
  bool sharedEmbeddings = true;
  /// Whether the output uses the decoder's table.
  bool tied = true;
  bool outputBias = true;

  Parameter table(const Scope &model, const Stack &stack) const;
  Tensor embed(const Scope &model, const Stack &stack, const Ids &tokens,
               const Segments &rows) const;
  template <typename Function>
  Tensor subLayer(const Scope &layer, std::string_view name, const Tensor &x, Function f) const;
  Tensor attention(const Scope &scope, const Stack &stack, const Tensor &x, const Segments &rows,
                   const Memory &memory, Visibility visibility,
                   Tensor *probabilities = nullptr) const;
  Tensor feedForward(const Scope &layer, const Stack &stack, const Tensor &x) const;
  Tensor endStack(const Scope &scope, const Tensor &x) const;
  void encode(const Scope &model, Entry entry) const;
  Tensor decodeLayer(const Scope &layer, const Tensor &x, Entry &entry, const Segments &source,
                     Tensor &probabilities) const;
  void decode(const Scope &root, Entry entry) const;
};

} // namespace

Parameter Bart::table(const Scope &model, const Stack &stack) const {
  const Scope scope =
      sharedEmbeddings ? model.scope("shared") : model.scope(stack.name).scope("embed_tokens");
  return scope.parameter("weight", {stack.vocabulary, width});
}

Tensor Bart::embed(const Scope &model, const Stack &stack, const Ids &tokens,
                   const Segments &rows) const {
  const Scope scope = model.scope(stack.name);
  Tensor x = scope.gather(table(model, stack), tokens);
  if (scaleEmbeddings) {
    x = x * std::sqrt(static_cast<double>(width));
  }
  if (sinusoid) {
    // Both stacks use the same table, which begins with the row of the first token.
    const Parameter places = model.sinusoid("positions", positions, width, *sinusoid);
    x = x + scope.gather(places, scope.positions(rows));
  } else {
    x = x + scope.gather("embed_positions", scope.positions(rows, reservedPositions),
                         positions + reservedPositions, width);
  }
  return embeddingNorm ? scope.layerNorm("layernorm_embedding", x, epsilon) : x;
}

template <typename Function>
Tensor Bart::subLayer(const Scope &layer, std::string_view name, const Tensor &x,
                      Function f) const {
  return residualSubLayer(layer, {name, preNorm, epsilon}, x, f);
}

/// "Attention is all you need", section 3.2. If `probabilities` is not null, it receives the
/// weights of the keys.
Tensor Bart::attention(const Scope &scope, const Stack &stack, const Tensor &x,
                       const Segments &rows, const Memory &memory, Visibility visibility,
                       Tensor *probabilities) const {
  const Tensor query = scope.linear("q_proj", x, width) * dotProductScale(width / stack.heads);
  const Attended attended =
      attend(scope, query, rows, memory, stack.heads, {.visibility = visibility});
  if (probabilities) {
    *probabilities = attended.probabilities;
  }
  return scope.linear("out_proj", attended.context, width);
}

Tensor Bart::feedForward(const Scope &layer, const Stack &stack, const Tensor &x) const {
  return subLayer(layer, "final_layer_norm", x, [&](const Tensor &y) {
    return layer.linear("fc2", layer.linear("fc1", y, stack.inner).activate(activation), width);
  });
}

Tensor Bart::endStack(const Scope &scope, const Tensor &x) const {
  return preNorm ? scope.layerNorm("layer_norm", x, epsilon) : x;
}

void Bart::encode(const Scope &model, Entry entry) const {
  const Ids tokens = entry.input("input_ids");
  const Segments rows = entry.segments();
  Tensor x = embed(model, encoder, tokens, rows);
  for (int64_t index = 0; index < encoder.layers; ++index) {
    const Scope layer = model.scope("encoder.layers", index);
    x = subLayer(layer, "self_attn_layer_norm", x, [&](const Tensor &y) {
      const Scope self = layer.scope("self_attn");
      const Memory all = {self.linear("k_proj", y, width), self.linear("v_proj", y, width), rows};
      return attention(self, encoder, y, rows, all, Visibility::all());
    });
    x = feedForward(layer, encoder, x);
  }
  x = endStack(model.scope("encoder"), x);
  entry.output("encoder_last_hidden_state", x);
  // The encoder computes the keys and values of the decoder's cross-attention, once for each
  // sentence.
  for (int64_t index = 0; index < decoder.layers; ++index) {
    const Scope cross = model.scope("decoder.layers", index).scope("encoder_attn");
    for (std::string_view name : {"k_proj", "v_proj"}) {
      entry.cache(cross.scope(name).name(), width).append(cross.linear(name, x, width), rows);
    }
  }
}

/// `probabilities` receives the weights of the layer's cross-attention.
Tensor Bart::decodeLayer(const Scope &layer, const Tensor &x, Entry &entry, const Segments &source,
                         Tensor &probabilities) const {
  const Segments rows = entry.segments();
  const Segments seen = rows.history();
  const Tensor attended = subLayer(layer, "self_attn_layer_norm", x, [&](const Tensor &y) {
    const Scope self = layer.scope("self_attn");
    const auto keep = [&](std::string_view name) {
      return entry.cache(self.scope(name).name(), width)
          .append(self.linear(name, y, width), rows)
          .rows(seen);
    };
    const Tensor key = keep("k_proj");
    const Tensor value = keep("v_proj");
    return attention(self, decoder, y, rows, {key, value, seen}, Visibility::causal());
  });
  const Tensor crossed = subLayer(layer, "encoder_attn_layer_norm", attended, [&](const Tensor &y) {
    const Scope cross = layer.scope("encoder_attn");
    const Tensor key = entry.cache(cross.scope("k_proj").name(), width).rows(source);
    const Tensor value = entry.cache(cross.scope("v_proj").name(), width).rows(source);
    return attention(cross, decoder, y, rows, {key, value, source}, Visibility::all(),
                     &probabilities);
  });
  return feedForward(layer, decoder, crossed);
}

void Bart::decode(const Scope &root, Entry entry) const {
  const Scope model = root.scope("model");
  const Ids tokens = entry.input("decoder_input_ids");
  const Segments source = entry.memory("memory");
  Tensor x = embed(model, decoder, tokens, entry.segments());
  Tensor probabilities;
  for (int64_t index = 0; index < decoder.layers; ++index) {
    x = decodeLayer(model.scope("decoder.layers", index), x, entry, source, probabilities);
  }
  x = endStack(model.scope("decoder"), x);
  const Parameter output =
      tied ? table(model, decoder) : root.parameter("lm_head.weight", {decoder.vocabulary, width});
  Parameter bias;
  if (outputBias) {
    // Stored as a matrix of one row.
    bias = root.reshape("final_logits_bias.vector",
                        root.parameter("final_logits_bias", {1, decoder.vocabulary}),
                        {decoder.vocabulary});
  }
  entry.output("logits", model.linear(x, output, bias));
  entry.output("attention", probabilities);
}

static Status readStack(Stack &stack, const Config &config, int64_t width) {
  const std::string heads = stack.name + "_attention_heads";
  HEDDLE_ASSIGN(stack.layers, config.integer(stack.name + "_layers", 1, layerLimit));
  HEDDLE_ASSIGN(stack.heads, config.integer(heads, 1, widthLimit));
  HEDDLE_TRY(checkHeads(config, heads, stack.heads, "d_model", width));
  HEDDLE_ASSIGN(stack.inner, config.integer(stack.name + "_ffn_dim", 1, 4 * widthLimit));
  return {};
}

/// Reads the keys that all configurations of the family share.
static Result<Bart> readBart(const Config &config, std::string_view activation = "gelu",
                             bool scales = false) {
  Bart bart;
  HEDDLE_ASSIGN(bart.encoder.vocabulary, config.integer("vocab_size", 1, tableLimit));
  bart.decoder.vocabulary = bart.encoder.vocabulary;
  HEDDLE_ASSIGN(bart.width, config.integer("d_model", 1, widthLimit));
  HEDDLE_TRY(readStack(bart.encoder, config, bart.width));
  HEDDLE_TRY(readStack(bart.decoder, config, bart.width));
  HEDDLE_ASSIGN(bart.positions, config.integer("max_position_embeddings", 1, tableLimit));
  HEDDLE_ASSIGN(bart.activation, readActivation(config, "activation_function", activation));
  HEDDLE_ASSIGN(bart.scaleEmbeddings, config.booleanOr("scale_embedding", scales));
  HEDDLE_ASSIGN(bart.tied, config.booleanOr("tie_word_embeddings", true));
  return bart;
}

/// The keys of models trained with fairseq, which has one implementation with many switches. Each
/// family fixes each of them. `whole` lists the architectures that are compiled completely.
static ConfigKeys configKeys(const Bart &bart, std::string_view family,
                             std::vector<std::string_view> whole) {
  const auto is = [](bool value) -> std::vector<std::string_view> {
    return {value ? "true" : "false"};
  };
  return {{},
          {family, std::move(whole), {}},
          {"extra_pos_embeddings", "num_hidden_layers"},
          {{"add_bias_logits", {"false"}},
           {"add_final_layer_norm", is(bart.preNorm)},
           {"is_encoder_decoder", {"true"}},
           {"normalize_before", is(bart.preNorm)},
           {"normalize_embedding", is(bart.embeddingNorm)},
           {"static_position_embeddings", is(bart.sinusoid.has_value())}}};
}

static Result<FamilyModel> build(mlir::MLIRContext &context, std::string_view modelType, Bart bart,
                                 const ModelSource &source, ConfigKeys keys) {
  // Folders may omit zeros.
  bart.outputBias &= source.checkpoint.find("final_logits_bias") != nullptr;
  HEDDLE_ASSIGN(const Generation generation,
                readGeneration(source.config, source.generation, bart.decoder.vocabulary));
  ModelBuilder builder(context, modelType);
  builder.generation(generation);
  bart.encode(builder.scope("model"), builder.entry("encode"));
  bart.decode(builder.scope(), builder.entry("decode"));
  HEDDLE_ASSIGN(auto module, builder.build());
  std::vector<std::string> unused;
  // Some folders store tied tables once for each name, and also store the sinusoids.
  if (bart.sharedEmbeddings) {
    unused.insert(unused.end(),
                  {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"});
  } else {
    unused.emplace_back("model.shared.weight");
  }
  if (bart.tied) {
    unused.emplace_back("lm_head.weight");
  }
  if (bart.sinusoid) {
    unused.insert(unused.end(),
                  {"model.encoder.embed_positions.", "model.decoder.embed_positions."});
  }
  return FamilyModel{std::move(module), std::move(unused), std::move(keys)};
}

/// A model with a separate output table may also have one table per stack.
static void findTables(Bart &bart, const Checkpoint &checkpoint) {
  bart.sharedEmbeddings =
      bart.tied || checkpoint.find("model.encoder.embed_tokens.weight") == nullptr;
}

Result<FamilyModel> buildBart(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(Bart bart, readBart(source.config));
  findTables(bart, source.checkpoint);
  return build(context, "bart", bart, source,
               configKeys(bart, "Bart", {"ForConditionalGeneration", "Model"}));
}

Result<FamilyModel> buildMBart(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(Bart bart, readBart(source.config));
  findTables(bart, source.checkpoint);
  bart.preNorm = true;
  return build(context, "mbart", bart, source,
               configKeys(bart, "MBart", {"ForConditionalGeneration", "Model"}));
}

/// Reads sinusoids with their sines in the first half of the columns, which must be at least
/// `least`.
static Status checkSinusoids(const Config &config, const Bart &bart, int64_t least) {
  if (bart.width % 2 != 0 || bart.width < least) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: \"d_model\" is {}, expected an even number{} for sinusoids",
                    config.where(), bart.width,
                    least > 2 ? fmt::format(" from {} on", least) : ""));
  }
  return {};
}

Result<FamilyModel> buildMarian(mlir::MLIRContext &context, const ModelSource &source) {
  const Config &config = source.config;
  HEDDLE_ASSIGN(Bart bart, readBart(config));
  HEDDLE_TRY(checkSinusoids(config, bart, 2));
  bart.sinusoid = Sinusoid{.split = true};
  bart.embeddingNorm = false;
  HEDDLE_ASSIGN(bart.sharedEmbeddings, config.booleanOr("share_encoder_decoder_embeddings", true));
  HEDDLE_ASSIGN(bart.decoder.vocabulary,
                config.integerOr("decoder_vocab_size", 1, tableLimit, bart.encoder.vocabulary));
  if (bart.sharedEmbeddings && bart.decoder.vocabulary != bart.encoder.vocabulary) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"decoder_vocab_size\" is {}, expected {}, "
                                    "\"vocab_size\", with \"share_encoder_decoder_embeddings\"",
                                    config.where(), bart.decoder.vocabulary,
                                    bart.encoder.vocabulary));
  }
  return build(context, "marian", bart, source, configKeys(bart, "Marian", {"MTModel", "Model"}));
}

Result<FamilyModel> buildPegasus(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(Bart bart, readBart(source.config));
  HEDDLE_TRY(checkSinusoids(source.config, bart, 2));
  bart.sinusoid = Sinusoid{.split = true};
  findTables(bart, source.checkpoint);
  bart.preNorm = true;
  bart.embeddingNorm = false;
  return build(context, "pegasus", bart, source,
               configKeys(bart, "Pegasus", {"ForConditionalGeneration", "Model"}));
}

Result<FamilyModel> buildM2M100(mlir::MLIRContext &context, const ModelSource &source) {
  const Config &config = source.config;
  HEDDLE_ASSIGN(Bart bart, readBart(config, "relu", /*scales=*/true));
  HEDDLE_TRY(checkSinusoids(config, bart, 4));
  // tensor2tensor's frequencies. Rows up to that of the padding are never read.
  HEDDLE_ASSIGN(const int64_t padding, config.integerOr("pad_token_id", 0, tableLimit, 1));
  bart.sinusoid = Sinusoid{.split = true, .first = padding + 1, .steps = bart.width / 2 - 1};
  findTables(bart, source.checkpoint);
  bart.preNorm = true;
  bart.embeddingNorm = false;
  bart.outputBias = false;
  return build(context, "m2m_100", bart, source,
               configKeys(bart, "M2M100", {"ForConditionalGeneration", "Model"}));
}

} // namespace heddle
