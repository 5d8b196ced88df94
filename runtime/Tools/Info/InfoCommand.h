// SPDX-License-Identifier: Apache-2.0
///
/// heddle info: what a compiled model says about itself.
#ifndef HEDDLE_RUNTIME_TOOLS_INFO_INFOCOMMAND_H
#define HEDDLE_RUNTIME_TOOLS_INFO_INFOCOMMAND_H

#include "heddle/Status.h"
#include "runtime/Tools/Options/SharedOptions.h"

namespace heddle::tools {

struct InfoOptions : SubcommandOptions {};
void declare(OptionList &list, InfoOptions &options);
Status execute(const InfoOptions &options);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_INFO_INFOCOMMAND_H
