// SPDX-License-Identifier: Apache-2.0
///
/// The distance of two distributions: the Jensen-Shannon divergence in bits,
///   JSD(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2,  0 log 0 = 0,
/// which is 0 for equal distributions and 1 for distributions with disjoint support.
#ifndef HEDDLE_RUNTIME_KERNELS_JENSENSHANNON_H
#define HEDDLE_RUNTIME_KERNELS_JENSENSHANNON_H

#include "formats/Analysis/AttentionAnalysis.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// Returns the divergence of two distributions over `count` keys, whose values are at least 0 and
/// sum to 1. The result lies in [0, 1], within 5e-7 of exact arithmetic, and is exactly 0 for equal
/// values. NaN gives NaN.
double jensenShannon(const float *p, const float *q, int64_t count);

/// The mean divergence between the attention of `layers` layers, over heads, positions and
/// sentences with equal weight, without storing the distributions. Head h of a layer is compared
/// with head h of the others. A position with a single key counts as full agreement.
class DivergenceSum {
public:
  explicit DivergenceSum(size_t layers) : layers(layers), sums(layers * layers, 0.0) {}

  /// Adds the distributions over `keys` keys of one head at one position, one for each layer.
  void add(std::span<const float *const> distributions, int64_t keys);

  /// Returns the number of distributions added for each layer.
  int64_t count() const { return added; }
  /// Returns 1 minus the mean of everything added; all ones if nothing was added.
  SimilarityMatrix similarity() const;

private:
  size_t layers;
  // [layers][layers]; only elements right of the diagonal are used.
  std::vector<double> sums;
  int64_t added = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_KERNELS_JENSENSHANNON_H
