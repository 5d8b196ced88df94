// SPDX-License-Identifier: Apache-2.0
///
/// Scores given targets with one pass over each, without a search.
#ifndef HEDDLE_RUNTIME_GENERATE_SCORING_H
#define HEDDLE_RUNTIME_GENERATE_SCORING_H

#include "heddle/Generation.h"
#include "runtime/Generate/Settings.h"
#include "runtime/Session/Decoder.h"

#include <span>
#include <vector>

namespace heddle {

/// The log-probability of every token of each target, its end included. The model's first end token
/// is added to a target that does not finish with one. A pass has at most `bounds.tokens` tokens of
/// targets and sources, a step of it at most `bounds.promptTokens` of targets. The decoder is left
/// as it was found.
Result<std::vector<std::vector<float>>>
scoreTargets(Decoder &decoder, const GenerationDefaults &defaults, const GenerationLimits &limits,
             const BatchBounds &bounds, std::span<const ScoringRequest> requests);

/// As Generator::scoreTexts().
Result<std::vector<std::vector<float>>>
scoreTexts(Decoder &decoder, const GenerationDefaults &defaults, const GenerationLimits &limits,
           const BatchBounds &bounds, std::span<const std::vector<int32_t>> texts, int64_t stride);

/// Checks a text as scoreTexts() does before running anything.
Status checkText(std::span<const int32_t> text, int64_t stride, const GenerationDefaults &defaults,
                 const GenerationLimits &limits);

/// Checks a request as scoreTargets() does before running anything.
Status checkScoring(const ScoringRequest &request, const GenerationDefaults &defaults,
                    const GenerationLimits &limits);

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_SCORING_H
