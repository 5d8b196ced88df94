// SPDX-License-Identifier: Apache-2.0
///
/// How near texts are to reference texts, as translations are scored, with one reference each:
///
///   BLEU   Papineni et al. 2002, as SacreBLEU computes it: 1- to 4-grams of the corpus, tokens of
///          mteval-v13a, case kept, brevity penalty; an order without any match counts as half of
///          one match, the next such order as a quarter ("exp").
///   chrF2  Popovic 2015, as SacreBLEU computes it: 1- to 6-grams of characters without white
///   space,
///          of the corpus, the mean of the orders that both have, recall counting twice.
#ifndef HEDDLE_RUNTIME_TOOLS_TEXTSCORES_H
#define HEDDLE_RUNTIME_TOOLS_TEXTSCORES_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// N-grams of hypotheses and references that have been added, and those that are in both.
struct NgramCounts {
  int64_t hypothesis = 0;
  int64_t reference = 0;
  int64_t both = 0;
};

/// Adds up a corpus. Texts are UTF-8; other bytes count as characters of their own.
class TextScores {
public:
  void add(std::string_view hypothesis, std::string_view reference);

  /// From 0 to 100; 0 for nothing.
  double bleu() const;
  double chrf() const;

private:
  std::array<NgramCounts, 4> words;
  std::array<NgramCounts, 6> characters;
};

/// The tokens of mteval-v13a: punctuation apart, but for points and commas within numbers.
std::vector<std::string> wordsOf(std::string_view text);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_TEXTSCORES_H
