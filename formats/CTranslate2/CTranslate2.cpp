// SPDX-License-Identifier: Apache-2.0
///
/// Collects options, special tokens and sizes of a CTranslate2 Transformer into one configuration.
#include "formats/CTranslate2/CTranslate2.h"

#include "base/Utf8.h"
#include "formats/CTranslate2/CTranslate2Names.h"
#include "formats/CTranslate2/CTranslate2Variables.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

namespace heddle {

namespace fs = std::filesystem;

/// The activations by their numbers in the file, named as in configurations.
static constexpr std::string_view activationNames[] = {"relu",       "gelu_new", "silu",   "gelu",
                                                       "quick_gelu", "tanh",     "sigmoid"};

namespace {

/// The special tokens, and the tokens put around a source.
struct SpecialTokens {
  std::string unknown = "<unk>";
  std::string begin = "<s>";
  std::string end = "</s>";
  /// The token that a target starts with; nullopt if the user supplies it.
  std::optional<std::string> start = "<s>";
  bool addSourceBegin = false;
  bool addSourceEnd = false;
};

/// Options that encoder and decoder share.
struct StackOptions {
  int64_t heads = 0;
  bool isPreNorm = true;
  int64_t activation = 0;
  bool scalesEmbeddings = true;
};

} // namespace

static Status checkSpecification(const CTranslate2File &file) {
  constexpr std::string_view known[] = {"TransformerSpec", "TransformerBase", "TransformerBig"};
  if (std::find(std::begin(known), std::end(known), file.specification()) == std::end(known)) {
    return HEDDLE_ERROR(
        Unsupported, fmt::format("{}: the specification {} is not supported, expected {}",
                                 file.path(), quote(file.specification()), fmt::join(known, ", ")));
  }
  if (file.revision() < ctranslate2FirstRevision || file.revision() > ctranslate2LastRevision) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: revision {} of {} is not supported, expected {} to {}",
                                    file.path(), file.revision(), file.specification(),
                                    ctranslate2FirstRevision, ctranslate2LastRevision));
  }
  return {};
}

/// Reads the special tokens from config.json, from version 6 on. Every key is optional.
static Result<SpecialTokens> tokensOfConfig(const Config &config) {
  SpecialTokens tokens;
  HEDDLE_ASSIGN(tokens.unknown, config.stringOr("unk_token", tokens.unknown));
  HEDDLE_ASSIGN(tokens.begin, config.stringOr("bos_token", tokens.begin));
  HEDDLE_ASSIGN(tokens.end, config.stringOr("eos_token", tokens.end));
  HEDDLE_ASSIGN(tokens.addSourceBegin, config.booleanOr("add_source_bos", false));
  HEDDLE_ASSIGN(tokens.addSourceEnd, config.booleanOr("add_source_eos", false));
  const std::vector<std::string> keys = config.keys();
  const bool isNull = std::find(keys.begin(), keys.end(), "decoder_start_token") != keys.end() &&
                      !config.has("decoder_start_token");
  if (isNull) {
    tokens.start.reset();
  } else {
    HEDDLE_ASSIGN(tokens.start, config.stringOr("decoder_start_token", tokens.begin));
  }
  return tokens;
}

/// Returns whether a variable of that name exists and is not zero.
static Result<bool> isSet(CTranslate2Variables &variables, const std::string &name, bool absent) {
  HEDDLE_ASSIGN(const std::optional<double> value, variables.number(name));
  return value ? *value != 0 : absent;
}

/// Reads the special tokens from variables, before version 6.
static Result<SpecialTokens> tokensOfVariables(CTranslate2Variables &variables) {
  SpecialTokens tokens;
  HEDDLE_ASSIGN(tokens.unknown, variables.text("unk_token", tokens.unknown));
  HEDDLE_ASSIGN(tokens.begin, variables.text("bos_token", tokens.begin));
  HEDDLE_ASSIGN(tokens.end, variables.text("eos_token", tokens.end));
  HEDDLE_ASSIGN(tokens.addSourceBegin, isSet(variables, "with_source_bos", false));
  HEDDLE_ASSIGN(tokens.addSourceEnd, isSet(variables, "with_source_eos", false));
  HEDDLE_ASSIGN(const bool startsWithBegin, isSet(variables, "with_target_bos", true));
  HEDDLE_ASSIGN(const bool isGiven, isSet(variables, "user_decoder_start_tokens", false));
  tokens.start = startsWithBegin ? tokens.begin : tokens.end;
  if (isGiven) {
    tokens.start.reset();
  }
  return tokens;
}

/// Reads the scaling. The file stores a flag, or the factor itself: one, or the square root of the
/// width.
static Result<bool> readScaling(CTranslate2Variables &variables, const std::string &stack,
                                int64_t width) {
  const std::string table = ctranslate2Embeddings(variables, stack);
  const std::string name = stack + "/scale_embeddings";
  const std::string old =
      table.substr(0, table.size() - std::string_view("weight").size()) + "multiply_by_sqrt_depth";
  const std::string &used = variables.has(name) ? name : old;
  HEDDLE_ASSIGN(const std::optional<double> value, variables.number(used));
  if (!value) {
    return true;
  }
  const bool isFlag = variables.stored().find(used)->dtype == ElementType::I8;
  const double root = std::sqrt(static_cast<double>(width));
  if (isFlag ? *value == 0 : *value == 1) {
    return false;
  }
  // Half precision has eleven significant bits.
  if (isFlag || std::abs(*value - root) <= root / 1024) {
    return true;
  }
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{}: variable {} is {}, expected 1 or {}, the square root of the "
                                  "width",
                                  variables.path(), quote(used), *value, root));
}

static Result<StackOptions> readStack(CTranslate2Variables &variables, const std::string &stack,
                                      int64_t width) {
  // The first revisions had only two sizes.
  const CTranslate2File &file = variables.stored();
  const bool isBig = file.revision() < 3 && file.specification() == "TransformerBig";
  constexpr auto activations = static_cast<int64_t>(std::size(activationNames));
  StackOptions options;
  HEDDLE_ASSIGN(options.heads, variables.integer(stack, "num_heads", 1, width, isBig ? 16 : 8));
  HEDDLE_ASSIGN(options.isPreNorm, variables.flag(stack, "pre_norm", true));
  HEDDLE_ASSIGN(options.activation, variables.integer(stack, "activation", 0, activations - 1, 0));
  HEDDLE_ASSIGN(options.scalesEmbeddings, readScaling(variables, stack, width));
  return options;
}

/// Checks an option that both stacks must share, because our format has one value.
static Status checkSame(const CTranslate2Variables &variables, std::string_view option,
                        int64_t encoder, int64_t decoder) {
  if (encoder != decoder) {
    return HEDDLE_ERROR(Unsupported, fmt::format("{}: the option \"{}\" is {} in the encoder and "
                                                 "{} in the decoder, expected the same value",
                                                 variables.path(), option, encoder, decoder));
  }
  return {};
}

static Result<StackOptions> readStacks(CTranslate2Variables &variables,
                                       const CTranslate2Sizes &sizes) {
  HEDDLE_ASSIGN(const StackOptions encoder, readStack(variables, "encoder", sizes.width));
  HEDDLE_ASSIGN(const StackOptions decoder, readStack(variables, "decoder", sizes.width));
  HEDDLE_TRY(checkSame(variables, "num_heads", encoder.heads, decoder.heads));
  HEDDLE_TRY(checkSame(variables, "pre_norm", encoder.isPreNorm, decoder.isPreNorm));
  HEDDLE_TRY(checkSame(variables, "activation", encoder.activation, decoder.activation));
  HEDDLE_TRY(
      checkSame(variables, "scale_embeddings", encoder.scalesEmbeddings, decoder.scalesEmbeddings));
  if (sizes.width % encoder.heads != 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: the option \"num_heads\" is {}, expected a divisor of the "
                                    "width {}",
                                    variables.path(), encoder.heads, sizes.width));
  }
  if (sizes.positions == 0 && (sizes.width < 4 || sizes.width % 2 != 0)) {
    return HEDDLE_ERROR(
        Unsupported,
        fmt::format(
            "{}: the width is {}, expected an even number of at least 4 for sinusoidal positions",
            variables.path(), sizes.width));
  }
  return encoder;
}

static Status checkVocabulary(const CTranslate2Variables &variables,
                              const CTranslate2Vocabulary &vocabulary, int64_t rows,
                              const std::string &stack) {
  if (static_cast<int64_t>(vocabulary.tokens.size()) != rows) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format(
            "{}: {} tokens, but variable {} of {} has {} rows, expected a row for each token",
            vocabulary.path, vocabulary.tokens.size(),
            quote(ctranslate2Embeddings(variables, stack)), variables.path(), rows));
  }
  return {};
}

/// Returns the id of the first of `names` that is in the vocabulary, otherwise of the unknown
/// token, which always is.
static int64_t idOf(const CTranslate2Vocabulary &vocabulary, const SpecialTokens &tokens,
                    std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const std::optional<int64_t> id = vocabulary.find(name)) {
      return *id;
    }
  }
  return vocabulary.find(tokens.unknown).value_or(0);
}

static Status writeTokens(nlohmann::json &values, const SpecialTokens &tokens,
                          CTranslate2Model &model) {
  const CTranslate2Vocabulary &source = model.vocabularies.source;
  const CTranslate2Vocabulary &target = model.vocabularies.target;
  const std::optional<int64_t> end = target.find(tokens.end);
  if (!end) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: no token {}, which has to end a sentence",
                                                     target.path, quote(tokens.end)));
  }
  if (!tokens.start) {
    model.notes.push_back("\"decoder_start_token\" is null: every target needs a prefix, which "
                          "begins with the start token");
  }
  values["eos_token_id"] = *end;
  values["bos_token_id"] = idOf(target, tokens, {tokens.start.value_or(tokens.begin)});
  values["unk_token_id"] = idOf(target, tokens, {});
  // Padding is masked, so any token can be used.
  values["pad_token_id"] = idOf(source, tokens, {"<blank>", "<pad>"});
  values["source_unk_token_id"] = idOf(source, tokens, {});
  values["source_bos_token_id"] = idOf(source, tokens, {tokens.begin});
  values["source_eos_token_id"] = idOf(source, tokens, {tokens.end});
  values["add_source_bos"] = tokens.addSourceBegin;
  values["add_source_eos"] = tokens.addSourceEnd;
  return {};
}

/// Writes the layer and the heads whose attention aligns a target token with the source.
static Status writeAlignment(nlohmann::json &values, CTranslate2Variables &variables,
                             const CTranslate2Sizes &sizes, int64_t heads) {
  const int64_t layers = sizes.decoderLayers;
  HEDDLE_ASSIGN(const int64_t layer,
                variables.integer("decoder", "alignment_layer", -layers, layers - 1, -1));
  HEDDLE_ASSIGN(const int64_t count, variables.integer("decoder", "alignment_heads", 0, heads, 1));
  // A negative layer counts from the last one. No heads means all heads.
  values["alignment_layer"] = layer < 0 ? layers + layer : layer;
  values["alignment_heads"] = count == 0 ? heads : count;
  return {};
}

static void writeArchitecture(nlohmann::json &values, const CTranslate2Sizes &sizes,
                              const StackOptions &options) {
  values["model_type"] = "transformer";
  values["rules"] = "ctranslate2";
  values["vocab_size"] = sizes.sourceWords;
  if (sizes.targetWords != sizes.sourceWords) {
    values["target_vocab_size"] = sizes.targetWords;
  }
  values["d_model"] = sizes.width;
  values["encoder_layers"] = sizes.encoderLayers;
  values["decoder_layers"] = sizes.decoderLayers;
  values["heads"] = options.heads;
  values["d_ff"] = sizes.inner;
  values["norm"] = options.isPreNorm ? "pre" : "post";
  values["tie_embeddings"] = sizes.isTied;
  values["activation"] = activationNames[options.activation];
  values["output_bias"] = sizes.hasOutputBias;
  values["scale_embeddings"] = options.scalesEmbeddings;
  if (sizes.positions > 0) {
    values["positions"] = "learned";
    values["max_positions"] = sizes.positions;
  } else {
    // Without a table, positions are computed: sin in the first half of the columns, cos in the
    // second, starting at one.
    values["positions"] = "sinusoidal-split";
    values["positions_offset"] = 1;
    values["max_positions"] = ctranslate2ComputedPositions;
  }
  if (sizes.hasFinalNorm != options.isPreNorm) {
    values["final_norm"] = sizes.hasFinalNorm;
  }
  if (sizes.hasEmbeddingNorm) {
    values["embedding_norm"] = true;
  }
}

/// Checks settings in config.json that may contradict the model.
static Status checkConfig(const Config &config) {
  HEDDLE_ASSIGN(const bool isMultiQuery, config.booleanOr("multi_query_attention", false));
  HEDDLE_ASSIGN(const int64_t quantization,
                config.integerOr("quantization_type", 0, std::numeric_limits<int64_t>::max(), 0));
  if (isMultiQuery || quantization != 0) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: the option \"{}\" is not supported", config.where(),
                                    isMultiQuery ? "multi_query_attention" : "quantization_type"));
  }
  return {};
}

Result<CTranslate2Model> readCTranslate2Model(const std::string &folder,
                                              const CTranslate2File &file) {
  HEDDLE_TRY(checkSpecification(file));
  CTranslate2Variables variables(file);
  HEDDLE_TRY(variables.checkSupported());
  const std::string configPath = (fs::path(folder) / "config.json").string();
  std::error_code ignored;
  const bool hasConfig = fs::exists(configPath, ignored);
  HEDDLE_ASSIGN(const Config config,
                hasConfig ? Config::open(configPath) : Config::parse("{}", configPath));
  HEDDLE_TRY(checkConfig(config));
  HEDDLE_ASSIGN(const SpecialTokens tokens,
                file.version() >= 6 ? tokensOfConfig(config) : tokensOfVariables(variables));
  HEDDLE_ASSIGN(const CTranslate2Sizes sizes, readCTranslate2Sizes(variables));
  HEDDLE_ASSIGN(const StackOptions options, readStacks(variables, sizes));

  CTranslate2Model model{config, {}, {}, {}, {}};
  HEDDLE_ASSIGN(model.vocabularies, readCTranslate2Vocabularies(folder, tokens.unknown));
  HEDDLE_TRY(checkVocabulary(variables, model.vocabularies.source, sizes.sourceWords, "encoder"));
  HEDDLE_TRY(checkVocabulary(variables, model.vocabularies.target, sizes.targetWords, "decoder"));
  HEDDLE_ASSIGN(model.tensors, nameCTranslate2Tensors(variables, sizes));

  nlohmann::json values = nlohmann::json::object();
  writeArchitecture(values, sizes, options);
  // The norm has a beta, so its epsilon is that of layer norms.
  HEDDLE_ASSIGN(values["layer_norm_eps"], config.numberOr("layer_norm_epsilon", 0, 1, 1e-5));
  HEDDLE_TRY(writeTokens(values, tokens, model));
  HEDDLE_TRY(writeAlignment(values, variables, sizes, options.heads));
  HEDDLE_ASSIGN(const bool startsFromZero,
                variables.flag("decoder", "start_from_zero_embedding", false));
  if (startsFromZero) {
    values["start_from_zero_embedding"] = true;
  }
  HEDDLE_TRY(variables.checkAllTaken());
  HEDDLE_ASSIGN(model.config, Config::fromJson(std::move(values), file.path()));

  if (hasConfig) {
    model.files.push_back(configPath);
  }
  model.files.push_back(model.vocabularies.source.path);
  if (!model.vocabularies.isShared()) {
    model.files.push_back(model.vocabularies.target.path);
  }
  const std::string map = (fs::path(folder) / "vmap.txt").string();
  if (fs::exists(map, ignored)) {
    model.notes.push_back("vmap.txt is ignored: translations may use any token");
  }
  return model;
}

} // namespace heddle
