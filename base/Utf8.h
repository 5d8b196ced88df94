// SPDX-License-Identifier: Apache-2.0
///
/// Checks UTF-8 and prepares untrusted text for messages: quoted, shortened, with control
/// characters escaped, so that a hostile name cannot control the terminal that prints it.
#ifndef HEDDLE_BASE_UTF8_H
#define HEDDLE_BASE_UTF8_H

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle {

/// Returns whether a byte is not the first of a UTF-8 character.
constexpr bool continuesCharacter(char byte) { return (byte & 0xC0) == 0x80; }

/// Returns the length in bytes of the longest well-formed prefix of `text`: text.size() if all of
/// it is UTF-8, otherwise the position of the first invalid byte. Surrogates and overlong forms are
/// invalid.
size_t validUtf8Prefix(std::string_view text);

/// Returns the position of byte `at` for messages: "byte 5", or "line 3, byte 5" in a text of
/// several lines. Lines and bytes of a line count from 1.
std::string placeInText(std::string_view text, size_t at);

/// Returns why a text is not UTF-8: "byte 5 is 0xff, expected UTF-8". Empty if it is.
std::string describeInvalidUtf8(std::string_view text);

/// Returns `text` in double quotes. Control characters, quotes, backslashes and bytes that are not
/// UTF-8 are escaped. A text longer than `limit` bytes is truncated and ends in "...".
std::string quote(std::string_view text, size_t limit = 200);

} // namespace heddle

#endif // HEDDLE_BASE_UTF8_H
