// SPDX-License-Identifier: Apache-2.0
///
/// Values are walked recursively, which their depth bounds, and every piece of text is charged: a
/// list may contain the same item many times.
#include "formats/Template/Conversion.h"

#include "formats/Template/Operators.h"
#include "formats/Template/Strings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <utf8proc.h>

namespace heddle::chat {

Status TextWriter::add(std::string_view piece) {
  HEDDLE_TRY(budget.chargeBytes(text.size() + piece.size() > budget.options.bytes ? SIZE_MAX
                                                                                  : piece.size()));
  text += piece;
  return {};
}

bool isTrue(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Boolean:
  case Kind::Integer:
    return value.integer() != 0;
  case Kind::Real:
    return value.real() != 0;
  case Kind::String:
    return !value.text().empty();
  case Kind::List:
  case Kind::Tuple:
    return !value.items().empty();
  case Kind::Dict:
    return !value.dict().entries.empty();
  case Kind::Range:
    return value.range().size() > 0;
  case Kind::View:
    return !value.view().dict.dict().entries.empty();
  default:
    return true;
  }
}

std::string describeReal(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value < 0 ? "-inf" : "inf";
  }
  std::array<char, 32> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                     std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<size_t>(written.ptr - buffer.data()));
  const size_t mark = text.find('e');
  int exponent = 0;
  const size_t first = text[mark + 1] == '+' ? mark + 2 : mark + 1;
  std::from_chars(text.data() + first, text.data() + text.size(), exponent);
  // Python uses exponents from 1e16 on, and below 1e-4.
  if (exponent < -4 || exponent >= 16) {
    return std::string(text);
  }
  std::string fixed = fmt::format("{}", value);
  return fixed.find('.') == std::string::npos ? fixed + ".0" : fixed;
}

// --- str and repr ----------------------------------------------------------------------------

static bool isPrintable(int32_t codePoint) {
  switch (utf8proc_category(codePoint)) {
  case UTF8PROC_CATEGORY_CC:
  case UTF8PROC_CATEGORY_CF:
  case UTF8PROC_CATEGORY_CS:
  case UTF8PROC_CATEGORY_CO:
  case UTF8PROC_CATEGORY_CN:
  case UTF8PROC_CATEGORY_ZL:
  case UTF8PROC_CATEGORY_ZP:
    return false;
  case UTF8PROC_CATEGORY_ZS:
    return codePoint == ' ';
  default:
    return true;
  }
}

/// Returns a string in quotes: single ones, unless it contains only single ones.
static std::string quotedText(std::string_view text) {
  const bool useDouble =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char delimiter = useDouble ? '"' : '\'';
  std::string out(1, delimiter);
  for (size_t at = 0; at < text.size();) {
    const Character character = characterAt(text, at);
    const int32_t code = character.codePoint;
    if (code == delimiter || code == '\\') {
      out += '\\';
      out += static_cast<char>(code);
    } else if (code == '\n' || code == '\r' || code == '\t') {
      out += code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t";
    } else if (!isPrintable(code)) {
      out += code < 0x100     ? fmt::format("\\x{:02x}", code)
             : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                              : fmt::format("\\U{:08x}", code);
    } else {
      out += text.substr(at, character.bytes);
    }
    at += character.bytes;
  }
  return out += delimiter;
}

/// Writes items between brackets.
template <typename Items>
static Status writeItems(TextWriter &out, std::string_view open, const Items &items,
                         std::string_view close) {
  HEDDLE_TRY(out.add(open));
  for (size_t i = 0; i < items.size(); ++i) {
    HEDDLE_TRY(out.add(i > 0 ? ", " : ""));
    HEDDLE_TRY(writeRepresentation(out, items[i]));
  }
  return out.add(close);
}

static Status writeDict(TextWriter &out, const DictObject &dict) {
  HEDDLE_TRY(out.add("{"));
  for (size_t i = 0; i < dict.entries.size(); ++i) {
    HEDDLE_TRY(out.add(i > 0 ? ", " : ""));
    HEDDLE_TRY(writeRepresentation(out, dict.entries[i].first));
    HEDDLE_TRY(out.add(": "));
    HEDDLE_TRY(writeRepresentation(out, dict.entries[i].second));
  }
  return out.add("}");
}

static Status writeView(TextWriter &out, const ViewObject &view) {
  std::vector<Value> items;
  for (size_t i = 0; i < view.dict.dict().entries.size(); ++i) {
    items.push_back(view.at(i));
  }
  HEDDLE_TRY(out.costs().charge(items.size()));
  switch (view.of) {
  case ViewObject::Of::Keys:
    return writeItems(out, "dict_keys([", items, "])");
  case ViewObject::Of::Values:
    return writeItems(out, "dict_values([", items, "])");
  case ViewObject::Of::Items:
    break;
  }
  return writeItems(out, "dict_items([", items, "])");
}

Status writeRepresentation(TextWriter &out, const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
    return out.add("Undefined");
  case Kind::None:
    return out.add("None");
  case Kind::Boolean:
    return out.add(value.integer() != 0 ? "True" : "False");
  case Kind::Integer:
    return out.add(fmt::format("{}", value.integer()));
  case Kind::Real:
    return out.add(describeReal(value.real()));
  case Kind::String:
    HEDDLE_TRY(out.costs().chargeBytes(value.text().size()));
    return out.add(quotedText(value.text()));
  case Kind::List:
    return writeItems(out, "[", value.items(), "]");
  case Kind::Tuple:
    return writeItems(out, "(", value.items(), value.items().size() == 1 ? ",)" : ")");
  case Kind::Dict:
    return writeDict(out, value.dict());
  case Kind::Range: {
    const RangeObject &range = value.range();
    return out.add(range.step == 1
                       ? fmt::format("range({}, {})", range.start, range.stop)
                       : fmt::format("range({}, {}, {})", range.start, range.stop, range.step));
  }
  case Kind::View:
    return writeView(out, value.view());
  default:
    // Python writes addresses, which no template can rely on.
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{} has no text", describeKind(value)));
  }
}

Status writeString(TextWriter &out, const Value &value) {
  if (value.is(Kind::String)) {
    return out.add(value.text());
  }
  return value.is(Kind::Undefined) ? Status() : writeRepresentation(out, value);
}

Result<std::string> toString(Budget &budget, const Value &value) {
  TextWriter out(budget);
  HEDDLE_TRY(writeString(out, value));
  return out.take();
}

// --- JSON ------------------------------------------------------------------------------------

static std::string jsonString(std::string_view text, bool asciiOnly) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const Character character = characterAt(text, at);
    const int32_t code = character.codePoint;
    constexpr std::string_view special = "\"\\\n\r\t\b\f";
    constexpr std::string_view letters = "\"\\nrtbf";
    const size_t index = code < 0x80 ? special.find(static_cast<char>(code)) : std::string::npos;
    if (index != std::string::npos) {
      out += '\\';
      out += letters[index];
    } else if (code < 0x20 || (asciiOnly && code >= 0x80 && code < 0x10000)) {
      out += fmt::format("\\u{:04x}", code);
    } else if (asciiOnly && code >= 0x10000) {
      const int32_t rest = code - 0x10000;
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
    } else {
      out += text.substr(at, character.bytes);
    }
    at += character.bytes;
  }
  return out += '"';
}

static Status writeBreak(TextWriter &out, const JsonStyle &style, size_t level) {
  if (style.indent == nullptr) {
    return {};
  }
  HEDDLE_TRY(out.add("\n"));
  for (size_t i = 0; i < level; ++i) {
    HEDDLE_TRY(out.add(*style.indent));
  }
  return {};
}

static Status writeJsonValue(TextWriter &out, const Value &value, const JsonStyle &style,
                             size_t level);

static Status writeJsonList(TextWriter &out, const std::vector<Value> &items,
                            const JsonStyle &style, size_t level) {
  if (items.empty()) {
    return out.add("[]");
  }
  HEDDLE_TRY(out.add("["));
  for (size_t i = 0; i < items.size(); ++i) {
    HEDDLE_TRY(out.add(i > 0 ? style.itemSeparator : ""));
    HEDDLE_TRY(writeBreak(out, style, level + 1));
    HEDDLE_TRY(writeJsonValue(out, items[i], style, level + 1));
  }
  HEDDLE_TRY(writeBreak(out, style, level));
  return out.add("]");
}

/// Returns a key as JSON writes it, always a string.
static Result<std::string> jsonKey(const Value &key) {
  switch (key.kind()) {
  case Kind::String:
    return key.text();
  case Kind::None:
    return std::string("null");
  case Kind::Boolean:
    return std::string(key.integer() != 0 ? "true" : "false");
  case Kind::Integer:
    return fmt::format("{}", key.integer());
  case Kind::Real:
    return describeReal(key.real());
  default:
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} cannot be a key in JSON", describeKind(key)));
  }
}

static Status writeJsonDict(TextWriter &out, const DictObject &dict, const JsonStyle &style,
                            size_t level) {
  if (dict.entries.empty()) {
    return out.add("{}");
  }
  std::vector<const std::pair<Value, Value> *> entries;
  for (const auto &entry : dict.entries) {
    entries.push_back(&entry);
  }
  if (style.sortKeys) {
    HEDDLE_TRY(sortBy(out.costs(), entries, [](const auto *entry) { return entry->first; }));
  }
  HEDDLE_TRY(out.add("{"));
  for (size_t i = 0; i < entries.size(); ++i) {
    HEDDLE_TRY(out.add(i > 0 ? style.itemSeparator : ""));
    HEDDLE_TRY(writeBreak(out, style, level + 1));
    HEDDLE_ASSIGN(const std::string key, jsonKey(entries[i]->first));
    HEDDLE_TRY(out.add(jsonString(key, style.asciiOnly)));
    HEDDLE_TRY(out.add(style.keySeparator));
    HEDDLE_TRY(writeJsonValue(out, entries[i]->second, style, level + 1));
  }
  HEDDLE_TRY(writeBreak(out, style, level));
  return out.add("}");
}

static Status writeJsonValue(TextWriter &out, const Value &value, const JsonStyle &style,
                             size_t level) {
  switch (value.kind()) {
  case Kind::None:
    return out.add("null");
  case Kind::Boolean:
    return out.add(value.integer() != 0 ? "true" : "false");
  case Kind::Integer:
    return out.add(fmt::format("{}", value.integer()));
  case Kind::Real:
    return out.add(std::isnan(value.real())   ? "NaN"
                   : std::isinf(value.real()) ? (value.real() < 0 ? "-Infinity" : "Infinity")
                                              : describeReal(value.real()));
  case Kind::String:
    HEDDLE_TRY(out.costs().chargeBytes(value.text().size()));
    return out.add(jsonString(value.text(), style.asciiOnly));
  case Kind::List:
  case Kind::Tuple:
    return writeJsonList(out, value.items(), style, level);
  case Kind::Dict:
    return writeJsonDict(out, value.dict(), style, level);
  default:
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} cannot be written as JSON{}{}", describeKind(value),
                                    value.is(Kind::Undefined) ? ": " : "",
                                    value.is(Kind::Undefined) ? value.absence() : ""));
  }
}

Status writeJson(TextWriter &out, const Value &value, const JsonStyle &style) {
  return writeJsonValue(out, value, style, 0);
}

} // namespace heddle::chat
