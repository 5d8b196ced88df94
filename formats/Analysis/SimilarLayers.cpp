// SPDX-License-Identifier: Apache-2.0
///
/// Greedy search for blocks of similar layers.
#include "formats/Analysis/SimilarLayers.h"

namespace heddle {

double similarity(const DivergenceMatrix &divergence, size_t first, size_t count) {
  if (count < 2) {
    return 1;
  }
  double sum = 0;
  for (size_t i = first; i < first + count; ++i) {
    for (size_t j = first; j < first + count; ++j) {
      sum += i == j ? 0 : 1 - divergence[i][j];
    }
  }
  return sum / (static_cast<double>(count) * static_cast<double>(count - 1));
}

std::vector<int64_t> sharingPolicy(const DivergenceMatrix &divergence, double theta,
                                   BlockRule rule) {
  std::vector<int64_t> policy;
  for (size_t first = 0; first < divergence.size();) {
    size_t size = 1;
    for (size_t count = 2; first + count <= divergence.size(); ++count) {
      const bool isSimilar = similarity(divergence, first, count) > theta;
      if (!isSimilar && rule == BlockRule::Extend) {
        break;
      }
      size = isSimilar ? count : size;
    }
    policy.push_back(static_cast<int64_t>(size));
    first += size;
  }
  return policy;
}

} // namespace heddle
