// SPDX-License-Identifier: Apache-2.0
///
/// Character classes for tokenizers. They agree with the tokenizers used in training, which have an
/// older Unicode version than the library (LaterCharacters.def).
#ifndef HEDDLE_FORMATS_TOKENIZER_CHARACTERS_H
#define HEDDLE_FORMATS_TOKENIZER_CHARACTERS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

/// A code point and its size in bytes.
struct Character {
  int32_t codePoint;
  size_t bytes;
};

/// Returns the first character of a non-empty UTF-8 text. If the text is malformed, the first byte
/// counts as U+FFFD.
Character firstCharacter(std::string_view text);
/// Returns the last character of a non-empty text.
Character lastCharacter(std::string_view text);
/// Appends the UTF-8 of a code point.
void appendCharacter(int32_t codePoint, std::string &text);

/// Returns whether a character has Unicode's White_Space property.
bool isWhiteSpace(int32_t codePoint);
/// Returns whether cleaning removes a character: NUL, U+FFFD, and Cc, Cf, Co except tab, line feed,
/// carriage return.
bool isRemovedByCleaning(int32_t codePoint);
/// Returns whether BERT treats a character as a word: most CJK blocks, but neither Hangul nor kana.
bool isIdeograph(int32_t codePoint);
/// Returns whether a character is ASCII punctuation, an ASCII symbol, or of a category P*.
bool isPunctuation(int32_t codePoint);
/// Returns whether a character has the category Mn.
bool isNonspacingMark(int32_t codePoint);
/// Returns whether a character has a category M* of Unicode 9.
bool isCombiningMark(int32_t codePoint);
/// Returns the combining class, by which marks after a letter are sorted; 0 for characters that end
/// the sequence.
int32_t combiningClass(int32_t codePoint);
/// Returns whether a character decomposes only since a version after Unicode 9.
bool isLaterForm(int32_t codePoint);
/// Appends the lower case of a character, which is one character, or two for I with a dot above.
void appendLowercase(int32_t codePoint, std::string &text);
/// Implements \p{L} of regular expressions.
bool isLetter(int32_t codePoint);
/// Implements \p{N} of regular expressions.
bool isNumber(int32_t codePoint);
/// Returns the general category in two letters, as in regular expressions: "Lu".
std::string_view generalCategory(int32_t codePoint);
/// Implements \w of regular expressions, as in Rust's library.
bool isWordCharacter(int32_t codePoint);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_CHARACTERS_H
