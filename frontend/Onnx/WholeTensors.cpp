// SPDX-License-Identifier: Apache-2.0
///
/// Graphs of static shapes whose axes are not those of sequences: each input is one row of the
/// program with all of its elements, and all axes are parts of rows. Such tensors support any
/// arithmetic, without proofs about masks, but transposing parts moves data, which is free in a
/// ragged program (docs/decisions/0063).
#include "frontend/Onnx/Operators.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

using namespace mlir;

namespace heddle::onnx {

bool hasConstantSizes(const Graph &graph) {
  return !graph.inputs.empty() &&
         std::all_of(graph.inputs.begin(), graph.inputs.end(), [](const OnnxPort &port) {
           return port.dtype && infoOf(*port.dtype).isFloat() && port.shape &&
                  std::all_of(port.shape->begin(), port.shape->end(),
                              [](const OnnxSize &size) { return size.number && *size.number > 0; });
         });
}

/// Returns the axes of a tensor with one atom each; axes of size 1 have none.
static std::vector<Atoms> axesOf(Evaluation &evaluation, std::span<const int64_t> shape) {
  std::vector<Atoms> axes;
  for (const int64_t size : shape) {
    axes.push_back(size == 1 ? Atoms() : Atoms{evaluation.newAtom(size)});
  }
  return axes;
}

Status Evaluation::addWhole(const OnnxPort &port) {
  const std::string name(port.name);
  std::vector<int64_t> shape;
  int64_t width = 1;
  for (const OnnxSize &size : *port.shape) {
    shape.push_back(*size.number);
    if (__builtin_mul_overflow(width, *size.number, &width) ||
        width > std::numeric_limits<int32_t>::max()) {
      return HEDDLE_ERROR(Unsupported,
                          fmt::format("input {} has more than 2^31 elements", quote(name)));
    }
  }
  Rows value;
  value.axes = axesOf(*this, shape);
  value.physical = {onnx::flatten(value.axes)};
  value.value = entry.input(name, width).value();
  values[name] = {std::nullopt, std::move(value)};
  return {};
}

Result<Parameter> Evaluation::flatParameter(const Symbolic &value, const std::vector<Expr> &shape) {
  Symbolic whole{value.element, shape, nullptr};
  expressions.within(shape);
  whole.body = broadcast(value, shape.size());
  if (!closedShape(whole)) {
    return failure(StatusCode::Unsupported,
                   "computes with sizes or indices that are no constants, or with too many "
                   "elements");
  }
  HEDDLE_ASSIGN(const Elements elements, elementsOf(whole));
  Elements flat{Element::Real, {static_cast<int64_t>(elements.count())}, {}, {}};
  for (size_t i = 0; i < elements.count(); ++i) {
    flat.reals.push_back(elements.at(i));
  }
  return parameter(addTable(flat));
}

Result<Rows> Evaluation::wholeConstant(const Symbolic &value) {
  HEDDLE_ASSIGN(const Parameter vector, flatParameter(value, value.shape));
  const int64_t width = vector.shape()[0];
  const Parameter table =
      root().reshape(fmt::format("{} as a row", vector.symbol()), vector, {1, width});
  std::vector<int64_t> shape;
  for (const Expr size : value.shape) {
    shape.push_back(size->integer);
  }
  Rows result;
  result.axes = axesOf(*this, shape);
  result.physical = {onnx::flatten(result.axes)};
  const mlir::Value first = make<transformer::PositionsOp>(rows.value(), uint64_t{0});
  result.value = make<transformer::GatherOp>(StringRef(table.symbol()), first, width);
  return result;
}

Result<Rows> Evaluation::inOrder(Rows rows) {
  const std::vector<Atoms> order{onnx::flatten(rows.axes)};
  HEDDLE_ASSIGN(rows, arranged(std::move(rows), order));
  for (Atoms &axis : rows.axes) {
    const int64_t size = widthOf(axis);
    axis = size == 1 ? Atoms() : Atoms{newAtom(size)};
  }
  rows.physical = {onnx::flatten(rows.axes)};
  rows.maker.clear();
  return rows;
}

/// Adds the axes that `like` has and the value lacks.
static Result<Rows> enlarged(Evaluation &evaluation, Rows rows, const std::vector<Atoms> &like) {
  Atoms lacking;
  for (size_t axis = 0; axis < like.size(); ++axis) {
    if (rows.axes[axis].empty()) {
      lacking.insert(lacking.end(), like[axis].begin(), like[axis].end());
    }
  }
  if (lacking.empty()) {
    return rows;
  }
  HEDDLE_ASSIGN(rows, evaluation.repeatedWhole(std::move(rows), lacking));
  for (size_t axis = 0; axis < like.size(); ++axis) {
    rows.axes[axis] = rows.axes[axis].empty() ? like[axis] : rows.axes[axis];
  }
  return rows;
}

Result<Rows> Evaluation::repeatedWhole(Rows rows, const Atoms &copies) {
  HEDDLE_TRY(checkChoices(copies));
  const std::vector<Atoms> flat{rows.order()};
  HEDDLE_ASSIGN(rows, arranged(std::move(rows), flat));
  rows.value = make<transformer::RepeatOp>(rows.value, choices(copies));
  rows.spread = copies;
  rows.maker.clear();
  return rows;
}

Status alignWhole(Evaluation &evaluation, Rows &left, Rows &right) {
  HEDDLE_ASSIGN(left, evaluation.inOrder(std::move(left)));
  HEDDLE_ASSIGN(right, evaluation.inOrder(std::move(right)));
  HEDDLE_TRY(evaluation.align(left, right));
  HEDDLE_ASSIGN(left, enlarged(evaluation, std::move(left), right.axes));
  HEDDLE_ASSIGN(right, enlarged(evaluation, std::move(right), left.axes));
  const std::vector<Atoms> order{flatten(left.axes)};
  HEDDLE_ASSIGN(left, evaluation.arranged(std::move(left), order));
  HEDDLE_ASSIGN(right, evaluation.arranged(std::move(right), order));
  return {};
}

/// Views rows [t, first * second] of a spread value as matrices.
static mlir::Value matrices(Evaluation &evaluation, mlir::Value value, int64_t first,
                            int64_t second) {
  return evaluation.make<transformer::SplitHeadsOp>(
      evaluation.tensorType({ShapedType::kDynamic, first, second}), value);
}

/// Aligns the batch axes of both operands of a product, and swaps the right one's last two axes.
static Status alignBatches(Evaluation &evaluation, Rows &left, Rows &right) {
  const size_t count = left.axes.size() - 2;
  HEDDLE_ASSIGN(left, evaluation.inOrder(std::move(left)));
  HEDDLE_ASSIGN(right, evaluation.inOrder(std::move(right)));
  Rows a = left, b = right;
  std::swap(b.axes[count], b.axes[count + 1]);
  // The contracted axis is the last one of both.
  a.axes.erase(a.axes.begin() + static_cast<int64_t>(count));
  b.axes.erase(b.axes.begin() + static_cast<int64_t>(count));
  HEDDLE_TRY(evaluation.align(a, b));
  a.axes.insert(a.axes.begin() + static_cast<int64_t>(count), left.axes[count]);
  b.axes.push_back(right.axes[count + 1]);
  const auto batchOf = [&](const Rows &rows) {
    std::vector<Atoms> axes(rows.axes.begin(), rows.axes.begin() + static_cast<int64_t>(count));
    axes.resize(rows.axes.size());
    return axes;
  };
  HEDDLE_ASSIGN(left, enlarged(evaluation, a, batchOf(b)));
  HEDDLE_ASSIGN(right, enlarged(evaluation, std::move(b), batchOf(left)));
  return {};
}

Result<Rows> wholeProduct(Evaluation &evaluation, Rows left, Rows right) {
  const bool isRow = left.axes.size() == 1, isColumn = right.axes.size() == 1;
  if (left.axes.empty() || right.axes.empty()) {
    return evaluation.failure(StatusCode::InvalidArgument, "multiplies a number as a matrix");
  }
  if (isRow) {
    left.axes.insert(left.axes.begin(), Atoms());
  }
  if (isColumn) {
    right.axes.emplace_back();
  }
  const size_t rank = std::max(left.axes.size(), right.axes.size());
  left.axes.insert(left.axes.begin(), rank - left.axes.size(), {});
  right.axes.insert(right.axes.begin(), rank - right.axes.size(), {});
  const Expr summed = evaluation.shapeOf(left).back();
  if (summed != evaluation.shapeOf(right)[rank - 2]) {
    return evaluation.failure(
        StatusCode::InvalidArgument,
        fmt::format("multiplies an axis of {} with one of {}, expected equal sizes",
                    evaluation.expressions.print(summed),
                    evaluation.expressions.print(evaluation.shapeOf(right)[rank - 2])));
  }
  HEDDLE_TRY(alignBatches(evaluation, left, right));
  const std::vector<Atoms> batchAxes(left.axes.begin(), left.axes.end() - 2);
  const Atoms batch = flatten(batchAxes), made = left.axes[rank - 2], columns = right.axes.back(),
              depth = left.axes.back();
  const auto inMatrices = [&](Rows rows, const Atoms &first, const Atoms &second) -> Result<Rows> {
    HEDDLE_ASSIGN(rows, evaluation.arranged(std::move(rows), {flatten({batch, first, second})}));
    if (!batch.empty()) {
      HEDDLE_ASSIGN(rows, evaluation.spread(std::move(rows), batch));
    }
    rows.value = matrices(evaluation, rows.value, widthOf(first), widthOf(second));
    return rows;
  };
  HEDDLE_ASSIGN(left, inMatrices(std::move(left), made, depth));
  // alignBatches() has swapped the last two axes of the right operand.
  HEDDLE_ASSIGN(right, inMatrices(std::move(right), depth, columns));
  const int64_t height = widthOf(made), width = widthOf(columns);
  const mlir::Value product = evaluation.make<transformer::ContractOp>(
      evaluation.tensorType({ShapedType::kDynamic, height, width}), "tmd,tdn->tmn", left.value,
      right.value, ValueRange());
  Rows result;
  result.value = evaluation.make<transformer::MergeHeadsOp>(
      evaluation.tensorType({ShapedType::kDynamic, height * width}), product);
  result.spread = batch;
  result.physical = {flatten({made, columns})};
  result.axes = batchAxes;
  if (!isRow) {
    result.axes.push_back(made);
  }
  if (!isColumn) {
    result.axes.push_back(columns);
  }
  return result;
}

Result<Rows> wholeConcat(Evaluation &evaluation, const Call &call, size_t axis) {
  SmallVector<mlir::Value> parts;
  std::optional<Rows> first;
  Rows result;
  int64_t size = 0, width = 0;
  for (const Value *const input : call.inputs) {
    if (evaluation.shapeOf(*input)[axis]->isConstant(0)) {
      continue;
    }
    HEDDLE_ASSIGN(Rows part, evaluation.rowsOf(*input));
    size += evaluation.shapeOf(part)[axis]->integer;
    HEDDLE_ASSIGN(part, evaluation.inOrder(std::move(part)));
    const Atoms own = part.axes[axis];
    part.axes[axis].clear();
    first = first ? first : std::optional(part);
    HEDDLE_TRY(evaluation.align(*first, part));
    const Atoms rest = flatten(first->axes);
    Rows whole = part;
    HEDDLE_ASSIGN(whole, evaluation.arranged(std::move(whole), {flatten({own, rest})}));
    width += widthOf(own) * widthOf(rest);
    parts.push_back(whole.value);
  }
  if (parts.empty()) {
    return evaluation.failure(StatusCode::Unsupported, "joins activations that have no elements");
  }
  result.axes = first->axes;
  const Atom joined = evaluation.newAtom(size);
  result.physical = {flatten({{joined}, flatten(first->axes)})};
  result.axes[axis] = {joined};
  result.value = parts.size() == 1
                     ? parts.front()
                     : mlir::Value(evaluation.make<transformer::ConcatOp>(
                           evaluation.tensorType({ShapedType::kDynamic, width}), parts));
  return result;
}

/// Returns the elements of one side where a select takes it, and minus infinity elsewhere.
static Result<Rows> chosenSide(Evaluation &evaluation, const Symbolic &condition, bool isThen,
                               Rows side) {
  Expressions &expressions = evaluation.expressions;
  const double infinity = std::numeric_limits<double>::infinity();
  if (side.value.getDefiningOp<transformer::RowSoftmaxOp>()) {
    // The softmax of a row without visible keys is NaN, and such rows are replaced by the select.
    side.value =
        evaluation.make<transformer::ActivateOp>(transformer::Activation::NanToZero, side.value);
  }
  Symbolic bound = condition;
  expressions.within(bound.shape);
  bound.body = expressions.select(condition.body, expressions.real(isThen ? infinity : -infinity),
                                  expressions.real(isThen ? -infinity : infinity));
  bound.element = Element::Real;
  const std::vector<Expr> shape = evaluation.shapeOf(side);
  HEDDLE_ASSIGN(const Parameter vector, evaluation.flatParameter(bound, shape));
  HEDDLE_ASSIGN(side, evaluation.inOrder(std::move(side)));
  side.value = evaluation.make<transformer::CombineOp>(transformer::Combination::Minimum,
                                                       side.value, evaluation.weight(vector));
  return side;
}

/// Like chosenSide(), for a constant side.
static Symbolic chosenConstant(Evaluation &evaluation, const Symbolic &condition, bool isThen,
                               const Symbolic &side, const std::vector<Expr> &shape) {
  Expressions &expressions = evaluation.expressions;
  Symbolic result{Element::Real, shape, nullptr};
  expressions.within(shape);
  const Expr where = evaluation.broadcast(condition, shape.size());
  const Expr nowhere = expressions.real(-std::numeric_limits<double>::infinity());
  const Expr value = evaluation.broadcast(side, shape.size());
  result.body = expressions.select(where, isThen ? value : nowhere, isThen ? nowhere : value);
  return result;
}

Result<Rows> wholeChoice(Evaluation &evaluation, const Symbolic &condition, const Value &then,
                         const Value &otherwise) {
  std::vector<Expr> shape;
  HEDDLE_ASSIGN(
      shape, broadcastShapes(evaluation, evaluation.shapeOf(then), evaluation.shapeOf(otherwise)));
  HEDDLE_ASSIGN(const auto both, broadcastShapes(evaluation, shape, condition.shape));
  const bool isConstant = evaluation.isClosed(Value{condition, std::nullopt});
  if (both != shape || !isConstant) {
    return evaluation.failure(StatusCode::Unsupported,
                              "chooses by a condition that is no constant, or that has more axes "
                              "than what it chooses from");
  }
  HEDDLE_ASSIGN(const Elements elements, evaluation.elementsOf(condition));
  const auto &truths = elements.integers;
  for (const bool isThen : {true, false}) {
    const Value &side = isThen ? then : otherwise;
    if (std::count(truths.begin(), truths.end(), isThen ? 1 : 0) ==
            static_cast<int64_t>(truths.size()) &&
        evaluation.shapeOf(side) == shape) {
      return evaluation.rowsOf(side);
    }
  }
  // min(x, inf) = x and max(x, -inf) = x.
  const bool isRows = then.rows.has_value();
  const Value &first = isRows ? then : otherwise, &second = isRows ? otherwise : then;
  HEDDLE_ASSIGN(Rows left, evaluation.rowsOf(first));
  if (second.symbolic && evaluation.shapeOf(left) == shape) {
    HEDDLE_ASSIGN(left, chosenSide(evaluation, condition, isRows, std::move(left)));
    const Symbolic constant =
        chosenConstant(evaluation, condition, !isRows, *second.symbolic, shape);
    HEDDLE_ASSIGN(const Parameter vector, evaluation.flatParameter(constant, shape));
    left.value = evaluation.make<transformer::CombineOp>(transformer::Combination::Maximum,
                                                         left.value, evaluation.weight(vector));
    return left;
  }
  HEDDLE_ASSIGN(Rows right, evaluation.rowsOf(second));
  HEDDLE_TRY(alignWhole(evaluation, left, right));
  HEDDLE_ASSIGN(left, chosenSide(evaluation, condition, isRows, std::move(left)));
  HEDDLE_ASSIGN(right, chosenSide(evaluation, condition, !isRows, std::move(right)));
  left.value = evaluation.make<transformer::CombineOp>(transformer::Combination::Maximum,
                                                       left.value, right.value);
  return left;
}

Status Evaluation::addWholeOutput(const OnnxPort &port) {
  const std::string name(port.name);
  const Value &value = values.find(name)->second;
  if (value.symbolic && value.symbolic->element != Element::Real) {
    return HEDDLE_ERROR(
        Unsupported,
        fmt::format("output {} has integers or truth values, expected floats", quote(name)));
  }
  HEDDLE_ASSIGN(Rows result, rowsOf(value));
  HEDDLE_ASSIGN(result, inOrder(std::move(result)));
  entry.output(name, Tensor(rows.model(), result.value));
  return {};
}

} // namespace heddle::onnx
