// SPDX-License-Identifier: Apache-2.0
///
/// Strings with Python's semantics: sequences of code points, with its definitions of space, lines
/// and case. All texts are UTF-8.
#ifndef HEDDLE_FORMATS_TEMPLATE_STRINGS_H
#define HEDDLE_FORMATS_TEMPLATE_STRINGS_H

#include "formats/Tokenizer/Characters.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::chat {

/// Returns the character whose first byte is at `at`.
inline Character characterAt(std::string_view text, size_t at) {
  return firstCharacter(text.substr(at));
}

/// Returns whether a byte begins a character.
constexpr bool isFirstByte(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

constexpr bool isDigit(char c) { return c >= '0' && c <= '9'; }
constexpr char asciiLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
/// Returns the value of a hexadecimal digit; -1 for other characters.
int hexadecimalDigit(char c);

/// The text with an ASCII digit for every decimal digit of another script, as int() reads it.
std::string withAsciiDigits(std::string_view text);

/// str.isspace().
bool isSpace(int32_t codePoint);
/// Returns whether a character may occur in a name: letters, digits, marks and "_".
bool isNameCharacter(int32_t codePoint);

/// Returns the number of characters.
size_t lengthOf(std::string_view text);
/// Returns the byte offset after `characters` characters, or the size of the text.
size_t byteOf(std::string_view text, size_t characters);
/// Returns the characters, each as a text.
std::vector<std::string_view> charactersOf(std::string_view text);

/// Returns the number of bytes of leading space.
size_t lengthOfSpace(std::string_view text);
/// Return the text without space at an end, or without characters of `set`.
std::string_view stripBegin(std::string_view text, std::optional<std::string_view> set = {});
std::string_view stripEnd(std::string_view text, std::optional<std::string_view> set = {});
inline std::string_view strip(std::string_view text, std::optional<std::string_view> set = {}) {
  return stripEnd(stripBegin(text, set), set);
}

/// Returns the position of a text in another, or npos; in linear time.
size_t findText(std::string_view text, std::string_view wanted, size_t from = 0);

/// Splits at runs of space. With `most`, the rest after that many splits is the last piece.
std::vector<std::string_view> splitAtSpace(std::string_view text, size_t most, bool fromEnd);
/// Splits at separators, which must not be empty.
std::vector<std::string_view> splitAt(std::string_view text, std::string_view separator,
                                      size_t most, bool fromEnd);
/// Splits into lines, with or without their ends.
std::vector<std::string_view> splitLines(std::string_view text, bool keepEnds);
/// Replaces at most `most` occurrences of `from` by `to`. An empty `from` occurs between all
/// characters.
std::string replaceAll(std::string_view text, std::string_view from, std::string_view to,
                       size_t most);

std::string upperCase(std::string_view text);
std::string lowerCase(std::string_view text);
/// Converts the first letter of each word to title case, the others to lower case.
std::string titleCase(std::string_view text);
/// Converts the first character to title case, the others to lower case.
std::string capitalized(std::string_view text);

/// Implement str.isupper() and similar methods: whether all cased letters are upper case, and there
/// is one.
bool isUpperCase(std::string_view text);
bool isLowerCase(std::string_view text);

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_STRINGS_H
