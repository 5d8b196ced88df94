// SPDX-License-Identifier: Apache-2.0
///
/// State machines for JSON strings and numbers, byte by byte.
#ifndef HEDDLE_FORMATS_JSONSCHEMA_JSONTEXT_H
#define HEDDLE_FORMATS_JSONSCHEMA_JSONTEXT_H

#include "formats/JsonSchema/JsonGrammar.h"

#include <cstdint>
#include <optional>

namespace heddle {

/// The position of a string between two bytes.
enum class StringPlace : uint8_t {
  /// Between characters.
  Between,
  /// Before the last one, two or three bytes of a character; the others precede a restricted second
  /// byte, which excludes overlong encodings.
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
  /// In the first half of a surrogate pair, and before the second.
  High3,
  High4,
  LowBackslash,
  LowU,
  LowDigit1,
  LowDigit2,
  /// Before the digits of \u00 in a spelling that only escapes where required.
  OwnDigit1,
  OwnDigit2,
  OwnDigit3,
  OwnDigit4Of0,
  OwnDigit4Of1,
};

/// Returns the place after one byte, which is not the closing quote; nullopt if the byte is invalid
/// there. `isStrict` allows only required escapes, in one form, so that equal strings have equal
/// spellings.
std::optional<StringPlace> stepInString(StringPlace place, uint8_t byte, bool isStrict);

/// The position in a number.
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

/// A partial number.
struct NumberState {
  NumberPlace place = NumberPlace::Begin;
  bool isNegative = false;
  /// The number of digits of its current part.
  uint32_t digits = 0;
  /// The digits so far, for an integer with bounds.
  uint64_t magnitude = 0;
};

/// Returns the number after one byte; nullopt if no number of the value continues so.
std::optional<NumberState> stepInNumber(const NumberState &state, uint8_t byte,
                                        const JsonValue &value);
/// Returns whether the number may end there.
bool isWholeNumber(const NumberState &state, const JsonValue &value);

} // namespace heddle

#endif // HEDDLE_FORMATS_JSONSCHEMA_JSONTEXT_H
