// SPDX-License-Identifier: Apache-2.0
///
/// Samples tokens. Random numbers are a function of seed, sentence and step, not the output of a
/// stateful generator, so that a sentence's result is the same in any batch.
#ifndef HEDDLE_RUNTIME_GENERATE_SAMPLER_H
#define HEDDLE_RUNTIME_GENERATE_SAMPLER_H

#include "runtime/Generate/Candidates.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// Returns an identifier of a sentence's random numbers, from its source, its prefix and the index
/// of the sample.
uint64_t sampleStream(std::span<const int32_t> source, std::span<const int32_t> prefix,
                      uint64_t sample);

/// Returns a uniformly distributed number in [0, 1).
double uniformNumber(uint64_t seed, uint64_t stream, uint64_t step);

/// The distribution that tokens are drawn from.
struct Distribution {
  /// Probabilities are proportional to exp(score / temperature).
  double temperature = 1;
  /// Only the smallest set of tokens whose probabilities sum to this.
  double topP = 1;
  /// Only tokens with at least this fraction of the best token's probability.
  double minP = 0;
};

/// Draws one of `tokens`, which must not be empty and are reordered. `uniform` lies in [0, 1).
ScoredToken drawToken(std::vector<ScoredToken> &tokens, const Distribution &from, double uniform);

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_SAMPLER_H
