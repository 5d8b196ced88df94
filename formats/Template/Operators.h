// SPDX-License-Identifier: Apache-2.0
///
/// Operators on values, and how values are compared, iterated and indexed, as in Python.
#ifndef HEDDLE_FORMATS_TEMPLATE_OPERATORS_H
#define HEDDLE_FORMATS_TEMPLATE_OPERATORS_H

#include "formats/Template/Budget.h"
#include "formats/Template/Syntax.h"

#include <iterator>
#include <list>
#include <optional>
#include <vector>

namespace heddle::chat {

/// +, -, *, /, //, % and **.
Result<Value> calculate(Budget &budget, Operator op, const Value &left, const Value &right);
/// Minus and plus of one value.
Result<Value> negated(const Value &value);
Result<Value> unchanged(const Value &value);

/// ==, which every two values have.
Result<bool> areEqual(Budget &budget, const Value &left, const Value &right);
/// <, which numbers have, strings, and lists of such.
Result<bool> isLess(Budget &budget, const Value &left, const Value &right);
/// All comparisons, "in" and "not in" among them.
Result<bool> compare(Budget &budget, Operator op, const Value &left, const Value &right);

/// What "for" goes through: items, characters, or the keys of a dict. Empties an iterator.
Result<std::vector<Value>> itemsOf(Budget &budget, const Value &value);
/// len().
Result<int64_t> lengthOfValue(Budget &budget, const Value &value);
/// value[key], nothing if there is none.
Result<std::optional<Value>> findItem(Budget &budget, const Value &value, const Value &key);
/// value[start:stop:step], of which none are left out.
Result<Value> sliceOf(Budget &budget, const Value &value, const Value &start, const Value &stop,
                      const Value &step);

/// The failure of what an undefined value cannot do.
Status undefinedError(const Value &value);

/// Sorts by keys, which stay in order where they are equal.
template <typename Item, typename KeyOf>
Status sortBy(Budget &budget, std::vector<Item> &items, KeyOf keyOf) {
  Status failure;
  // Sorts by merging, stably, and answers of isLess() need not be consistent, which those of
  // std::sort must: floats that are no numbers are in no order.
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
