// SPDX-License-Identifier: Apache-2.0
///
/// Values as texts: str(), repr() and json.dumps() of Python.
#ifndef HEDDLE_FORMATS_TEMPLATE_CONVERSION_H
#define HEDDLE_FORMATS_TEMPLATE_CONVERSION_H

#include "formats/Template/Budget.h"
#include "formats/Template/Value.h"

#include <string>
#include <string_view>

namespace heddle::chat {

/// A text that grows and is charged as it does.
class TextWriter {
public:
  explicit TextWriter(Budget &budget) : budget(budget) {}

  Status add(std::string_view piece);
  Budget &costs() { return budget; }
  std::string take() { return std::move(text); }

private:
  Budget &budget;
  std::string text;
};

/// bool(): what is empty, zero, none or undefined is false.
bool isTrue(const Value &value);

/// repr() of a float: the shortest decimal that reads back as the same.
std::string describeReal(double value);

/// str(): a string is itself, and an undefined value is empty.
Status writeString(TextWriter &out, const Value &value);
Result<std::string> toString(Budget &budget, const Value &value);

/// repr().
Status writeRepresentation(TextWriter &out, const Value &value);

/// What json.dumps() may be told.
struct JsonStyle {
  bool asciiOnly = false;
  bool sortKeys = false;
  /// What a level is indented by; null: all in one line.
  const std::string *indent = nullptr;
  std::string itemSeparator = ", ";
  std::string keySeparator = ": ";
};
Status writeJson(TextWriter &out, const Value &value, const JsonStyle &style);

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_CONVERSION_H
