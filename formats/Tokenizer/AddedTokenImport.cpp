// SPDX-License-Identifier: Apache-2.0
///
/// Reads added tokens. Each names a token of the vocabulary or has a new id. The reference library
/// renumbers other tokens; here they are rejected, because the model's rows follow the ids in the
/// file.
#include "formats/Tokenizer/TokenizerImport.h"

#include "base/Utf8.h"
#include "formats/Config/Config.h"
#include "formats/Config/Json.h"

#include <fmt/format.h>
#include <map>
#include <set>

namespace heddle {

static Result<ImportedToken> readToken(const Config &item) {
  ImportedToken token;
  HEDDLE_ASSIGN(token.content, item.string("content"));
  HEDDLE_ASSIGN(const int64_t id, item.integer("id", 0, largestTokenId));
  token.id = static_cast<uint32_t>(id);
  HEDDLE_ASSIGN(token.singleWord, item.boolean("single_word"));
  HEDDLE_ASSIGN(token.leftStrip, item.boolean("lstrip"));
  HEDDLE_ASSIGN(token.rightStrip, item.boolean("rstrip"));
  HEDDLE_ASSIGN(token.normalized, item.boolean("normalized"));
  HEDDLE_ASSIGN(token.special, item.boolean("special"));
  return token;
}

static Status checkAgainstVocabulary(const ImportedToken &token, const VocabularyTable &vocabulary,
                                     std::string_view where) {
  const std::optional<uint32_t> known = vocabulary.idOf(token.content);
  if (known && *known != token.id) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: {} has id {}, expected {} as in the vocabulary", where,
                                    quote(token.content), token.id, *known));
  }
  const std::optional<std::string_view> other = vocabulary.tokenOf(token.id);
  if (!known && other) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: {} has id {}, which the vocabulary gives to {}", where,
                                    quote(token.content), token.id, quote(*other)));
  }
  return {};
}

Result<std::vector<ImportedToken>> readAddedTokens(const nlohmann::json &tokenizer,
                                                   const VocabularyTable &vocabulary,
                                                   std::string_view where) {
  std::vector<ImportedToken> tokens;
  const auto list = tokenizer.find("added_tokens");
  if (list == tokenizer.end() || list->is_null()) {
    return tokens;
  }
  if (!list->is_array() || list->size() > vocabularyLimit) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"added_tokens\" is {}, expected a list of at most {}",
                                    where, describeJson(*list), vocabularyLimit));
  }
  std::map<uint32_t, std::string> ids;
  std::set<std::string> contents;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string place = fmt::format("{}: item {} of \"added_tokens\"", where, i + 1);
    HEDDLE_ASSIGN(const Config item, Config::fromJson((*list)[i], place));
    HEDDLE_ASSIGN(ImportedToken token, readToken(item));
    // The reference library ignores these too.
    if (token.content.empty()) {
      continue;
    }
    HEDDLE_TRY(checkAgainstVocabulary(token, vocabulary, place));
    if (!contents.insert(token.content).second) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: {} appears twice", place, quote(token.content)));
    }
    if (const auto [other, isNew] = ids.emplace(token.id, token.content); !isNew) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("{}: {} and {} have the same id {}", place,
                                      quote(other->second), quote(token.content), token.id));
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

} // namespace heddle
