// SPDX-License-Identifier: Apache-2.0
///
/// Converts values to texts: Python's str(), repr() and json.dumps().
#ifndef HEDDLE_FORMATS_TEMPLATE_CONVERSION_H
#define HEDDLE_FORMATS_TEMPLATE_CONVERSION_H

#include "formats/Template/Budget.h"
#include "formats/Template/Value.h"

#include <string>
#include <string_view>

namespace heddle::chat {

/// Builds a text and charges its growth.
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

/// Implements bool(): empty, zero, none and undefined values are false.
bool isTrue(const Value &value);

/// Implements repr() of a float: the shortest decimal that parses to the same float.
std::string describeReal(double value);

/// Implements str(): a string is itself, and an undefined value is empty.
Status writeString(TextWriter &out, const Value &value);
Result<std::string> toString(Budget &budget, const Value &value);

/// Implements repr().
Status writeRepresentation(TextWriter &out, const Value &value);

/// The options of json.dumps().
struct JsonStyle {
  bool asciiOnly = false;
  bool sortKeys = false;
  /// The indentation of a level; null: all on one line.
  const std::string *indent = nullptr;
  std::string itemSeparator = ", ";
  std::string keySeparator = ": ";
};
Status writeJson(TextWriter &out, const Value &value, const JsonStyle &style);

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_CONVERSION_H
