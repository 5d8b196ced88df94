// SPDX-License-Identifier: Apache-2.0
///
/// Arithmetic and comparisons. Integers have 64 bits; overflow is an error, where Python has longer
/// integers.
#include "formats/Template/Operators.h"

#include "formats/Template/Formatting.h"
#include "formats/Template/Strings.h"

#include <cmath>
#include <compare>
#include <fmt/format.h>

namespace heddle::chat {

Status undefinedError(const Value &value) { return HEDDLE_ERROR(InvalidArgument, value.absence()); }

static std::string_view spellingOf(Operator op) {
  switch (op) {
  case Operator::Add:
    return "+";
  case Operator::Subtract:
    return "-";
  case Operator::Multiply:
    return "*";
  case Operator::Divide:
    return "/";
  case Operator::FloorDivide:
    return "//";
  case Operator::Modulo:
    return "%";
  case Operator::Power:
    return "**";
  case Operator::Equal:
    return "==";
  case Operator::NotEqual:
    return "!=";
  case Operator::Less:
    return "<";
  case Operator::LessEqual:
    return "<=";
  case Operator::Greater:
    return ">";
  case Operator::GreaterEqual:
    return ">=";
  case Operator::In:
    return "in";
  case Operator::NotIn:
    break;
  }
  return "not in";
}

static Status unsupported(Operator op, const Value &left, const Value &right) {
  return HEDDLE_ERROR(InvalidArgument,
                      fmt::format("\"{}\" has no meaning for {} and {}", spellingOf(op),
                                  describeKind(left), describeKind(right)));
}

// --- numbers ---------------------------------------------------------------------------------

Status tooLarge() {
  return HEDDLE_ERROR(InvalidArgument,
                      "an integer of more than 64 bits, which templates do not have");
}

static Status zeroDivision() { return HEDDLE_ERROR(InvalidArgument, "division by zero"); }

static double floorQuotient(double left, double right) { return std::floor(left / right); }

/// Returns the remainder with the sign of the divisor.
static double realRemainder(double left, double right) {
  const double rest = std::fmod(left, right);
  if (rest == 0) {
    return std::copysign(0.0, right);
  }
  return (rest < 0) != (right < 0) ? rest + right : rest;
}

static Result<Value> realPower(double left, double right) {
  if (left == 0 && right < 0) {
    return zeroDivision();
  }
  if (left < 0 && right != std::floor(right)) {
    return HEDDLE_ERROR(InvalidArgument, "a power that is no real number");
  }
  const double result = std::pow(left, right);
  if (std::isinf(result) && std::isfinite(left) && std::isfinite(right)) {
    return HEDDLE_ERROR(InvalidArgument, "a power that is too large for a float");
  }
  return Value(result);
}

static Result<Value> integerPower(int64_t left, int64_t right) {
  if (right < 0) {
    return realPower(static_cast<double>(left), static_cast<double>(right));
  }
  int64_t result = 1;
  // For 0, 1 and -1 the exponent may be anything; for others, overflow ends the loop.
  if (left >= -1 && left <= 1) {
    return Value(left == -1 && right % 2 == 0 ? int64_t(1) : right == 0 ? int64_t(1) : left);
  }
  for (int64_t i = 0; i < right; ++i) {
    if (__builtin_mul_overflow(result, left, &result)) {
      return tooLarge();
    }
  }
  return Value(result);
}

static Result<Value> calculateIntegers(Operator op, int64_t left, int64_t right) {
  int64_t result = 0;
  bool overflows = false;
  switch (op) {
  case Operator::Add:
    overflows = __builtin_add_overflow(left, right, &result);
    break;
  case Operator::Subtract:
    overflows = __builtin_sub_overflow(left, right, &result);
    break;
  case Operator::Multiply:
    overflows = __builtin_mul_overflow(left, right, &result);
    break;
  case Operator::Power:
    return integerPower(left, right);
  default:
    if (right == 0) {
      return zeroDivision();
    }
    if (op == Operator::Divide) {
      return Value(static_cast<double>(left) / static_cast<double>(right));
    }
    if (left == INT64_MIN && right == -1) {
      return op == Operator::Modulo ? Result<Value>(Value(int64_t(0))) : tooLarge();
    }
    result = op == Operator::FloorDivide ? left / right : left % right;
    if (left % right != 0 && (left < 0) != (right < 0)) {
      result += op == Operator::FloorDivide ? -1 : right;
    }
  }
  if (overflows) {
    return tooLarge();
  }
  return Value(result);
}

static Result<Value> calculateReals(Operator op, double left, double right) {
  switch (op) {
  case Operator::Add:
    return Value(left + right);
  case Operator::Subtract:
    return Value(left - right);
  case Operator::Multiply:
    return Value(left * right);
  case Operator::Power:
    return realPower(left, right);
  default:
    break;
  }
  if (right == 0) {
    return zeroDivision();
  }
  return Value(op == Operator::Divide ? left / right
               : op == Operator::FloorDivide
                   ? floorQuotient(left - realRemainder(left, right), right)
                   : realRemainder(left, right));
}

Result<Value> negated(const Value &value) {
  if (value.isInteger()) {
    return calculateIntegers(Operator::Subtract, 0, value.integer());
  }
  if (value.is(Kind::Real)) {
    return Value(-value.real());
  }
  return value.is(Kind::Undefined)
             ? undefinedError(value)
             : HEDDLE_ERROR(InvalidArgument,
                            fmt::format("\"-\" has no meaning for {}", describeKind(value)));
}

Result<Value> unchanged(const Value &value) {
  if (value.isNumber()) {
    return value.isInteger() ? Value(value.integer()) : value;
  }
  return value.is(Kind::Undefined)
             ? undefinedError(value)
             : HEDDLE_ERROR(InvalidArgument,
                            fmt::format("\"+\" has no meaning for {}", describeKind(value)));
}

// --- sequences -------------------------------------------------------------------------------

static Result<Value> joined(Budget &budget, const Value &left, const Value &right) {
  if (left.is(Kind::String)) {
    HEDDLE_TRY(budget.chargeBytes(left.text().size() + right.text().size()));
    return Value(left.text() + right.text());
  }
  std::vector<Value> items = left.items();
  items.insert(items.end(), right.items().begin(), right.items().end());
  return left.is(Kind::List) ? budget.list(std::move(items)) : budget.tuple(std::move(items));
}

static Result<Value> repeated(Budget &budget, const Value &value, int64_t times) {
  const auto count = static_cast<size_t>(std::max<int64_t>(times, 0));
  if (value.is(Kind::String)) {
    HEDDLE_TRY(budget.chargeBytes(value.text().size(), count));
    std::string text;
    text.reserve(value.text().size() * count);
    for (size_t i = 0; i < (value.text().empty() ? 0 : count); ++i) {
      text += value.text();
    }
    return Value(std::move(text));
  }
  const std::vector<Value> &once = value.items();
  const bool fits = once.empty() || count <= budget.options.steps / once.size();
  HEDDLE_TRY(budget.charge(fits ? once.size() * count : UINT64_MAX));
  std::vector<Value> items;
  for (size_t i = 0; i < (once.empty() ? 0 : count); ++i) {
    items.insert(items.end(), once.begin(), once.end());
  }
  return value.is(Kind::List) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

Result<Value> calculate(Budget &budget, Operator op, const Value &left, const Value &right) {
  if (op == Operator::Modulo && left.is(Kind::String)) {
    return formatPercent(budget, left.text(), right);
  }
  if (left.is(Kind::Undefined) || right.is(Kind::Undefined)) {
    return undefinedError(left.is(Kind::Undefined) ? left : right);
  }
  if (left.isInteger() && right.isInteger()) {
    return calculateIntegers(op, left.integer(), right.integer());
  }
  if (left.isNumber() && right.isNumber()) {
    return calculateReals(op, left.real(), right.real());
  }
  const auto isRow = [](const Value &value) {
    return value.is(Kind::String) || value.isSequence();
  };
  if (op == Operator::Add && isRow(left) && left.kind() == right.kind()) {
    return joined(budget, left, right);
  }
  if (op == Operator::Multiply && isRow(left) && right.isInteger()) {
    return repeated(budget, left, right.integer());
  }
  if (op == Operator::Multiply && isRow(right) && left.isInteger()) {
    return repeated(budget, right, left.integer());
  }
  return unsupported(op, left, right);
}

// --- comparisons -----------------------------------------------------------------------------

static Result<bool> areDictsEqual(Budget &budget, const DictObject &left, const DictObject &right) {
  if (left.entries.size() != right.entries.size()) {
    return false;
  }
  for (const auto &[key, value] : left.entries) {
    HEDDLE_TRY(chargeKey(budget, key));
    const Value *const other = right.find(key);
    if (other == nullptr) {
      return false;
    }
    HEDDLE_ASSIGN(const bool same, areEqual(budget, value, *other));
    if (!same) {
      return false;
    }
  }
  return true;
}

/// An integer and a float, without rounding the integer: less, equal or greater, or in no order
/// where the float is NaN.
static std::partial_ordering order(int64_t integer, double real) {
  if (!(real >= -0x1p63)) {
    return std::isnan(real) ? std::partial_ordering::unordered : std::partial_ordering::greater;
  }
  if (real >= 0x1p63) {
    return std::partial_ordering::less;
  }
  const double whole = std::floor(real);
  const std::partial_ordering found = integer <=> static_cast<int64_t>(whole);
  return found == 0 && whole < real ? std::partial_ordering::less : found;
}

/// Two numbers as Python compares them.
static std::partial_ordering orderOfNumbers(const Value &left, const Value &right) {
  if (left.isInteger()) {
    return right.isInteger() ? left.integer() <=> right.integer()
                             : order(left.integer(), right.real());
  }
  return right.isInteger() ? 0 <=> order(right.integer(), left.real())
                           : left.real() <=> right.real();
}

Result<bool> areEqual(Budget &budget, const Value &left, const Value &right) {
  HEDDLE_TRY(budget.charge(1));
  if (left.isNumber() && right.isNumber()) {
    return orderOfNumbers(left, right) == 0;
  }
  if (left.kind() != right.kind()) {
    return false;
  }
  switch (left.kind()) {
  case Kind::Undefined:
  case Kind::None:
    return true;
  case Kind::String:
    HEDDLE_TRY(budget.chargeBytes(std::min(left.text().size(), right.text().size())));
    return left.text() == right.text();
  case Kind::List:
  case Kind::Tuple:
    if (left.items().size() != right.items().size()) {
      return false;
    }
    for (size_t i = 0; i < left.items().size(); ++i) {
      HEDDLE_ASSIGN(const bool same, areEqual(budget, left.items()[i], right.items()[i]));
      if (!same) {
        return false;
      }
    }
    return true;
  case Kind::Dict:
    return areDictsEqual(budget, left.dict(), right.dict());
  case Kind::Range: {
    const RangeObject &a = left.range();
    const RangeObject &b = right.range();
    const int64_t size = a.size();
    return size == b.size() &&
           (size == 0 || (a.start == b.start && (size == 1 || a.step == b.step)));
  }
  default:
    return left.object() == right.object();
  }
}

Result<bool> isLess(Budget &budget, const Value &left, const Value &right) {
  HEDDLE_TRY(budget.charge(1));
  if (left.is(Kind::Undefined) || right.is(Kind::Undefined)) {
    return undefinedError(left.is(Kind::Undefined) ? left : right);
  }
  if (left.isNumber() && right.isNumber()) {
    return orderOfNumbers(left, right) < 0;
  }
  if (left.kind() == right.kind() && left.is(Kind::String)) {
    HEDDLE_TRY(budget.chargeBytes(std::min(left.text().size(), right.text().size())));
    return left.text() < right.text();
  }
  if (left.kind() == right.kind() && left.isSequence()) {
    for (size_t i = 0; i < std::min(left.items().size(), right.items().size()); ++i) {
      HEDDLE_ASSIGN(const bool same, areEqual(budget, left.items()[i], right.items()[i]));
      if (!same) {
        return isLess(budget, left.items()[i], right.items()[i]);
      }
    }
    return left.items().size() < right.items().size();
  }
  return unsupported(Operator::Less, left, right);
}

static Result<bool> contains(Budget &budget, const Value &container, const Value &item) {
  switch (container.kind()) {
  case Kind::String:
    if (!item.is(Kind::String)) {
      return unsupported(Operator::In, item, container);
    }
    HEDDLE_TRY(budget.chargeBytes(container.text().size()));
    return findText(container.text(), item.text()) != std::string::npos;
  case Kind::Dict:
    HEDDLE_TRY(chargeKey(budget, item));
    if (!isHashable(item)) {
      return unsupported(Operator::In, item, container);
    }
    return container.dict().find(item) != nullptr;
  default:
    break;
  }
  HEDDLE_ASSIGN(const std::vector<Value> items, itemsOf(budget, container));
  for (const Value &each : items) {
    HEDDLE_ASSIGN(const bool same, areEqual(budget, each, item));
    if (same) {
      return true;
    }
  }
  return false;
}

Result<bool> compare(Budget &budget, Operator op, const Value &left, const Value &right) {
  switch (op) {
  case Operator::Equal:
  case Operator::NotEqual: {
    HEDDLE_ASSIGN(const bool same, areEqual(budget, left, right));
    return same == (op == Operator::Equal);
  }
  case Operator::In:
  case Operator::NotIn: {
    HEDDLE_ASSIGN(const bool found, contains(budget, right, left));
    return found == (op == Operator::In);
  }
  case Operator::Less:
    return isLess(budget, left, right);
  case Operator::Greater:
    return isLess(budget, right, left);
  default:
    break;
  }
  // NaN is neither less than nor equal to anything.
  const bool isUp = op == Operator::LessEqual;
  HEDDLE_ASSIGN(const bool less, isUp ? isLess(budget, left, right) : isLess(budget, right, left));
  return less ? Result<bool>(true) : areEqual(budget, left, right);
}

} // namespace heddle::chat
