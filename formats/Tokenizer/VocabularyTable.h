// SPDX-License-Identifier: Apache-2.0
///
/// The checked vocabulary of a tokenizer, packed as a hash table at compile time, so that loading a
/// model does not build it.
#ifndef HEDDLE_FORMATS_TOKENIZER_VOCABULARYTABLE_H
#define HEDDLE_FORMATS_TOKENIZER_VOCABULARYTABLE_H

#include "formats/Binary/Tokenizer_generated.h"
#include "heddle/Status.h"

#include <cstdint>
#include <flatbuffers/flatbuffers.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heddle {

/// The largest id: ids are signed 32-bit numbers everywhere else.
inline constexpr int64_t largestTokenId = 0x7FFFFFFF;
/// The maximum number of tokens of a vocabulary.
inline constexpr size_t vocabularyLimit = size_t(1) << 20;

/// Tokens by text and by id. Cheap to copy.
class VocabularyTable {
public:
  /// Reads "vocab" of a model, an object of ids by token; `where` begins every message. Refers to
  /// the JSON.
  static Result<VocabularyTable> create(const nlohmann::json &model, std::string_view where);
  /// Reads an object of ids by token. Refers to the JSON; `what` names it in messages.
  static Result<VocabularyTable> fromObject(const nlohmann::json &vocab, std::string_view what,
                                            std::string_view where);
  /// Makes a table of tokens whose ids are their positions. With `unique`, repeated tokens are an
  /// error; otherwise the lowest id is used.
  static Result<VocabularyTable> fromTokens(std::vector<std::string> tokens, bool unique,
                                            std::string_view where);

  std::optional<uint32_t> idOf(std::string_view token) const;
  /// Returns the token of an id; nullopt if there is none.
  std::optional<std::string_view> tokenOf(uint32_t id) const;
  size_t size() const { return tokens.size(); }
  /// Return a token and its id, by index in the order of the ids.
  std::string_view tokenAt(size_t index) const { return tokens[index].text; }
  uint32_t idAt(size_t index) const { return tokens[index].id; }

  /// Writes the table; the same tokens give the same bytes.
  flatbuffers::Offset<manifest::Vocabulary> pack(flatbuffers::FlatBufferBuilder &builder) const;

private:
  struct Token {
    uint32_t id;
    std::string_view text;
  };

  // Set by fromTokens(): the memory that the views below point to.
  std::shared_ptr<const std::vector<std::string>> owned;
  // Sorted by id.
  std::vector<Token> tokens;
  std::unordered_map<std::string_view, uint32_t> byText;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_VOCABULARYTABLE_H
