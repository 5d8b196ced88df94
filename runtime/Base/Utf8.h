// SPDX-License-Identifier: Apache-2.0
///
/// Is it UTF-8, and how to show foreign text in a message: quoted, cut to a readable length,
/// control characters escaped, so that a hostile name cannot drive the terminal it is printed on.
#ifndef HEDDLE_RUNTIME_BASE_UTF8_H
#define HEDDLE_RUNTIME_BASE_UTF8_H

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle {

/// The length in bytes of the longest well-formed beginning of `text`: text.size() if all of it is
/// UTF-8, else the position of the first offending byte. Surrogates and overlong forms offend.
size_t validUtf8Prefix(std::string_view text);

/// `text` in double quotes; control characters, quotes and backslashes are escaped, bytes that are
/// not UTF-8 too, and what is longer than `limit` bytes ends in "...".
std::string quote(std::string_view text, size_t limit = 200);

} // namespace heddle

#endif // HEDDLE_RUNTIME_BASE_UTF8_H
