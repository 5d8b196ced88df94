// SPDX-License-Identifier: Apache-2.0
///
/// What a line of a file of texts can be: blank, or an object.
#ifndef HEDDLE_RUNTIME_TOOLS_TEXTRECORD_H
#define HEDDLE_RUNTIME_TOOLS_TEXTRECORD_H

#include "heddle/Status.h"

#include <string>
#include <string_view>

namespace heddle::tools {

/// Whether a line has nothing but spaces and tabs.
bool isBlank(std::string_view line);

/// The "text" of a line such as {"text": "..."}. `where` is what messages call the line.
Result<std::string> textOfRecord(std::string_view line, const std::string &where);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_TEXTRECORD_H
