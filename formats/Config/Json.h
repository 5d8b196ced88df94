// SPDX-License-Identifier: Apache-2.0
///
/// Parses JSON from untrusted files. Checks UTF-8, the nesting depth (so that code that walks the
/// tree recursively does not overflow the stack), and duplicate keys, which parsers treat
/// differently. Every error names the file and, if known, the byte.
#ifndef HEDDLE_FORMATS_CONFIG_JSON_H
#define HEDDLE_FORMATS_CONFIG_JSON_H

#include "heddle/Status.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace heddle {

/// The maximum nesting depth of lists and objects.
inline constexpr size_t jsonDepthLimit = 64;
/// The maximum size of a JSON file that is read, in bytes.
inline constexpr size_t jsonFileLimit = size_t(512) << 20;

/// Parses `text`; `where` (a path, or a path and a place in it) begins every message.
Result<nlohmann::json> parseJson(std::string_view text, std::string_view where);

/// The treatment of integers that need more than 64 bits: rounding to floats, or an error.
enum class LongIntegers : uint8_t { Round, Refuse };

/// As parseJson(), but keeps the keys of every object in the order of the text. Looking up a key
/// takes linear time, so iterate over large objects instead.
Result<nlohmann::ordered_json> parseOrderedJson(std::string_view text, std::string_view where,
                                                LongIntegers integers = LongIntegers::Round);

/// Parses a file.
Result<nlohmann::json> readJsonFile(const std::string &path);

/// Parses a file, keeping the order of keys.
Result<nlohmann::ordered_json> readOrderedJsonFile(const std::string &path);

/// Describes a value for messages: 12, true, null, "text" (shortened), a list of 3, an object of 2.
std::string describeJson(const nlohmann::json &value);
std::string describeJson(const nlohmann::ordered_json &value);

} // namespace heddle

#endif // HEDDLE_FORMATS_CONFIG_JSON_H
