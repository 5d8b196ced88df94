// SPDX-License-Identifier: Apache-2.0
///
/// Format strings: `'%s of %d' % (a, b)` and `'{} of {:>4}'.format(a, b)`.
#ifndef HEDDLE_FORMATS_TEMPLATE_FORMATTING_H
#define HEDDLE_FORMATS_TEMPLATE_FORMATTING_H

#include "formats/Template/Budget.h"
#include "formats/Template/Value.h"

#include <string_view>
#include <utility>
#include <vector>

namespace heddle::chat {

/// Implements the % operator of a string: a tuple contains the values, a dict the named values, and
/// any other value is the only one.
Result<Value> formatPercent(Budget &budget, std::string_view text, const Value &values);

/// Implements str.format().
Result<Value> formatBraces(Budget &budget, std::string_view text, const std::vector<Value> &values,
                           const std::vector<std::pair<std::string, Value>> &named);

/// Formats a float as "%.*f" does.
std::string fixedReal(double value, int digits);

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_FORMATTING_H
