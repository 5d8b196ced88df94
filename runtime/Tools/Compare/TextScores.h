// SPDX-License-Identifier: Apache-2.0
///
/// Scores of translations, each against one reference:
///
///   BLEU   Papineni et al. 2002, as SacreBLEU computes it: 1- to 4-grams of the corpus, tokens of
///          mteval-v13a, case kept, brevity penalty; an order without any match counts as half of
///          one match, the next such order as a quarter ("exp").
///   chrF2  Popovic 2015, as SacreBLEU computes it: 1- to 6-grams of the corpus's characters
///          without white space, the mean of the orders that both have, recall counting twice.
#ifndef HEDDLE_RUNTIME_TOOLS_COMPARE_TEXTSCORES_H
#define HEDDLE_RUNTIME_TOOLS_COMPARE_TEXTSCORES_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// Counts of n-grams in hypotheses, in references, and in both.
struct NgramCounts {
  int64_t hypothesis = 0;
  int64_t reference = 0;
  int64_t both = 0;
};

/// Scores a corpus. Texts are UTF-8; an invalid byte counts as one character.
class TextScores {
public:
  void add(std::string_view hypothesis, std::string_view reference);

  /// From 0 to 100; 0 for an empty corpus.
  double bleu() const;
  double chrf() const;

private:
  std::array<NgramCounts, 4> words;
  std::array<NgramCounts, 6> characters;
};

/// Tokenises as mteval-v13a does: punctuation is separated, except points and commas within
/// numbers.
std::vector<std::string> wordsOf(std::string_view text);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_COMPARE_TEXTSCORES_H
