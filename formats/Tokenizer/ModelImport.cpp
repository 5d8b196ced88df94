// SPDX-License-Identifier: Apache-2.0
///
/// Reads the model of a tokenizer.json: the parts that all kinds share, WordPiece and Unigram.
#include "formats/Tokenizer/TokenizerImport.h"

#include "base/Utf8.h"
#include "formats/Config/Json.h"
#include "formats/Tokenizer/DoubleArrayBuilder.h"

#include <fmt/format.h>

namespace heddle {

using flatbuffers::FlatBufferBuilder;

/// Returns the kind of a model in older files, which do not name it.
static const char *guessType(const nlohmann::json &model) {
  if (model.contains("merges")) {
    return "BPE";
  }
  const auto vocab = model.find("vocab");
  if (vocab != model.end() && vocab->is_array()) {
    return "Unigram";
  }
  return model.contains("max_input_chars_per_word") ? "WordPiece" : nullptr;
}

Result<ImportedModelPart> readModel(const nlohmann::json &tokenizer, std::string_view where) {
  const auto part = tokenizer.find("model");
  if (part == tokenizer.end() || !part->is_object()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"model\" is {}, expected an object", where,
                                    part == tokenizer.end() ? "missing" : describeJson(*part)));
  }
  nlohmann::json rest = nlohmann::json::object();
  for (const auto &[key, value] : part->items()) {
    if (key != "vocab" && key != "merges") {
      rest[key] = value;
    }
  }
  const char *const guessed = guessType(*part);
  if (!rest.contains("type") && guessed != nullptr) {
    rest["type"] = guessed;
  }
  HEDDLE_ASSIGN(Config settings,
                Config::fromJson(std::move(rest), fmt::format("{}: \"model\"", where)));
  HEDDLE_ASSIGN(std::string type, settings.oneOf("type", {"WordPiece", "BPE", "Unigram"}));
  if (type == "Unigram") {
    HEDDLE_ASSIGN(VocabularyTable tokens, readUnigramTokens(*part, settings.where()));
    return ImportedModelPart{std::move(settings), &*part, std::move(type), std::move(tokens)};
  }
  HEDDLE_ASSIGN(VocabularyTable tokens, VocabularyTable::create(*part, settings.where()));
  return ImportedModelPart{std::move(settings), &*part, std::move(type), std::move(tokens)};
}

Result<std::optional<uint32_t>> readTokenId(const Config &settings, std::string_view key,
                                            const VocabularyTable &vocabulary) {
  if (!settings.has(key)) {
    return std::optional<uint32_t>();
  }
  HEDDLE_ASSIGN(const std::string token, settings.string(key));
  const std::optional<uint32_t> id = vocabulary.idOf(token);
  if (!id && !token.empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"{}\" is {}, expected a token of the vocabulary",
                                    settings.where(), key, quote(token)));
  }
  return id;
}

static Result<ModelMember> packWordPiece(FlatBufferBuilder &builder,
                                         const ImportedModelPart &model) {
  // The maximum number of characters of a word that is split: the time is quadratic in it.
  constexpr int64_t wordLimit = 10'000;
  const Config &settings = model.settings;
  HEDDLE_ASSIGN(const std::string unknown, settings.string("unk_token"));
  const std::optional<uint32_t> unknownId = model.vocabulary.idOf(unknown);
  if (!unknownId) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"unk_token\" is {}, expected a token of the vocabulary",
                                    settings.where(), quote(unknown)));
  }
  HEDDLE_ASSIGN(const std::string prefix, settings.string("continuing_subword_prefix"));
  HEDDLE_ASSIGN(const int64_t maxCharacters,
                settings.integer("max_input_chars_per_word", 1, wordLimit));
  const auto vocabulary = model.vocabulary.pack(builder);
  const auto packedPrefix = builder.CreateString(prefix);
  const auto packed = manifest::CreateWordPiece(builder, vocabulary, *unknownId, packedPrefix,
                                                static_cast<uint32_t>(maxCharacters));
  return ModelMember{manifest::TokenizerModel::WordPiece, packed.Union()};
}

Result<VocabularyTable> readUnigramTokens(const nlohmann::json &model, std::string_view where) {
  const auto list = model.find("vocab");
  if (list == model.end() || !list->is_array()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"vocab\" is {}, expected a list of tokens with scores",
                                    where, list == model.end() ? "missing" : describeJson(*list)));
  }
  std::vector<std::string> tokens;
  tokens.reserve(list->size());
  for (const nlohmann::json &item : *list) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_string() || !item[1].is_number()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: item {} of \"vocab\" is {}, expected a token and its "
                                      "score",
                                      where, tokens.size() + 1, describeJson(item)));
    }
    tokens.push_back(item[0].get_ref<const std::string &>());
  }
  return VocabularyTable::fromTokens(std::move(tokens), true, where);
}

Result<ModelMember> packUnigram(FlatBufferBuilder &builder, const ImportedModelPart &model) {
  const VocabularyTable &vocabulary = model.vocabulary;
  HEDDLE_ASSIGN(const int64_t unknownId,
                model.settings.integer("unk_id", 0, static_cast<int64_t>(vocabulary.size()) - 1));
  HEDDLE_ASSIGN(const bool byteFallback, model.settings.booleanOr("byte_fallback", false));
  std::vector<double> scores;
  std::vector<DoubleArrayKey> keys;
  for (const nlohmann::json &item : (*model.json)["vocab"]) {
    const auto index = static_cast<uint32_t>(scores.size());
    keys.push_back({vocabulary.tokenAt(index), index});
    scores.push_back(item[1].get<double>());
  }
  const auto packedVocabulary = vocabulary.pack(builder);
  const auto packedScores = builder.CreateVector(scores);
  const auto packedTrie = builder.CreateVector(buildDoubleArray(std::move(keys)));
  const auto packed = manifest::CreateUnigram(builder, packedVocabulary, packedScores, packedTrie,
                                              static_cast<uint32_t>(unknownId), byteFallback);
  return ModelMember{manifest::TokenizerModel::Unigram, packed.Union()};
}

Result<ModelMember> packModel(FlatBufferBuilder &builder, const ImportedModelPart &model) {
  if (model.type == "BPE") {
    return packBpe(builder, model);
  }
  return model.type == "Unigram" ? packUnigram(builder, model) : packWordPiece(builder, model);
}

} // namespace heddle
