// SPDX-License-Identifier: Apache-2.0
///
/// JSON from a file nobody vouches for: checked for UTF-8, for depth (a thousand brackets must not
/// become a thousand stack frames in whoever walks the tree) and for keys given twice, where
/// readers disagree about which one counts. Every error names the file and, where one is known, the
/// byte.
#ifndef HEDDLE_FORMATS_CONFIG_JSON_H
#define HEDDLE_FORMATS_CONFIG_JSON_H

#include "heddle/Status.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace heddle {

/// How deep lists and objects may nest.
inline constexpr size_t jsonDepthLimit = 64;
/// The longest JSON file that is read, in bytes.
inline constexpr size_t jsonFileLimit = size_t(512) << 20;

/// The value of `text`; `where` (a path, or a path and a place in it) begins every message.
Result<nlohmann::json> parseJson(std::string_view text, std::string_view where);

/// As parseJson, with the keys of every object in the order of the text. Finding one by name takes
/// time in the number of keys: walk these objects, do not look things up in large ones.
Result<nlohmann::ordered_json> parseOrderedJson(std::string_view text, std::string_view where);

/// The value of a file.
Result<nlohmann::json> readJsonFile(const std::string &path);

/// The value of a file, its keys in order.
Result<nlohmann::ordered_json> readOrderedJsonFile(const std::string &path);

/// A value as messages show it: 12, true, null, "text" (cut), a list of 3, an object of 2.
std::string describeJson(const nlohmann::json &value);
std::string describeJson(const nlohmann::ordered_json &value);

} // namespace heddle

#endif // HEDDLE_FORMATS_CONFIG_JSON_H
