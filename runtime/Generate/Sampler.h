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

/// Draws one of `tokens` with probability proportional to exp(score / temperature), restricted to
/// the fewest whose probabilities add up to `topP`. `uniform` lies in [0, 1). `tokens` must not be
/// empty; it is reordered.
ScoredToken drawToken(std::vector<ScoredToken> &tokens, double temperature, double topP,
                      double uniform);

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_SAMPLER_H
