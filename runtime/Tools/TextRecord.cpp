// SPDX-License-Identifier: Apache-2.0
///
/// An object with one key that counts.
#include "runtime/Tools/TextRecord.h"

#include "formats/Config/Json.h"

#include <fmt/format.h>

namespace heddle::tools {

static constexpr std::string_view expectedObject = R"(expected an object such as {"text": "..."})";

bool isBlank(std::string_view line) { return line.find_first_not_of(" \t") == line.npos; }

Result<std::string> textOfRecord(std::string_view line, const std::string &where) {
  if (isBlank(line)) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: the line is empty, {}", where, expectedObject));
  }
  HEDDLE_ASSIGN(const nlohmann::json record, parseJson(line, where));
  if (!record.is_object()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: found {}, {}", where,
                                                     describeJson(record), expectedObject));
  }
  const auto text = record.find("text");
  if (text == record.end()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: no key \"text\", {}", where, expectedObject));
  }
  if (!text->is_string()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: \"text\" is {}, expected a string", where,
                                                     describeJson(*text)));
  }
  return text->get<std::string>();
}

} // namespace heddle::tools
