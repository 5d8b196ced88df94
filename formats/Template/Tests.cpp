// SPDX-License-Identifier: Apache-2.0
///
/// Tests, the operands of "is".
#include "formats/Template/Callable.h"

#include "formats/Template/Conversion.h"
#include "formats/Template/Operators.h"
#include "formats/Template/Strings.h"

#include <algorithm>

namespace heddle::chat {

template <Kind... kinds> static Result<Value> isKind(const BoundCall &call) {
  return Value((call[0].is(kinds) || ...));
}

static Result<Value> isDefined(const BoundCall &call) {
  return Value(!call[0].is(Kind::Undefined));
}

static Result<Value> isFalse(const BoundCall &call) {
  return Value(call[0].is(Kind::Boolean) && call[0].integer() == 0);
}

static Result<Value> isTrueConstant(const BoundCall &call) {
  return Value(call[0].is(Kind::Boolean) && call[0].integer() == 1);
}

static Result<Value> isNumber(const BoundCall &call) { return Value(call[0].isNumber()); }

static Result<Value> isIterable(const BoundCall &call) {
  const Value &value = call[0];
  return Value(!value.isNumber() && !value.is(Kind::None) && !value.is(Kind::Function) &&
               !value.is(Kind::Namespace));
}

template <Operator op> static Result<Value> holds(const BoundCall &call) {
  HEDDLE_ASSIGN(const bool answer, compare(call.budget, op, call[0], call[1]));
  return Value(answer);
}

static Result<Value> isRemainder(const BoundCall &call, const Value &divisor, int64_t rest) {
  HEDDLE_ASSIGN(const Value value, calculate(call.budget, Operator::Modulo, call[0], divisor));
  HEDDLE_ASSIGN(const bool same, areEqual(call.budget, value, Value(rest)));
  return Value(same);
}

static Result<Value> isEven(const BoundCall &call) {
  return isRemainder(call, Value(int64_t(2)), 0);
}

static Result<Value> isOdd(const BoundCall &call) {
  return isRemainder(call, Value(int64_t(2)), 1);
}

static Result<Value> isDivisible(const BoundCall &call) { return isRemainder(call, call[1], 0); }

static Result<Value> isLower(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string text, toString(call.budget, call[0]));
  return Value(isLowerCase(text));
}

static Result<Value> isUpper(const BoundCall &call) {
  HEDDLE_ASSIGN(const std::string text, toString(call.budget, call[0]));
  return Value(isUpperCase(text));
}

/// Tests identity; for texts and numbers, whose sharing Python does not define, equality.
static Result<Value> isSame(const BoundCall &call) {
  if (call[0].kind() != call[1].kind()) {
    return Value(false);
  }
  const bool isPlain = call[0].isNumber() || call[0].is(Kind::None) || call[0].is(Kind::String);
  if (!isPlain) {
    return Value(call[0].object() == call[1].object());
  }
  HEDDLE_ASSIGN(const bool same, areEqual(call.budget, call[0], call[1]));
  return Value(same);
}

static Result<Value> isFilterName(const BoundCall &call) {
  return Value(call[0].is(Kind::String) && findFilter(call[0].text()) != nullptr);
}

static Result<Value> isTestName(const BoundCall &call) {
  return Value(call[0].is(Kind::String) && findTest(call[0].text()) != nullptr);
}

const Callable *findTest(std::string_view name) {
  static const Callable table[] = {
      {"!=", {"-a", "-b"}, 2, holds<Operator::NotEqual>},
      {"<", {"-a", "-b"}, 2, holds<Operator::Less>},
      {"<=", {"-a", "-b"}, 2, holds<Operator::LessEqual>},
      {"==", {"-a", "-b"}, 2, holds<Operator::Equal>},
      {">", {"-a", "-b"}, 2, holds<Operator::Greater>},
      {">=", {"-a", "-b"}, 2, holds<Operator::GreaterEqual>},
      {"boolean", {"value"}, 1, isKind<Kind::Boolean>},
      {"callable", {"-obj"}, 1, isKind<Kind::Function, Kind::Undefined>},
      {"defined", {"value"}, 1, isDefined},
      {"divisibleby", {"value", "num"}, 2, isDivisible},
      {"eq", {"-a", "-b"}, 2, holds<Operator::Equal>},
      {"equalto", {"-a", "-b"}, 2, holds<Operator::Equal>},
      {"even", {"value"}, 1, isEven},
      {"false", {"value"}, 1, isFalse},
      {"filter", {"value"}, 1, isFilterName},
      {"float", {"value"}, 1, isKind<Kind::Real>},
      {"ge", {"-a", "-b"}, 2, holds<Operator::GreaterEqual>},
      {"greaterthan", {"-a", "-b"}, 2, holds<Operator::Greater>},
      {"gt", {"-a", "-b"}, 2, holds<Operator::Greater>},
      {"in", {"value", "seq"}, 2, holds<Operator::In>},
      {"integer", {"value"}, 1, isKind<Kind::Integer>},
      {"iterable", {"value"}, 1, isIterable},
      {"le", {"-a", "-b"}, 2, holds<Operator::LessEqual>},
      {"lessthan", {"-a", "-b"}, 2, holds<Operator::Less>},
      {"lower", {"value"}, 1, isLower},
      {"lt", {"-a", "-b"}, 2, holds<Operator::Less>},
      {"mapping", {"value"}, 1, isKind<Kind::Dict>},
      {"ne", {"-a", "-b"}, 2, holds<Operator::NotEqual>},
      {"none", {"value"}, 1, isKind<Kind::None>},
      {"number", {"value"}, 1, isNumber},
      {"odd", {"value"}, 1, isOdd},
      {"sameas", {"value", "other"}, 2, isSame},
      {"sequence",
       {"value"},
       1,
       isKind<Kind::String, Kind::List, Kind::Tuple, Kind::Dict, Kind::Range, Kind::Undefined>},
      {"string", {"value"}, 1, isKind<Kind::String>},
      {"test", {"value"}, 1, isTestName},
      {"true", {"value"}, 1, isTrueConstant},
      {"undefined", {"value"}, 1, isKind<Kind::Undefined>},
      {"upper", {"value"}, 1, isUpper},
  };
  const auto *const found = std::find_if(std::begin(table), std::end(table),
                                         [&](const Callable &each) { return each.name == name; });
  return found == std::end(table) ? nullptr : found;
}

} // namespace heddle::chat
