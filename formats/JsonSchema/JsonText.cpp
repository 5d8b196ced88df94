// SPDX-License-Identifier: Apache-2.0
///
/// Characters are well-formed UTF-8 and surrogates come in pairs, because parsers reject others.
#include "formats/JsonSchema/JsonText.h"

#include <algorithm>

namespace heddle {

static bool isDigit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

static bool isHex(uint8_t byte) {
  return isDigit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

/// Returns the place after a byte with which a character begins.
static std::optional<StringPlace> beginCharacter(uint8_t byte) {
  if (byte == '\\') {
    return StringPlace::Escape;
  }
  if (byte < 0x80) {
    return byte >= 0x20 && byte != '"' ? std::optional(StringPlace::Between) : std::nullopt;
  }
  if (byte >= 0xc2 && byte <= 0xdf) {
    return StringPlace::Last1;
  }
  switch (byte) {
  case 0xe0:
    return StringPlace::AfterE0;
  case 0xed:
    return StringPlace::AfterED;
  case 0xf0:
    return StringPlace::AfterF0;
  case 0xf4:
    return StringPlace::AfterF4;
  default:
    break;
  }
  if (byte >= 0xe1 && byte <= 0xef) {
    return StringPlace::Last2;
  }
  return byte >= 0xf1 && byte <= 0xf3 ? std::optional(StringPlace::Last3) : std::nullopt;
}

static std::optional<StringPlace> escaped(uint8_t byte, bool isStrict) {
  if (byte == 'u') {
    return isStrict ? StringPlace::OwnDigit1 : StringPlace::Digit1;
  }
  const std::string_view known = isStrict ? "\"\\bfnrt" : "\"\\/bfnrt";
  return known.find(static_cast<char>(byte)) != std::string_view::npos
             ? std::optional(StringPlace::Between)
             : std::nullopt;
}

/// Returns the place if the byte is allowed.
static std::optional<StringPlace> placeIf(bool allowed, StringPlace next) {
  return allowed ? std::optional(next) : std::nullopt;
}

static bool isAnyOf(std::string_view bytes, uint8_t byte) {
  return bytes.find(static_cast<char>(byte)) != std::string_view::npos;
}

/// Implements stepInString() after the `\u` of an escape, and in the second one of a pair.
static std::optional<StringPlace> stepInEscape(StringPlace place, uint8_t byte) {
  const bool isD = byte == 'd' || byte == 'D';
  switch (place) {
  case StringPlace::Digit1:
    return placeIf(isHex(byte), isD ? StringPlace::Digit2OfD : StringPlace::Digit2);
  case StringPlace::Digit2:
    return placeIf(isHex(byte), StringPlace::Digit3);
  case StringPlace::Digit2OfD:
    // D8 to DB begin a pair; its second half must not come alone.
    return byte >= '0' && byte <= '7' ? StringPlace::Digit3
                                      : placeIf(isAnyOf("89abAB", byte), StringPlace::High3);
  case StringPlace::Digit3:
    return placeIf(isHex(byte), StringPlace::Digit4);
  case StringPlace::Digit4:
    return placeIf(isHex(byte), StringPlace::Between);
  case StringPlace::High3:
    return placeIf(isHex(byte), StringPlace::High4);
  case StringPlace::High4:
    return placeIf(isHex(byte), StringPlace::LowBackslash);
  case StringPlace::LowBackslash:
    return placeIf(byte == '\\', StringPlace::LowU);
  case StringPlace::LowU:
    return placeIf(byte == 'u', StringPlace::LowDigit1);
  case StringPlace::LowDigit1:
    return placeIf(isD, StringPlace::LowDigit2);
  case StringPlace::LowDigit2:
    return placeIf(isAnyOf("cdefCDEF", byte), StringPlace::Digit3);
  case StringPlace::OwnDigit1:
    return placeIf(byte == '0', StringPlace::OwnDigit2);
  case StringPlace::OwnDigit2:
    return placeIf(byte == '0', StringPlace::OwnDigit3);
  case StringPlace::OwnDigit3:
    return byte == '0' ? StringPlace::OwnDigit4Of0
                       : placeIf(byte == '1', StringPlace::OwnDigit4Of1);
  case StringPlace::OwnDigit4Of0:
    // The others have a letter.
    return placeIf(isAnyOf("01234567bef", byte), StringPlace::Between);
  case StringPlace::OwnDigit4Of1:
    return placeIf(isDigit(byte) || (byte >= 'a' && byte <= 'f'), StringPlace::Between);
  default:
    return std::nullopt;
  }
}

std::optional<StringPlace> stepInString(StringPlace place, uint8_t byte, bool isStrict) {
  const auto within = [&](uint8_t least, uint8_t greatest, StringPlace next) {
    return placeIf(byte >= least && byte <= greatest, next);
  };
  switch (place) {
  case StringPlace::Between:
    return beginCharacter(byte);
  case StringPlace::Last1:
    return within(0x80, 0xbf, StringPlace::Between);
  case StringPlace::Last2:
    return within(0x80, 0xbf, StringPlace::Last1);
  case StringPlace::Last3:
    return within(0x80, 0xbf, StringPlace::Last2);
  case StringPlace::AfterE0:
    return within(0xa0, 0xbf, StringPlace::Last1);
  case StringPlace::AfterED:
    return within(0x80, 0x9f, StringPlace::Last1);
  case StringPlace::AfterF0:
    return within(0x90, 0xbf, StringPlace::Last2);
  case StringPlace::AfterF4:
    return within(0x80, 0x8f, StringPlace::Last2);
  case StringPlace::Escape:
    return escaped(byte, isStrict);
  case StringPlace::Digit1:
  case StringPlace::Digit2:
  case StringPlace::Digit2OfD:
  case StringPlace::Digit3:
  case StringPlace::Digit4:
  case StringPlace::High3:
  case StringPlace::High4:
  case StringPlace::LowBackslash:
  case StringPlace::LowU:
  case StringPlace::LowDigit1:
  case StringPlace::LowDigit2:
  case StringPlace::OwnDigit1:
  case StringPlace::OwnDigit2:
  case StringPlace::OwnDigit3:
  case StringPlace::OwnDigit4Of0:
  case StringPlace::OwnDigit4Of1:
    return stepInEscape(place, byte);
  }
  return std::nullopt;
}

// --- numbers -----------------------------------------------------------------------------------

/// Returns the range of magnitudes of integers of a sign; empty if the first is greater.
static std::pair<int64_t, int64_t> magnitudes(const JsonValue &value, bool isNegative) {
  return isNegative ? std::pair(std::max<int64_t>(1, -value.greatest), -value.least)
                    : std::pair(std::max<int64_t>(0, value.least), value.greatest);
}

/// Returns whether digits may follow, or not, such that the integer is within its bounds.
static bool canBecomeWithin(const NumberState &state, const JsonValue &value) {
  const auto [least, greatest] = magnitudes(value, state.isNegative);
  auto from = static_cast<int64_t>(state.magnitude);
  int64_t to = from;
  for (uint32_t digits = state.digits; digits <= mostDigits; ++digits) {
    if (from <= greatest && to >= least) {
      return true;
    }
    if (from == 0 || from > greatest) {
      return false;
    }
    from *= 10;
    to = to * 10 + 9;
  }
  return false;
}

bool isWholeNumber(const NumberState &state, const JsonValue &value) {
  switch (state.place) {
  case NumberPlace::Zero:
  case NumberPlace::Whole: {
    const auto [least, greatest] = magnitudes(value, state.isNegative);
    const auto magnitude = static_cast<int64_t>(state.magnitude);
    return !value.isBounded || (magnitude >= least && magnitude <= greatest);
  }
  case NumberPlace::Fraction:
  case NumberPlace::Power:
    return true;
  case NumberPlace::Begin:
  case NumberPlace::Minus:
  case NumberPlace::Dot:
  case NumberPlace::Exponent:
  case NumberPlace::Sign:
    return false;
  }
  return false;
}

/// Adds a digit of the integral part.
static std::optional<NumberState> addDigit(NumberState state, uint8_t byte,
                                           const JsonValue &value) {
  const bool isFirst = state.place == NumberPlace::Begin || state.place == NumberPlace::Minus;
  const bool isInteger = value.number == NumberKind::Integer;
  if (state.place == NumberPlace::Zero || state.digits == mostDigits ||
      (isInteger && byte == '0' && state.place == NumberPlace::Minus)) {
    return std::nullopt;
  }
  state.place = isFirst && byte == '0' ? NumberPlace::Zero : NumberPlace::Whole;
  ++state.digits;
  if (value.isBounded) {
    state.magnitude = state.magnitude * 10 + (byte - '0');
  }
  return !value.isBounded || canBecomeWithin(state, value) ? std::optional(state) : std::nullopt;
}

/// Adds a digit of the fraction or the exponent.
static std::optional<NumberState> addDigit(NumberState state, NumberPlace place, uint32_t most) {
  state.digits = state.place == place ? state.digits + 1 : 1;
  state.place = place;
  return state.digits <= most ? std::optional(state) : std::nullopt;
}

static bool canBeNegative(const JsonValue &value) {
  const auto [least, greatest] = magnitudes(value, true);
  return !value.isBounded || least <= greatest;
}

std::optional<NumberState> stepInNumber(const NumberState &state, uint8_t byte,
                                        const JsonValue &value) {
  const auto at = [&](NumberPlace place) {
    return std::optional(NumberState{place, state.isNegative});
  };
  const bool isInteger = value.number == NumberKind::Integer;
  constexpr uint32_t powerDigits = 2;
  switch (state.place) {
  case NumberPlace::Begin:
    if (byte == '-' && canBeNegative(value)) {
      return NumberState{NumberPlace::Minus, true};
    }
    return isDigit(byte) ? addDigit(state, byte, value) : std::nullopt;
  case NumberPlace::Minus:
    return isDigit(byte) ? addDigit(state, byte, value) : std::nullopt;
  case NumberPlace::Zero:
  case NumberPlace::Whole:
    if (isDigit(byte)) {
      return addDigit(state, byte, value);
    }
    if (!isInteger && byte == '.') {
      return at(NumberPlace::Dot);
    }
    return !isInteger && (byte == 'e' || byte == 'E') ? at(NumberPlace::Exponent) : std::nullopt;
  case NumberPlace::Dot:
    return isDigit(byte) ? addDigit(state, NumberPlace::Fraction, mostDigits) : std::nullopt;
  case NumberPlace::Fraction:
    if (byte == 'e' || byte == 'E') {
      return at(NumberPlace::Exponent);
    }
    return isDigit(byte) ? addDigit(state, NumberPlace::Fraction, mostDigits) : std::nullopt;
  case NumberPlace::Exponent:
    if (byte == '+' || byte == '-') {
      return at(NumberPlace::Sign);
    }
    return isDigit(byte) ? addDigit(state, NumberPlace::Power, powerDigits) : std::nullopt;
  case NumberPlace::Sign:
  case NumberPlace::Power:
    return isDigit(byte) ? addDigit(state, NumberPlace::Power, powerDigits) : std::nullopt;
  }
  return std::nullopt;
}

} // namespace heddle
