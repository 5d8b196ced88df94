// SPDX-License-Identifier: Apache-2.0
///
/// heddle verify: whether a compiled model is complete and undamaged.
#ifndef HEDDLE_RUNTIME_TOOLS_VERIFY_VERIFYCOMMAND_H
#define HEDDLE_RUNTIME_TOOLS_VERIFY_VERIFYCOMMAND_H

#include "heddle/Status.h"
#include "runtime/Tools/Options/SharedOptions.h"

namespace heddle::tools {

struct VerifyOptions : SubcommandOptions {};
void declare(OptionList &list, VerifyOptions &options);
Status execute(const VerifyOptions &options);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_VERIFY_VERIFYCOMMAND_H
