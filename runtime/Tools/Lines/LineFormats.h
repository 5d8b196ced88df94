// SPDX-License-Identifier: Apache-2.0
///
/// The formats of lines that commands write and read: token ids separated by spaces (--tokens), and
/// JSON objects.
#ifndef HEDDLE_RUNTIME_TOOLS_LINES_LINEFORMATS_H
#define HEDDLE_RUNTIME_TOOLS_LINES_LINEFORMATS_H

#include "heddle/Status.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// Returns the ids of a line, only the first `most` of them unless that is 0. InvalidArgument names
/// the first word that is not an id.
Result<std::vector<int32_t>> parseTokenLine(std::string_view line, int64_t most = 0);

/// Returns the line for ids.
std::string tokenLine(std::span<const int32_t> tokens);

/// Appends {"text": ..., "tokens": [...]} and a line feed.
void appendRecord(std::string &out, std::string_view text, std::span<const int32_t> tokens);

/// Appends {"text": ..., "tokens": [...], "embedding": [...]}. Every float is the shortest decimal
/// that reads back as the same float; infinities and NaN are null.
void appendRecord(std::string &out, std::string_view text, std::span<const int32_t> tokens,
                  std::span<const float> embedding);

/// Appends {"text": ..., "error": ...}, the answer to a line that cannot be used.
void appendError(std::string &out, std::string_view text, std::string_view message);

/// Returns an object on one line, without a line feed. Bytes that are not UTF-8 are replaced.
std::string jsonText(const nlohmann::ordered_json &object);

/// Returns a log-probability with the precision of its float32 origin; null if it is not finite.
nlohmann::ordered_json jsonScore(double score);

/// Returns a value rounded to `digits` digits after the point, the precision of measurements.
double rounded(double value, int digits);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_LINES_LINEFORMATS_H
