// SPDX-License-Identifier: Apache-2.0
///
/// Reference implementations of the kernels, under the same names: the definitions, computed one
/// value at a time in double. Tests compare the kernels with them.
#ifndef HEDDLE_RUNTIME_KERNELS_REFERENCE_H
#define HEDDLE_RUNTIME_KERNELS_REFERENCE_H

#include "runtime/Kernels/TopK.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace heddle::reference {

/// Returns -x log2 x; 0 for 0.
inline double entropyTerm(double x) { return x == 0 ? 0 : -x * std::log2(x); }

/// Returns H((p + q) / 2) - (H(p) + H(q)) / 2, in [0, 1].
inline double jensenShannon(std::span<const float> p, std::span<const float> q) {
  double mixed = 0;
  double apart = 0;
  for (size_t key = 0; key < p.size(); ++key) {
    const auto left = static_cast<double>(p[key]);
    const auto right = static_cast<double>(q[key]);
    mixed += entropyTerm((left + right) / 2);
    apart += (entropyTerm(left) + entropyTerm(right)) / 2;
  }
  return std::clamp(mixed - apart, 0.0, 1.0);
}

inline float largestOf(std::span<const float> values) {
  float largest = -std::numeric_limits<float>::infinity();
  for (const float value : values) {
    largest = std::max(largest, value);
  }
  return largest;
}

/// Returns log(sum of exp(value)) in double.
inline double logSumExp(std::span<const float> values) {
  const auto largest = static_cast<double>(largestOf(values));
  if (std::isinf(largest)) {
    return largest;
  }
  double sum = 0;
  for (const float value : values) {
    sum += std::exp(static_cast<double>(value) - largest);
  }
  return largest + std::log(sum);
}

/// Returns the best `capacity` values with their positions, best first.
inline std::vector<RankedValue> topK(std::span<const float> values, size_t capacity) {
  std::vector<RankedValue> all;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) {
      all.push_back({values[i], static_cast<int32_t>(i)});
    }
  }
  std::sort(all.begin(), all.end(), ranksBefore);
  all.resize(std::min(all.size(), capacity));
  return all;
}

} // namespace heddle::reference

#endif // HEDDLE_RUNTIME_KERNELS_REFERENCE_H
