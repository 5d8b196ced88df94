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

/// Identifies a sentence's random numbers by its source, its prefix and the index of the sample.
uint64_t sampleStream(std::span<const int32_t> source, std::span<const int32_t> prefix,
                      uint64_t sample);

/// A uniformly distributed number in [0, 1).
double uniformNumber(uint64_t seed, uint64_t stream, uint64_t step);

/// What tokens are drawn from, and how.
struct Distribution {
  /// Probabilities are proportional to exp(score / temperature).
  double temperature = 1;
  /// Only the fewest tokens whose probabilities add up to this.
  double topP = 1;
  /// Only tokens with at least so many times the probability of the best.
  double minP = 0;
};

/// Draws one of `tokens`, at least one, which are in any order afterwards. `uniform` lies in [0,
/// 1).
ScoredToken drawToken(std::vector<ScoredToken> &tokens, const Distribution &from, double uniform);

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_SAMPLER_H
