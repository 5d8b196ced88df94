// SPDX-License-Identifier: Apache-2.0
///
/// Where and its conditions. Two selections apply to activations: replacing NaN by 0, and hiding
/// scores by a mask.
#include "frontend/Onnx/Operators.h"

#include <fmt/format.h>

using namespace mlir;

namespace heddle::onnx {

static Status isNan(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(*call.inputs[0]));
  HEDDLE_ASSIGN(rows, evaluation.written(std::move(rows)));
  rows.isNan = true;
  call.give(std::move(rows));
  return {};
}

/// Returns whether a condition is exactly isnan(value).
static bool isNanOf(const Value &condition, const Value &value) {
  return condition.rows && condition.rows->isNan && condition.rows->function == nullptr &&
         value.rows && !value.rows->isNan && value.rows->function == nullptr &&
         value.rows->value == condition.rows->value &&
         value.rows->spread == condition.rows->spread &&
         value.rows->physical == condition.rows->physical &&
         value.rows->axes == condition.rows->axes;
}

/// Returns the value of a uniform constant that broadcasts to the shape of rows.
static std::optional<double> numberBeside(Evaluation &evaluation, const Value &number,
                                          const Rows &rows) {
  const std::vector<Expr> shape = evaluation.shapeOf(rows);
  if (!number.symbolic) {
    return std::nullopt;
  }
  const auto both = broadcastShapes(evaluation, shape, number.symbolic->shape);
  return both.ok() && *both == shape ? evaluation.uniformNumberOf(number) : std::nullopt;
}

/// Selects between formulas and returns a formula.
static Result<Symbolic> chosen(Evaluation &evaluation, const Symbolic &condition,
                               const Symbolic &then, const Symbolic &otherwise) {
  Expressions &expressions = evaluation.expressions;
  Symbolic result;
  HEDDLE_ASSIGN(const auto both, broadcastShapes(evaluation, then.shape, otherwise.shape));
  HEDDLE_ASSIGN(result.shape, broadcastShapes(evaluation, condition.shape, both));
  expressions.within(result.shape);
  const size_t rank = result.shape.size();
  result.element = then.element;
  result.body =
      expressions.select(evaluation.broadcast(condition, rank), evaluation.broadcast(then, rank),
                         evaluation.broadcast(otherwise, rank));
  return result;
}

/// Keeps scores where a mask holds and replaces the others with a number that hides them.
static Result<Rows> masked(Evaluation &evaluation, Symbolic condition, const Value &then,
                           const Value &otherwise) {
  const Value &scores = then.rows ? then : otherwise;
  const std::optional<double> number =
      scores.rows ? numberBeside(evaluation, then.rows ? otherwise : then, *scores.rows)
                  : std::nullopt;
  if (!number || !scores.rows->hasKeys()) {
    return evaluation.failure(StatusCode::Unsupported,
                              "chooses between activations, expected scores or a number that hides "
                              "them");
  }
  // Adding a number instead of selecting it is equivalent only if it hides the score.
  if (!(*number <= hides)) {
    return evaluation.failure(
        StatusCode::Unsupported,
        fmt::format("chooses between scores and {}, expected a number of at most {} that hides "
                    "them from a softmax",
                    *number, hides));
  }
  Expressions &expressions = evaluation.expressions;
  const Expr hide = expressions.real(*number), keep = expressions.real(0);
  expressions.within(condition.shape);
  condition.body =
      expressions.select(condition.body, then.rows ? keep : hide, then.rows ? hide : keep);
  condition.element = Element::Real;
  return withMask(evaluation, *scores.rows, condition);
}

/// Returns a value as a function of the rows of the condition, or null if it has other rows.
static Expr functionOf(Evaluation &evaluation, const Value &value, const Rows &condition) {
  if (const std::optional<double> number = numberBeside(evaluation, value, condition)) {
    return evaluation.expressions.real(*number);
  }
  const bool isSame = value.rows && value.rows->value == condition.value &&
                      value.rows->spread == condition.spread &&
                      value.rows->physical == condition.physical &&
                      value.rows->axes == condition.axes && !value.rows->isNan;
  return !isSame                           ? nullptr
         : value.rows->function != nullptr ? value.rows->function
                                           : evaluation.expressions.operand();
}

namespace {

/// A comparison of a function of rows with a number, and the functions that apply below and above
/// it.
struct Threshold {
  Expr compared = nullptr;
  Expr number = nullptr;
  Expr below = nullptr, above = nullptr;
};

} // namespace

static std::optional<Threshold> thresholdOf(Expr condition, Expr then, Expr otherwise) {
  if (condition->formula == Formula::Not) {
    return thresholdOf(condition->operands[0], otherwise, then);
  }
  if (condition->formula != Formula::Less) {
    return std::nullopt;
  }
  const Expr left = condition->operands[0], right = condition->operands[1];
  return right->isConstant()  ? std::optional(Threshold{left, right, then, otherwise})
         : left->isConstant() ? std::optional(Threshold{right, left, otherwise, then})
                              : std::nullopt;
}

/// Selects between two functions that agree at the threshold c: f(x) for x < c and g(x) otherwise
/// is f(min(x, c)) + g(max(x, c)) - f(c).
static Result<Rows> joinedAt(Evaluation &evaluation, const Rows &condition, const Value &then,
                             const Value &otherwise) {
  Expressions &expressions = evaluation.expressions;
  const Expr first = functionOf(evaluation, then, condition);
  const Expr second = functionOf(evaluation, otherwise, condition);
  const std::optional<Threshold> at = first != nullptr && second != nullptr
                                          ? thresholdOf(condition.function, first, second)
                                          : std::nullopt;
  // Rewrites a function in terms of the compared expression.
  const auto ofCompared = [&](Expr function, Expr argument) {
    return expressions.replace(
        function, [&](Expr part) { return part == at->compared ? argument : nullptr; });
  };
  const auto valueAt = [&](Expr function) {
    const Expr value = ofCompared(function, at->number);
    return value->isConstant() ? std::optional(value->value()) : std::nullopt;
  };
  if (!at || !valueAt(at->below) || valueAt(at->below) != valueAt(at->above)) {
    return evaluation.failure(StatusCode::Unsupported,
                              "chooses between functions by a comparison, expected two that are "
                              "the same at the number compared with");
  }
  const Expr below = ofCompared(at->below, expressions.least(at->compared, at->number));
  const Expr above = ofCompared(at->above, expressions.largest(at->compared, at->number));
  Rows rows = condition;
  rows.function = below->isConstant() ? above
                  : above->isConstant()
                      ? below
                      : expressions.subtract(expressions.add(below, above),
                                             expressions.real(*valueAt(at->below)));
  return rows;
}

static Status where(Evaluation &evaluation, Call &call) {
  const Value &condition = *call.inputs[0], &then = *call.inputs[1], &otherwise = *call.inputs[2];
  if (isNanOf(condition, otherwise) && numberBeside(evaluation, then, *otherwise.rows) == 0) {
    // fuse-attention removes this guard where every row attends to at least one key.
    Rows rows = *otherwise.rows;
    rows.value =
        evaluation.make<transformer::ActivateOp>(transformer::Activation::NanToZero, rows.value);
    call.give(std::move(rows));
    return {};
  }
  if (condition.rows && condition.rows->function != nullptr &&
      condition.rows->function->element == Element::Boolean) {
    HEDDLE_ASSIGN(Rows rows, joinedAt(evaluation, *condition.rows, then, otherwise));
    call.give(std::move(rows));
    return {};
  }
  if (!condition.symbolic) {
    return evaluation.failure(StatusCode::Unsupported,
                              "chooses by activations, expected a mask, or 0 where a value is NaN");
  }
  const bool areClosed =
      evaluation.isClosed(condition) && evaluation.isClosed(then) && evaluation.isClosed(otherwise);
  if (areClosed || (then.symbolic && otherwise.symbolic && !isTable(evaluation, *then.symbolic) &&
                    !isTable(evaluation, *otherwise.symbolic))) {
    HEDDLE_ASSIGN(Symbolic result,
                  chosen(evaluation, *condition.symbolic, *then.symbolic, *otherwise.symbolic));
    call.give(std::move(result));
    return {};
  }
  if (evaluation.isWhole()) {
    HEDDLE_ASSIGN(Rows chosen, wholeChoice(evaluation, *condition.symbolic, then, otherwise));
    call.give(std::move(chosen));
    return {};
  }
  HEDDLE_ASSIGN(Rows result, masked(evaluation, *condition.symbolic, then, otherwise));
  call.give(std::move(result));
  return {};
}

std::vector<OperatorInfo> choiceOperators() {
  return {
      {"", "IsNaN", 9, 1, 1, isNan},
      {"", "Where", 9, 3, 3, where},
  };
}

} // namespace heddle::onnx
