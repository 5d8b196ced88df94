// SPDX-License-Identifier: Apache-2.0
///
/// Options whose values are numbers: read until one makes no sense.
#ifndef HEDDLE_RUNTIME_TOOLS_NUMBERREADER_H
#define HEDDLE_RUNTIME_TOOLS_NUMBERREADER_H

#include "base/Utf8.h"
#include "runtime/Tools/RawOptions.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <string>

namespace heddle::tools {

/// More than any text has.
inline constexpr int32_t mostTokens = 1 << 24;

/// Reads options of one command until one makes no sense.
class NumberReader {
public:
  explicit NumberReader(const CLI::App &app) : app(app) {}

  /// The value of an option of whole numbers, if it was given.
  template <typename Number>
  std::optional<Number> whole(const char *name, const std::string &text, Number least,
                              Number most) {
    Number value = 0;
    if (error || app.get_option(name)->count() == 0) {
      return std::nullopt;
    }
    const char *const end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, value);
    if (code != std::errc() || stop != end || value < least || value > most) {
      error = usage(app, fmt::format("{} is {}, expected a whole number from {} to {}", name,
                                     quote(text), least, most));
      return std::nullopt;
    }
    return value;
  }

  /// The value of an option of numbers, if it was given; `range` says what `allows` allows.
  template <typename Number = float, typename Allows>
  std::optional<Number> number(const char *name, const std::string &text, const std::string &range,
                               const Allows &allows) {
    Number value = 0;
    if (error || app.get_option(name)->count() == 0) {
      return std::nullopt;
    }
    const char *const end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, value);
    if (code != std::errc() || stop != end || !std::isfinite(value) || !allows(value)) {
      error = usage(app, fmt::format("{} is {}, expected {}", name, quote(text), range));
      return std::nullopt;
    }
    return value;
  }

  std::optional<UsageError> error;

private:
  const CLI::App &app;
};

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_NUMBERREADER_H
