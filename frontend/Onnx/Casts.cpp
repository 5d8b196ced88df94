// SPDX-License-Identifier: Apache-2.0
///
/// Casts. Activations stay f32, and formulas use 64-bit integers. A cast to a narrower integer type
/// is a no-op if the value is known to fit, and wraps constants to the width of the type. Other
/// casts are rejected.
#include "frontend/Onnx/Operators.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace heddle::onnx {

namespace {

/// Larger than any integer of a formula.
constexpr double unknown = 0x1p70;
/// An upper bound of lengths, batch sizes and their coordinates.
constexpr double mostSize = 0x1p24;
/// The inputs of a program are i32.
constexpr double mostInput = 0x1p31 - 1;

/// Computes an upper bound of the magnitude of an integer formula.
class MagnitudeBound {
public:
  explicit MagnitudeBound(const Expressions &expressions) : expressions(expressions) {}

  double of(Expr value) {
    const auto known = done.find(value);
    if (known != done.end()) {
      return known->second;
    }
    const double bound = find(value);
    done.emplace(value, bound);
    return bound;
  }

private:
  double find(Expr value);
  double ofTable(const OnnxTensor &table) const;

  const Expressions &expressions;
  std::map<Expr, double> done;
};

double MagnitudeBound::ofTable(const OnnxTensor &table) const {
  const ElementTypeInfo &info = infoOf(table.dtype);
  if (info.bits < 32) {
    return std::ldexp(1, static_cast<int>(info.bits));
  }
  double most = 0;
  for (int64_t i = 0; i < table.elements(); ++i) {
    most = std::max(most, std::abs(double(integerAt(table, static_cast<uint64_t>(i)))));
  }
  return most;
}

double MagnitudeBound::find(Expr value) {
  const auto &operands = value->operands;
  switch (value->formula) {
  case Formula::Constant:
    return std::abs(value->value());
  case Formula::Size:
  case Formula::Axis:
    return mostSize;
  case Formula::Read: {
    const Source &source = expressions.source(static_cast<size_t>(value->integer));
    return source.constant == nullptr ? mostInput : ofTable(*source.constant);
  }
  case Formula::Sum: {
    double total = 0;
    for (const Term &term : value->terms) {
      double product = std::abs(double(term.coefficient));
      for (const Expr factor : term.factors) {
        product *= of(factor);
      }
      total += product;
    }
    return total;
  }
  case Formula::RunningSum:
    return mostSize * of(operands[1]);
  case Formula::Select:
    return std::max(of(operands[1]), of(operands[2]));
  case Formula::Least:
  case Formula::Largest:
    return std::max(of(operands[0]), of(operands[1]));
  case Formula::Cast:
    return operands[0]->element == Element::Boolean ? 1 : unknown;
  case Formula::Divide:
  case Formula::Negate:
  case Formula::Absolute:
    return of(operands[0]);
  case Formula::Modulo:
    return of(operands[1]);
  default:
    return unknown;
  }
}

/// Truncates an integer to the bits of the type and interprets them as that type.
int64_t wrapped(int64_t value, const ElementTypeInfo &info) {
  const uint32_t unused = 64 - info.bits;
  const uint64_t bits = static_cast<uint64_t>(value) << unused;
  return info.kind == ElementKind::Signed ? static_cast<int64_t>(bits) >> unused
                                          : static_cast<int64_t>(bits >> unused);
}

} // namespace

static Result<Expr> castConstant(Evaluation &evaluation, Expr value, const ElementTypeInfo &info) {
  if (value->element != Element::Real) {
    return evaluation.integer(wrapped(value->integer, info));
  }
  const bool isSigned = info.kind == ElementKind::Signed;
  const double whole = std::trunc(value->real);
  const double end = std::ldexp(1, static_cast<int>(info.bits) - (isSigned ? 1 : 0));
  // Formulas use signed integers.
  if (!(whole >= (isSigned ? -end : 0) && whole < std::min(end, 0x1p63))) {
    return evaluation.failure(
        StatusCode::InvalidArgument,
        fmt::format("casts {} to {}, expected a number that fits", value->real, info.name));
  }
  return evaluation.integer(static_cast<int64_t>(whole));
}

Result<Expr> castToInteger(Evaluation &evaluation, Expr value, ElementType type) {
  Expressions &expressions = evaluation.expressions;
  const ElementTypeInfo &info = infoOf(type);
  if (value->isConstant()) {
    return castConstant(evaluation, value, info);
  }
  const Expr result = expressions.cast(value, Element::Integer);
  const bool isBit =
      result->formula == Formula::Cast && result->operands.front()->element == Element::Boolean;
  const bool isSigned = info.kind == ElementKind::Signed;
  const bool isWide = isSigned && info.bits == 64;
  if (isBit || isWide || (value->element == Element::Real && isSigned && info.bits == 32)) {
    return result;
  }
  const double end = std::ldexp(1, static_cast<int>(info.bits) - (isSigned ? 1 : 0));
  const bool fits = value->element != Element::Real &&
                    MagnitudeBound(expressions).of(result) < end &&
                    (isSigned || expressions.isNonNegative(result));
  if (!fits) {
    return evaluation.failure(
        StatusCode::Unsupported,
        fmt::format("casts integers to {}, expected such as are known to fit", info.name));
  }
  return result;
}

/// Casts to another kind of element. Activations stay f32: `name` is the type that the node
/// requests for them, `type` that for integers.
static Status castTo(Evaluation &evaluation, Call &call, Element element, std::string_view name,
                     ElementType type) {
  const Value &input = *call.inputs[0];
  if (input.rows ||
      (evaluation.expressions.readsTable(input.symbolic->body) && !evaluation.isClosed(input))) {
    if (element != Element::Real || name != infoOf(ElementType::F32).name) {
      return evaluation.failure(StatusCode::Unsupported,
                                fmt::format("casts activations to {}, expected f32", name));
    }
    call.results.push_back(input);
    return {};
  }
  Symbolic result = *input.symbolic;
  evaluation.expressions.within(result.shape);
  if (element == Element::Integer) {
    HEDDLE_ASSIGN(result.body, castToInteger(evaluation, result.body, type));
  } else {
    result.body = evaluation.expressions.cast(result.body, element);
  }
  result.element = element;
  call.give(std::move(result));
  return {};
}

static Status cast(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const int64_t to, call.integerOr("to", 0));
  const std::optional<ElementType> type = onnxElementType(static_cast<int32_t>(to));
  if (!type) {
    return evaluation.failure(StatusCode::Unsupported,
                              fmt::format("casts to type {}, expected numbers", to));
  }
  const ElementTypeInfo &info = infoOf(*type);
  const Element element = info.isFloat()     ? Element::Real
                          : info.isInteger() ? Element::Integer
                                             : Element::Boolean;
  return castTo(evaluation, call, element, info.name, *type);
}

/// Casts to the type of another value. Floats of activations are always f32.
static Status castLike(Evaluation &evaluation, Call &call) {
  const Value &like = *call.inputs[1];
  const Element element = like.symbolic ? like.symbolic->element : Element::Real;
  return castTo(evaluation, call, element,
                element == Element::Real ? infoOf(ElementType::F32).name : "other than floats",
                ElementType::I64);
}

std::vector<OperatorInfo> castOperators() {
  return {
      {"", "Cast", 6, 1, 1, cast},
      {"", "CastLike", 15, 2, 2, castLike},
  };
}

} // namespace heddle::onnx
