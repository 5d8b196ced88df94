// SPDX-License-Identifier: Apache-2.0
///
/// Lines of token ids with spaces between them, as --tokens reads and writes them.
#ifndef HEDDLE_RUNTIME_TOOLS_TOKENLINE_H
#define HEDDLE_RUNTIME_TOOLS_TOKENLINE_H

#include "heddle/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// The ids of a line, of more than `most` the first ones where that is not 0; InvalidArgument names
/// the first word that is none.
Result<std::vector<int32_t>> parseTokenLine(std::string_view line, int64_t most = 0);

/// The line of ids.
std::string tokenLine(std::span<const int32_t> tokens);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_TOKENLINE_H
