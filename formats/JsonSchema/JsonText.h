// SPDX-License-Identifier: Apache-2.0
///
/// Strings and numbers of JSON, byte by byte.
#ifndef HEDDLE_FORMATS_JSONSCHEMA_JSONTEXT_H
#define HEDDLE_FORMATS_JSONSCHEMA_JSONTEXT_H

#include "formats/JsonSchema/JsonGrammar.h"

#include <cstdint>
#include <optional>

namespace heddle {

/// Where a string is between two bytes.
enum class StringPlace : uint8_t {
  /// Between characters.
  Between,
  /// Before the last one, two or three bytes of a character; the others are before a second byte
  /// that is restricted, so that no character has two forms.
  Last1,
  Last2,
  Last3,
  AfterE0,
  AfterED,
  AfterF0,
  AfterF4,
  Escape,
  /// Before the four digits of \u, and before the second, if the first was a D.
  Digit1,
  Digit2,
  Digit2OfD,
  Digit3,
  Digit4,
  /// In the first half of a pair, and before the second.
  High3,
  High4,
  LowBackslash,
  LowU,
  LowDigit1,
  LowDigit2,
  /// Before the digits of \u00 in a spelling that only escapes what it has to.
  OwnDigit1,
  OwnDigit2,
  OwnDigit3,
  OwnDigit4Of0,
  OwnDigit4Of1,
};

/// The place after one byte, which is not the quote that ends the string; nothing if it cannot be
/// there. `isStrict`: only what has to be escaped is, in one way, so that equal strings have equal
/// spellings.
std::optional<StringPlace> stepInString(StringPlace place, uint8_t byte, bool isStrict);

/// Where a number is.
enum class NumberPlace : uint8_t {
  Begin,
  Minus,
  Zero,
  Whole,
  Dot,
  Fraction,
  Exponent,
  Sign,
  Power
};

/// A number on its way.
struct NumberState {
  NumberPlace place = NumberPlace::Begin;
  bool isNegative = false;
  /// Digits of this part of it.
  uint32_t digits = 0;
  /// The digits so far, of an integer with bounds.
  uint64_t magnitude = 0;
};

/// The number after one byte, or nothing if no number of the value goes on so.
std::optional<NumberState> stepInNumber(const NumberState &state, uint8_t byte,
                                        const JsonValue &value);
/// Whether it may end there.
bool isWholeNumber(const NumberState &state, const JsonValue &value);

} // namespace heddle

#endif // HEDDLE_FORMATS_JSONSCHEMA_JSONTEXT_H
