// SPDX-License-Identifier: Apache-2.0
///
/// heddle generate: sources to the texts that a model makes of them.
#ifndef HEDDLE_RUNTIME_TOOLS_GENERATE_GENERATECOMMAND_H
#define HEDDLE_RUNTIME_TOOLS_GENERATE_GENERATECOMMAND_H

#include "heddle/Generation.h"
#include "runtime/Tools/Options/SharedOptions.h"

#include <string>

namespace heddle::tools {

struct GenerateOptions : SubcommandOptions, AnswerOptions, SourceOptions, ExecutionOptions {
  /// One source a line, or "-" for standard input; what the text of each source begins with, and
  /// the tokens that may come in it. Empty: none.
  std::string input;
  std::string prefix;
  std::string shortlist;
  GenerationOptions generation;
  /// Memory for keys and values, in MiB.
  int64_t cacheMegabytes = 1024;
  /// Scores before the texts.
  bool scores = false;
};
void declare(OptionList &list, GenerateOptions &options);
Status execute(const GenerateOptions &options);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_GENERATE_GENERATECOMMAND_H
