// SPDX-License-Identifier: Apache-2.0
///
/// Where and its conditions. On activations there are two choices: the NaN of a value becomes 0,
/// and a mask keeps scores or hides them.
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

/// Whether a condition is where a value is NaN, and nothing else.
static bool isNanOf(const Value &condition, const Value &value) {
  return condition.rows && condition.rows->isNan && condition.rows->function == nullptr &&
         value.rows && !value.rows->isNan && value.rows->function == nullptr &&
         value.rows->value == condition.rows->value &&
         value.rows->spread == condition.rows->spread &&
         value.rows->physical == condition.rows->physical &&
         value.rows->axes == condition.rows->axes;
}

/// The number of a formula that does not enlarge the shape of rows.
static std::optional<double> numberBeside(Evaluation &evaluation, const Value &number,
                                          const Rows &rows) {
  const std::vector<Expr> shape = evaluation.shapeOf(rows);
  if (!number.symbolic) {
    return std::nullopt;
  }
  const auto both = broadcastShapes(evaluation, shape, number.symbolic->shape);
  return both.ok() && *both == shape ? evaluation.uniformNumberOf(number) : std::nullopt;
}

/// Chooses between formulas, as a formula.
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

/// Scores where a mask says so, elsewhere a number that hides them.
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
  // Only such a number is as good as added: any other one would replace the scores.
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

static Status where(Evaluation &evaluation, Call &call) {
  const Value &condition = *call.inputs[0], &then = *call.inputs[1], &otherwise = *call.inputs[2];
  if (isNanOf(condition, otherwise) && numberBeside(evaluation, then, *otherwise.rows) == 0) {
    // fuse-attention leaves the guard of weights out, whose rows see a key.
    Rows rows = *otherwise.rows;
    rows.value =
        evaluation.make<transformer::ActivateOp>(transformer::Activation::NanToZero, rows.value);
    call.give(std::move(rows));
    return {};
  }
  if (!condition.symbolic) {
    return evaluation.failure(StatusCode::Unsupported,
                              "chooses by activations, expected a mask, or 0 where a value is NaN");
  }
  if (then.symbolic && otherwise.symbolic && !isTable(evaluation, *then.symbolic) &&
      !isTable(evaluation, *otherwise.symbolic)) {
    HEDDLE_ASSIGN(Symbolic result,
                  chosen(evaluation, *condition.symbolic, *then.symbolic, *otherwise.symbolic));
    call.give(std::move(result));
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
