// SPDX-License-Identifier: Apache-2.0
///
/// The naive twin of the kernel of the same name: everything is sorted.
#ifndef HEDDLE_RUNTIME_KERNELS_REFERENCE_TOPK_H
#define HEDDLE_RUNTIME_KERNELS_REFERENCE_TOPK_H

#include "runtime/Kernels/TopK.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace heddle::reference {

/// The best `capacity` values with their positions, best first.
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

#endif // HEDDLE_RUNTIME_KERNELS_REFERENCE_TOPK_H
