// SPDX-License-Identifier: Apache-2.0
///
/// The probability of targets that are given: one pass over each, no search.
#ifndef HEDDLE_RUNTIME_GENERATE_SCORING_H
#define HEDDLE_RUNTIME_GENERATE_SCORING_H

#include "heddle/Generation.h"
#include "runtime/Generate/Settings.h"
#include "runtime/Session/Decoder.h"

#include <span>
#include <vector>

namespace heddle {

/// The log-probability of every token of each target, its end included: the model's first end is
/// added to a target that has none as its last token. Passes of at most `batchTokens` tokens of
/// targets and sources. The decoder is left as it was found.
Result<std::vector<std::vector<float>>>
scoreTargets(Decoder &decoder, const GenerationDefaults &defaults, const GenerationLimits &limits,
             int64_t batchTokens, std::span<const ScoringRequest> requests);

/// What scoreTargets() would say of a request before anything runs.
Status checkScoring(const ScoringRequest &request, const GenerationDefaults &defaults,
                    const GenerationLimits &limits);

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_SCORING_H
