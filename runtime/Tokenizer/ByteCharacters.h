// SPDX-License-Identifier: Apache-2.0
///
/// The characters that byte-level vocabularies write bytes as: the printable ones of Latin-1 stand
/// for themselves, the others are numbered from U+0100.
#ifndef HEDDLE_RUNTIME_TOKENIZER_BYTECHARACTERS_H
#define HEDDLE_RUNTIME_TOKENIZER_BYTECHARACTERS_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

/// Appends a character for each byte.
void appendByteCharacters(std::string_view bytes, std::string &text);

/// Appends the bytes that the characters of a text stand for; the text itself if one of them stands
/// for none.
void appendBytes(std::string_view text, std::string &bytes);

/// Appends bytes, each longest beginning of a character that does not become one as U+FFFD.
void appendAsUtf8(std::string_view bytes, std::string &text);

} // namespace heddle

#endif // HEDDLE_RUNTIME_TOKENIZER_BYTECHARACTERS_H
