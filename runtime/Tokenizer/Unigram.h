// SPDX-License-Identifier: Apache-2.0
///
/// The Unigram algorithm: finds the segmentation into tokens with the largest sum of scores, in one
/// pass with a trie.
#ifndef HEDDLE_RUNTIME_TOKENIZER_UNIGRAM_H
#define HEDDLE_RUNTIME_TOKENIZER_UNIGRAM_H

#include "formats/Binary/Tokenizer_generated.h"
#include "formats/Tokenizer/DoubleArray.h"
#include "heddle/Status.h"
#include "runtime/Tokenizer/Bpe.h"
#include "runtime/Tokenizer/Vocabulary.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace heddle {

/// Immutable; may be used by several threads.
class Unigram {
public:
  /// The best segmentation up to a position: its last token and the position where that begins.
  struct Node {
    double score;
    size_t begin;
    int32_t id;
  };
  /// Scratch memory of appendWord().
  struct Scratch {
    std::vector<Node> nodes;
    std::vector<Node> path;
    std::vector<uint32_t> bytes;
  };

  /// Checks the table; the table must outlive the object.
  static Result<Unigram> load(const manifest::Unigram &table);

  /// Appends the ids of one word (not empty).
  void appendWord(std::string_view word, std::vector<int32_t> &ids, Scratch &scratch) const;
  const Vocabulary &vocabulary() const { return tokens; }

private:
  void findBest(std::string_view word, std::vector<Node> &nodes) const;
  void appendUnknown(std::string_view text, std::vector<int32_t> &ids, Scratch &scratch) const;

  Vocabulary tokens;
  DoubleArray trie;
  const double *scores = nullptr;
  double unknownScore = 0;
  int32_t unknownId = 0;
  std::optional<ByteTokens> byteTokens;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_UNIGRAM_H
