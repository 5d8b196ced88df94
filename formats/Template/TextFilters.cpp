// SPDX-License-Identifier: Apache-2.0
///
/// Filters that convert one value to a text or a number.
#include "formats/Template/Callable.h"

#include "base/Utf8.h"
#include "formats/Template/Conversion.h"
#include "formats/Template/Formatting.h"
#include "formats/Template/Operators.h"
#include "formats/Template/Strings.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace heddle::chat {

/// Returns the text of the filtered value of any type.
static Result<std::string> subjectOf(const BoundCall &call) {
  return toString(call.budget, call[0]);
}

static Result<Value> absolute(const BoundCall &call) {
  if (call[0].is(Kind::Real)) {
    return Value(std::abs(call[0].real()));
  }
  HEDDLE_ASSIGN(const int64_t value, call.integer(0));
  return value < 0 ? negated(Value(value)) : Result<Value>(Value(value));
}

static Result<Value> capitalizeText(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string text, subjectOf(call));
  return call.budget.text(capitalized(text));
}

static Result<Value> lower(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string text, subjectOf(call));
  return call.budget.text(lowerCase(text));
}

static Result<Value> upper(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string text, subjectOf(call));
  return call.budget.text(upperCase(text));
}

/// Capitalises words, which begin after space, "-" and opening brackets.
static Result<Value> title(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string text, subjectOf(call));
  std::string out;
  const auto isBreak = [](int32_t code) {
    return isSpace(code) || code == '-' || code == '(' || code == '{' || code == '[' || code == '<';
  };
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    const bool breaks = isBreak(characterAt(text, at).codePoint);
    while (end < text.size() && isBreak(characterAt(text, end).codePoint) == breaks) {
      end += characterAt(text, end).bytes;
    }
    const std::string_view word = std::string_view(text).substr(at, end - at);
    const size_t first = characterAt(word, 0).bytes;
    out += upperCase(word.substr(0, first)) + lowerCase(word.substr(first));
    at = end;
  }
  return call.budget.text(std::move(out));
}

static Result<Value> trim(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string text, subjectOf(call));
  if (!call.hasValue(1)) {
    return call.budget.text(std::string(strip(text)));
  }
  HEDDLE_ASSIGN(const std::string_view set, call.text(1));
  HEDDLE_TRY(chargeSet(call.budget, text, set));
  return call.budget.text(std::string(strip(text, set)));
}

static Result<Value> centerText(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string text, subjectOf(call));
  HEDDLE_ASSIGN(const int64_t width, call.integerOr(1, 80));
  const Callable *const method = findMethod(Kind::String, "center");
  return callFunction(call.budget, *method, nullptr, {{Value(text), Value(width)}, {}});
}

static Result<Value> defaultValue(const BoundCall &call) {
  const bool isAbsent = call[0].is(Kind::Undefined) || (call.truthOr(2, false) && !isTrue(call[0]));
  if (!isAbsent) {
    return call[0];
  }
  return call.has(1) ? call[1] : Value(std::string());
}

static Result<Value> toReal(const BoundCall &call) {
  if (call[0].isNumber()) {
    return Value(call[0].real());
  }
  if (call[0].is(Kind::Undefined)) {
    return undefinedError(call[0]);
  }
  if (call[0].is(Kind::String)) {
    HEDDLE_TRY(call.budget.chargeBytes(call[0].text().size()));
    const std::string text = withAsciiDigits(strip(call[0].text()));
    std::string_view digits = text;
    digits.remove_prefix(digits.starts_with('+') ? 1 : 0);
    double value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec == std::errc() && read.ptr == digits.data() + digits.size()) {
      return Value(value);
    }
  }
  return call.has(1) ? call[1] : Value(0.0);
}

/// The integer of a text in a base, as int() reads it.
static std::optional<int64_t> parseInteger(std::string_view given, int64_t base) {
  const std::string ascii = withAsciiDigits(strip(given));
  std::string_view text = ascii;
  const bool isNegative = text.starts_with('-');
  text.remove_prefix(isNegative || text.starts_with('+') ? 1 : 0);
  const char kind = text.size() > 2 && text[0] == '0' ? asciiLower(text[1]) : ' ';
  const int prefixed = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
  if (prefixed != 0 && (prefixed == base || base == 0)) {
    text.remove_prefix(2);
    base = prefixed;
  }
  std::string digits(text);
  std::erase(digits, '_');
  int64_t value = 0;
  digits.insert(0, isNegative ? "-" : "");
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value,
                                    static_cast<int>(base == 0 ? 10 : base));
  const bool isWhole = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  return isWhole && !text.empty() && text[0] != '-' ? std::optional(value) : std::nullopt;
}

static Result<Value> toInteger(const BoundCall &call) {
  HEDDLE_ASSIGN(const int64_t base, call.integerOr(2, 10));
  if (base != 0 && (base < 2 || base > 36)) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("base {}, expected 2 to 36", base));
  }
  if (call[0].is(Kind::Undefined)) {
    return undefinedError(call[0]);
  }
  if (call[0].isInteger()) {
    return Value(call[0].integer());
  }
  double real = call[0].is(Kind::Real) ? call[0].real() : NAN;
  if (call[0].is(Kind::String)) {
    HEDDLE_TRY(call.budget.chargeBytes(call[0].text().size()));
    if (const std::optional<int64_t> value = parseInteger(call[0].text(), base)) {
      return Value(*value);
    }
    HEDDLE_ASSIGN(const Value read, callFunction(call.budget, *findFilter("float"), &call[0],
                                                 {{Value(double(NAN))}, {}}));
    real = read.real();
  }
  if (real >= -0x1p63 && real < 0x1p63) {
    return Value(static_cast<int64_t>(real));
  }
  if (std::isfinite(real)) {
    return tooLarge();
  }
  return call.has(1) ? call[1] : Value(int64_t(0));
}

static Result<Value> toText(const BoundCall &call) {
  HEDDLE_ASSIGN(std::string text, subjectOf(call));
  return Value(std::move(text));
}

static Result<Value> percentFormat(const BoundCall &call) {
  if (!call.rest.empty() && !call.namedRest.empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        "\"format\" takes arguments with names or without, not both");
  }
  HEDDLE_ASSIGN(const std::string text, subjectOf(call));
  if (call.namedRest.empty()) {
    HEDDLE_ASSIGN(const Value values, call.budget.tuple(call.rest));
    return formatPercent(call.budget, text, values);
  }
  auto dict = std::make_shared<DictObject>();
  for (const auto &[name, value] : call.namedRest) {
    dict->set(Value(name), value);
  }
  HEDDLE_ASSIGN(const Value values, call.budget.dict(std::move(dict)));
  return formatPercent(call.budget, text, values);
}

static Result<Value> indentLines(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string_view text, call.text(0));
  HEDDLE_TRY(call.budget.chargeBytes(text.size()));
  std::string indent(4, ' ');
  if (call.has(1) && call[1].is(Kind::String)) {
    indent = call[1].text();
  } else if (call.has(1)) {
    HEDDLE_ASSIGN(const int64_t width, call.integer(1));
    HEDDLE_TRY(call.budget.chargeBytes(static_cast<size_t>(std::max<int64_t>(width, 0))));
    indent.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  TextWriter out(call.budget);
  HEDDLE_TRY(out.add(call.truthOr(2, false) ? indent : ""));
  const std::string whole = std::string(text) + "\n";
  bool isFirst = true;
  for (const std::string_view line : splitLines(whole, false)) {
    HEDDLE_TRY(out.add(isFirst ? "" : "\n"));
    HEDDLE_TRY(out.add(!isFirst && (!line.empty() || call.truthOr(3, false)) ? indent : ""));
    HEDDLE_TRY(out.add(line));
    isFirst = false;
  }
  return Value(out.take());
}

static Result<Value> replaceText(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string text, subjectOf(call));
  HEDDLE_ASSIGN(const std::string from, toString(call.budget, call[1]));
  HEDDLE_ASSIGN(const std::string to, toString(call.budget, call[2]));
  HEDDLE_ASSIGN(const int64_t most, call.hasValue(3) ? call.integer(3) : Result<int64_t>(-1));
  const Callable *const method = findMethod(Kind::String, "replace");
  return callFunction(call.budget, *method, nullptr,
                      {{Value(text), Value(from), Value(to), Value(most)}, {}});
}

/// Rounds half to even, exactly, as Python's round() does: by the decimal digits of the number.
static Result<Value> roundNumber(const BoundCall &call) {
  HEDDLE_ASSIGN(const int64_t digits, call.integerOr(1, 0));
  HEDDLE_ASSIGN(const std::string_view method, call.textOr(2, "common"));
  if (method != "common" && method != "ceil" && method != "floor") {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("rounding {}, expected \"common\", \"ceil\" or "
                                    "\"floor\"",
                                    quote(method)));
  }
  if (!call[0].isNumber()) {
    return call.unexpected(0, "a number");
  }
  const double value = call[0].real();
  if (method == "common" && call[0].isInteger() && digits >= 0) {
    return Value(call[0].integer());
  }
  if (!std::isfinite(value) || digits > 300) {
    return Value(value);
  }
  if (method != "common" || digits < 0) {
    const double scale = std::pow(10.0, static_cast<double>(std::max<int64_t>(digits, -400)));
    const double scaled = value * scale;
    const double whole = method == "ceil"    ? std::ceil(scaled)
                         : method == "floor" ? std::floor(scaled)
                                             : std::nearbyint(scaled);
    const double result = scale == 0 ? 0 : whole / scale;
    return method == "common" && call[0].isInteger() ? Value(static_cast<int64_t>(result))
                                                     : Value(result);
  }
  const std::string text = fixedReal(value, static_cast<int>(digits));
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return Value(result);
}

static Result<Value> truncateText(const BoundCall &call) {
  HEDDLE_ASSIGN(const int64_t length, call.integerOr(1, 255));
  HEDDLE_ASSIGN(const std::string_view end, call.textOr(3, "..."));
  HEDDLE_ASSIGN(const int64_t leeway, call.hasValue(4) ? call.integer(4) : Result<int64_t>(5));
  const auto endLength = static_cast<int64_t>(lengthOf(end));
  if (length < endLength || leeway < 0) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("\"truncate\" to {} characters with leeway {}, expected {} and 0 "
                    "at least",
                    length, leeway, endLength));
  }
  HEDDLE_ASSIGN(const int64_t size, lengthOfValue(call.budget, call[0]));
  if (size - leeway <= length) {
    return call[0];
  }
  HEDDLE_ASSIGN(const std::string_view text, call.text(0));
  std::string_view kept = text.substr(0, byteOf(text, static_cast<size_t>(length - endLength)));
  if (!call.truthOr(2, false)) {
    kept = kept.substr(0, kept.rfind(' '));
  }
  return call.budget.text(std::string(kept) + std::string(end));
}

static Result<Value> wordCount(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string text, subjectOf(call));
  int64_t words = 0;
  bool inWord = false;
  for (size_t at = 0; at < text.size(); at += characterAt(text, at).bytes) {
    const bool isWord = isWordCharacter(characterAt(text, at).codePoint);
    words += isWord && !inWord ? 1 : 0;
    inWord = isWord;
  }
  return Value(words);
}

/// Escapes "&", "<", ">" and quotes for HTML. The parser checks where it is used: Jinja marks such
/// texts, and escapes texts that are concatenated with them.
static Result<Value> escape(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string text, subjectOf(call));
  std::string out;
  for (const char c : text) {
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '\'':
      out += "&#39;";
      break;
    case '"':
      out += "&#34;";
      break;
    default:
      out += c;
    }
  }
  return call.budget.text(std::move(out));
}

static Result<Value> urlEncode(const BoundCall &call) {
  if (!call[0].is(Kind::String) && !call[0].isNumber() && !call[0].is(Kind::None)) {
    return call.unexpected(0, "a string or a number");
  }
  HEDDLE_ASSIGN(const std::string text, subjectOf(call));
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool isSafe = isDigit(c) || (asciiLower(c) >= 'a' && asciiLower(c) <= 'z') ||
                        std::string_view("_.-~/").find(c) != std::string_view::npos;
    out += isSafe ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return call.budget.text(std::move(out));
}

/// Implements json.dumps() as transformers calls it: nothing is escaped for HTML.
static Result<Value> toJson(const BoundCall &call) {
  JsonStyle style;
  style.asciiOnly = call.truthOr(1, false);
  style.sortKeys = call.truthOr(4, false);
  std::string indent;
  if (call.hasValue(2)) {
    if (call[2].is(Kind::String)) {
      indent = call[2].text();
    } else {
      HEDDLE_ASSIGN(const int64_t width, call.integer(2));
      HEDDLE_TRY(call.budget.chargeBytes(static_cast<size_t>(std::max<int64_t>(width, 0))));
      indent.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
    style.indent = &indent;
    style.itemSeparator = ",";
  }
  if (call.hasValue(3)) {
    const bool isPair = call[3].isSequence() && call[3].items().size() == 2 &&
                        call[3].items()[0].is(Kind::String) && call[3].items()[1].is(Kind::String);
    if (!isPair) {
      return call.unexpected(3, "two strings as separators");
    }
    style.itemSeparator = call[3].items()[0].text();
    style.keySeparator = call[3].items()[1].text();
  }
  TextWriter out(call.budget);
  HEDDLE_TRY(writeJson(out, call[0], style));
  return Value(out.take());
}

std::span<const Callable> textFilters() {
  static const Callable table[] = {
      {"abs", {"x"}, 1, absolute},
      {"capitalize", {"s"}, 1, capitalizeText},
      {"center", {"value", "width"}, 1, centerText},
      {"d", {"value", "default_value", "boolean"}, 1, defaultValue},
      {"default", {"value", "default_value", "boolean"}, 1, defaultValue},
      {"e", {"s"}, 1, escape},
      {"escape", {"s"}, 1, escape},
      {"float", {"value", "default"}, 1, toReal},
      {"format", {"value"}, 1, percentFormat, true, true},
      {"indent", {"s", "width", "first", "blank"}, 1, indentLines},
      {"int", {"value", "default", "base"}, 1, toInteger},
      {"lower", {"s"}, 1, lower},
      {"replace", {"s", "old", "new", "count"}, 3, replaceText},
      {"round", {"value", "precision", "method"}, 1, roundNumber},
      {"safe", {"value"}, 1, toText},
      {"string", {"object"}, 1, toText},
      {"title", {"s"}, 1, title},
      {"tojson", {"x", "ensure_ascii", "indent", "separators", "sort_keys"}, 1, toJson},
      {"trim", {"value", "chars"}, 1, trim},
      {"truncate", {"s", "length", "killwords", "end", "leeway"}, 1, truncateText},
      {"upper", {"s"}, 1, upper},
      {"urlencode", {"value"}, 1, urlEncode},
      {"wordcount", {"s"}, 1, wordCount},
  };
  return table;
}

} // namespace heddle::chat
