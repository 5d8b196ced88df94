// SPDX-License-Identifier: Apache-2.0
///
/// Operators that make constants, shapes and indices, or that read by index.
#include "frontend/Onnx/Operators.h"

#include "base/Utf8.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

using namespace mlir;

namespace heddle::onnx {

/// Returns a vector of integers as a formula of its coordinate.
static Symbolic vectorFormula(Evaluation &evaluation, const std::vector<Expr> &elements) {
  Expressions &expressions = evaluation.expressions;
  Symbolic result{
      Element::Integer, {evaluation.integer(static_cast<int64_t>(elements.size()))}, nullptr};
  expressions.within(result.shape);
  result.body = elements.empty() ? evaluation.integer(0) : elements.back();
  for (size_t i = elements.size(); i-- > 1;) {
    result.body = expressions.select(
        expressions.less(expressions.axis(0), evaluation.integer(static_cast<int64_t>(i))),
        elements[i - 1], result.body);
  }
  return result;
}

static Status shape(Evaluation &evaluation, Call &call) {
  std::vector<Expr> sizes = evaluation.shapeOf(*call.inputs[0]);
  const auto rank = static_cast<int64_t>(sizes.size());
  HEDDLE_ASSIGN(int64_t start, call.integerOr("start", 0));
  HEDDLE_ASSIGN(int64_t end, call.integerOr("end", rank));
  const auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  start = clamp(start);
  end = std::max(clamp(end), start);
  call.give(vectorFormula(evaluation, {sizes.begin() + start, sizes.begin() + end}));
  return {};
}

static Status constantNode(Evaluation &evaluation, Call &call) {
  const GraphNode &node = call.node;
  if (const OnnxAttribute *const value = call.attribute("value");
      value != nullptr && value->tensor) {
    call.give(evaluation.constant(node.outputs.front(), *value->tensor));
    return {};
  }
  HEDDLE_ASSIGN(const auto number, call.integer("value_int"));
  HEDDLE_ASSIGN(const auto numbers, call.integers("value_ints"));
  HEDDLE_ASSIGN(const auto real, call.real("value_float"));
  if (number || real) {
    call.give(Symbolic{number ? Element::Integer : Element::Real,
                       {},
                       number ? evaluation.integer(*number) : evaluation.expressions.real(*real)});
    return {};
  }
  if (numbers) {
    std::vector<Expr> elements;
    for (const int64_t each : *numbers) {
      elements.push_back(evaluation.integer(each));
    }
    call.give(vectorFormula(evaluation, elements));
    return {};
  }
  return evaluation.failure(StatusCode::Unsupported,
                            "has no value, value_int, value_ints or value_float");
}

static Status constantOfShape(Evaluation &evaluation, Call &call) {
  Symbolic result{Element::Real, {}, evaluation.expressions.real(0)};
  HEDDLE_ASSIGN(result.shape, evaluation.vectorOf(*call.inputs[0], "sizes"));
  if (call.inputs[0]->symbolic->shape.empty()) {
    return evaluation.failure(StatusCode::InvalidArgument, "its sizes are no vector");
  }
  if (const OnnxAttribute *const value = call.attribute("value");
      value != nullptr && value->tensor) {
    if (value->tensor->elements() != 1) {
      return evaluation.failure(
          StatusCode::InvalidArgument,
          fmt::format("its value has {} elements, expected one", value->tensor->elements()));
    }
    const Symbolic one = evaluation.constant(call.node.outputs.front(), *value->tensor);
    result.element = one.element;
    result.body = one.body;
  }
  call.give(std::move(result));
  return {};
}

/// Emits a range of constants of any type and sign of the step. Returns false if an operand is not
/// a constant.
static Result<bool> constantRange(Evaluation &evaluation, Call &call) {
  double ends[3] = {};
  bool isReal = false;
  for (size_t i = 0; i < 3; ++i) {
    const std::optional<double> number = evaluation.numberOf(*call.inputs[i]);
    if (!number) {
      return false;
    }
    ends[i] = *number;
    isReal |= call.inputs[i]->symbolic->element == Element::Real;
  }
  const double count = std::max(0.0, std::ceil((ends[1] - ends[0]) / ends[2]));
  const bool areExact = isReal || std::all_of(std::begin(ends), std::end(ends),
                                              [](double end) { return std::abs(end) <= 0x1p53; });
  if (ends[2] == 0 || !areExact || !(count <= std::numeric_limits<int32_t>::max())) {
    return evaluation.failure(
        StatusCode::InvalidArgument,
        fmt::format("goes from {} to {} by steps of {}", ends[0], ends[1], ends[2]));
  }
  Expressions &expressions = evaluation.expressions;
  const Expr place = expressions.axis(0);
  Symbolic result{isReal ? Element::Real : Element::Integer,
                  {evaluation.integer(static_cast<int64_t>(count))},
                  nullptr};
  result.body =
      isReal ? expressions.add(expressions.real(ends[0]),
                               expressions.multiply(expressions.real(ends[2]),
                                                    expressions.cast(place, Element::Real)))
             : expressions.add(
                   evaluation.integer(static_cast<int64_t>(ends[0])),
                   expressions.multiply(evaluation.integer(static_cast<int64_t>(ends[2])), place));
  call.give(std::move(result));
  return true;
}

static Status range(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const bool isConstant, constantRange(evaluation, call));
  if (isConstant) {
    return {};
  }
  static constexpr std::string_view names[] = {"start", "limit", "step"};
  std::vector<Expr> ends;
  for (const Value *const input : call.inputs) {
    HEDDLE_ASSIGN(const Expr end, evaluation.scalarOf(*input, names[ends.size()]));
    ends.push_back(end);
  }
  Expressions &expressions = evaluation.expressions;
  const Expr step = ends[2];
  if (!step->isConstant() || step->integer < 1) {
    return evaluation.failure(StatusCode::Unsupported, "its step is no positive constant");
  }
  Expr count = expressions.subtract(ends[1], ends[0]);
  if (step->integer != 1) {
    count = expressions.divide(expressions.add(count, evaluation.integer(step->integer - 1)), step);
  }
  call.give(Symbolic{Element::Integer,
                     {count},
                     expressions.add(ends[0], expressions.multiply(step, expressions.axis(0)))});
  return {};
}

/// Normalizes an index: a negative one counts from the end.
static Expr fromStart(Evaluation &evaluation, Expr index, Expr size) {
  Expressions &expressions = evaluation.expressions;
  if (index->isConstant()) {
    return index->integer < 0 ? expressions.add(index, size) : index;
  }
  // Positions and ids from inputs are non-negative.
  return !size->isConstant() || !isClosed(expressions, index) || expressions.isNonNegative(index)
             ? index
             : expressions.add(index,
                               expressions.select(expressions.less(index, evaluation.integer(0)),
                                                  size, evaluation.integer(0)));
}

/// Gathers several elements of an axis and concatenates them.
static Status gatherParts(Evaluation &evaluation, Call &call, Rows rows, size_t axis) {
  HEDDLE_ASSIGN(const auto indices, evaluation.constantsOf(*call.inputs[1], "indices"));
  const int64_t size = widthOf(rows.axes[axis]);
  HEDDLE_ASSIGN(rows, evaluation.written(std::move(rows)));
  std::vector<Value> parts;
  for (const int64_t index : indices) {
    if (index < -size || index >= size) {
      return evaluation.failure(StatusCode::InvalidArgument,
                                fmt::format("reads element {} of {}", index, size));
    }
    HEDDLE_ASSIGN(Rows part, evaluation.sliced(rows, axis, index < 0 ? index + size : index, 1));
    parts.push_back({std::nullopt, std::move(part)});
  }
  Call joined{call.node, {}};
  for (const Value &part : parts) {
    joined.inputs.push_back(&part);
  }
  HEDDLE_ASSIGN(Rows result, wholeConcat(evaluation, joined, axis));
  call.give(std::move(result));
  return {};
}

/// Gathers part of the width, or the first row of each sequence.
static Status gatherOfRows(Evaluation &evaluation, Call &call, Rows rows, size_t axis) {
  if (evaluation.isWhole() && call.inputs[1]->symbolic->shape.size() == 1) {
    return gatherParts(evaluation, call, std::move(rows), axis);
  }
  const std::optional<double> number = evaluation.numberOf(*call.inputs[1]);
  if (!number) {
    return evaluation.failure(StatusCode::Unsupported,
                              "reads activations by indices that are no constant, or by several");
  }
  auto index = static_cast<int64_t>(*number);
  const size_t indexRank = call.inputs[1]->symbolic->shape.size();
  HEDDLE_ASSIGN(rows, evaluation.written(std::move(rows)));
  if (isAxisOf(rows.axes[axis], Atom::Kind::Row)) {
    HEDDLE_ASSIGN(rows, evaluation.firstRow(std::move(rows), axis, index));
  } else {
    const int64_t size = widthOf(rows.axes[axis]);
    index = index < 0 ? index + size : index;
    if (!isInner(rows.axes[axis]) || index < 0 || index >= size) {
      return evaluation.failure(
          StatusCode::Unsupported,
          fmt::format("reads element {} of an axis, expected one of a part of "
                      "the width or the first row",
                      index));
    }
    HEDDLE_ASSIGN(rows, evaluation.sliced(std::move(rows), axis, index, 1));
  }
  rows.axes[axis].clear();
  rows.axes.erase(rows.axes.begin() + static_cast<int64_t>(axis));
  rows.axes.insert(rows.axes.begin() + static_cast<int64_t>(axis), indexRank, {});
  call.give(std::move(rows));
  return {};
}

static Status gather(Evaluation &evaluation, Call &call) {
  const Value &data = *call.inputs[0];
  const std::vector<Expr> sizes = evaluation.shapeOf(data);
  HEDDLE_ASSIGN(const size_t axis, call.axisOr("axis", 0, sizes.size()));
  if (!call.inputs[1]->symbolic) {
    return evaluation.failure(StatusCode::Unsupported, "reads by indices that are activations");
  }
  if (data.rows) {
    return gatherOfRows(evaluation, call, *data.rows, axis);
  }
  const Symbolic &indices = *call.inputs[1]->symbolic;
  Symbolic result{
      data.symbolic->element, {sizes.begin(), sizes.begin() + static_cast<int64_t>(axis)}, nullptr};
  result.shape.insert(result.shape.end(), indices.shape.begin(), indices.shape.end());
  result.shape.insert(result.shape.end(), sizes.begin() + static_cast<int64_t>(axis) + 1,
                      sizes.end());
  Expressions &expressions = evaluation.expressions;
  expressions.within(result.shape);
  std::vector<Expr> own;
  for (size_t i = 0; i < indices.shape.size(); ++i) {
    own.push_back(expressions.axis(axis + i));
  }
  const Expr index = fromStart(evaluation, expressions.substitute(indices.body, own), sizes[axis]);
  std::vector<Expr> coordinates;
  for (size_t i = 0; i < sizes.size(); ++i) {
    coordinates.push_back(i < axis    ? expressions.axis(i)
                          : i == axis ? index
                                      : expressions.axis(i - 1 + indices.shape.size()));
  }
  result.body = expressions.substitute(data.symbolic->body, coordinates);
  call.give(std::move(result));
  return {};
}

static Status gatherNd(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const int64_t batches, call.integerOr("batch_dims", 0));
  if (!call.inputs[0]->symbolic || !call.inputs[1]->symbolic) {
    return evaluation.failure(StatusCode::Unsupported, "reads activations by indices");
  }
  const Symbolic &data = *call.inputs[0]->symbolic, &indices = *call.inputs[1]->symbolic;
  // The leading axes that both operands share.
  const auto shared = static_cast<size_t>(std::max<int64_t>(batches, 0));
  const bool isShared =
      batches >= 0 && shared < indices.shape.size() && shared < data.shape.size() &&
      std::equal(data.shape.begin(), data.shape.begin() + batches, indices.shape.begin());
  if (!isShared || !indices.shape.back()->isConstant() || indices.shape.back()->integer < 0 ||
      indices.shape.back()->integer > static_cast<int64_t>(data.shape.size() - shared)) {
    return evaluation.failure(StatusCode::InvalidArgument, "its indices do not fit its data");
  }
  const size_t count = shared + static_cast<size_t>(indices.shape.back()->integer);
  const size_t rank = indices.shape.size() - 1;
  Symbolic result{data.element, {indices.shape.begin(), indices.shape.end() - 1}, nullptr};
  result.shape.insert(result.shape.end(), data.shape.begin() + static_cast<int64_t>(count),
                      data.shape.end());
  Expressions &expressions = evaluation.expressions;
  expressions.within(result.shape);
  std::vector<Expr> coordinates;
  for (size_t i = 0; i < data.shape.size(); ++i) {
    if (i >= count || i < shared) {
      coordinates.push_back(expressions.axis(i < shared ? i : rank + i - count));
      continue;
    }
    std::vector<Expr> own;
    for (size_t axis = 0; axis < rank; ++axis) {
      own.push_back(expressions.axis(axis));
    }
    own.push_back(evaluation.integer(static_cast<int64_t>(i - shared)));
    coordinates.push_back(
        fromStart(evaluation, expressions.substitute(indices.body, own), data.shape[i]));
  }
  result.body = expressions.substitute(data.body, coordinates);
  call.give(std::move(result));
  return {};
}

static Status gatherElements(Evaluation &evaluation, Call &call) {
  if (!call.inputs[0]->symbolic || !call.inputs[1]->symbolic) {
    return evaluation.failure(StatusCode::Unsupported, "reads activations by indices");
  }
  const Symbolic &data = *call.inputs[0]->symbolic, &indices = *call.inputs[1]->symbolic;
  HEDDLE_ASSIGN(const size_t axis, call.axisOr("axis", 0, data.shape.size()));
  if (data.shape.size() != indices.shape.size()) {
    return evaluation.failure(StatusCode::InvalidArgument,
                              "its indices have other axes than its data");
  }
  Symbolic result{data.element, indices.shape, nullptr};
  Expressions &expressions = evaluation.expressions;
  expressions.within(result.shape);
  std::vector<Expr> coordinates;
  for (size_t i = 0; i < data.shape.size(); ++i) {
    coordinates.push_back(i == axis ? fromStart(evaluation, indices.body, data.shape[i])
                                    : expressions.axis(i));
  }
  result.body = expressions.substitute(data.body, coordinates);
  call.give(std::move(result));
  return {};
}

static Status cumSum(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const int64_t exclusive, call.integerOr("exclusive", 0));
  HEDDLE_ASSIGN(const int64_t reverse, call.integerOr("reverse", 0));
  HEDDLE_ASSIGN(const Expr named, evaluation.scalarOf(*call.inputs[1], "axis"));
  const Value &input = *call.inputs[0];
  const size_t count = evaluation.shapeOf(input).size();
  const auto rank = static_cast<int64_t>(count);
  if (!named->isConstant() || named->integer < -rank || named->integer >= rank) {
    return evaluation.failure(StatusCode::InvalidArgument, "its axis is none of its input");
  }
  const auto axis =
      static_cast<size_t>(named->integer < 0 ? named->integer + rank : named->integer);
  if (!input.symbolic || input.symbolic->element == Element::Real) {
    return evaluation.failure(StatusCode::Unsupported, "sums activations, expected integers");
  }
  Expressions &expressions = evaluation.expressions;
  expressions.within(input.symbolic->shape);
  // A reverse sum starts at the last element.
  const Expr end = expressions.subtract(input.symbolic->shape[axis], evaluation.integer(1));
  const Expr place =
      reverse != 0 ? expressions.subtract(end, expressions.axis(axis)) : expressions.axis(axis);
  std::vector<Expr> coordinates;
  for (size_t i = 0; i < count; ++i) {
    coordinates.push_back(i != axis      ? expressions.axis(i)
                          : reverse != 0 ? expressions.subtract(end, expressions.bound())
                                         : expressions.bound());
  }
  expressions.within({});
  const Expr body = expressions.substitute(input.symbolic->body, coordinates);
  const Expr last = exclusive != 0 ? expressions.subtract(place, evaluation.integer(1)) : place;
  call.give(Symbolic{Element::Integer, input.symbolic->shape, expressions.runningSum(last, body)});
  return {};
}

/// Keeps the upper or lower triangle of matrices and sets the other elements to zero.
static Status trilu(Evaluation &evaluation, Call &call) {
  const Value &input = *call.inputs[0];
  HEDDLE_ASSIGN(const int64_t upper, call.integerOr("upper", 1));
  if (!input.symbolic || input.symbolic->shape.size() < 2) {
    return evaluation.failure(StatusCode::Unsupported,
                              "takes a triangle of activations, expected a mask");
  }
  Expressions &expressions = evaluation.expressions;
  Expr diagonal = evaluation.integer(0);
  if (call.has(1)) {
    HEDDLE_ASSIGN(diagonal, evaluation.scalarOf(*call.inputs[1], "diagonal"));
  }
  Symbolic result = *input.symbolic;
  expressions.within(result.shape);
  const size_t rank = result.shape.size();
  const Expr column = expressions.axis(rank - 1);
  const Expr edge = expressions.add(expressions.axis(rank - 2), diagonal);
  const Expr isKept = expressions.negation(upper != 0 ? expressions.less(column, edge)
                                                      : expressions.less(edge, column));
  result.body = result.element == Element::Boolean
                    ? expressions.conjunction(isKept, result.body)
                    : expressions.select(isKept, result.body,
                                         result.element == Element::Real ? expressions.real(0)
                                                                         : evaluation.integer(0));
  call.give(std::move(result));
  return {};
}

std::vector<OperatorInfo> indexOperators() {
  return {
      {"", "Constant", 1, 0, 0, constantNode},
      {"", "ConstantOfShape", 9, 1, 1, constantOfShape},
      {"", "Shape", 1, 1, 1, shape, 0, true, true},
      {"", "Range", 11, 3, 3, range},
      {"", "Trilu", 14, 1, 2, trilu},
      {"", "CumSum", 11, 2, 2, cumSum},
      {"", "Gather", 1, 2, 2, gather},
      {"", "GatherND", 11, 2, 2, gatherNd},
      {"", "GatherElements", 11, 2, 2, gatherElements},
  };
}

} // namespace heddle::onnx
