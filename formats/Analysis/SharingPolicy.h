// SPDX-License-Identifier: Apache-2.0
///
/// Which layers could share their attention, from how much it differs: Xiao et al., "Sharing
/// attention weights for fast Transformer" (arXiv 1906.11024). Layers are cut into blocks of
/// neighbours whose similarity, one minus the Jensen-Shannon divergence, is above a threshold.
#ifndef HEDDLE_FORMATS_ANALYSIS_SHARINGPOLICY_H
#define HEDDLE_FORMATS_ANALYSIS_SHARINGPOLICY_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle {

/// Of layers with each other, in bits: square, symmetric, its diagonal zero.
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

#endif // HEDDLE_FORMATS_ANALYSIS_SHARINGPOLICY_H
