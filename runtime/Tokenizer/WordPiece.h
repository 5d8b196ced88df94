// SPDX-License-Identifier: Apache-2.0
///
/// Models that look words up in a vocabulary: lists of words, and WordPiece.
#ifndef HEDDLE_RUNTIME_TOKENIZER_WORDPIECE_H
#define HEDDLE_RUNTIME_TOKENIZER_WORDPIECE_H

#include "formats/Binary/Tokenizer_generated.h"
#include "heddle/Status.h"
#include "runtime/Tokenizer/Vocabulary.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace heddle {

/// Immutable; may be used by several threads.
class WordList {
public:
  /// Checks the table; the table must outlive the object.
  static Result<WordList> load(const manifest::WordList &table);

  /// Appends the ids of a text's words and stops at `limit`. Words are separated by ASCII spaces,
  /// tabs and line ends; other spaces may be part of tokens.
  void appendText(std::string_view text, size_t limit, std::vector<int32_t> &ids) const;
  const Vocabulary &vocabulary() const { return tokens; }

private:
  Vocabulary tokens;
  int32_t unknownId = 0;
};

/// The greedy longest match of WordPiece. Immutable; may be used by several threads.
class WordPiece {
public:
  /// Checks the table; the table must outlive the object.
  static Result<WordPiece> load(const manifest::WordPiece &table);

  /// Appends the ids of one word, which is not empty, or the unknown id. `hashes` is scratch
  /// memory.
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
