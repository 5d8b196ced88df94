// SPDX-License-Identifier: Apache-2.0
///
/// Operators on values, and their comparison, iteration and indexing, as in Python.
#ifndef HEDDLE_FORMATS_TEMPLATE_OPERATORS_H
#define HEDDLE_FORMATS_TEMPLATE_OPERATORS_H

#include "formats/Template/Budget.h"
#include "formats/Template/Syntax.h"

#include <iterator>
#include <list>
#include <optional>
#include <vector>

namespace heddle::chat {

/// Implements +, -, *, /, //, % and **.
Result<Value> calculate(Budget &budget, Operator op, const Value &left, const Value &right);
/// Implements unary minus and plus.
Result<Value> negated(const Value &value);
Result<Value> unchanged(const Value &value);

/// Implements ==, which is defined for any two values.
Result<bool> areEqual(Budget &budget, const Value &left, const Value &right);
/// Implements <, which is defined for numbers, strings, and lists of these.
Result<bool> isLess(Budget &budget, const Value &left, const Value &right);
/// Implements all comparisons, including "in" and "not in".
Result<bool> compare(Budget &budget, Operator op, const Value &left, const Value &right);

/// Returns what "for" iterates over: items, characters, or the keys of a dict. Empties an iterator.
Result<std::vector<Value>> itemsOf(Budget &budget, const Value &value);
/// Implements len().
Result<int64_t> lengthOfValue(Budget &budget, const Value &value);
/// Returns value[key]; nullopt if there is none.
Result<std::optional<Value>> findItem(Budget &budget, const Value &value, const Value &key);
/// Returns value[start:stop:step]; an omitted operand is none.
Result<Value> sliceOf(Budget &budget, const Value &value, const Value &start, const Value &stop,
                      const Value &step);

/// The failure of an integer that does not fit.
Status tooLarge();
/// The failure of what an undefined value cannot do.
Status undefinedError(const Value &value);

/// Sorts stably by keys.
template <typename Item, typename KeyOf>
Status sortBy(Budget &budget, std::vector<Item> &items, KeyOf keyOf) {
  Status failure;
  // A stable merge sort, because isLess() need not be consistent, as std::sort requires: NaN is
  // unordered.
  std::list<Item> sorted(std::make_move_iterator(items.begin()),
                         std::make_move_iterator(items.end()));
  sorted.sort([&](const Item &left, const Item &right) {
    if (!failure.ok()) {
      return false;
    }
    const Result<bool> less = isLess(budget, keyOf(left), keyOf(right));
    failure = less.status();
    return less.ok() && *less;
  });
  items.assign(std::make_move_iterator(sorted.begin()), std::make_move_iterator(sorted.end()));
  return failure;
}

} // namespace heddle::chat

#endif // HEDDLE_FORMATS_TEMPLATE_OPERATORS_H
