// SPDX-License-Identifier: Apache-2.0
///
/// A Unigram model: a list of tokens with their scores.
#include "formats/Tokenizer/ModelImport.h"

#include "formats/Config/Json.h"
#include "formats/Tokenizer/DoubleArrayBuilder.h"

#include <fmt/format.h>

namespace heddle {

using flatbuffers::FlatBufferBuilder;

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
                                      where, tokens.size(), describeJson(item)));
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

} // namespace heddle
