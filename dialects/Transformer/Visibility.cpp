// SPDX-License-Identifier: Apache-2.0
///
/// Interval arithmetic on bounds floor((i + shift) / size) * step + offset. Bounds repeat with a
/// period and have slope step / size, so comparing them over one period is enough.
#include "dialects/Transformer/Visibility.h"

#include "llvm/ADT/Hashing.h"

#include <algorithm>
#include <numeric>

namespace heddle::transformer {
namespace {

// The longest period over which bounds are compared position by position. No model has a longer
// one.
constexpr int64_t mostPeriod = int64_t{1} << 20;

bool isInRange(const PositionBound &bound) {
  const auto isSmall = [](int64_t number) {
    return number >= -PositionBound::most && number <= PositionBound::most;
  };
  return bound.size >= 1 && bound.size <= PositionBound::most && bound.step >= 0 &&
         isSmall(bound.step) && isSmall(bound.shift) && isSmall(bound.offset);
}

PositionBound normalized(PositionBound bound) {
  if (!isInRange(bound)) {
    return bound;
  }
  if (bound.step == 0) {
    return {0, 1, 0, bound.offset};
  }
  // Moves multiples of the size from the shift into the offset.
  const PositionBound shiftOnly{bound.shift, bound.size, 1, 0};
  const int64_t steps = shiftOnly.at(0);
  bound.shift -= steps * bound.size;
  bound.offset += steps * bound.step;
  return bound;
}

/// Returns whether left >= right at every position; nothing if the period is too long to compare.
std::optional<bool> isNowhereBelow(const PositionBound &left, const PositionBound &right) {
  const int64_t period = std::lcm(left.size, right.size);
  if (period > mostPeriod) {
    return std::nullopt;
  }
  if (left.step * right.size < right.step * left.size) {
    return false;
  }
  for (int64_t position = 0; position < period; ++position) {
    if (left.at(position) < right.at(position)) {
      return false;
    }
  }
  return true;
}

/// Returns the bound that is larger (or smaller) at every position, if there is one.
std::optional<PositionBound> choose(const PositionBound &left, const PositionBound &right,
                                    bool larger) {
  if (isNowhereBelow(left, right).value_or(false)) {
    return larger ? left : right;
  }
  if (isNowhereBelow(right, left).value_or(false)) {
    return larger ? right : left;
  }
  return std::nullopt;
}

/// Computes the bound of the intersection into `both`. Returns false if no single bound describes
/// it.
bool chooseEnd(const std::optional<PositionBound> &left, const std::optional<PositionBound> &right,
               bool larger, std::optional<PositionBound> &both) {
  if (!left || !right) {
    both = left ? left : right;
    return true;
  }
  both = choose(*left, *right, larger);
  return both.has_value();
}

std::string text(const PositionBound &bound) {
  const auto number = [](int64_t value) {
    return (value < 0 ? " - " : " + ") + std::to_string(std::abs(value));
  };
  std::string result = "i";
  if (bound.shift != 0) {
    result = "(i" + number(bound.shift) + ")";
  }
  if (bound.size != 1) {
    result += " / " + std::to_string(bound.size);
  }
  if (bound.step != 1) {
    result += " * " + std::to_string(bound.step);
  }
  return bound.offset == 0 ? result : result + number(bound.offset);
}

} // namespace

Visibility Visibility::normalized() const {
  Visibility result = *this;
  for (std::optional<PositionBound> *bound : {&result.from, &result.to}) {
    if (*bound) {
      *bound = transformer::normalized(**bound);
    }
  }
  return result;
}

std::string Visibility::problem() const {
  for (const auto &bound : {from, to}) {
    if (bound && !isInRange(*bound)) {
      return "a position of sizes from 1 and numbers of at most 2^30, got '" +
             transformer::text(*bound) + "'";
    }
  }
  // A bound is worst within its first block, unless its slope differs from that of the query. So
  // checking the worst position of that block is enough.
  if (from) {
    const int64_t next = (from->size - from->shift % from->size) % from->size;
    if (from->step > from->size || from->at(0) > 0 || from->at(next) > next) {
      return "a query that sees itself, got 'from " + transformer::text(*from) + "'";
    }
  }
  if (to) {
    const int64_t last = (2 * to->size - 1 - to->shift % to->size) % to->size;
    if (to->step < to->size || to->at(last) <= last) {
      return "a query that sees itself, got 'to " + transformer::text(*to) + "'";
    }
  }
  return "";
}

std::optional<Visibility> Visibility::intersect(const Visibility &other) const {
  Visibility both;
  return chooseEnd(from, other.from, /*larger=*/true, both.from) &&
                 chooseEnd(to, other.to, /*larger=*/false, both.to)
             ? std::optional(both)
             : std::nullopt;
}

std::optional<int64_t> Visibility::span(int64_t rows) const {
  // The distance between a query and a bound of another slope grows without limit.
  if (!from || !to || from->step != from->size || to->step != to->size) {
    return std::nullopt;
  }
  const int64_t period = std::lcm(from->size, to->size);
  if (period > mostPeriod) {
    // Rounding moves a bound by less than one size.
    return rows - 1 + to->shift + to->offset - from->shift - from->offset + from->size - 1;
  }
  int64_t most = 0;
  for (int64_t position = 0; position < period; ++position) {
    most = std::max(most, to->at(position + rows - 1) - from->at(position));
  }
  return most;
}

std::string Visibility::text() const {
  if (isAll()) {
    return "all";
  }
  if (isCausal()) {
    return "causal";
  }
  std::string result;
  if (from) {
    result = "from " + transformer::text(*from);
  }
  return to ? result + (from ? " to " : "to ") + transformer::text(*to) : result;
}

size_t hash_value(const Visibility &visibility) {
  llvm::hash_code code = llvm::hash_combine(visibility.from.has_value(), visibility.to.has_value());
  for (const auto &bound : {visibility.from, visibility.to}) {
    if (bound) {
      code = llvm::hash_combine(code, bound->shift, bound->size, bound->step, bound->offset);
    }
  }
  return code;
}

} // namespace heddle::transformer
