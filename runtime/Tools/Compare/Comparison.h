// SPDX-License-Identifier: Apache-2.0
///
/// How much the results of two models differ: in their tokens, in the distributions over the
/// vocabulary, and in their embeddings.
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
  /// Adds one line of each, without its end. The extra positions of the longer one do not agree.
  void add(std::span<const int32_t> a, std::span<const int32_t> b);

  int64_t lines() const { return lineCount; }
  /// Shares of lines and positions, from 0 to 1; 1 if there are none.
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
  /// Adds those of one position.
  void add(std::span<const float> a, std::span<const float> b);

  int64_t positions() const { return count; }
  /// The mean of the divergence of b from a, Kullback-Leibler's sum of p_a log2(p_a / p_b), and of
  /// Jensen-Shannon's; in bits.
  double kullbackLeibler() const;
  double jensenShannon() const;

private:
  int64_t count = 0;
  double kullbackLeiblerSum = 0;
  double jensenShannonSum = 0;
  std::vector<float> probabilities[2];
};

/// The cosine of two vectors; 1 where both are zero.
double cosineOf(std::span<const float> a, std::span<const float> b);

/// Compares embeddings of the same texts: each with its own, and how both models order the pairs of
/// texts, which is what a search sees.
class EmbeddingDifference {
public:
  /// Adds those of one text.
  void add(std::vector<float> a, std::vector<float> b);

  int64_t texts() const { return static_cast<int64_t>(embeddings[0].size()); }
  /// NaN if any cosine is.
  double meanCosine() const;
  double leastCosine() const;
  /// Spearman's correlation of the cosines of all pairs of the first ranked() texts, from -1 to 1.
  /// 1 where neither model sees a difference between pairs, as with fewer than three texts; 0 where
  /// one alone sees none; NaN if any cosine is. Takes time and memory with the square of the texts.
  double rankCorrelation() const;
  size_t ranked() const { return std::min(embeddings[0].size(), mostRanked); }
  static constexpr size_t mostRanked = 1000;

private:
  std::vector<std::vector<float>> embeddings[2];
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_COMPARE_COMPARISON_H
