// SPDX-License-Identifier: Apache-2.0
///
/// What `heddle info --json` says about a compiled model. Does not run any code of the model, so
/// this machine need not be able to.
#ifndef HEDDLE_RUNTIME_TOOLS_INFO_MODELDESCRIPTION_H
#define HEDDLE_RUNTIME_TOOLS_INFO_MODELDESCRIPTION_H

#include "heddle/Status.h"

#include <nlohmann/json.hpp>
#include <string>

namespace heddle::tools {

/// The description of the model in a file.
Result<nlohmann::ordered_json> describeModel(const std::string &path);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_INFO_MODELDESCRIPTION_H
