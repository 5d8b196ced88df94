// SPDX-License-Identifier: Apache-2.0
///
/// Sums over tokens, distributions and embeddings.
#include "runtime/Tools/Compare/Comparison.h"

#include "runtime/Kernels/JensenShannon.h"
#include "runtime/Kernels/LogSumExp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

namespace heddle::tools {

static double share(int64_t part, int64_t whole) {
  return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

void TokenAgreement::add(std::span<const int32_t> a, std::span<const int32_t> b) {
  const size_t common = std::min(a.size(), b.size());
  int64_t same = 0;
  for (size_t i = 0; i < common; ++i) {
    same += a[i] == b[i] ? 1 : 0;
  }
  const auto longer = static_cast<int64_t>(std::max(a.size(), b.size()));
  ++lineCount;
  identical += same == longer ? 1 : 0;
  positions += longer;
  equal += same;
}

double TokenAgreement::identicalLines() const { return share(identical, lineCount); }
double TokenAgreement::equalTokens() const { return share(equal, positions); }

/// Computes the softmax and returns the logarithm of the sum of exponentials.
static double softmax(std::span<const float> logits, std::vector<float> &probabilities) {
  const ExponentialSum sum = exponentialSum(logits.data(), static_cast<int64_t>(logits.size()));
  const double logarithm = logSumExp({&sum, 1});
  probabilities.resize(logits.size());
  std::transform(logits.begin(), logits.end(), probabilities.begin(), [&](float logit) {
    return static_cast<float>(std::exp(static_cast<double>(logit) - logarithm));
  });
  return logarithm;
}

void DistributionDifference::add(std::span<const float> a, std::span<const float> b) {
  const double sumOfA = softmax(a, probabilities[0]);
  const double sumOfB = softmax(b, probabilities[1]);
  double divergence = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto probability = static_cast<double>(probabilities[0][i]);
    if (probability != 0) {
      const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
      divergence += probability * (difference - sumOfA + sumOfB);
    }
  }
  ++count;
  // Never negative except by rounding; in this form NaN stays NaN.
  kullbackLeiblerSum += divergence < 0 ? 0 : divergence / std::numbers::ln2;
  jensenShannonSum += heddle::jensenShannon(probabilities[0].data(), probabilities[1].data(),
                                            static_cast<int64_t>(a.size()));
}

double DistributionDifference::kullbackLeibler() const {
  return count == 0 ? 0 : kullbackLeiblerSum / static_cast<double>(count);
}

double DistributionDifference::jensenShannon() const {
  return count == 0 ? 0 : jensenShannonSum / static_cast<double>(count);
}

template <typename T> static double cosine(std::span<const T> a, std::span<const T> b) {
  double product = 0;
  double squares[2] = {};
  for (size_t i = 0; i < a.size(); ++i) {
    const auto left = static_cast<double>(a[i]);
    const auto right = static_cast<double>(b[i]);
    product += left * right;
    squares[0] += left * left;
    squares[1] += right * right;
  }
  if (squares[0] == 0 && squares[1] == 0) {
    return 1;
  }
  const double lengths = std::sqrt(squares[0]) * std::sqrt(squares[1]);
  return lengths == 0 ? 0 : product / lengths;
}

double cosineOf(std::span<const float> a, std::span<const float> b) { return cosine(a, b); }

void EmbeddingDifference::add(std::vector<float> a, std::vector<float> b) {
  embeddings[0].push_back(std::move(a));
  embeddings[1].push_back(std::move(b));
}

double EmbeddingDifference::meanCosine() const {
  double sum = 0;
  for (size_t text = 0; text < embeddings[0].size(); ++text) {
    sum += cosineOf(embeddings[0][text], embeddings[1][text]);
  }
  return sum / static_cast<double>(embeddings[0].size());
}

double EmbeddingDifference::leastCosine() const {
  double least = 1;
  for (size_t text = 0; text < embeddings[0].size(); ++text) {
    const double cosine = cosineOf(embeddings[0][text], embeddings[1][text]);
    // Comparisons with NaN are false.
    least = std::isnan(cosine) || cosine < least ? cosine : least;
    if (std::isnan(least)) {
      break;
    }
  }
  return least;
}

/// Returns the rank of each value minus the mean rank, which ties do not change; equal values get
/// the mean of their ranks.
static std::vector<double> centredRanksOf(const std::vector<double> &values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  const double mean = (static_cast<double>(values.size()) - 1) / 2;
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      ++end;
    }
    for (size_t i = begin; i < end; ++i) {
      ranks[order[i]] = static_cast<double>(begin + end - 1) / 2 - mean;
    }
  }
  return ranks;
}

double EmbeddingDifference::rankCorrelation() const {
  const size_t count = ranked();
  std::vector<double> ranks[2];
  for (size_t side = 0; side < 2; ++side) {
    std::vector<double> cosines;
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < i; ++j) {
        cosines.push_back(cosineOf(embeddings[side][i], embeddings[side][j]));
        if (std::isnan(cosines.back())) {
          return std::numeric_limits<double>::quiet_NaN();
        }
      }
    }
    ranks[side] = centredRanksOf(cosines);
  }
  return cosine<double>(ranks[0], ranks[1]);
}

} // namespace heddle::tools
