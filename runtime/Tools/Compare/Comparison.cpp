// SPDX-License-Identifier: Apache-2.0
///
/// Sums over tokens, distributions and embeddings.
#include "runtime/Tools/Compare/Comparison.h"

#include "runtime/Kernels/JensenShannon.h"
#include "runtime/Kernels/LogSumExp.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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

/// The logarithm of the sum of their exponentials, and their softmax.
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
  // Never negative but for rounding; in this form NaN stays what it is.
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

double cosineOf(std::span<const float> a, std::span<const float> b) {
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

} // namespace heddle::tools
