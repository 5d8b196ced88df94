// SPDX-License-Identifier: Apache-2.0
///
/// Reads config.json of the project's own format.
#include "frontend/Families/Family.h"

#include "dialects/Transformer/Transformer.h"
#include "formats/Config/Config.h"
#include "formats/Config/Generation.h"
#include "frontend/Families/Transformer.h"

#include <fmt/format.h>
#include <numeric>

namespace heddle {

static Result<Positions> readPositions(const Config &config, int64_t width) {
  HEDDLE_ASSIGN(const std::string name,
                config.oneOf("positions", {"sinusoidal", "sinusoidal-split", "learned"}));
  if (name == "learned") {
    return Positions::Learned;
  }
  if (width < 4 || width % 2 != 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"d_model\" is {}, expected an even number from 4 on for "
                                    "sinusoids",
                                    config.where(), width));
  }
  return name == "sinusoidal" ? Positions::Sinusoidal : Positions::SinusoidalSplit;
}

/// Reads the sizes of the blocks of decoder layers that share; empty if the key is absent.
static Result<std::vector<int64_t>> readBlocks(const Config &config, std::string_view key,
                                               int64_t layers) {
  if (!config.has(key)) {
    return std::vector<int64_t>();
  }
  HEDDLE_ASSIGN(std::vector<int64_t> blocks, config.integers(key, 1, layers));
  const int64_t sum = std::accumulate(blocks.begin(), blocks.end(), int64_t{0});
  if (sum != layers) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"{}\" has blocks of {} layers in all, expected {}, "
                                    "\"decoder_layers\"",
                                    config.where(), key, sum, layers));
  }
  return blocks;
}

/// Reads branches, whose number must divide the width. The remainder of dividing the inner width
/// among them is dropped, as in training.
static Result<Branches> readBranches(const Config &config, int64_t width, int64_t inner) {
  if (!config.has("branches")) {
    return Branches{};
  }
  HEDDLE_ASSIGN(const Config options, config.object("branches"));
  Branches branches;
  HEDDLE_ASSIGN(branches.count, options.integer("count", 1, widthLimit));
  HEDDLE_TRY(checkHeads(options, "count", branches.count, "d_model", width));
  HEDDLE_ASSIGN(const std::string ffn, options.oneOf("ffn", {"per-branch", "shared"}));
  branches.shared = ffn == "shared";
  if (!branches.shared && branches.count > inner) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"count\" is {}, expected at most \"d_ff\", {}",
                                    options.where(), branches.count, inner));
  }
  HEDDLE_TRY(refuseUnreadKeys(options, keysOfOwnFormat));
  return branches;
}

/// The largest number of positions in a form.
static constexpr int64_t reachLimit = int64_t{1} << 28;

/// Reads {"kind": "window", "size": 256} and similar forms: "Attention is all you need", section 4,
/// and local attention of tensor2tensor.
static Result<transformer::Visibility> readForm(const Config &form) {
  HEDDLE_ASSIGN(const std::string kind, nearestOf(form, "kind", {"window", "band", "block"}));
  int64_t size = 1;
  int64_t before = 0;
  int64_t after = 0;
  if (kind != "band") {
    HEDDLE_ASSIGN(size, form.integer("size", 1, reachLimit));
  }
  if (kind != "window") {
    HEDDLE_ASSIGN(before, form.integer("before", 0, reachLimit));
    HEDDLE_ASSIGN(after, form.integer("after", 0, reachLimit));
  }
  HEDDLE_TRY(refuseUnreadKeys(form, keysOfOwnFormat));
  return kind == "window" ? transformer::Visibility::window(size)
         : kind == "band" ? transformer::Visibility::band(before, after)
                          : transformer::Visibility::blocks(size, before, after);
}

/// Reads what a layer's rows attend to: a name, or a form.
static Result<SelfAttention> readSelfAttention(const Config &config, std::string_view key,
                                               const std::vector<std::string> &names) {
  SelfAttention attention;
  if (config.isObject(key)) {
    HEDDLE_ASSIGN(const Config form, config.object(key));
    HEDDLE_ASSIGN(attention.visibility, readForm(form));
    return attention;
  }
  HEDDLE_ASSIGN(const std::string name,
                nearestOf(config, key, names, ", or an object with a \"kind\""));
  attention.averages = name == "average";
  return attention;
}

/// Reads one value for each layer: the same for all, or a list.
static Result<std::vector<SelfAttention>> readLayers(const Config &config, std::string_view key,
                                                     int64_t layers,
                                                     const std::vector<std::string> &names) {
  if (!config.has(key)) {
    return std::vector<SelfAttention>(static_cast<size_t>(layers));
  }
  HEDDLE_ASSIGN(const std::vector<Config> items, config.each(key));
  std::vector<SelfAttention> list;
  for (const Config &item : items) {
    HEDDLE_ASSIGN(list.emplace_back(), readSelfAttention(item, key, names));
  }
  const bool isList = config.json(key).starts_with("[");
  if (isList && list.size() != static_cast<size_t>(layers)) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"{}\" has {} items, expected {}, one for each layer",
                                    config.where(), key, list.size(), layers));
  }
  list.resize(static_cast<size_t>(layers), isList ? SelfAttention() : list.front());
  return list;
}

/// Checks that layers that share weights have the same visibility; averages have no weights.
static Status checkSharedForms(const Transformer &model, const Config &config) {
  size_t layer = 0;
  for (const int64_t size : model.selfBlocks) {
    const SelfAttention &first = model.decoderAttention[layer];
    for (int64_t member = 0; member < size; ++member, ++layer) {
      if (model.decoderAttention[layer].averages) {
        return refuseOption(config, "self_attention_sharing");
      }
      if (model.decoderAttention[layer] != first) {
        return HEDDLE_ERROR(
            InvalidArgument,
            fmt::format("{}: \"decoder_self_attention\" of layer {} is another than "
                        "that of layer {}, expected one for the block of layers "
                        "that \"self_attention_sharing\" names",
                        config.where(), layer, layer - static_cast<size_t>(member)));
      }
    }
  }
  return {};
}

/// Reads settings that only some models have.
static Status readOptions(Transformer &model, const Config &config) {
  HEDDLE_ASSIGN(model.finalNorm, config.booleanOr("final_norm", model.preNorm));
  HEDDLE_ASSIGN(model.embeddingNorm, config.booleanOr("embedding_norm", false));
  HEDDLE_ASSIGN(model.scaleEmbeddings, config.booleanOr("scale_embeddings", true));
  HEDDLE_ASSIGN(model.startFromZero, config.booleanOr("start_from_zero_embedding", false));
  HEDDLE_ASSIGN(model.outputBias, config.booleanOr("output_bias", false));
  HEDDLE_ASSIGN(model.encoderAttention,
                readLayers(config, "encoder_self_attention", model.encoderLayers, {"softmax"}));
  HEDDLE_ASSIGN(model.decoderAttention, readLayers(config, "decoder_self_attention",
                                                   model.decoderLayers, {"softmax", "average"}));
  HEDDLE_ASSIGN(model.targetVocabulary,
                config.integerOr("target_vocab_size", 1, tableLimit, model.sourceVocabulary));
  HEDDLE_ASSIGN(model.firstPosition, config.integerOr("positions_offset", 0, tableLimit, 0));
  HEDDLE_ASSIGN(model.selfBlocks,
                readBlocks(config, "self_attention_sharing", model.decoderLayers));
  HEDDLE_TRY(checkSharedForms(model, config));
  HEDDLE_ASSIGN(model.crossBlocks,
                readBlocks(config, "cross_attention_sharing", model.decoderLayers));
  HEDDLE_ASSIGN(
      model.alignmentLayer,
      config.integerOr("alignment_layer", 0, model.decoderLayers - 1, model.decoderLayers - 1));
  HEDDLE_ASSIGN(model.branches, readBranches(config, model.width, model.inner));
  if (model.branches.count > 0 && !model.crossBlocks.empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"cross_attention_sharing\" is set, expected a model "
                                    "without it: its layers have \"branches\" in that place",
                                    config.where()));
  }
  if (model.tied && model.targetVocabulary != model.sourceVocabulary) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"target_vocab_size\" is {}, expected {}, \"vocab_size\", "
                                    "with \"tie_embeddings\"",
                                    config.where(), model.targetVocabulary,
                                    model.sourceVocabulary));
  }
  return {};
}

Result<Transformer> Transformer::read(const Config &config) {
  Transformer model;
  HEDDLE_ASSIGN(model.sourceVocabulary, config.integer("vocab_size", 1, tableLimit));
  HEDDLE_ASSIGN(model.width, config.integer("d_model", 1, widthLimit));
  HEDDLE_ASSIGN(model.encoderLayers, config.integer("encoder_layers", 1, layerLimit));
  HEDDLE_ASSIGN(model.decoderLayers, config.integer("decoder_layers", 1, layerLimit));
  HEDDLE_ASSIGN(model.heads, config.integer("heads", 1, widthLimit));
  HEDDLE_TRY(checkHeads(config, "heads", model.heads, "d_model", model.width));
  HEDDLE_ASSIGN(model.inner, config.integer("d_ff", 1, 4 * widthLimit));
  HEDDLE_ASSIGN(const std::string norm, config.oneOf("norm", {"pre", "post"}));
  model.preNorm = norm == "pre";
  HEDDLE_ASSIGN(model.epsilon, config.numberOr("layer_norm_eps", 0, 1, 1e-6));
  HEDDLE_ASSIGN(model.activation, readActivation(config, "activation", "relu"));
  HEDDLE_ASSIGN(model.positions, readPositions(config, model.width));
  HEDDLE_ASSIGN(model.maxPositions, config.integer("max_positions", 1, tableLimit));
  HEDDLE_ASSIGN(model.tied, config.boolean("tie_embeddings"));
  HEDDLE_TRY(readOptions(model, config));
  return model;
}

/// The search is that of the paper unless the model was converted.
static Result<Generation> readTokens(const Config &config, int64_t vocabulary) {
  HEDDLE_ASSIGN(Generation generation, readOwnTokens(config, vocabulary));
  HEDDLE_ASSIGN(generation.rules,
                config.oneOfOr("rules", {"paper", "transformers", "ctranslate2"}, "paper"));
  return generation;
}

Result<FamilyModel> buildTransformer(mlir::MLIRContext &context, const ModelSource &source) {
  HEDDLE_ASSIGN(const Transformer model, Transformer::read(source.config));
  HEDDLE_ASSIGN(const Generation generation, readTokens(source.config, model.targetVocabulary));
  ModelBuilder builder(context, "transformer");
  builder.generation(generation);
  model.encode(builder.scope(), builder.entry("encode"));
  model.decode(builder.scope(), builder.entry("decode"));
  HEDDLE_ASSIGN(auto module, builder.build());
  return FamilyModel{std::move(module), {}, {keysOfOwnFormat, {}, {}, {}}};
}

} // namespace heddle
