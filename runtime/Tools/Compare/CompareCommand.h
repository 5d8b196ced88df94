// SPDX-License-Identifier: Apache-2.0
///
/// heddle compare: how the results and the speed of two binaries differ on the same texts.
#ifndef HEDDLE_RUNTIME_TOOLS_COMPARE_COMPARECOMMAND_H
#define HEDDLE_RUNTIME_TOOLS_COMPARE_COMPARECOMMAND_H

#include "heddle/Status.h"
#include "runtime/Tools/Options/SharedOptions.h"

#include <string>

namespace heddle::tools {

struct CompareOptions : SubcommandOptions, CorpusOptions {
  /// The binary that `model` is compared with.
  std::string other;
};
void declare(OptionList &list, CompareOptions &options);
Status execute(const CompareOptions &options);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_COMPARE_COMPARECOMMAND_H
