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

/// How far a block goes on.
enum class BlockRule : uint8_t {
  /// To the last layer with which all of it is similar enough, even if it was not before: the
  /// paper's "largest".
  Largest,
  /// As long as every layer that is added leaves it similar enough.
  Extend,
};

/// The mean of 1 - divergence over all pairs of `count` layers from `first` on; 1 for one layer.
double similarity(const DivergenceMatrix &divergence, size_t first, size_t count);

/// The sizes of the blocks, the first layer's first: each begins after the last one and is the
/// largest that `rule` allows with a similarity above `theta`, or a layer alone.
std::vector<int64_t> sharingPolicy(const DivergenceMatrix &divergence, double theta,
                                   BlockRule rule = BlockRule::Largest);

} // namespace heddle

#endif // HEDDLE_FORMATS_ANALYSIS_SIMILARLAYERS_H
