// SPDX-License-Identifier: Apache-2.0
///
/// Operators that support formulas only: sizes, indices, masks and constants.
#include "frontend/Onnx/Operators.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <type_traits>

namespace heddle::onnx {

/// Returns the formula of a value; rejects activations.
static Result<const Symbolic *> formulaOf(Evaluation &evaluation, const Value &value) {
  if (value.symbolic) {
    return &*value.symbolic;
  }
  return evaluation.failure(StatusCode::Unsupported,
                            "reads activations, expected sizes, indices, masks or constants");
}

static Status size(Evaluation &evaluation, Call &call) {
  Expr count = evaluation.integer(1);
  for (const Expr each : evaluation.shapeOf(*call.inputs[0])) {
    count = evaluation.expressions.multiply(count, each);
  }
  call.give(Symbolic{Element::Integer, {}, count});
  return {};
}

static Status exclusiveOr(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const Symbolic *const left, formulaOf(evaluation, *call.inputs[0]));
  HEDDLE_ASSIGN(const Symbolic *const right, formulaOf(evaluation, *call.inputs[1]));
  const auto inverse = [&](const Symbolic &value) {
    Symbolic result = value;
    evaluation.expressions.within(result.shape);
    result.body = evaluation.expressions.negation(result.body);
    return Value{std::move(result), std::nullopt};
  };
  HEDDLE_ASSIGN(const Value first,
                combined(evaluation, Formula::And, *call.inputs[0], inverse(*right)));
  HEDDLE_ASSIGN(const Value second,
                combined(evaluation, Formula::And, inverse(*left), *call.inputs[1]));
  HEDDLE_ASSIGN(Value result, combined(evaluation, Formula::Or, first, second));
  call.results.push_back(std::move(result));
  return {};
}

/// A formula applied to each element.
using ElementFormula = Expr (*)(Expressions &, Expr);
template <ElementFormula formula> static Status ofElement(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const Symbolic *const input, formulaOf(evaluation, *call.inputs[0]));
  Symbolic result = *input;
  evaluation.expressions.within(result.shape);
  result.body = formula(evaluation.expressions, input->body);
  call.give(std::move(result));
  return {};
}

/// Returns the sign of a value: -1, 0 or 1.
static Expr signOf(Expressions &expressions, Expr value) {
  const auto number = [&](int64_t each) {
    return value->element == Element::Real ? expressions.real(static_cast<double>(each))
                                           : expressions.integer(each);
  };
  const Expr zero = number(0);
  return expressions.select(expressions.less(zero, value), number(1),
                            expressions.select(expressions.less(value, zero), number(-1), zero));
}

/// Rounds up, as -floor(-x).
static Expr ceilingOf(Expressions &expressions, Expr value) {
  if (value->element != Element::Real) {
    return value;
  }
  const Expr minus = expressions.real(-1);
  return expressions.multiply(
      expressions.apply(Formula::Floor, {expressions.multiply(value, minus)}), minus);
}

static Expr rounded(Expressions &expressions, Expr value) {
  return value->element == Element::Real ? expressions.apply(Formula::Round, {value}) : value;
}

static Status isInfinite(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const int64_t findsNegative, call.integerOr("detect_negative", 1));
  HEDDLE_ASSIGN(const int64_t findsPositive, call.integerOr("detect_positive", 1));
  HEDDLE_ASSIGN(const Symbolic *const input, formulaOf(evaluation, *call.inputs[0]));
  Expressions &expressions = evaluation.expressions;
  const double infinity = std::numeric_limits<double>::infinity();
  Symbolic result{Element::Boolean, input->shape, expressions.boolean(false)};
  expressions.within(result.shape);
  const auto also = [&](int64_t finds, double number) {
    if (finds != 0) {
      result.body = expressions.disjunction(
          result.body, expressions.equal(input->body, expressions.real(number)));
    }
  };
  also(findsNegative, -infinity);
  also(findsPositive, infinity);
  call.give(std::move(result));
  return {};
}

/// Computes the remainder of a division, with the sign of the divisor or, with fmod, of the
/// dividend.
static Status modulo(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const int64_t isOfDividend, call.integerOr("fmod", 0));
  HEDDLE_TRY(formulaOf(evaluation, *call.inputs[0]).status());
  HEDDLE_TRY(formulaOf(evaluation, *call.inputs[1]).status());
  HEDDLE_ASSIGN(Value rest,
                combined(evaluation, isOfDividend != 0 ? Formula::Rest : Formula::Modulo,
                         *call.inputs[0], *call.inputs[1]));
  call.results.push_back(std::move(rest));
  return {};
}

/// Repeats the value along each axis.
static Status tile(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const Symbolic *const input, formulaOf(evaluation, *call.inputs[0]));
  HEDDLE_ASSIGN(const std::vector<Expr> repeats, evaluation.vectorOf(*call.inputs[1], "repeats"));
  if (repeats.size() != input->shape.size()) {
    return evaluation.failure(
        StatusCode::InvalidArgument,
        fmt::format("repeats {} axes of {}", repeats.size(), input->shape.size()));
  }
  Expressions &expressions = evaluation.expressions;
  Symbolic result{input->element, {}, nullptr};
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    result.shape.push_back(expressions.multiply(input->shape[axis], repeats[axis]));
  }
  expressions.within(result.shape);
  std::vector<Expr> coordinates;
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    const Expr own = expressions.axis(axis);
    coordinates.push_back(input->shape[axis]->isConstant(1) ? evaluation.integer(0)
                          : repeats[axis]->isConstant(1)
                              ? own
                              : expressions.modulo(own, input->shape[axis]));
  }
  result.body = expressions.substitute(input->body, coordinates);
  call.give(std::move(result));
  return {};
}

/// Returns one of two values where the coordinate of a new axis equals the index, and the other
/// elsewhere.
static Status oneHot(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const Symbolic *const indices, formulaOf(evaluation, *call.inputs[0]));
  HEDDLE_ASSIGN(const Symbolic *const values, formulaOf(evaluation, *call.inputs[2]));
  const size_t rank = indices->shape.size() + 1;
  HEDDLE_ASSIGN(const size_t axis, call.axisOr("axis", -1, rank));
  const std::optional<double> depth = evaluation.numberOf(*call.inputs[1]);
  if (!depth || !(*depth >= 1 && *depth <= std::numeric_limits<int32_t>::max()) ||
      values->shape.size() != 1 || !values->shape[0]->isConstant(2)) {
    return evaluation.failure(StatusCode::Unsupported,
                              "expects a constant depth of 1 or more, and two values");
  }
  Expressions &expressions = evaluation.expressions;
  const Expr count = evaluation.integer(static_cast<int64_t>(*depth));
  Symbolic result{values->element, indices->shape, nullptr};
  result.shape.insert(result.shape.begin() + static_cast<int64_t>(axis), count);
  expressions.within(result.shape);
  std::vector<Expr> coordinates;
  for (size_t i = 0; i + 1 < rank; ++i) {
    coordinates.push_back(expressions.axis(i < axis ? i : i + 1));
  }
  const Expr index =
      expressions.cast(expressions.substitute(indices->body, coordinates), Element::Integer);
  const Expr place = expressions.axis(axis), zero = evaluation.integer(0),
             one = evaluation.integer(1);
  // Negative indices count from the end; other indices out of range match no element.
  const Expr fromStart =
      expressions.select(expressions.less(index, zero), expressions.add(index, count), index);
  result.body = expressions.select(expressions.equal(fromStart, place),
                                   expressions.substitute(values->body, {&one, 1}),
                                   expressions.substitute(values->body, {&zero, 1}));
  call.give(std::move(result));
  return {};
}

// --- ScatterND -----------------------------------------------------------------------------------

enum class Update { None, Add, Multiply, Largest, Least };

static Result<Update> updateOf(Evaluation &evaluation, const Call &call) {
  HEDDLE_ASSIGN(const auto named, call.text("reduction"));
  const std::string_view name = named.value_or("none");
  static constexpr std::pair<std::string_view, Update> updates[] = {
      {"none", Update::None},   {"add", Update::Add},   {"mul", Update::Multiply},
      {"max", Update::Largest}, {"min", Update::Least},
  };
  const auto *const found = std::find_if(std::begin(updates), std::end(updates),
                                         [&](const auto &each) { return each.first == name; });
  return found != std::end(updates)
             ? Result<Update>(found->second)
             : evaluation.failure(
                   StatusCode::InvalidArgument,
                   fmt::format("\"reduction\" is {}, expected none, add, mul, max or "
                               "min",
                               quote(name)));
}

/// Returns the updated value of an element.
template <typename Number> static Number updated(Update update, Number old, Number next) {
  // Integers wrap on overflow.
  using Wrapping = std::conditional_t<std::is_integral_v<Number>, uint64_t, Number>;
  const auto a = static_cast<Wrapping>(old), b = static_cast<Wrapping>(next);
  switch (update) {
  case Update::None:
    return next;
  case Update::Add:
    return static_cast<Number>(a + b);
  case Update::Multiply:
    return static_cast<Number>(a * b);
  case Update::Largest:
    return std::max(old, next);
  case Update::Least:
    return std::min(old, next);
  }
  return next;
}

/// Updates slices of a constant.
static Status scatterNd(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const Update update, updateOf(evaluation, call));
  for (const Value *const input : call.inputs) {
    if (!evaluation.isClosed(*input)) {
      return evaluation.failure(StatusCode::Unsupported,
                                "changes elements of activations, expected constants");
    }
  }
  HEDDLE_ASSIGN(Elements data, evaluation.elementsOf(*call.inputs[0]->symbolic));
  HEDDLE_ASSIGN(const Elements indices, evaluation.elementsOf(*call.inputs[1]->symbolic));
  HEDDLE_ASSIGN(const Elements updates, evaluation.elementsOf(*call.inputs[2]->symbolic));
  const size_t depth = indices.shape.empty() ? 0 : static_cast<size_t>(indices.shape.back());
  size_t step = 1;
  for (size_t axis = depth; axis < data.shape.size(); ++axis) {
    step *= static_cast<size_t>(data.shape[axis]);
  }
  if (depth == 0 || depth > data.shape.size() || indices.isReal() ||
      data.element != updates.element || updates.count() != indices.count() / depth * step) {
    return evaluation.failure(StatusCode::InvalidArgument,
                              "its indices and updates do not fit its data");
  }
  for (size_t number = 0; number < indices.count() / depth; ++number) {
    size_t place = 0;
    for (size_t i = 0; i < depth; ++i) {
      const int64_t index = indices.integers[number * depth + i];
      if (index < -data.shape[i] || index >= data.shape[i]) {
        return evaluation.failure(
            StatusCode::InvalidArgument,
            fmt::format("index {} is outside an axis of {} elements", index, data.shape[i]));
      }
      place = place * static_cast<size_t>(data.shape[i]) +
              static_cast<size_t>(index < 0 ? index + data.shape[i] : index);
    }
    for (size_t i = 0; i < step; ++i) {
      const size_t at = place * step + i;
      if (data.isReal()) {
        data.reals[at] = updated(update, data.reals[at], updates.reals[number * step + i]);
      } else {
        data.integers[at] = updated(update, data.integers[at], updates.integers[number * step + i]);
      }
    }
  }
  call.give(evaluation.constant(data));
  return {};
}

std::vector<OperatorInfo> constantOperators() {
  return {
      {"", "Size", 1, 1, 1, size},
      {"", "Xor", 7, 2, 2, exclusiveOr},
      {"", "Sign", 9, 1, 1, ofElement<signOf>},
      {"", "Ceil", 6, 1, 1, ofElement<ceilingOf>},
      {"", "Round", 11, 1, 1, ofElement<rounded>},
      {"", "IsInf", 10, 1, 1, isInfinite},
      {"", "Mod", 10, 2, 2, modulo},
      {"", "Tile", 6, 2, 2, tile},
      {"", "OneHot", 9, 3, 3, oneHot},
      {"", "ScatterND", 11, 3, 3, scatterNd},
  };
}

} // namespace heddle::onnx
