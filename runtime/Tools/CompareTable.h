// SPDX-License-Identifier: Apache-2.0
///
/// What `heddle compare` found, for people.
#ifndef HEDDLE_RUNTIME_TOOLS_COMPARETABLE_H
#define HEDDLE_RUNTIME_TOOLS_COMPARETABLE_H

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace heddle::tools {

/// Both models' numbers beside each other with their quotients, then what their results differ in,
/// in lines; of the record that `--json` prints.
std::string compareTable(const nlohmann::ordered_json &record);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_COMPARETABLE_H
