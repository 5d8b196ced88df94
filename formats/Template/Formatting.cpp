// SPDX-License-Identifier: Apache-2.0
///
/// Both ways of formatting parse their specifications into one form. Numbers are written by printf,
/// which agrees with Python.
#include "formats/Template/Formatting.h"

#include "base/Utf8.h"
#include "formats/Template/Access.h"
#include "formats/Template/Conversion.h"
#include "formats/Template/Strings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>

namespace heddle::chat {

namespace {
/// The format of a value.
struct FormatSpec {
  std::string fill = " ";
  /// '<', '>', '^', '=' (between sign and digits); 0: the default of the type.
  char align = 0;
  /// '+', ' ' or '-'.
  char sign = '-';
  bool alternate = false;
  /// ',' or '_' between groups of digits; 0: nothing.
  char grouping = 0;
  size_t width = 0;
  std::optional<int> precision;
  /// 0 if not given.
  char type = 0;
};
} // namespace

/// The maximum number of float digits requested from printf; Python has no such limit, but more are
/// useless.
static constexpr int mostDigits = 100;

std::string fixedReal(double value, int digits) {
  std::array<char, 512> buffer{};
  const int length =
      std::snprintf(buffer.data(), buffer.size(), "%.*f", std::min(digits, mostDigits), value);
  return {buffer.data(), static_cast<size_t>(length)};
}

static std::string grouped(std::string digits, char separator, size_t group) {
  size_t whole = 0;
  while (whole < digits.size() && hexadecimalDigit(digits[whole]) >= 0) {
    ++whole;
  }
  for (size_t at = whole; at > group; at -= group) {
    digits.insert(at - group, 1, separator);
  }
  return digits;
}

/// Returns the digits of an integer without its sign.
static std::string integerDigits(uint64_t value, const FormatSpec &spec) {
  switch (spec.type) {
  case 'x':
    return (spec.alternate ? "0x" : "") + fmt::format("{:x}", value);
  case 'X':
    return (spec.alternate ? "0X" : "") + fmt::format("{:X}", value);
  case 'o':
    return (spec.alternate ? "0o" : "") + fmt::format("{:o}", value);
  case 'b':
    return (spec.alternate ? "0b" : "") + fmt::format("{:b}", value);
  default:
    return fmt::format("{}", value);
  }
}

/// Returns the digits of a float without its sign. Without a type it is repr(), or "g" with a
/// precision.
static std::string realDigits(double value, const FormatSpec &spec) {
  const char type = spec.type == 0 && spec.precision ? 'g' : spec.type;
  if (std::isnan(value) || std::isinf(value)) {
    const bool isUpper = type == 'E' || type == 'F' || type == 'G';
    return std::isnan(value) ? (isUpper ? "NAN" : "nan") : (isUpper ? "INF" : "inf");
  }
  const int digits = std::min(spec.precision.value_or(6), mostDigits);
  std::array<char, 512> buffer{};
  int length = 0;
  switch (type) {
  case 0:
    return describeReal(value);
  case '%':
    return fixedReal(value * 100, digits) + "%";
  case 'e':
    length = std::snprintf(buffer.data(), buffer.size(), spec.alternate ? "%#.*e" : "%.*e", digits,
                           value);
    break;
  case 'E':
    length = std::snprintf(buffer.data(), buffer.size(), spec.alternate ? "%#.*E" : "%.*E", digits,
                           value);
    break;
  case 'g':
  case 'n':
    length = std::snprintf(buffer.data(), buffer.size(), spec.alternate ? "%#.*g" : "%.*g", digits,
                           value);
    break;
  case 'G':
    length = std::snprintf(buffer.data(), buffer.size(), spec.alternate ? "%#.*G" : "%.*G", digits,
                           value);
    break;
  default:
    length = std::snprintf(buffer.data(), buffer.size(), spec.alternate ? "%#.*f" : "%.*f", digits,
                           value);
  }
  return {buffer.data(), static_cast<size_t>(length)};
}

/// Pads a text to the width.
static Result<std::string> padded(Budget &budget, const FormatSpec &spec, std::string_view sign,
                                  std::string_view body, char align) {
  const size_t length = sign.size() + lengthOf(body);
  const size_t missing = spec.width > length ? spec.width - length : 0;
  HEDDLE_TRY(budget.chargeBytes(spec.fill.size(), missing));
  const char side = spec.align != 0 ? spec.align : align;
  const size_t before = side == '<' ? 0 : side == '^' ? missing / 2 : missing;
  std::string left, right;
  for (size_t i = 0; i < missing; ++i) {
    (i < before ? left : right) += spec.fill;
  }
  std::string out = side == '=' ? std::string(sign) + left : left + std::string(sign);
  out += body;
  return out += right;
}

static Result<std::string> formatNumber(Budget &budget, const FormatSpec &spec, bool isNegative,
                                        std::string digits) {
  if (spec.grouping != 0) {
    const bool isBinary =
        spec.type == 'x' || spec.type == 'X' || spec.type == 'o' || spec.type == 'b';
    digits = grouped(std::move(digits), spec.grouping, isBinary ? 4 : 3);
  }
  const std::string_view sign = isNegative         ? "-"
                                : spec.sign == '+' ? "+"
                                : spec.sign == ' ' ? " "
                                                   : "";
  return padded(budget, spec, sign, digits, '>');
}

static Status noMeaning(const FormatSpec &spec, const Value &value) {
  return HEDDLE_ERROR(InvalidArgument,
                      fmt::format("format {} has no meaning for {}",
                                  quote(std::string(1, spec.type)), describeKind(value)));
}

static Result<std::string> formatText(Budget &budget, const FormatSpec &spec,
                                      std::string_view text) {
  if (spec.precision) {
    text = text.substr(0, byteOf(text, static_cast<size_t>(*spec.precision)));
  }
  return padded(budget, spec, "", text, '<');
}

static Result<std::string> formatInteger(Budget &budget, const FormatSpec &spec, int64_t value) {
  if (spec.type == 'c') {
    if (value < 0 || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("{} is no character", value));
    }
    std::string character;
    appendCharacter(static_cast<int32_t>(value), character);
    return formatText(budget, spec, character);
  }
  const uint64_t magnitude =
      value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string digits = integerDigits(magnitude, spec);
  if (spec.precision) {
    const auto least = static_cast<size_t>(std::min(*spec.precision, mostDigits));
    digits.insert(0, least > digits.size() ? least - digits.size() : 0, '0');
  }
  return formatNumber(budget, spec, value < 0, std::move(digits));
}

static Result<std::string> formatReal(Budget &budget, const FormatSpec &spec, double value) {
  return formatNumber(budget, spec, std::signbit(value) && !std::isnan(value),
                      realDigits(std::abs(value), spec));
}

// --- percent ---------------------------------------------------------------------------------

namespace {
class PercentFormat {
public:
  PercentFormat(Budget &budget, std::string_view text, const Value &values)
      : out(budget), text(text), values(values) {}

  Result<Value> run();

private:
  Status runPlace();
  Result<Value> nextValue();
  Result<int64_t> number();
  Result<std::string> formatted(const FormatSpec &spec, const Value &value);

  TextWriter out;
  std::string_view text;
  const Value &values;
  size_t at = 0;
  size_t used = 0;
};
} // namespace

Result<Value> PercentFormat::nextValue() {
  const bool isTuple = values.is(Kind::Tuple);
  const size_t count = isTuple ? values.items().size() : 1;
  if (used == count) {
    return HEDDLE_ERROR(InvalidArgument, "a format with more places than values");
  }
  ++used;
  return isTuple ? values.items()[used - 1] : values;
}

/// Parses digits, or "*", which takes a value. -1: neither.
Result<int64_t> PercentFormat::number() {
  if (at < text.size() && text[at] == '*') {
    ++at;
    HEDDLE_ASSIGN(const Value value, nextValue());
    if (!value.isInteger()) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("\"*\" in a format expects an integer, got "
                                                       "{}",
                                                       describeKind(value)));
    }
    return value.integer();
  }
  int64_t parsed = 0;
  const auto read = std::from_chars(text.data() + at, text.data() + text.size(), parsed);
  const bool isNumber = at < text.size() && isDigit(text[at]);
  if (isNumber && (read.ec != std::errc() || parsed > INT32_MAX)) {
    return HEDDLE_ERROR(InvalidArgument, "a format whose width or precision is too large");
  }
  at = isNumber ? static_cast<size_t>(read.ptr - text.data()) : at;
  return isNumber ? parsed : int64_t(-1);
}

Result<std::string> PercentFormat::formatted(const FormatSpec &spec, const Value &value) {
  Budget &budget = out.costs();
  switch (spec.type) {
  case 's': {
    HEDDLE_ASSIGN(const std::string string, toString(budget, value));
    return formatText(budget, spec, string);
  }
  case 'r': {
    TextWriter writer(budget);
    HEDDLE_TRY(writeRepresentation(writer, value));
    return formatText(budget, spec, writer.take());
  }
  case 'd':
    if (value.is(Kind::Real) && std::abs(value.real()) < 0x1p63) {
      return formatInteger(budget, spec, static_cast<int64_t>(value.real()));
    }
    [[fallthrough]];
  case 'x':
  case 'X':
  case 'o':
    return value.isInteger() ? formatInteger(budget, spec, value.integer())
                             : Result<std::string>(noMeaning(spec, value));
  case 'c':
    if (value.is(Kind::String) && lengthOf(value.text()) == 1) {
      return formatText(budget, spec, value.text());
    }
    return value.isInteger() ? formatInteger(budget, spec, value.integer())
                             : Result<std::string>(noMeaning(spec, value));
  default:
    return value.isNumber() ? formatReal(budget, spec, value.real())
                            : Result<std::string>(noMeaning(spec, value));
  }
}

/// Processes the text after a percent sign.
Status PercentFormat::runPlace() {
  std::optional<Value> named;
  if (at < text.size() && text[at] == '(') {
    const size_t end = text.find(')', at);
    if (end == std::string_view::npos || !values.is(Kind::Dict)) {
      return HEDDLE_ERROR(InvalidArgument, end == std::string_view::npos
                                               ? "\"%(\" without \")\""
                                               : "a format with names expects a dict");
    }
    const std::string_view name = text.substr(at + 1, end - at - 1);
    const Value *const found = values.dict().find(name);
    if (found == nullptr) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("the dict of a format has no key {}", quote(name)));
    }
    named = *found;
    used = 1;
    at = end + 1;
  }
  FormatSpec spec;
  for (constexpr std::string_view flags = "-+ #0";
       at < text.size() && flags.find(text[at]) != std::string_view::npos; ++at) {
    const char flag = text[at];
    spec.align = flag == '-' ? '<' : flag == '0' && spec.align == 0 ? '=' : spec.align;
    spec.sign = flag == '+' || (flag == ' ' && spec.sign == '-') ? flag : spec.sign;
    spec.alternate = spec.alternate || flag == '#';
  }
  HEDDLE_ASSIGN(const int64_t width, number());
  spec.align = width < -1 ? '<' : spec.align;
  spec.width = static_cast<size_t>(std::abs(std::max<int64_t>(width, -INT32_MAX)));
  spec.width = width == -1 ? 0 : spec.width;
  if (at < text.size() && text[at] == '.') {
    ++at;
    HEDDLE_ASSIGN(const int64_t precision, number());
    spec.precision = static_cast<int>(std::clamp<int64_t>(precision, 0, INT32_MAX));
  }
  while (at < text.size() && (text[at] == 'l' || text[at] == 'h' || text[at] == 'L')) {
    ++at;
  }
  spec.type = at < text.size() ? text[at] : '\0';
  ++at;
  if (spec.type == '%') {
    return out.add("%");
  }
  spec.type = spec.type == 'i' || spec.type == 'u' ? 'd' : spec.type;
  constexpr std::string_view types = "srdxXoceEfFgG";
  if (spec.type == 0 || types.find(spec.type) == std::string_view::npos) {
    return HEDDLE_ERROR(InvalidArgument,
                        spec.type == 0 ? std::string("a format that ends in \"%\"")
                                       : fmt::format("format \"%{}\" is not known", spec.type));
  }
  const bool isText = spec.type == 's' || spec.type == 'r' || spec.type == 'c';
  if (spec.align == '=') {
    spec.fill = isText ? " " : "0";
  }
  // Texts are right-aligned here, unlike in format().
  spec.align = spec.align == '<' ? '<' : isText || spec.align == 0 ? '>' : spec.align;
  HEDDLE_ASSIGN(const Value value, named ? Result<Value>(*named) : nextValue());
  HEDDLE_ASSIGN(const std::string piece, formatted(spec, value));
  return out.add(piece);
}

Result<Value> PercentFormat::run() {
  while (at < text.size()) {
    const size_t found = text.find('%', at);
    HEDDLE_TRY(out.add(text.substr(at, found - at)));
    if (found == std::string_view::npos) {
      break;
    }
    at = found + 1;
    HEDDLE_TRY(runPlace());
  }
  const bool mayStay = values.is(Kind::Dict) || values.is(Kind::List) || values.is(Kind::Range);
  const size_t count = values.is(Kind::Tuple) ? values.items().size() : 1;
  if (used < count && !mayStay) {
    return HEDDLE_ERROR(InvalidArgument, "a format with fewer places than values");
  }
  return Value(out.take());
}

Result<Value> formatPercent(Budget &budget, std::string_view text, const Value &values) {
  HEDDLE_TRY(budget.chargeBytes(text.size()));
  return PercentFormat(budget, text, values).run();
}

// --- braces ----------------------------------------------------------------------------------

namespace {
class BraceFormat {
public:
  BraceFormat(Budget &budget, const std::vector<Value> &values,
              const std::vector<std::pair<std::string, Value>> &named)
      : out(budget), values(values), named(named) {}

  Status run(std::string_view text, int depth);
  std::string take() { return out.take(); }

private:
  Status runField(std::string_view field, int depth);
  Result<Value> valueOf(std::string_view name);
  Result<Value> memberOf(Value value, std::string_view path);

  TextWriter out;
  const std::vector<Value> &values;
  const std::vector<std::pair<std::string, Value>> &named;
  size_t next = 0;
  /// '0': fields are numbered, 'n': fields are numbered automatically.
  char numbering = 0;
};
} // namespace

static Result<FormatSpec> parseSpec(std::string_view text) {
  FormatSpec spec;
  const auto isAlign = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  const size_t first = text.empty() ? 0 : characterAt(text, 0).bytes;
  if (first > 0 && first < text.size() && isAlign(text[first])) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    text.remove_prefix(first + 1);
  } else if (!text.empty() && isAlign(text[0])) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
  const auto take = [&](std::string_view set) {
    const char found =
        !text.empty() && set.find(text[0]) != std::string_view::npos ? text[0] : '\0';
    text.remove_prefix(found != 0 ? 1 : 0);
    return found;
  };
  const auto takeNumber = [&]() -> std::optional<int> {
    int number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool isNumber = !text.empty() && isDigit(text[0]) && read.ec == std::errc();
    text.remove_prefix(isNumber ? static_cast<size_t>(read.ptr - text.data()) : 0);
    return isNumber ? std::optional(number) : std::nullopt;
  };
  const char sign = take("+- ");
  spec.sign = sign == 0 ? '-' : sign;
  spec.alternate = take("#") != 0;
  if (take("0") != 0 && spec.align == 0) {
    spec.fill = "0";
    spec.align = '=';
  }
  spec.width = static_cast<size_t>(takeNumber().value_or(0));
  spec.grouping = take(",_");
  const bool hasPoint = take(".") != 0;
  spec.precision = hasPoint ? takeNumber() : std::nullopt;
  spec.type = take("sdxXobceEfFgGn%");
  if (!text.empty() || (hasPoint && !spec.precision)) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("a format specification ends in {}, which is "
                                                     "not known",
                                                     quote(text, 40)));
  }
  return spec;
}

static Result<std::string> formatValue(Budget &budget, const FormatSpec &spec, const Value &value) {
  const std::string_view integerTypes = "dxXobcn";
  const bool isIntegerType = integerTypes.find(spec.type) != std::string_view::npos;
  if (value.isInteger() && spec.type != 's') {
    if (spec.type == 0 || isIntegerType) {
      return spec.precision ? Result<std::string>(noMeaning(spec, value))
                            : formatInteger(budget, spec, value.integer());
    }
    return formatReal(budget, spec, value.real());
  }
  if (value.is(Kind::Real) && spec.type != 's' && (!isIntegerType || spec.type == 'n')) {
    return formatReal(budget, spec, value.real());
  }
  if ((spec.type != 0 && spec.type != 's') || spec.align == '=' || spec.sign != '-' ||
      !value.is(Kind::String)) {
    return noMeaning(spec, value);
  }
  HEDDLE_ASSIGN(const std::string text, toString(budget, value));
  return formatText(budget, spec, text);
}

/// Evaluates ".name" and "[key]" after the name of a field.
Result<Value> BraceFormat::memberOf(Value value, std::string_view path) {
  while (!path.empty()) {
    const bool isItem = path[0] == '[';
    const size_t end = isItem ? path.find(']') : path.find_first_of(".[", 1);
    if (isItem && end == std::string_view::npos) {
      return HEDDLE_ERROR(InvalidArgument, "\"[\" without \"]\" in a format");
    }
    const std::string name(path.substr(1, end == std::string_view::npos ? end : end - 1));
    int64_t index = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool isIndex = read.ec == std::errc() && read.ptr == name.data() + name.size();
    HEDDLE_ASSIGN(value, isItem ? itemOf(out.costs(), value, isIndex ? Value(index) : Value(name))
                                : attributeOf(out.costs(), value, name));
    path = end == std::string_view::npos ? "" : path.substr(isItem ? end + 1 : end);
  }
  return value;
}

Result<Value> BraceFormat::valueOf(std::string_view name) {
  const size_t end = name.find_first_of(".[");
  const std::string_view base = name.substr(0, end);
  const std::string_view path = end == std::string_view::npos ? "" : name.substr(end);
  size_t index = 0;
  const auto read = std::from_chars(base.data(), base.data() + base.size(), index);
  const bool isNumber =
      base.empty() || (read.ec == std::errc() && read.ptr == base.data() + base.size());
  if (!isNumber) {
    HEDDLE_TRY(out.costs().charge(named.size()));
    for (const auto &[key, value] : named) {
      if (key == base) {
        return memberOf(value, path);
      }
    }
    return HEDDLE_ERROR(InvalidArgument, fmt::format("a format has no value {}", quote(base)));
  }
  const char kind = base.empty() ? 'n' : '0';
  if (numbering != 0 && numbering != kind) {
    return HEDDLE_ERROR(InvalidArgument, "a format with numbered and unnumbered places");
  }
  numbering = kind;
  index = base.empty() ? next++ : index;
  if (index >= values.size()) {
    return HEDDLE_ERROR(InvalidArgument, "a format with more places than values");
  }
  return memberOf(values[index], path);
}

Status BraceFormat::runField(std::string_view field, int depth) {
  size_t nameEnd = 0;
  for (bool inItem = false; nameEnd < field.size(); ++nameEnd) {
    inItem = field[nameEnd] == '[' || (inItem && field[nameEnd] != ']');
    if (!inItem && (field[nameEnd] == ':' || field[nameEnd] == '!')) {
      break;
    }
  }
  HEDDLE_ASSIGN(Value value, valueOf(field.substr(0, nameEnd)));
  std::string_view rest = field.substr(nameEnd);
  if (rest.starts_with('!')) {
    if (rest.size() < 2 || (rest[1] != 's' && rest[1] != 'r') ||
        (rest.size() > 2 && rest[2] != ':')) {
      return HEDDLE_ERROR(InvalidArgument, "a conversion in a format is neither \"!s\" nor \"!r\"");
    }
    TextWriter writer(out.costs());
    HEDDLE_TRY(rest[1] == 's' ? writeString(writer, value) : writeRepresentation(writer, value));
    value = Value(writer.take());
    rest.remove_prefix(2);
  }
  std::string specText(rest.empty() ? "" : rest.substr(1));
  if (specText.find('{') != std::string::npos) {
    BraceFormat inner(out.costs(), values, named);
    inner.next = next;
    inner.numbering = numbering;
    HEDDLE_TRY(inner.run(specText, depth + 1));
    next = inner.next;
    numbering = inner.numbering;
    specText = inner.take();
  }
  if (specText.empty()) {
    return writeString(out, value);
  }
  HEDDLE_ASSIGN(const FormatSpec spec, parseSpec(specText));
  HEDDLE_ASSIGN(const std::string piece, formatValue(out.costs(), spec, value));
  return out.add(piece);
}

Status BraceFormat::run(std::string_view text, int depth) {
  if (depth > 1) {
    return HEDDLE_ERROR(InvalidArgument, "a format nests places more than twice");
  }
  HEDDLE_TRY(out.costs().chargeBytes(text.size()));
  while (!text.empty()) {
    const size_t found = text.find_first_of("{}");
    HEDDLE_TRY(out.add(text.substr(0, found)));
    if (found == std::string_view::npos) {
      break;
    }
    const char brace = text[found];
    if (found + 1 < text.size() && text[found + 1] == brace) {
      HEDDLE_TRY(out.add(std::string_view(&brace, 1)));
      text.remove_prefix(found + 2);
      continue;
    }
    size_t end = found + 1;
    for (int open = 1; brace == '{' && end < text.size(); ++end) {
      open += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
      if (open == 0) {
        break;
      }
    }
    if (brace == '}' || end >= text.size()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("a single \"{}\" in a format", std::string(1, brace)));
    }
    HEDDLE_TRY(runField(text.substr(found + 1, end - found - 1), depth));
    text.remove_prefix(end + 1);
  }
  return {};
}

Result<Value> formatBraces(Budget &budget, std::string_view text, const std::vector<Value> &values,
                           const std::vector<std::pair<std::string, Value>> &named) {
  BraceFormat format(budget, values, named);
  HEDDLE_TRY(format.run(text, 0));
  return Value(format.take());
}

} // namespace heddle::chat
