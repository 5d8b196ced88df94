// SPDX-License-Identifier: Apache-2.0
///
/// Strings as Python sees them: sequences of code points, with its notions of space, lines and
/// case. All texts are UTF-8.
#ifndef HEDDLE_FORMATS_TEMPLATE_STRINGS_H
#define HEDDLE_FORMATS_TEMPLATE_STRINGS_H

#include "formats/Tokenizer/Characters.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::chat {

/// The character at a byte, which is its first.
inline Character characterAt(std::string_view text, size_t at) {
  return firstCharacter(text.substr(at));
}

/// Whether a byte begins a character.
constexpr bool isFirstByte(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

constexpr bool isDigit(char c) { return c >= '0' && c <= '9'; }
constexpr char asciiLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
/// -1 for what is none.
int hexadecimalDigit(char c);

/// str.isspace().
bool isSpace(int32_t codePoint);
/// What may stand in a name: letters, digits, marks and "_".
bool isNameCharacter(int32_t codePoint);

/// The number of characters.
size_t lengthOf(std::string_view text);
/// The byte at which so many characters end, or the size of the text.
size_t byteOf(std::string_view text, size_t characters);
/// The characters, each as a text.
std::vector<std::string_view> charactersOf(std::string_view text);

/// The bytes of space at the beginning.
size_t lengthOfSpace(std::string_view text);
/// Without space at an end, or without characters of `set`.
std::string_view stripBegin(std::string_view text, std::optional<std::string_view> set = {});
std::string_view stripEnd(std::string_view text, std::optional<std::string_view> set = {});
inline std::string_view strip(std::string_view text, std::optional<std::string_view> set = {}) {
  return stripEnd(stripBegin(text, set), set);
}

/// Where a text is in another, or npos; in time that is linear in both.
size_t findText(std::string_view text, std::string_view wanted, size_t from = 0);

/// The words between runs of space. With `most`, the rest after so many splits is the last.
std::vector<std::string_view> splitAtSpace(std::string_view text, size_t most, bool fromEnd);
/// The pieces between separators, which are not empty.
std::vector<std::string_view> splitAt(std::string_view text, std::string_view separator,
                                      size_t most, bool fromEnd);
/// The lines, with their ends or without.
std::vector<std::string_view> splitLines(std::string_view text, bool keepEnds);
/// Every `from` as `to`, at most so many. An empty `from` stands between all characters.
std::string replaceAll(std::string_view text, std::string_view from, std::string_view to,
                       size_t most);

std::string upperCase(std::string_view text);
std::string lowerCase(std::string_view text);
/// The first letter of each word in title case, the others in lower case.
std::string titleCase(std::string_view text);
/// The first character in title case, the others in lower case.
std::string capitalized(std::string_view text);

/// What str.isupper() and its kin ask: whether all cased letters are upper case, and there is one.
bool isUpperCase(std::string_view text);
bool isLowerCase(std::string_view text);

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_STRINGS_H
