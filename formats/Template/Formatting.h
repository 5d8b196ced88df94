// SPDX-License-Identifier: Apache-2.0
///
/// Texts with places for values: `'%s of %d' % (a, b)` and `'{} of {:>4}'.format(a, b)`.
#ifndef HEDDLE_FORMATS_TEMPLATE_FORMATTING_H
#define HEDDLE_FORMATS_TEMPLATE_FORMATTING_H

#include "formats/Template/Budget.h"
#include "formats/Template/Value.h"

#include <string_view>
#include <utility>
#include <vector>

namespace heddle::chat {

/// The % operator of a string: a tuple has the values, a dict those with names, and any other value
/// is the only one.
Result<Value> formatPercent(Budget &budget, std::string_view text, const Value &values);

/// str.format().
Result<Value> formatBraces(Budget &budget, std::string_view text, const std::vector<Value> &values,
                           const std::vector<std::pair<std::string, Value>> &named);

/// float as "%.*f" writes it.
std::string fixedReal(double value, int digits);

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_FORMATTING_H
