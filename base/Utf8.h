// SPDX-License-Identifier: Apache-2.0
///
/// Is it UTF-8, and how to show foreign text in a message: quoted, cut to a readable length,
/// control characters escaped, so that a hostile name cannot drive the terminal it is printed on.
#ifndef HEDDLE_BASE_UTF8_H
#define HEDDLE_BASE_UTF8_H

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle {

/// The length in bytes of the longest well-formed beginning of `text`: text.size() if all of it is
/// UTF-8, else the position of the first offending byte. Surrogates and overlong forms offend.
size_t validUtf8Prefix(std::string_view text);

/// Where byte `at` of a text is, as every message says it: "byte 5", or "line 3, byte 5" in a text
/// of several lines. Lines, and the bytes of a line, count from 1.
std::string placeInText(std::string_view text, size_t at);

/// Why a text is not UTF-8: "byte 5 is 0xff, expected UTF-8". Empty where it is.
std::string describeInvalidUtf8(std::string_view text);

/// `text` in double quotes; control characters, quotes and backslashes are escaped, bytes that are
/// not UTF-8 too, and what is longer than `limit` bytes ends in "...".
std::string quote(std::string_view text, size_t limit = 200);

} // namespace heddle

#endif // HEDDLE_BASE_UTF8_H
