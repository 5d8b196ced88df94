// SPDX-License-Identifier: Apache-2.0
///
/// Byte pair encoding over a vocabulary: merges a word's characters (PairMerging.h). Most words are
/// tokens that their own characters merge to, which one look-up finds.
#ifndef HEDDLE_RUNTIME_TOKENIZER_BPE_H
#define HEDDLE_RUNTIME_TOKENIZER_BPE_H

#include "formats/Binary/Tokenizer_generated.h"
#include "formats/Tokenizer/PairMerging.h"
#include "heddle/Status.h"
#include "runtime/Tokenizer/Vocabulary.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The ids of the tokens <0x00> to <0xFF>; -1 for a missing one.
using ByteTokens = std::array<int32_t, 256>;
/// Looks up all byte tokens.
ByteTokens findByteTokens(const Vocabulary &vocabulary);
/// Appends the byte tokens of a text. Returns false and appends nothing if one is missing.
bool appendByteTokens(const ByteTokens &tokens, std::string_view text, std::vector<uint32_t> &ids);

/// Immutable; may be used by several threads.
class Bpe {
public:
  /// Scratch memory of appendWord().
  struct Scratch {
    PairMerger merger;
    std::vector<uint32_t> ids;
    std::string character;
  };

  /// Checks the table; the table must outlive the object.
  static Result<Bpe> load(const manifest::Bpe &table);

  /// Appends the ids of one word (not empty).
  void appendWord(std::string_view word, std::vector<int32_t> &ids, Scratch &scratch) const;
  const Vocabulary &vocabulary() const { return tokens; }

private:
  Status loadMerges(const manifest::Bpe &table);
  std::string_view decorate(std::string_view word, size_t at, size_t bytes, std::string &out) const;
  void appendCharacters(std::string_view word, Scratch &scratch) const;

  Vocabulary tokens;
  MergeTable merges;
  const uint8_t *whole = nullptr;
  int32_t unknownId = -1;
  bool fusesUnknown = false;
  bool ignoresMerges = false;
  std::string_view prefix;
  std::string_view suffix;
  std::optional<ByteTokens> byteTokens;
  // The ids of characters up to U+01FF, which include every character of a byte-level vocabulary.
  std::array<int32_t, 512> firstIds{};
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_BPE_H
