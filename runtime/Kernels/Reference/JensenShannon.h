// SPDX-License-Identifier: Apache-2.0
///
/// The naive twin of the kernel of the same name: the definition, one key at a time, in double.
#ifndef HEDDLE_RUNTIME_KERNELS_REFERENCE_JENSENSHANNON_H
#define HEDDLE_RUNTIME_KERNELS_REFERENCE_JENSENSHANNON_H

#include <algorithm>
#include <cmath>
#include <span>

namespace heddle::reference {

/// -x log2 x, 0 for 0.
inline double entropyTerm(double x) { return x == 0 ? 0 : -x * std::log2(x); }

/// H((p + q) / 2) - (H(p) + H(q)) / 2, from 0 to 1.
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

} // namespace heddle::reference

#endif // HEDDLE_RUNTIME_KERNELS_REFERENCE_JENSENSHANNON_H
