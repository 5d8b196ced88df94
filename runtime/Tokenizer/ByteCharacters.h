// SPDX-License-Identifier: Apache-2.0
///
/// The characters that stand for bytes in byte-level vocabularies. Printable Latin-1 characters
/// stand for themselves; the others are numbered from U+0100.
#ifndef HEDDLE_RUNTIME_TOKENIZER_BYTECHARACTERS_H
#define HEDDLE_RUNTIME_TOKENIZER_BYTECHARACTERS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

/// Appends the character that stands for each byte.
void appendByteCharacters(std::string_view bytes, std::string &text);

/// Appends the bytes that a text's characters stand for, or the text itself if one of them stands
/// for no byte.
void appendBytes(std::string_view text, std::string &bytes);

/// Appends bytes as UTF-8. Each maximal incomplete character becomes U+FFFD.
void appendAsUtf8(std::string_view bytes, std::string &text);

/// Returns the number of trailing bytes that form an incomplete character which more bytes could
/// complete.
size_t unfinishedBytes(std::string_view bytes);

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_BYTECHARACTERS_H
