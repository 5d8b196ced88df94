// SPDX-License-Identifier: Apache-2.0
///
/// Blocks of neighbouring layers whose attention is similar enough to be shared: Xiao et al.,
/// "Sharing attention weights for fast Transformer" (arXiv 1906.11024). The similarity of two
/// layers is one minus their Jensen-Shannon divergence. The compiler's SharingPolicy says which
/// layers are to share it.
#ifndef HEDDLE_FORMATS_ANALYSIS_SIMILARLAYERS_H
#define HEDDLE_FORMATS_ANALYSIS_SIMILARLAYERS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle {

/// The divergence of each layer from each other one, in bits: symmetric, its diagonal zero.
using DivergenceMatrix = std::vector<std::vector<double>>;

/// How a block grows.
enum class BlockRule : uint8_t {
  /// Up to the last layer at which the whole block is similar enough, even if a shorter one is not.
  /// The paper calls this "largest".
  Largest,
  /// As long as every added layer leaves the block similar enough.
  Extend,
};

/// The mean of 1 - divergence over all pairs of `count` layers from `first` on; 1 for one layer.
double similarity(const DivergenceMatrix &divergence, size_t first, size_t count);

/// The sizes of the blocks, starting at the first layer. Each is the largest that `rule` allows
/// with a similarity above `theta`, or a single layer.
std::vector<int64_t> sharingPolicy(const DivergenceMatrix &divergence, double theta,
                                   BlockRule rule = BlockRule::Largest);

} // namespace heddle

#endif // HEDDLE_FORMATS_ANALYSIS_SIMILARLAYERS_H
