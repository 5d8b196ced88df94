// SPDX-License-Identifier: Apache-2.0
///
/// How much what two models compute differs: their tokens, the distributions these came from, their
/// embeddings.
#ifndef HEDDLE_RUNTIME_TOOLS_COMPARISON_H
#define HEDDLE_RUNTIME_TOOLS_COMPARISON_H

#include "runtime/Session/Decoder.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle::tools {

/// Texts as tokens, position by position.
class TokenAgreement {
public:
  /// One line of each, without its end. Where one is longer, its positions are none that agree.
  void add(std::span<const int32_t> a, std::span<const int32_t> b);

  int64_t lines() const { return lineCount; }
  /// Shares of lines and positions, from 0 to 1; 1 where there is nothing.
  double identicalLines() const;
  double equalTokens() const;

private:
  int64_t lineCount = 0;
  int64_t identical = 0;
  int64_t positions = 0;
  int64_t equal = 0;
};

/// Distributions over a vocabulary, as logits.
class DistributionDifference {
public:
  /// Those of one position.
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

/// Keeps all logits of a pass.
class LogitsTable final : public LogitsSink {
public:
  void begin(int64_t rows, int64_t vocabulary, int workers) override;
  void deliver(int worker, int64_t chunk, int64_t count, const float *values,
               int64_t stride) override;

  int64_t rows() const { return rowCount; }
  std::span<const float> row(int64_t index) const {
    return std::span(values).subspan(static_cast<size_t>(index * width),
                                     static_cast<size_t>(width));
  }

private:
  std::vector<float> values;
  int64_t rowCount = 0;
  int64_t width = 0;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_COMPARISON_H
