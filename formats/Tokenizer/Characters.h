// SPDX-License-Identifier: Apache-2.0
///
/// Character classes for tokenizers. They agree with the tokenizers used in training, which have an
/// older Unicode than the library (LaterCharacters.def).
#ifndef HEDDLE_FORMATS_TOKENIZER_CHARACTERS_H
#define HEDDLE_FORMATS_TOKENIZER_CHARACTERS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

/// A code point and the bytes it takes.
struct Character {
  int32_t codePoint;
  size_t bytes;
};

/// The first character of a non-empty UTF-8 text. If the text is malformed, the first byte counts
/// as U+FFFD.
Character firstCharacter(std::string_view text);
/// The last character of a non-empty text.
Character lastCharacter(std::string_view text);
/// Appends the UTF-8 of a code point.
void appendCharacter(int32_t codePoint, std::string &text);

/// White_Space of Unicode.
bool isWhiteSpace(int32_t codePoint);
/// Characters that cleaning removes: NUL, U+FFFD, and Cc, Cf, Co except tab, line feed, carriage
/// return.
bool isRemovedByCleaning(int32_t codePoint);
/// Ideographs that BERT treats as words: most CJK blocks, but neither Hangul nor kana.
bool isIdeograph(int32_t codePoint);
/// ASCII punctuation and symbols, and the categories P*.
bool isPunctuation(int32_t codePoint);
/// The category Mn.
bool isNonspacingMark(int32_t codePoint);
/// The categories M*, as they were in Unicode 9.
bool isCombiningMark(int32_t codePoint);
/// The combining class, by which marks after a letter are sorted; 0 for characters that end the
/// sequence.
int32_t combiningClass(int32_t codePoint);
/// Whether a character decomposes only since a version later than Unicode 9.
bool isLaterForm(int32_t codePoint);
/// Appends the lower case, which is one character, or two for I with a dot above.
void appendLowercase(int32_t codePoint, std::string &text);
/// \p{L} of regular expressions.
bool isLetter(int32_t codePoint);
/// \p{N} of regular expressions.
bool isNumber(int32_t codePoint);
/// The two letters of the general category, as regular expressions have it: "Lu".
std::string_view generalCategory(int32_t codePoint);
/// \w of regular expressions, as Rust's library has it.
bool isWordCharacter(int32_t codePoint);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_CHARACTERS_H
