// SPDX-License-Identifier: Apache-2.0
///
/// What tokenizers ask about a code point. The answers are those of the tokenizers that models were
/// trained with, which know an older Unicode than the library (LaterCharacters.def).
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

/// The first character of a text that is not empty. The text is UTF-8; should it not be, the first
/// byte counts as U+FFFD.
Character firstCharacter(std::string_view text);
/// The last character of a text that is not empty.
Character lastCharacter(std::string_view text);
/// Appends the UTF-8 of a code point.
void appendCharacter(int32_t codePoint, std::string &text);

/// White_Space of Unicode.
bool isWhiteSpace(int32_t codePoint);
/// What cleaning removes: NUL, U+FFFD, and Cc, Cf, Co without tab, line feed, carriage return.
bool isRemovedByCleaning(int32_t codePoint);
/// The ideographs that are words of their own to BERT: most CJK blocks, not Hangul, not kana.
bool isIdeograph(int32_t codePoint);
/// ASCII punctuation and symbols, and the categories P*.
bool isPunctuation(int32_t codePoint);
/// The category Mn.
bool isNonspacingMark(int32_t codePoint);
/// The categories M*, as they were in Unicode 9.
bool isCombiningMark(int32_t codePoint);
/// What marks after a letter are sorted by; 0 for what ends such a sequence.
int32_t combiningClass(int32_t codePoint);
/// Decomposes only since a version later than Unicode 9.
bool isLaterForm(int32_t codePoint);
/// The lower case; most often one character, and a single `I with a dot` is two.
void appendLowercase(int32_t codePoint, std::string &text);
/// \p{L} of regular expressions.
bool isLetter(int32_t codePoint);
/// \p{N} of regular expressions.
bool isNumber(int32_t codePoint);
/// \w of regular expressions.
bool isWordCharacter(int32_t codePoint);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_CHARACTERS_H
