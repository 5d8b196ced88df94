// SPDX-License-Identifier: Apache-2.0
///
/// A line of a .jsonl file of texts.
#ifndef HEDDLE_RUNTIME_TOOLS_TEXTRECORD_H
#define HEDDLE_RUNTIME_TOOLS_TEXTRECORD_H

#include "heddle/Status.h"

#include <string>
#include <string_view>

namespace heddle::tools {

/// The "text" of a line such as {"text": "..."}. `where` is what messages call the line.
Result<std::string> textOfRecord(std::string_view line, const std::string &where);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_TEXTRECORD_H
