// SPDX-License-Identifier: Apache-2.0
///
/// Elementwise operators: arithmetic, comparisons, functions, Cast.
#include "frontend/Onnx/Operators.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace heddle::onnx {

bool isTable(Evaluation &evaluation, const Symbolic &value) {
  return evaluation.expressions.readsTable(value.body) && !evaluation.isOfPairs(value);
}

Result<std::vector<Expr>> broadcastShapes(Evaluation &evaluation, std::vector<Expr> left,
                                          std::vector<Expr> right) {
  const size_t rank = std::max(left.size(), right.size());
  left.insert(left.begin(), rank - left.size(), evaluation.integer(1));
  right.insert(right.begin(), rank - right.size(), evaluation.integer(1));
  for (size_t axis = 0; axis < rank; ++axis) {
    if (left[axis] == right[axis] || right[axis]->isConstant(1)) {
      continue;
    }
    if (!left[axis]->isConstant(1)) {
      return evaluation.unequal(
          left[axis], right[axis],
          fmt::format("the sizes of axis {} are {} and {}, expected the same or 1", axis,
                      evaluation.expressions.print(left[axis]),
                      evaluation.expressions.print(right[axis])));
    }
    left[axis] = right[axis];
  }
  return left;
}

/// Applies an operator to two formulas.
static Expr combine(Expressions &expressions, Formula formula, Expr left, Expr right) {
  switch (formula) {
  case Formula::Add:
    return expressions.add(left, right);
  case Formula::Subtract:
    return expressions.subtract(left, right);
  case Formula::Multiply:
    return expressions.multiply(left, right);
  case Formula::Divide:
    return expressions.divide(left, right);
  case Formula::Modulo:
    return expressions.modulo(left, right);
  case Formula::Least:
    return expressions.least(left, right);
  case Formula::Largest:
    return expressions.largest(left, right);
  case Formula::Equal:
    return expressions.equal(left, right);
  case Formula::Less:
    return expressions.less(left, right);
  case Formula::And:
    return expressions.conjunction(left, right);
  case Formula::Or:
    return expressions.disjunction(left, right);
  default:
    return expressions.apply(formula, {left, right});
  }
}

static bool isComparison(Formula formula) {
  return formula == Formula::Equal || formula == Formula::Less || formula == Formula::And ||
         formula == Formula::Or;
}

static Result<Value> combineFormulas(Evaluation &evaluation, Formula formula, const Symbolic &left,
                                     const Symbolic &right) {
  Symbolic result;
  HEDDLE_ASSIGN(result.shape, broadcastShapes(evaluation, left.shape, right.shape));
  evaluation.expressions.within(result.shape);
  const size_t rank = result.shape.size();
  result.body = combine(evaluation.expressions, formula, evaluation.broadcast(left, rank),
                        evaluation.broadcast(right, rank));
  result.element = isComparison(formula) ? Element::Boolean : left.element;
  return Value{std::move(result), std::nullopt};
}

/// Combines each element of rows with a number, as part of the rows' function.
static Rows withNumber(Evaluation &evaluation, Formula formula, Rows rows, double number,
                       bool isLeft) {
  Expressions &expressions = evaluation.expressions;
  const Expr mine = rows.function != nullptr ? rows.function : expressions.operand();
  const Expr other = expressions.real(number);
  rows.function = combine(expressions, formula, isLeft ? other : mine, isLeft ? mine : other);
  return rows;
}

/// Merges a bias into a product that has no other use: ONNX has no product of rank 3 with a bias.
/// Returns false if the rows are not such a product.
static bool joinBias(Evaluation &evaluation, Rows &rows, const Parameter &vector) {
  auto linear = rows.value.getDefiningOp<transformer::LinearOp>();
  if (!linear || linear.getBiasAttr() || rows.physical != std::vector<Atoms>{rows.axes.back()}) {
    return false;
  }
  rows.value = evaluation.make<transformer::LinearOp>(
      linear.getType(), linear.getInput(), linear.getWeightAttr(),
      FlatSymbolRefAttr::get(evaluation.getContext(), vector.symbol()));
  linear.erase();
  return true;
}

/// Arranges rows so that the last axis of the graph, which a weight applies to, is the last axis of
/// the value.
static Result<Rows> withLastAxis(Evaluation &evaluation, Rows rows) {
  const Atoms width = rows.axes.back();
  Atoms others;
  for (const Atom &atom : rows.order()) {
    if (std::find(width.begin(), width.end(), atom) == width.end()) {
      others.push_back(atom);
    }
  }
  return evaluation.arranged(std::move(rows), others.empty() ? std::vector<Atoms>{width}
                                                             : std::vector<Atoms>{others, width});
}

/// Combines rows with a weight; `isLeft` means that the weight is the left operand.
static Result<mlir::Value> combineWeight(Evaluation &evaluation, Formula formula, mlir::Value rows,
                                         mlir::Value weight, bool isLeft) {
  const auto combined = [&](transformer::Combination function) {
    return mlir::Value(evaluation.make<transformer::CombineOp>(function, rows, weight));
  };
  switch (formula) {
  case Formula::Subtract:
    if (!isLeft) {
      return combined(transformer::Combination::Subtract);
    }
    rows = evaluation.make<transformer::ScaleOp>(rows, evaluation.f32(-1));
    return mlir::Value(evaluation.make<transformer::AddOp>(rows, weight));
  case Formula::Add:
    return mlir::Value(evaluation.make<transformer::AddOp>(rows, weight));
  case Formula::Divide:
    if (!isLeft) {
      return combined(transformer::Combination::Divide);
    }
    rows = evaluation.make<transformer::ActivateOp>(transformer::Activation::Reciprocal, rows);
    return mlir::Value(evaluation.make<transformer::MultiplyOp>(rows, weight));
  case Formula::Multiply:
    return mlir::Value(evaluation.make<transformer::MultiplyOp>(rows, weight));
  case Formula::Least:
    return combined(transformer::Combination::Minimum);
  case Formula::Largest:
    return combined(transformer::Combination::Maximum);
  case Formula::Power:
    return evaluation.failure(StatusCode::Unsupported,
                              "raises rows to powers that differ, expected one number: what they "
                              "are of negative numbers depends on it");
  default:
    return evaluation.failure(StatusCode::Unsupported,
                              "combines rows, expected a sum, a difference, a product, a quotient, "
                              "or the smaller or larger of two");
  }
}

/// Combines rows with a weight [width].
static Result<Rows> withVector(Evaluation &evaluation, Formula formula, Rows rows,
                               const Parameter &vector, bool isLeft, bool fromNode) {
  HEDDLE_ASSIGN(rows, evaluation.written(std::move(rows)));
  const Atoms width = rows.axes.empty() ? Atoms() : rows.axes.back();
  if (widthOf(width) != vector.shape()[0] || rows.hasKeys()) {
    return evaluation.failure(StatusCode::InvalidArgument,
                              fmt::format("the weight {} has {} elements, expected {}",
                                          quote(vector.symbol()), vector.shape()[0],
                                          widthOf(width)));
  }
  if (formula == Formula::Add && fromNode && joinBias(evaluation, rows, vector)) {
    return rows;
  }
  if (rows.physical != std::vector<Atoms>{width}) {
    HEDDLE_ASSIGN(rows, withLastAxis(evaluation, std::move(rows)));
  }
  HEDDLE_ASSIGN(rows.value,
                combineWeight(evaluation, formula, rows.value, evaluation.weight(vector), isLeft));
  return rows;
}

/// Combines rows with one number per row, such as their mean.
static Result<Rows> withColumn(Evaluation &evaluation, Formula formula, Rows rows, Rows column,
                               bool isLeft) {
  std::vector<bool> areColumns(rows.axes.size(), false);
  for (size_t axis = 0; axis < rows.axes.size(); ++axis) {
    areColumns[axis] = column.axes[axis].empty();
  }
  HEDDLE_ASSIGN(rows, withColumns(evaluation, std::move(rows), areColumns));
  HEDDLE_ASSIGN(column, withColumns(evaluation, std::move(column), areColumns));
  for (size_t axis = 0; axis < rows.axes.size(); ++axis) {
    rows.axes[axis] = rows.axes[axis].empty() ? column.axes[axis] : rows.axes[axis];
  }
  // The program can subtract one number per row but not add it.
  if (formula == Formula::Add || (formula == Formula::Subtract && isLeft)) {
    mlir::Value &negated = formula == Formula::Add ? column.value : rows.value;
    negated = evaluation.make<transformer::ScaleOp>(negated, evaluation.f32(-1));
    if (formula == Formula::Subtract) {
      column.value = evaluation.make<transformer::ScaleOp>(column.value, evaluation.f32(-1));
    }
    formula = Formula::Subtract;
    isLeft = false;
  }
  HEDDLE_ASSIGN(rows.value, combineWeight(evaluation, formula, rows.value, column.value, isLeft));
  return rows;
}

static bool hasInner(const Atoms &atoms) {
  return std::any_of(atoms.begin(), atoms.end(),
                     [](const Atom &atom) { return atom.kind == Atom::Kind::Inner; });
}

/// Returns whether `column` has one number for each part of `rows`, whose last axes it lacks.
static bool isColumnOf(const Rows &column, const Rows &rows) {
  bool isRepeated = false;
  for (size_t axis = 0; axis < rows.axes.size(); ++axis) {
    const bool lacks = column.axes[axis].empty() && hasInner(rows.axes[axis]);
    if (isRepeated && !lacks && hasInner(rows.axes[axis])) {
      return false;
    }
    isRepeated |= lacks;
    if (!lacks && hasInner(rows.axes[axis]) && column.axes[axis] != rows.axes[axis]) {
      return false;
    }
  }
  return isRepeated && !column.hasKeys() && !rows.hasKeys();
}

/// Brings both operands to the same layout and repeats the right one over the parts that it lacks,
/// such as heads.
static Status meet(Evaluation &evaluation, Rows &left, Rows &right) {
  HEDDLE_ASSIGN(left, evaluation.written(std::move(left)));
  Atoms lacking;
  for (size_t axis = 0; axis < left.axes.size(); ++axis) {
    for (const Atom &atom : left.axes[axis]) {
      if (right.axes[axis].empty() && atom.kind == Atom::Kind::Inner) {
        lacking.push_back(atom);
      }
    }
    if (left.axes[axis].empty()) {
      left.axes[axis] = right.axes[axis];
    }
  }
  if (!lacking.empty()) {
    if (right.order().empty() || left.order() == lacking) {
      return evaluation.failure(StatusCode::Unsupported,
                                "repeats a value along a part of the width, expected rows as wide");
    }
    HEDDLE_ASSIGN(left, evaluation.spread(std::move(left), lacking));
    HEDDLE_ASSIGN(right, evaluation.arranged(std::move(right), left.physical));
    right.value = evaluation.make<transformer::RepeatOp>(right.value, evaluation.choices(lacking));
    right.spread = lacking;
    return {};
  }
  if (!left.spread.empty() && right.order() == left.order()) {
    HEDDLE_ASSIGN(right, evaluation.spread(std::move(right), left.spread));
  }
  if (left.spread != right.spread || left.physical != right.physical) {
    const std::vector<Atoms> form =
        left.spread.empty() ? left.physical : std::vector<Atoms>{left.order()};
    HEDDLE_ASSIGN(left, evaluation.arranged(std::move(left), form));
    HEDDLE_ASSIGN(right, evaluation.arranged(std::move(right), left.physical));
  }
  HEDDLE_ASSIGN(right, evaluation.written(std::move(right)));
  return {};
}

/// Combines rows of the same layout; a repeated operand is on the right.
static Result<Rows> combineEqual(Evaluation &evaluation, Formula formula, Rows left, Rows right) {
  bool isLeft = false;
  if (formula == Formula::Subtract) {
    right.function = evaluation.expressions.multiply(
        right.function != nullptr ? right.function : evaluation.expressions.operand(),
        evaluation.expressions.real(-1));
    formula = Formula::Add;
  }
  if (left.order().size() < right.order().size()) {
    std::swap(left, right);
    isLeft = true;
  }
  HEDDLE_TRY(meet(evaluation, left, right));
  HEDDLE_ASSIGN(left.value, combineWeight(evaluation, formula, left.value, right.value, isLeft));
  return left;
}

/// Returns which keys are hidden in a combination of scores or weights.
static Result<Hiding> combinedHiding(Evaluation &evaluation, Formula formula, const Hiding &left,
                                     const Hiding &right) {
  const Hiding both{left.padding || right.padding, left.later || right.later,
                    left.areWeights || right.areWeights};
  if (!both.isAny()) {
    return both;
  }
  // A large negative score stays one when another is added; a weight of 0 stays 0 when multiplied.
  const bool areScores = !both.areWeights && formula == Formula::Add;
  const bool areWeights = (formula == Formula::Multiply && (left.areWeights || !left.isAny()) &&
                           (right.areWeights || !right.isAny())) ||
                          (formula == Formula::Divide && left.areWeights && !right.isAny()) ||
                          (formula != Formula::Divide && left == right);
  if (!areScores && !(both.areWeights && areWeights)) {
    return evaluation.failure(StatusCode::Unsupported,
                              "combines scores or weights of which only one hides keys, expected "
                              "a softmax first");
  }
  return both;
}

static Result<Rows> combineRows(Evaluation &evaluation, Formula formula, Rows left, Rows right) {
  HEDDLE_TRY(
      broadcastShapes(evaluation, evaluation.shapeOf(left), evaluation.shapeOf(right)).status());
  HEDDLE_TRY(evaluation.align(left, right));
  if (left.pooled != right.pooled || left.space != right.space) {
    return evaluation.failure(StatusCode::Unsupported,
                              "combines rows with one row for each sequence, expected one kind");
  }
  HEDDLE_ASSIGN(const Hiding hiding,
                combinedHiding(evaluation, formula, left.hiding, right.hiding));
  Expressions &expressions = evaluation.expressions;
  if (left.value == right.value && left.hiding == right.hiding && left.spread == right.spread &&
      left.physical == right.physical && left.axes == right.axes) {
    const auto functionOf = [&](const Rows &rows) {
      return rows.function != nullptr ? rows.function : expressions.operand();
    };
    left.function = combine(expressions, formula, functionOf(left), functionOf(right));
    return left;
  }
  if (isColumnOf(right, left)) {
    return withColumn(evaluation, formula, std::move(left), std::move(right), false);
  }
  if (isColumnOf(left, right)) {
    return withColumn(evaluation, formula, std::move(right), std::move(left), true);
  }
  if (evaluation.isWhole()) {
    HEDDLE_TRY(alignWhole(evaluation, left, right));
    HEDDLE_ASSIGN(left.value, combineWeight(evaluation, formula, left.value, right.value, false));
    return left;
  }
  HEDDLE_ASSIGN(Rows result, combineEqual(evaluation, formula, std::move(left), std::move(right)));
  result.hiding = hiding;
  return result;
}

Result<Rows> withMask(Evaluation &evaluation, Rows scores, const Symbolic &mask) {
  HEDDLE_ASSIGN(scores, evaluation.written(std::move(scores)));
  const std::vector<Expr> shape = evaluation.shapeOf(scores);
  HEDDLE_ASSIGN(const std::vector<Expr> both, broadcastShapes(evaluation, shape, mask.shape));
  if (both != shape) {
    return evaluation.failure(StatusCode::Unsupported, "the mask has more axes than the scores");
  }
  evaluation.expressions.within(shape);
  return evaluation.biased(std::move(scores), evaluation.broadcast(mask, shape.size()));
}

/// Rejects a constant that would require rows to be broadcast.
static Status checkNotLarger(Evaluation &evaluation, const Rows &rows, const Symbolic &constant) {
  const std::vector<Expr> shape = evaluation.shapeOf(rows);
  HEDDLE_ASSIGN(const auto both, broadcastShapes(evaluation, shape, constant.shape));
  return both == shape
             ? Status()
             : evaluation.failure(StatusCode::Unsupported,
                                  "a constant has more axes than the rows, or larger ones");
}

/// Returns whether a constant is a vector of the file that spans the last axis of rows.
static bool isLastVector(Evaluation &evaluation, const Rows &rows, const Symbolic &constant) {
  return !rows.axes.empty() && checkNotLarger(evaluation, rows, constant).ok() &&
         evaluation.shapeOf(rows).back() == constant.shape.back() &&
         evaluation.vectorParameter(constant).has_value();
}

/// Combines a row that holds all elements of a tensor with a constant of its shape.
static Result<Rows> combineWhole(Evaluation &evaluation, Formula formula, Rows rows,
                                 const Value &other, bool isLeft) {
  const std::vector<Expr> shape = evaluation.shapeOf(rows);
  HEDDLE_ASSIGN(const auto both, broadcastShapes(evaluation, shape, other.symbolic->shape));
  if (both != shape) {
    HEDDLE_ASSIGN(Rows constant, evaluation.rowsOf(other));
    return isLeft ? combineRows(evaluation, formula, std::move(constant), std::move(rows))
                  : combineRows(evaluation, formula, std::move(rows), std::move(constant));
  }
  HEDDLE_ASSIGN(const Parameter vector, evaluation.flatParameter(*other.symbolic, shape));
  HEDDLE_ASSIGN(rows, evaluation.inOrder(std::move(rows)));
  HEDDLE_ASSIGN(rows.value,
                combineWeight(evaluation, formula, rows.value, evaluation.weight(vector), isLeft));
  return rows;
}

/// Combines rows, named `name` in the graph, with a formula.
static Result<Rows> combineMixed(Evaluation &evaluation, Formula formula, Rows rows,
                                 const Value &other, bool isLeft, const std::string &name) {
  const std::optional<double> number = evaluation.uniformNumberOf(other);
  if (evaluation.isWhole() && !(number && checkNotLarger(evaluation, rows, *other.symbolic).ok()) &&
      !isLastVector(evaluation, rows, *other.symbolic)) {
    return combineWhole(evaluation, formula, std::move(rows), other, isLeft);
  }
  if (number) {
    HEDDLE_TRY(checkNotLarger(evaluation, rows, *other.symbolic));
    return withNumber(evaluation, formula, std::move(rows), *number, isLeft);
  }
  if (!isTable(evaluation, *other.symbolic)) {
    if (formula == Formula::Add && rows.hasKeys()) {
      return withMask(evaluation, std::move(rows), *other.symbolic);
    }
    return evaluation.failure(StatusCode::Unsupported,
                              "combines rows with sizes, indices or masks, expected a mask to be "
                              "added to scores");
  }
  if (const std::optional<Parameter> vector = evaluation.vectorParameter(*other.symbolic)) {
    HEDDLE_TRY(checkNotLarger(evaluation, rows, *other.symbolic));
    const bool isOwn = rows.maker == name && evaluation.readers(name) == 1;
    return withVector(evaluation, formula, std::move(rows), *vector, isLeft, isOwn);
  }
  HEDDLE_ASSIGN(Rows looked, evaluation.rowsOf(other));
  return isLeft ? combineRows(evaluation, formula, std::move(looked), std::move(rows))
                : combineRows(evaluation, formula, std::move(rows), std::move(looked));
}

/// Combines two values. Formulas that are data become rows first, so that the other operand's
/// layout is known. The names are those of the operands in the graph.
static Result<Value> combineValues(Evaluation &evaluation, Formula formula, const Value &left,
                                   const Value &right, const std::string &leftName = {},
                                   const std::string &rightName = {}) {
  const auto isRows = [&](const Value &value) {
    return value.rows ||
           (isTable(evaluation, *value.symbolic) && !evaluation.vectorParameter(*value.symbolic));
  };
  if ((!isRows(left) && !isRows(right)) ||
      (evaluation.isClosed(left) && evaluation.isClosed(right))) {
    return combineFormulas(evaluation, formula, *left.symbolic, *right.symbolic);
  }
  if (isRows(left) && isRows(right)) {
    HEDDLE_ASSIGN(Rows a, evaluation.rowsOf(left));
    HEDDLE_ASSIGN(Rows b, evaluation.rowsOf(right));
    HEDDLE_ASSIGN(Rows result, combineRows(evaluation, formula, std::move(a), std::move(b)));
    return Value{std::nullopt, std::move(result)};
  }
  const bool isLeft = isRows(right);
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(isLeft ? right : left));
  HEDDLE_ASSIGN(Rows result,
                combineMixed(evaluation, formula, std::move(rows), isLeft ? left : right, isLeft,
                             isLeft ? rightName : leftName));
  return Value{std::nullopt, std::move(result)};
}

Result<Value> combined(Evaluation &evaluation, Formula formula, const Value &left,
                       const Value &right) {
  return combineValues(evaluation, formula, left, right);
}

Result<Rows> combinedRows(Evaluation &evaluation, Formula formula, const Value &left,
                          const Value &right) {
  HEDDLE_ASSIGN(const Value result, combineValues(evaluation, formula, left, right));
  return evaluation.rowsOf(result);
}

Result<Rows> withBias(Evaluation &evaluation, Rows rows, const Value &bias) {
  const std::optional<Parameter> vector =
      bias.symbolic ? evaluation.vectorParameter(*bias.symbolic) : std::nullopt;
  if (!vector) {
    return evaluation.failure(StatusCode::Unsupported, "has a bias that is no vector of the file");
  }
  return withVector(evaluation, Formula::Add, std::move(rows), *vector, false, true);
}

template <Formula formula> static Status binary(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(Value result, combineValues(evaluation, formula, *call.inputs[0], *call.inputs[1],
                                            *call.node.inputs[0], *call.node.inputs[1]));
  call.results.push_back(std::move(result));
  return {};
}

/// Combines any number of operands from left to right.
template <Formula formula> static Status variadic(Evaluation &evaluation, Call &call) {
  Value result = *call.inputs[0];
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    HEDDLE_ASSIGN(result, combineValues(evaluation, formula, result, *call.inputs[i],
                                        i == 1 ? *call.node.inputs[0] : std::string(),
                                        *call.node.inputs[i]));
  }
  call.results.push_back(std::move(result));
  return {};
}

/// Compares rows with a number. The result is an elementwise function that only Where can read.
static Result<Rows> compared(Evaluation &evaluation, const Value &left, const Value &right,
                             bool negates) {
  const Value &number = left.rows ? right : left;
  Rows rows = left.rows ? *left.rows : *right.rows;
  const std::optional<double> other = evaluation.uniformNumberOf(number);
  if (!other || rows.hasKeys() || !checkNotLarger(evaluation, rows, *number.symbolic).ok()) {
    return evaluation.failure(StatusCode::Unsupported,
                              "compares activations, expected integers, or rows and one number");
  }
  Expressions &expressions = evaluation.expressions;
  rows = withNumber(evaluation, Formula::Less, std::move(rows), *other, !left.rows);
  rows.function = negates ? expressions.negation(rows.function) : rows.function;
  return rows;
}

/// Emits a comparison with less(), with optional exchange of the operands and negation.
template <bool swaps, bool negates> static Status ordered(Evaluation &evaluation, Call &call) {
  const Value &left = *call.inputs[swaps ? 1 : 0], &right = *call.inputs[swaps ? 0 : 1];
  if (!left.symbolic || !right.symbolic) {
    HEDDLE_ASSIGN(Rows rows, compared(evaluation, left, right, negates));
    call.give(std::move(rows));
    return {};
  }
  HEDDLE_ASSIGN(Value result,
                combineFormulas(evaluation, Formula::Less, *left.symbolic, *right.symbolic));
  if (negates) {
    result.symbolic->body = evaluation.expressions.negation(result.symbolic->body);
  }
  call.results.push_back(std::move(result));
  return {};
}

template <Formula formula> static Status unary(Evaluation &evaluation, Call &call) {
  Expressions &expressions = evaluation.expressions;
  const Value &input = *call.inputs[0];
  if (input.symbolic &&
      (!expressions.readsTable(input.symbolic->body) || evaluation.isClosed(input))) {
    Symbolic result = *input.symbolic;
    expressions.within(result.shape);
    result.body = formula == Formula::Not ? expressions.negation(result.body)
                                          : expressions.apply(formula, {result.body});
    call.give(std::move(result));
    return {};
  }
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(input));
  const Expr mine = rows.function != nullptr ? rows.function : expressions.operand();
  rows.function = expressions.apply(formula, {mine});
  call.give(std::move(rows));
  return {};
}

static Status reciprocal(Evaluation &evaluation, Call &call) {
  Symbolic one{Element::Real, {}, evaluation.expressions.real(1)};
  HEDDLE_ASSIGN(Value result, combineValues(evaluation, Formula::Divide,
                                            Value{std::move(one), std::nullopt}, *call.inputs[0]));
  call.results.push_back(std::move(result));
  return {};
}

/// An operator with two operands.
static OperatorInfo binaryInfo(std::string_view type, int64_t since, Operator evaluate) {
  return {"", type, since, 2, 2, evaluate};
}

std::vector<OperatorInfo> scalarOperators() {
  constexpr size_t any = SIZE_MAX;
  return {
      binaryInfo("Add", 7, binary<Formula::Add>),
      binaryInfo("Sub", 7, binary<Formula::Subtract>),
      binaryInfo("Mul", 7, binary<Formula::Multiply>),
      binaryInfo("Div", 7, binary<Formula::Divide>),
      binaryInfo("Pow", 7, binary<Formula::Power>),
      binaryInfo("And", 7, binary<Formula::And>),
      binaryInfo("Or", 7, binary<Formula::Or>),
      binaryInfo("Equal", 7, binary<Formula::Equal>),
      binaryInfo("Less", 7, ordered<false, false>),
      binaryInfo("Greater", 7, ordered<true, false>),
      binaryInfo("LessOrEqual", 12, ordered<true, true>),
      binaryInfo("GreaterOrEqual", 12, ordered<false, true>),
      {"", "Min", 8, 1, any, variadic<Formula::Least>},
      {"", "Max", 8, 1, any, variadic<Formula::Largest>},
      {"", "Sum", 8, 1, any, variadic<Formula::Add>},
      {"", "Not", 1, 1, 1, unary<Formula::Not>},
      {"", "Neg", 6, 1, 1, unary<Formula::Negate>},
      {"", "Abs", 6, 1, 1, unary<Formula::Absolute>},
      {"", "Sqrt", 6, 1, 1, unary<Formula::Root>},
      {"", "Exp", 6, 1, 1, unary<Formula::Exponential>},
      {"", "Log", 6, 1, 1, unary<Formula::Logarithm>},
      {"", "Erf", 9, 1, 1, unary<Formula::Erf>},
      {"", "Tanh", 6, 1, 1, unary<Formula::Tanh>},
      {"", "Sigmoid", 6, 1, 1, unary<Formula::Sigmoid>},
      {"", "Relu", 6, 1, 1, unary<Formula::Relu>},
      {"", "Sin", 7, 1, 1, unary<Formula::Sine>},
      {"", "Cos", 7, 1, 1, unary<Formula::Cosine>},
      {"", "Floor", 6, 1, 1, unary<Formula::Floor>},
      {"", "Reciprocal", 6, 1, 1, reciprocal},
  };
}

} // namespace heddle::onnx
