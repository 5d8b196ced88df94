// SPDX-License-Identifier: Apache-2.0
///
/// heddle run: the tensors of one file through a model, into another file.
#ifndef HEDDLE_RUNTIME_TOOLS_RUN_RUNCOMMAND_H
#define HEDDLE_RUNTIME_TOOLS_RUN_RUNCOMMAND_H

#include "heddle/Status.h"
#include "runtime/Tools/Options/SharedOptions.h"

#include <string>

namespace heddle::tools {

struct RunOptions : SubcommandOptions, ExecutionOptions {
  /// Empty: the first entry of the model.
  std::string entry;
  std::string inputs;
  std::string outputs;
};
void declare(OptionList &list, RunOptions &options);
Status execute(const RunOptions &options);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_RUN_RUNCOMMAND_H
