// SPDX-License-Identifier: Apache-2.0
///
/// The mean divergence between the attention of layers, over heads, positions and sentences, all
/// with equal weight. Head h of a layer is compared with head h of the others. A position that sees
/// a single key counts as full agreement.
#ifndef HEDDLE_RUNTIME_KERNELS_DIVERGENCESUM_H
#define HEDDLE_RUNTIME_KERNELS_DIVERGENCESUM_H

#include "formats/Analysis/SimilarLayers.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// Accumulates divergences between `layers` layers without storing the distributions.
class DivergenceSum {
public:
  explicit DivergenceSum(size_t layers) : layers(layers), sums(layers * layers, 0.0) {}

  /// Adds the distributions over `keys` keys of one head at one position, one for each layer.
  void add(std::span<const float *const> distributions, int64_t keys);

  /// The number of distributions added for each layer.
  int64_t count() const { return added; }
  /// The mean of everything added; zeros if nothing was.
  DivergenceMatrix mean() const;

private:
  size_t layers;
  // [layers][layers]; only elements right of the diagonal are used.
  std::vector<double> sums;
  int64_t added = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_KERNELS_DIVERGENCESUM_H
