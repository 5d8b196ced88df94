// SPDX-License-Identifier: Apache-2.0
///
/// A vocabulary that is used in place in the manifest. Finds tokens by text, with a hash table
/// built at compile time, and by id.
#ifndef HEDDLE_RUNTIME_TOKENIZER_VOCABULARY_H
#define HEDDLE_RUNTIME_TOKENIZER_VOCABULARY_H

#include "formats/Binary/Tokenizer_generated.h"
#include "heddle/Status.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace heddle {

/// The tokens of a model, by text and by id. Immutable; refers to the manifest's memory.
class Vocabulary {
public:
  /// Checks everything that find() and text() rely on.
  static Result<Vocabulary> load(const manifest::Vocabulary &table);

  /// Returns the id of the token prefix + rest, given the hash state of `prefix`; -1 if there is
  /// none.
  int32_t find(uint64_t hashState, std::string_view prefix, std::string_view rest) const;
  /// Returns the id of a token; -1 if it is unknown.
  int32_t find(std::string_view token) const;
  /// Returns the token of an id; nullopt if there is none.
  std::optional<std::string_view> text(int32_t id) const;
  /// Returns the id of the token at an index, in the order of the ids.
  int32_t idAt(size_t index) const { return static_cast<int32_t>(ids[index]); }
  /// Returns the index of an id in that order; nullopt if no token has it.
  std::optional<size_t> indexOf(int32_t id) const;
  /// Returns the number of tokens.
  size_t size() const { return count; }
  /// Returns the length of the longest token in bytes.
  size_t longest() const { return longestToken; }

private:
  std::string_view tokenAt(size_t index) const {
    return {bytes + offsets[index], offsets[index + 1] - offsets[index]};
  }

  const uint32_t *ids = nullptr;
  const char *bytes = nullptr;
  const uint32_t *offsets = nullptr;
  const manifest::VocabularySlot *slots = nullptr;
  size_t count = 0;
  uint32_t slotMask = 0;
  size_t longestToken = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_VOCABULARY_H
