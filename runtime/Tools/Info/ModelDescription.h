// SPDX-License-Identifier: Apache-2.0
///
/// The output of `heddle info --json` for a compiled model. Runs no code of the model, so this
/// machine need not support its targets.
#ifndef HEDDLE_RUNTIME_TOOLS_INFO_MODELDESCRIPTION_H
#define HEDDLE_RUNTIME_TOOLS_INFO_MODELDESCRIPTION_H

#include "heddle/Status.h"

#include <nlohmann/json.hpp>
#include <string>

namespace heddle::tools {

/// Returns the description of the model in a file.
Result<nlohmann::ordered_json> describeModel(const std::string &path);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_INFO_MODELDESCRIPTION_H
