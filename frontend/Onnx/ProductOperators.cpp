// SPDX-License-Identifier: Apache-2.0
///
/// Matrix products, softmax and the other parts of attention.
#include "frontend/Onnx/Operators.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace heddle::onnx {

/// Checks that the contracted axes have the same size.
static Status checkSizes(Evaluation &evaluation, Expr left, Expr right) {
  return left == right
             ? Status()
             : evaluation.unequal(left, right,
                                  fmt::format("multiplies an axis of {} with one of {}, expected "
                                              "equal sizes",
                                              evaluation.expressions.print(left),
                                              evaluation.expressions.print(right)));
}

Result<Rows> linear(Evaluation &evaluation, Rows rows, const Symbolic &weight, bool isTurned) {
  const std::vector<Expr> shape = evaluation.shapeOf(rows);
  if (shape.empty() || weight.shape.size() != 2) {
    return evaluation.failure(StatusCode::Unsupported,
                              "multiplies rows with a constant that is no matrix");
  }
  HEDDLE_TRY(checkSizes(evaluation, shape.back(), weight.shape[isTurned ? 1 : 0]));
  const auto stored = evaluation.parameterOf(weight);
  if (!stored) {
    return evaluation.failure(
        StatusCode::Unsupported,
        "multiplies rows with a matrix that is computed, expected one of the file");
  }
  // Products of the program take weights [outputs, inputs].
  const bool isStoredTurned = isTurned != stored->transposed;
  const Parameter matrix =
      isStoredTurned
          ? stored->parameter
          : evaluation.root().transposed(fmt::format("{}.transposed", stored->parameter.symbol()),
                                         stored->parameter);
  return linear(evaluation, std::move(rows), matrix);
}

Result<Rows> linear(Evaluation &evaluation, Rows rows, const Parameter &matrix) {
  const Atoms width = rows.axes.back();
  if (!isInner(width) || rows.hasKeys()) {
    return evaluation.failure(StatusCode::Unsupported, "multiplies scores with a constant");
  }
  std::vector<bool> areColumns(rows.axes.size(), false);
  areColumns.back() = true;
  HEDDLE_ASSIGN(rows, withColumns(evaluation, std::move(rows), areColumns));
  const int64_t outputs = matrix.shape()[0];
  rows.value = evaluation.make<transformer::LinearOp>(
      evaluation.tensorType({ShapedType::kDynamic, outputs}), rows.value,
      FlatSymbolRefAttr::get(evaluation.getContext(), matrix.symbol()), FlatSymbolRefAttr());
  const Atom whole = evaluation.newAtom(outputs);
  rows.axes.back() = {whole};
  rows.physical = {{whole}};
  rows.maker = evaluation.present().outputs.front();
  return rows;
}

/// Returns the inner atoms of all axes but the last two, that is the heads.
static Atoms headsOf(const Rows &rows) {
  Atoms heads;
  for (size_t axis = 0; axis + 2 < rows.axes.size(); ++axis) {
    for (const Atom &atom : rows.axes[axis]) {
      if (atom.kind == Atom::Kind::Inner) {
        heads.push_back(atom);
      }
    }
  }
  return heads;
}

static bool hasAtom(const Rows &rows, size_t fromEnd, Atom::Kind kind) {
  return isAxisOf(rows.axes[rows.axes.size() - fromEnd], kind);
}

/// Multiplies queries [.., rows, d] by keys [.., d, rows].
static Result<Rows> scores(Evaluation &evaluation, Rows query, Rows key) {
  const Atoms size = query.axes.back(), heads = headsOf(query);
  HEDDLE_ASSIGN(query, evaluation.arranged(std::move(query), {heads, size}));
  // The keys have the same atoms as the queries, with axes in another order.
  HEDDLE_ASSIGN(key, evaluation.arranged(std::move(key), {heads, size}));
  const Atom seen = key.axes.back().front();
  const mlir::Value segments[] = {evaluation.segmentsOf(query), evaluation.segmentsOf(seen)};
  Rows result;
  result.space = query.space;
  result.value = evaluation.make<transformer::ContractOp>(
      evaluation.tensorType({ShapedType::kDynamic, widthOf(heads), ShapedType::kDynamic}),
      "thd,khd->thk", query.value, key.value, ValueRange(segments));
  const Atom keys{Atom::Kind::Key, seen.size, 0};
  result.axes = query.axes;
  result.axes.back() = {keys};
  result.physical = {heads, {keys}};
  return result;
}

/// Multiplies weights [.., rows, keys] by values [.., rows, d].
static Result<Rows> mixed(Evaluation &evaluation, Rows weights, Rows value) {
  HEDDLE_ASSIGN(weights, evaluation.written(std::move(weights)));
  const Atoms heads = weights.physical.front(), size = value.axes.back();
  HEDDLE_ASSIGN(value, evaluation.arranged(std::move(value), {heads, size}));
  const mlir::Value segments[] = {evaluation.segmentsOf(weights),
                                  evaluation.segmentsOf(value.axes[value.axes.size() - 2].front())};
  if (weights.hiding.isAny() && !weights.hiding.areWeights) {
    return evaluation.failure(StatusCode::Unsupported,
                              "mixes values by scores whose keys are hidden, expected their "
                              "softmax");
  }
  evaluation.noteMixing(weights, weights.axes.back().front());
  Rows result;
  result.space = weights.space;
  result.value = evaluation.make<transformer::ContractOp>(
      evaluation.tensorType({ShapedType::kDynamic, widthOf(heads), widthOf(size)}), "thk,khd->thd",
      weights.value, value.value, ValueRange(segments));
  result.axes = weights.axes;
  result.axes.back() = size;
  result.physical = {heads, size};
  return result;
}

/// Replaces the atoms of the right operand's batch and heads with those of the left one; with
/// `sharesSize`, those of the head size, too.
static Status alignHeads(Evaluation &evaluation, Rows &left, Rows &right, bool sharesSize) {
  // Only the common axes: all but the last two and, for scores, the head size.
  Rows a = left, b = right;
  const auto keep = [](Rows &rows, bool last) {
    Atoms size = last ? rows.axes[rows.axes.size() - 1] : rows.axes[rows.axes.size() - 2];
    rows.axes.resize(rows.axes.size() - 2);
    return size;
  };
  const Atoms leftSize = keep(a, true), rightSize = keep(b, false);
  if (sharesSize) {
    a.axes.push_back(leftSize);
    b.axes.push_back(rightSize);
  }
  HEDDLE_TRY(evaluation.align(a, b));
  const auto restore = [&](Rows &whole, Rows &part, bool last) {
    whole.spread = part.spread;
    whole.physical = part.physical;
    if (sharesSize) {
      whole.axes[whole.axes.size() - (last ? 1 : 2)] = part.axes.back();
      part.axes.pop_back();
    }
    std::copy(part.axes.begin(), part.axes.end(), whole.axes.begin());
  };
  restore(left, a, true);
  restore(right, b, false);
  return {};
}

static Result<Rows> productOf(Evaluation &evaluation, Rows left, Rows right);

/// Returns whether the scores of the current node are normalized along the rows of its left
/// operand, which are the keys then.
static bool areKeysLeft(const Evaluation &evaluation, size_t rank) {
  static constexpr size_t mostNodes = 64;
  const std::vector<GraphNode> &nodes = evaluation.getGraph().nodes;
  std::string name = evaluation.present().outputs.front();
  auto place = static_cast<int64_t>(rank) - 2;
  for (size_t count = 0; count < mostNodes; ++count) {
    const auto reader = std::find_if(nodes.begin(), nodes.end(), [&](const GraphNode &node) {
      return node.type != "Shape" &&
             std::find(node.inputs.begin(), node.inputs.end(), name) != node.inputs.end();
    });
    if (reader == nodes.end() || reader->outputs.empty()) {
      return false;
    }
    if (reader->type == "Softmax") {
      const OnnxAttribute *const axis = reader->find("axis");
      const int64_t given = axis == nullptr ? -1 : axis->integer;
      return reader->opset >= 13 &&
             (given < 0 ? given + static_cast<int64_t>(rank) : given) == place;
    }
    if (reader->type == "MatMul" || reader->type == "Reshape") {
      return false;
    }
    if (const OnnxAttribute *const order = reader->find("perm"); reader->type == "Transpose") {
      if (order == nullptr || order->integers.size() != rank) {
        return false;
      }
      place = std::find(order->integers.begin(), order->integers.end(), place) -
              order->integers.begin();
    }
    name = reader->outputs.front();
  }
  return false;
}

static void turn(Rows &rows) { std::swap(rows.axes[rows.axes.size() - 2], rows.axes.back()); }

Result<Rows> product(Evaluation &evaluation, Rows left, Rows right) {
  const std::vector<Expr> leftShape = evaluation.shapeOf(left),
                          rightShape = evaluation.shapeOf(right);
  if (leftShape.size() < 2 || leftShape.size() != rightShape.size() || left.pooled ||
      right.pooled) {
    return evaluation.failure(StatusCode::Unsupported,
                              "multiplies activations that are not rows of one form");
  }
  HEDDLE_TRY(checkSizes(evaluation, leftShape.back(), rightShape[rightShape.size() - 2]));
  if (evaluation.present().type == "MatMul" && hasAtom(left, 2, Atom::Kind::Row) &&
      hasAtom(right, 1, Atom::Kind::Row) && areKeysLeft(evaluation, leftShape.size())) {
    // Keys times queries: the transposed scores.
    turn(left);
    turn(right);
    HEDDLE_ASSIGN(Rows result, productOf(evaluation, std::move(right), std::move(left)));
    turn(result);
    return result;
  }
  return productOf(evaluation, std::move(left), std::move(right));
}

static Result<Rows> productOf(Evaluation &evaluation, Rows left, Rows right) {
  evaluation.enterRowsOf(left);
  // Caches are read as they are, so a constant factor of all cached keys is applied to the scores.
  const std::optional<double> factor =
      hasAtom(right, 1, Atom::Kind::Row) && evaluation.isKept(right)
          ? evaluation.linearFactor(right)
          : std::nullopt;
  right.function = factor ? nullptr : right.function;
  HEDDLE_ASSIGN(right, evaluation.kept(std::move(right), left));
  HEDDLE_ASSIGN(left, evaluation.written(std::move(left)));
  HEDDLE_ASSIGN(right, evaluation.written(std::move(right)));
  const bool isQuery = hasAtom(left, 2, Atom::Kind::Row) &&
                       evaluation.isOfRun(left.axes[left.axes.size() - 2].front());
  const bool areScores = isQuery && hasAtom(right, 1, Atom::Kind::Row) &&
                         isInner(left.axes.back()) && !left.hasKeys() && !right.hasKeys();
  const bool areValues = isQuery && hasAtom(left, 1, Atom::Kind::Key) &&
                         hasAtom(right, 2, Atom::Kind::Row) && isInner(right.axes.back()) &&
                         !right.hasKeys();
  if (!areScores && !areValues) {
    return evaluation.failure(
        StatusCode::Unsupported,
        "multiplies activations, expected queries and keys, or weights and values");
  }
  HEDDLE_TRY(alignHeads(evaluation, left, right, areScores));
  if (!areScores) {
    return mixed(evaluation, std::move(left), std::move(right));
  }
  HEDDLE_ASSIGN(Rows result, scores(evaluation, std::move(left), std::move(right)));
  if (factor && *factor != 1) {
    result.function = evaluation.expressions.multiply(evaluation.expressions.operand(),
                                                      evaluation.expressions.real(*factor));
  }
  return result;
}

/// Evaluates a product over an axis of size 1, an outer product, as used for rotary angles.
static std::optional<Symbolic> outerProduct(Evaluation &evaluation, const Symbolic &left,
                                            const Symbolic &right) {
  const size_t rank = left.shape.size();
  if (rank < 2 || right.shape.size() != rank || !left.shape.back()->isConstant(1) ||
      !right.shape[rank - 2]->isConstant(1)) {
    return std::nullopt;
  }
  Symbolic result{left.element, {}, nullptr};
  for (size_t axis = 0; axis + 2 < rank; ++axis) {
    const Expr mine = left.shape[axis], theirs = right.shape[axis];
    if (mine != theirs && !mine->isConstant(1) && !theirs->isConstant(1)) {
      return std::nullopt;
    }
    result.shape.push_back(mine->isConstant(1) ? theirs : mine);
  }
  result.shape.push_back(left.shape[rank - 2]);
  result.shape.push_back(right.shape[rank - 1]);
  Expressions &expressions = evaluation.expressions;
  expressions.within(result.shape);
  result.body =
      expressions.multiply(evaluation.broadcast(left, rank), evaluation.broadcast(right, rank));
  return result;
}

static Status matMul(Evaluation &evaluation, Call &call) {
  const Value &left = *call.inputs[0], &right = *call.inputs[1];
  if (left.symbolic && right.symbolic) {
    if (auto formula = outerProduct(evaluation, *left.symbolic, *right.symbolic)) {
      call.give(std::move(*formula));
      return {};
    }
  }
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(left));
  const bool isWeight = right.symbolic && right.symbolic->shape.size() == 2;
  if (isWeight) {
    HEDDLE_ASSIGN(Rows result, linear(evaluation, std::move(rows), *right.symbolic, false));
    call.give(std::move(result));
    return {};
  }
  HEDDLE_ASSIGN(Rows other, evaluation.rowsOf(right));
  HEDDLE_ASSIGN(Rows result, evaluation.isWhole()
                                 ? wholeProduct(evaluation, std::move(rows), std::move(other))
                                 : product(evaluation, std::move(rows), std::move(other)));
  call.give(std::move(result));
  return {};
}

/// Transposes a value with two axes.
static Value turned(Evaluation &evaluation, Value value) {
  if (value.rows) {
    turn(*value.rows);
    return value;
  }
  Expressions &expressions = evaluation.expressions;
  std::swap(value.symbolic->shape[0], value.symbolic->shape[1]);
  expressions.within(value.symbolic->shape);
  const Expr coordinates[] = {expressions.axis(1), expressions.axis(0)};
  value.symbolic->body = expressions.substitute(value.symbolic->body, coordinates);
  return value;
}

static Result<Value> times(Evaluation &evaluation, Value value, double factor) {
  return factor == 1
             ? std::move(value)
             : combined(evaluation, Formula::Multiply, value,
                        Value{Symbolic{Element::Real, {}, evaluation.expressions.real(factor)},
                              std::nullopt});
}

/// Merges a bias vector into a product that has no other use.
static Result<Rows> withProductBias(Evaluation &evaluation, Rows rows, const Value &bias) {
  const auto vector = bias.symbolic ? evaluation.vectorParameter(*bias.symbolic) : std::nullopt;
  auto plain = rows.value.getDefiningOp<transformer::LinearOp>();
  if (!vector || !plain || vector->shape()[0] != widthOf(rows.axes.back())) {
    HEDDLE_ASSIGN(Value sum,
                  combined(evaluation, Formula::Add, Value{std::nullopt, std::move(rows)}, bias));
    return *std::move(sum.rows);
  }
  rows.value = evaluation.make<transformer::LinearOp>(
      plain.getType(), plain.getInput(), plain.getWeightAttr(),
      FlatSymbolRefAttr::get(evaluation.getContext(), vector->symbol()));
  plain.erase();
  return rows;
}

static Status gemm(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const int64_t turnsLeft, call.integerOr("transA", 0));
  HEDDLE_ASSIGN(const int64_t turnsRight, call.integerOr("transB", 0));
  HEDDLE_ASSIGN(const std::optional<double> alpha, call.real("alpha"));
  HEDDLE_ASSIGN(const std::optional<double> beta, call.real("beta"));
  for (const size_t operand : {size_t{0}, size_t{1}}) {
    if (evaluation.shapeOf(*call.inputs[operand]).size() != 2) {
      return evaluation.failure(StatusCode::InvalidArgument,
                                fmt::format("its operand {} is no matrix", operand + 1));
    }
  }
  if (turnsLeft != 0 && !evaluation.isWhole()) {
    return evaluation.failure(StatusCode::Unsupported, "has transA, expected rows times a matrix");
  }
  const Value left = turnsLeft != 0 ? turned(evaluation, *call.inputs[0]) : *call.inputs[0];
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(left));
  Rows product;
  if (call.inputs[1]->symbolic) {
    HEDDLE_ASSIGN(product,
                  linear(evaluation, std::move(rows), *call.inputs[1]->symbolic, turnsRight != 0));
  } else if (evaluation.isWhole()) {
    const Value right = turnsRight != 0 ? turned(evaluation, *call.inputs[1]) : *call.inputs[1];
    HEDDLE_ASSIGN(product, wholeProduct(evaluation, std::move(rows), *right.rows));
  } else {
    return evaluation.failure(StatusCode::Unsupported,
                              "multiplies two activations, expected rows times a matrix");
  }
  HEDDLE_ASSIGN(Value result,
                times(evaluation, Value{std::nullopt, std::move(product)}, alpha.value_or(1)));
  if (call.has(2)) {
    HEDDLE_ASSIGN(const Value bias, times(evaluation, *call.inputs[2], beta.value_or(1)));
    HEDDLE_ASSIGN(result.rows, withProductBias(evaluation, *std::move(result.rows), bias));
  }
  call.results.push_back(std::move(result));
  return {};
}

Result<Rows> softmaxOfKeys(Evaluation &evaluation, Rows scores) {
  HEDDLE_ASSIGN(scores, evaluation.written(std::move(scores)));
  if (scores.hiding.isAny() && scores.hiding.areWeights) {
    return evaluation.failure(StatusCode::Unsupported,
                              "is a softmax of weights whose keys are hidden, expected scores");
  }
  scores.value = evaluation.make<transformer::SoftmaxOp>(
      scores.value, evaluation.segmentsOf(scores.physical.back().front()));
  scores.hiding.areWeights = true;
  return scores;
}

Result<Rows> rowSoftmax(Evaluation &evaluation, Rows rows, size_t axis) {
  HEDDLE_ASSIGN(rows, evaluation.written(std::move(rows)));
  if (!isInner(rows.axes[axis]) || rows.hasKeys()) {
    return evaluation.failure(StatusCode::Unsupported,
                              "is a softmax over another axis than keys or a part of the width");
  }
  std::vector<bool> areColumns(rows.axes.size(), false);
  areColumns[axis] = true;
  HEDDLE_ASSIGN(rows, withColumns(evaluation, std::move(rows), areColumns));
  rows.value = evaluation.make<transformer::RowSoftmaxOp>(rows.value);
  return rows;
}

static Status softmax(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(*call.inputs[0]));
  const size_t rank = rows.axes.size();
  HEDDLE_ASSIGN(const size_t axis, call.axisOr("axis", call.node.opset < 13 ? 1 : -1, rank));
  const bool isLast = axis + 1 == rank;
  if ((isLast || call.node.opset >= 13) && isAxisOf(rows.axes[axis], Atom::Kind::Key)) {
    HEDDLE_ASSIGN(Rows weights, softmaxOfKeys(evaluation, std::move(rows)));
    call.give(std::move(weights));
    return {};
  }
  if (!isLast && call.node.opset < 13) {
    return evaluation.failure(StatusCode::Unsupported,
                              "is a softmax over all axes from one on, as before version 13");
  }
  HEDDLE_ASSIGN(rows, rowSoftmax(evaluation, std::move(rows), axis));
  call.give(std::move(rows));
  return {};
}

/// Computes x - max(x) - log(sum(exp(x - max(x)))).
static Status logSoftmax(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(*call.inputs[0]));
  const size_t rank = rows.axes.size();
  HEDDLE_ASSIGN(const size_t axis, call.axisOr("axis", -1, rank));
  std::vector<bool> isReduced(rank, false);
  isReduced[axis] = true;
  HEDDLE_ASSIGN(rows, evaluation.written(std::move(rows)));
  HEDDLE_ASSIGN(Rows most, reduced(evaluation, rows, isReduced, transformer::Reduction::Max));
  HEDDLE_ASSIGN(const Value shifted,
                combined(evaluation, Formula::Subtract, Value{std::nullopt, std::move(rows)},
                         Value{std::nullopt, std::move(most)}));
  Rows powers = *shifted.rows;
  HEDDLE_ASSIGN(powers, evaluation.written(std::move(powers)));
  Expressions &expressions = evaluation.expressions;
  powers.function = expressions.apply(Formula::Exponential, {expressions.operand()});
  HEDDLE_ASSIGN(Rows sum,
                reduced(evaluation, std::move(powers), isReduced, transformer::Reduction::Sum));
  sum.function = expressions.apply(Formula::Logarithm, {expressions.operand()});
  HEDDLE_ASSIGN(Value result, combined(evaluation, Formula::Subtract, shifted,
                                       Value{std::nullopt, std::move(sum)}));
  call.results.push_back(std::move(result));
  return {};
}

std::vector<OperatorInfo> productOperators() {
  return {
      {"", "MatMul", 1, 2, 2, matMul},
      {"", "Gemm", 7, 2, 3, gemm},
      {"", "Softmax", 1, 1, 1, softmax},
      {"", "LogSoftmax", 13, 1, 1, logSoftmax},
  };
}

} // namespace heddle::onnx
