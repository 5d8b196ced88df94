// SPDX-License-Identifier: Apache-2.0
///
/// `heddle score --input`: the log-probabilities and the perplexity of texts.
#ifndef HEDDLE_RUNTIME_TOOLS_SCORE_TEXTSCORING_H
#define HEDDLE_RUNTIME_TOOLS_SCORE_TEXTSCORING_H

#include "runtime/Tools/Commands.h"

namespace heddle::tools {

Status scoreTexts(const ScoreOptions &options);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_SCORE_TEXTSCORING_H
