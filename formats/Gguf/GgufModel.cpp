// SPDX-License-Identifier: Apache-2.0
///
/// Translates the metadata of "bert" files into the keys of config.json.
#include "formats/Gguf/GgufModel.h"

#include "base/Utf8.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace heddle {

/// Larger sizes mean a damaged file.
static constexpr int64_t sizeLimit = 1 << 24;
static constexpr int64_t layerLimit = 1 << 10;

/// The values of "bert.pooling_type".
enum class GgufPooling : uint8_t { None, Mean, Cls, Last, Rank };

/// Returns a 32-bit float as it was written: the epsilon 1e-12 is stored as the nearest f32, and
/// the configuration of the folder has 1e-12.
static double shortestDecimal(float value) {
  return std::strtod(fmt::format("{}", value).c_str(), nullptr);
}

template <typename T> static T valueOf(const GgufValue &value) {
  T result;
  std::memcpy(&result, value.bytes.data(), sizeof result);
  return result;
}

static nlohmann::json realToJson(double value) {
  // JSON cannot represent these numbers; a text is rejected by code that expects a number.
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(fmt::format("{}", value));
}

static nlohmann::json toJson(const GgufValue &value) {
  switch (value.kind) {
  case GgufKind::F32: {
    const auto number = valueOf<float>(value);
    return realToJson(std::isfinite(number) ? shortestDecimal(number) : double(number));
  }
  case GgufKind::F64:
    return realToJson(valueOf<double>(value));
  case GgufKind::Bool:
    return valueOf<uint8_t>(value) != 0;
  case GgufKind::String:
    return std::string(value.texts.front());
  case GgufKind::U64:
    return valueOf<uint64_t>(value);
  case GgufKind::Array:
    // Only for messages: lists of tokens are read in place.
    return describeGguf(value);
  default:
    return ggufInteger(value, 0).value_or(0);
  }
}

Result<Config> ggufConfig(const GgufFile &file) {
  nlohmann::json values = nlohmann::json::object();
  for (const auto &[key, value] : file.metadata()) {
    values[key] = toJson(value);
  }
  return Config::fromJson(std::move(values), file.path());
}

static Status checkArchitecture(const Config &keys) {
  HEDDLE_ASSIGN(const std::string architecture, keys.string("general.architecture"));
  if (architecture != "bert") {
    return HEDDLE_ERROR(
        Unsupported,
        fmt::format("{}: the architecture {} is not supported in GGUF files, expected \"bert\", or "
                    "the model's folder in Hugging Face's format, as 'hf download OWNER/NAME "
                    "--local-dir NAME' fetches it",
                    keys.where(), quote(architecture)));
  }
  HEDDLE_ASSIGN(const int64_t parts, keys.integerOr("split.count", 0, sizeLimit, 1));
  if (parts > 1) {
    return HEDDLE_ERROR(Unsupported, fmt::format("{}: is one of {} files of a model, expected a "
                                                 "single one: 'llama-gguf-split --merge' makes it",
                                                 keys.where(), parts));
  }
  return {};
}

/// Checks options of the architecture for which the family supports only one value.
static Status checkOptions(const Config &keys, int64_t heads) {
  HEDDLE_ASSIGN(const bool isCausal, keys.booleanOr("bert.attention.causal", false));
  if (isCausal) {
    return HEDDLE_ERROR(Unsupported, fmt::format("{}: \"bert.attention.causal\" is true, expected "
                                                 "an encoder",
                                                 keys.where()));
  }
  HEDDLE_ASSIGN(const int64_t keyHeads,
                keys.integerOr("bert.attention.head_count_kv", 1, sizeLimit, heads));
  if (keyHeads != heads) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: \"bert.attention.head_count_kv\" is {}, expected {}, as "
                                    "\"bert.attention.head_count\"",
                                    keys.where(), keyHeads, heads));
  }
  return {};
}

static Result<GgufSizes> readSizes(const GgufFile &file, const Config &keys) {
  GgufSizes sizes;
  HEDDLE_ASSIGN(sizes.layers, keys.integer("bert.block_count", 1, layerLimit));
  HEDDLE_ASSIGN(sizes.width, keys.integer("bert.embedding_length", 1, sizeLimit));
  HEDDLE_ASSIGN(sizes.inner, keys.integer("bert.feed_forward_length", 1, sizeLimit));
  HEDDLE_ASSIGN(sizes.heads, keys.integer("bert.attention.head_count", 1, sizeLimit));
  HEDDLE_ASSIGN(sizes.positions, keys.integer("bert.context_length", 1, sizeLimit));
  HEDDLE_ASSIGN(sizes.tokenTypes, keys.integer("tokenizer.ggml.token_type_count", 1, sizeLimit));
  if (sizes.width % sizes.heads != 0) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: \"bert.attention.head_count\" is {}, expected a divisor of "
                    "{}, the \"bert.embedding_length\"",
                    keys.where(), sizes.heads, sizes.width));
  }
  HEDDLE_TRY(checkOptions(keys, sizes.heads));
  HEDDLE_ASSIGN(const auto tokens, file.strings("tokenizer.ggml.tokens"));
  sizes.words = static_cast<int64_t>(tokens.size());
  HEDDLE_ASSIGN(const int64_t words, keys.integerOr("bert.vocab_size", 1, sizeLimit, sizes.words));
  if (words != sizes.words || words > sizeLimit || words == 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"tokenizer.ggml.tokens\" has {} tokens, expected {}",
                                    keys.where(), tokens.size(),
                                    words == 0 ? "at least one"
                                    : words > sizeLimit
                                        ? fmt::format("at most {}", sizeLimit)
                                        : fmt::format("{}, the \"bert.vocab_size\"", words)));
  }
  return sizes;
}

static Result<SentenceTransformers> readPooling(const Config &keys, int64_t width,
                                                std::vector<std::string> &notes) {
  constexpr std::string_view key = "bert.pooling_type";
  SentenceTransformers sentence;
  sentence.width = width;
  sentence.modules = {SentenceModule()};
  HEDDLE_ASSIGN(const int64_t pooling, keys.integerOr(key, 0, 1 << 30, 0));
  switch (pooling) {
  case static_cast<int64_t>(GgufPooling::Mean):
    sentence.pooling = Pooling::Mean;
    break;
  case static_cast<int64_t>(GgufPooling::Cls):
    sentence.pooling = Pooling::Cls;
    break;
  case static_cast<int64_t>(GgufPooling::None):
    notes.push_back(fmt::format("\"{}\" is {}: \"embed\" is the mean of the rows", key,
                                keys.has(key) ? "0 (none)" : "missing"));
    break;
  default:
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: \"{}\" is {}, expected 0 (none), 1 (mean) or 2 (the first "
                                    "token)",
                                    keys.where(), key,
                                    pooling == static_cast<int64_t>(GgufPooling::Last)
                                        ? "3 (the last token)"
                                    : pooling == static_cast<int64_t>(GgufPooling::Rank)
                                        ? "4 (a score)"
                                        : fmt::format("{}", pooling)));
  }
  notes.emplace_back("a GGUF file does not say whether embeddings are normalized: they are, as in "
                     "llama.cpp");
  return sentence;
}

Result<GgufModel> readGgufModel(const GgufFile &file) {
  HEDDLE_ASSIGN(const Config keys, ggufConfig(file));
  HEDDLE_TRY(checkArchitecture(keys));
  std::vector<std::string> notes;
  // The tokenizer first: it distinguishes other models with this architecture (RoBERTa).
  HEDDLE_ASSIGN(TokenizerFile tokenizer, readGgufTokenizer(file, keys, notes));
  HEDDLE_ASSIGN(const GgufSizes sizes, readSizes(file, keys));
  HEDDLE_ASSIGN(SentenceTransformers sentence, readPooling(keys, sizes.width, notes));
  HEDDLE_ASSIGN(std::vector<TensorView> tensors, nameGgufTensors(file, sizes));
  nlohmann::json values = {{"model_type", "bert"},
                           {"vocab_size", sizes.words},
                           {"hidden_size", sizes.width},
                           {"num_hidden_layers", sizes.layers},
                           {"num_attention_heads", sizes.heads},
                           {"intermediate_size", sizes.inner},
                           {"max_position_embeddings", sizes.positions},
                           {"type_vocab_size", sizes.tokenTypes},
                           // The files do not specify it; BERT uses this one.
                           {"hidden_act", "gelu"}};
  HEDDLE_ASSIGN(values["layer_norm_eps"], keys.number("bert.attention.layer_norm_epsilon", 0, 1));
  HEDDLE_ASSIGN(Config config, Config::fromJson(std::move(values), file.path()));
  return GgufModel{std::move(config), std::move(tensors), std::move(sentence), std::move(tokenizer),
                   std::move(notes)};
}

} // namespace heddle
