// SPDX-License-Identifier: Apache-2.0
///
/// The mean divergence of layers' attention: over heads, positions and sentences, every head of
/// every position counting the same. Head h of a layer is compared with head h of the others. Where
/// a position sees one key alone all layers agree, and it counts as that.
#ifndef HEDDLE_RUNTIME_KERNELS_DIVERGENCESUM_H
#define HEDDLE_RUNTIME_KERNELS_DIVERGENCESUM_H

#include "formats/Analysis/SimilarLayers.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// Adds up distributions of as many layers; keeps none of them.
class DivergenceSum {
public:
  explicit DivergenceSum(size_t layers) : layers(layers), sums(layers * layers, 0.0) {}

  /// The distributions over `keys` keys of one head at one position, one a layer.
  void add(std::span<const float *const> distributions, int64_t keys);

  /// Distributions of each layer so far.
  int64_t count() const { return added; }
  /// Of what was added; zeros for nothing.
  DivergenceMatrix mean() const;

private:
  size_t layers;
  // [layers][layers], of which those right of the diagonal are used.
  std::vector<double> sums;
  int64_t added = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_KERNELS_DIVERGENCESUM_H
