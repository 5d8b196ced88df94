// SPDX-License-Identifier: Apache-2.0
///
/// Random tokens. Numbers come from a function of seed, sentence and step, not from a generator
/// with a state: a sentence's text is the same in any batch.
#ifndef HEDDLE_RUNTIME_GENERATE_SAMPLER_H
#define HEDDLE_RUNTIME_GENERATE_SAMPLER_H

#include "runtime/Generate/Candidates.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// What tells a sentence's random numbers from another's: its source, its prefix, and which of its
/// samples it is.
uint64_t sampleStream(std::span<const int32_t> source, std::span<const int32_t> prefix,
                      uint64_t sample);

/// A number in [0, 1), equally distributed.
double uniformNumber(uint64_t seed, uint64_t stream, uint64_t step);

/// Draws one of `tokens`, with probability proportional to exp(score / temperature), of the fewest
/// whose probabilities add up to `topP`. `uniform` lies in [0, 1). There must be a token; they are
/// reordered.
ScoredToken drawToken(std::vector<ScoredToken> &tokens, double temperature, double topP,
                      double uniform);

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_SAMPLER_H
