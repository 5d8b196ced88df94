// SPDX-License-Identifier: Apache-2.0
///
/// The differences between the results of two models: in their tokens, in the distributions over
/// the vocabulary, and in their embeddings.
#ifndef HEDDLE_RUNTIME_TOOLS_COMPARE_COMPARISON_H
#define HEDDLE_RUNTIME_TOOLS_COMPARE_COMPARISON_H

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::tools {

/// Compares token sequences position by position.
class TokenAgreement {
public:
  /// Adds one line of each, without its end token. The extra positions of the longer line count as
  /// different.
  void add(std::span<const int32_t> a, std::span<const int32_t> b);

  int64_t lines() const { return lineCount; }
  /// Return the fractions of equal lines and positions, from 0 to 1; 1 if there are none.
  double identicalLines() const;
  double equalTokens() const;

private:
  int64_t lineCount = 0;
  int64_t identical = 0;
  int64_t positions = 0;
  int64_t equal = 0;
};

/// Compares distributions over a vocabulary, given as logits.
class DistributionDifference {
public:
  /// Adds the logits of one position.
  void add(std::span<const float> a, std::span<const float> b);

  int64_t positions() const { return count; }
  /// Return the mean Kullback-Leibler divergence of b from a, the sum of p_a log2(p_a / p_b), and
  /// the mean Jensen-Shannon divergence; in bits.
  double kullbackLeibler() const;
  double jensenShannon() const;

private:
  int64_t count = 0;
  double kullbackLeiblerSum = 0;
  double jensenShannonSum = 0;
  std::vector<float> probabilities[2];
};

/// Returns the cosine of two vectors; 1 if both are zero.
double cosineOf(std::span<const float> a, std::span<const float> b);

/// Compares embeddings of the same texts: each text's pair of embeddings, and the order in which
/// both models rank the pairs of texts, which determines search results.
class EmbeddingDifference {
public:
  /// Adds the embeddings of one text.
  void add(std::vector<float> a, std::vector<float> b);

  int64_t texts() const { return static_cast<int64_t>(embeddings[0].size()); }
  /// Returns the mean cosine; NaN if any cosine is NaN.
  double meanCosine() const;
  double leastCosine() const;
  /// Returns Spearman's correlation of the cosines of all pairs of the first ranked() texts, from
  /// -1 to 1. It is 1 if neither model distinguishes any pairs, as with fewer than three texts; 0
  /// if only one does not; NaN if any cosine is NaN. Time and memory are quadratic in the number of
  /// texts.
  double rankCorrelation() const;
  size_t ranked() const { return std::min(embeddings[0].size(), mostRanked); }
  static constexpr size_t mostRanked = 1000;

private:
  std::vector<std::vector<float>> embeddings[2];
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_COMPARE_COMPARISON_H
