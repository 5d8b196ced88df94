// SPDX-License-Identifier: Apache-2.0
///
/// The vocabulary of a tokenizer.json, checked, and its form in the manifest: a hash table that is
/// built here, once, and not each time a model is loaded.
#ifndef HEDDLE_FRONTEND_TOKENIZER_VOCABULARYTABLE_H
#define HEDDLE_FRONTEND_TOKENIZER_VOCABULARYTABLE_H

#include "heddle/Status.h"
#include "runtime/Tokenizer/Tokenizer_generated.h"

#include <cstdint>
#include <flatbuffers/flatbuffers.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The largest id: ids are signed 32-bit numbers everywhere else.
inline constexpr int64_t largestTokenId = 0x7FFFFFFF;
/// The most tokens a vocabulary may have.
inline constexpr size_t vocabularyLimit = size_t(1) << 20;

/// Tokens by text and by id; refers to the JSON it was made from.
class VocabularyTable {
public:
  /// Reads "vocab" of a model, an object of ids by token; `where` begins every message.
  static Result<VocabularyTable> create(const nlohmann::json &model, std::string_view where);

  std::optional<uint32_t> idOf(const std::string &token) const;
  /// The token of an id; null if the id is no token's.
  const std::string *tokenOf(uint32_t id) const;
  size_t size() const { return tokens.size(); }

  /// Writes the table; the same tokens give the same bytes.
  flatbuffers::Offset<manifest::Vocabulary> pack(flatbuffers::FlatBufferBuilder &builder) const;

private:
  struct Token {
    uint32_t id;
    const std::string *text;
  };

  const nlohmann::json::object_t *byText = nullptr;
  // Ascending ids.
  std::vector<Token> tokens;
};

} // namespace heddle

#endif // HEDDLE_FRONTEND_TOKENIZER_VOCABULARYTABLE_H
