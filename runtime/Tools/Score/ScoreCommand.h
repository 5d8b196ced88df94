// SPDX-License-Identifier: Apache-2.0
///
/// heddle score: the probability of given translations.
#ifndef HEDDLE_RUNTIME_TOOLS_SCORE_SCORECOMMAND_H
#define HEDDLE_RUNTIME_TOOLS_SCORE_SCORECOMMAND_H

#include "heddle/Status.h"
#include "runtime/Tools/Options/SharedOptions.h"

#include <string>

namespace heddle::tools {

struct ScoreOptions : SubcommandOptions, AnswerOptions, SourceOptions, ExecutionOptions {
  /// One a line; the files have the same number of lines.
  std::string source;
  std::string target;
};
void declare(OptionList &list, ScoreOptions &options);
Status execute(const ScoreOptions &options);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_SCORE_SCORECOMMAND_H
