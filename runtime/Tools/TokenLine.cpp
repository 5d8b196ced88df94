// SPDX-License-Identifier: Apache-2.0
///
/// Ids and words.
#include "runtime/Tools/TokenLine.h"

#include "base/Utf8.h"

#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::tools {

Result<std::vector<int32_t>> parseTokenLine(std::string_view line, int64_t most) {
  std::vector<int32_t> tokens;
  size_t words = 0;
  while (true) {
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) {
      return tokens;
    }
    line.remove_prefix(begin);
    const std::string_view word = line.substr(0, line.find_first_of(" \t"));
    int32_t token = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), token);
    if (error != std::errc() || end != word.data() + word.size() || token < 0) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("word {} is {}, expected a token id",
                                                       words + 1, quote(word)));
    }
    if (most == 0 || static_cast<int64_t>(tokens.size()) < most) {
      tokens.push_back(token);
    }
    ++words;
    line.remove_prefix(word.size());
  }
}

std::string tokenLine(std::span<const int32_t> tokens) {
  return fmt::format("{}", fmt::join(tokens, " "));
}

} // namespace heddle::tools
