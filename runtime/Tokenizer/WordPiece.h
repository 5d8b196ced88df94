// SPDX-License-Identifier: Apache-2.0
///
/// A vocabulary used where it lies in the manifest, and the WordPiece algorithm over it.
#ifndef HEDDLE_RUNTIME_TOKENIZER_WORDPIECE_H
#define HEDDLE_RUNTIME_TOKENIZER_WORDPIECE_H

#include "heddle/Status.h"
#include "runtime/Tokenizer/Tokenizer_generated.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace heddle {

/// The tokens of a model, by text and by id. Immutable; refers to the manifest's memory.
class Vocabulary {
public:
  /// Checks everything that find() and text() rely on.
  static Result<Vocabulary> load(const manifest::Vocabulary &table);

  /// The id of the token prefix + rest, whose bytes in that order have the given hash state; -1 if
  /// there is none.
  int32_t find(uint64_t hashState, std::string_view prefix, std::string_view rest) const;
  /// The token of an id, if the id is one.
  std::optional<std::string_view> text(int32_t id) const;
  /// Tokens.
  size_t size() const { return count; }
  /// Bytes of the longest token.
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

/// The greedy longest match of WordPiece. Immutable; may be used by several threads.
class WordPiece {
public:
  /// Checks the table; the table must outlive the object.
  static Result<WordPiece> load(const manifest::WordPiece &table);

  /// Appends the ids of one word (not empty), or the unknown id. `hashes` is scratch memory.
  void appendWord(std::string_view word, std::vector<int32_t> &ids,
                  std::vector<uint64_t> &hashes) const;
  const Vocabulary &vocabulary() const { return tokens; }

private:
  size_t longestMatch(std::string_view word, bool continues, int32_t &id,
                      std::vector<uint64_t> &hashes) const;

  Vocabulary tokens;
  std::string_view prefix;
  // The hash state after the prefix.
  uint64_t prefixHash = 0;
  int32_t unknownId = 0;
  size_t maxWordCharacters = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_WORDPIECE_H
