// SPDX-License-Identifier: Apache-2.0
///
/// The naive twin of the kernels of the same name: one value at a time, in double.
#ifndef HEDDLE_RUNTIME_KERNELS_REFERENCE_LOGSUMEXP_H
#define HEDDLE_RUNTIME_KERNELS_REFERENCE_LOGSUMEXP_H

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace heddle::reference {

inline float largestOf(std::span<const float> values) {
  float largest = -std::numeric_limits<float>::infinity();
  for (const float value : values) {
    largest = std::max(largest, value);
  }
  return largest;
}

/// log(sum of exp(value)) in double.
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

} // namespace heddle::reference

#endif // HEDDLE_RUNTIME_KERNELS_REFERENCE_LOGSUMEXP_H
