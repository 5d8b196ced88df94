// SPDX-License-Identifier: Apache-2.0
///
/// Operators that rearrange elements: reshapes, transposes, concatenations.
#include "frontend/Onnx/Operators.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace heddle::onnx {

/// Returns the formula of a tensor reshaped to a shape with the same number of elements.
static Expr reshapedFormula(Evaluation &evaluation, const Symbolic &value,
                            const std::vector<Expr> &shape) {
  Expressions &expressions = evaluation.expressions;
  expressions.within(shape);
  std::vector<size_t> from, to;
  for (size_t axis = 0; axis < std::max(value.shape.size(), shape.size()); ++axis) {
    if (axis < value.shape.size() && !value.shape[axis]->isConstant(1)) {
      from.push_back(axis);
    }
    if (axis < shape.size() && !shape[axis]->isConstant(1)) {
      to.push_back(axis);
    }
  }
  bool isSame = from.size() == to.size();
  for (size_t i = 0; i < from.size() && isSame; ++i) {
    isSame = value.shape[from[i]] == shape[to[i]];
  }
  std::vector<Expr> coordinates(value.shape.size(), evaluation.integer(0));
  if (isSame) {
    for (size_t i = 0; i < from.size(); ++i) {
      coordinates[from[i]] = expressions.axis(to[i]);
    }
    return expressions.substitute(value.body, coordinates);
  }
  // Through the row-major index of the element.
  Expr number = evaluation.integer(0);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!shape[axis]->isConstant(1)) {
      number = expressions.add(expressions.multiply(number, shape[axis]), expressions.axis(axis));
    }
  }
  for (size_t axis = value.shape.size(); axis-- > 0;) {
    const Expr size = value.shape[axis];
    const bool isFirst = axis == 0;
    coordinates[axis] = isFirst               ? number
                        : size->isConstant(1) ? evaluation.integer(0)
                                              : expressions.modulo(number, size);
    number = isFirst || size->isConstant(1) ? number : expressions.divide(number, size);
  }
  return expressions.substitute(value.body, coordinates);
}

static Expr countOf(Evaluation &evaluation, const std::vector<Expr> &shape) {
  Expr count = evaluation.integer(1);
  for (const Expr size : shape) {
    count = evaluation.expressions.multiply(count, size);
  }
  return count;
}

/// Reshapes a value.
static Status giveReshaped(Evaluation &evaluation, Call &call, const std::vector<Expr> &shape) {
  const Value &input = *call.inputs[0];
  const Expr before = countOf(evaluation, evaluation.shapeOf(input));
  const Expr after = countOf(evaluation, shape);
  if (before != after) {
    return evaluation.unequal(before, after,
                              fmt::format("reshapes {} elements to {}, expected as many",
                                          evaluation.expressions.print(before),
                                          evaluation.expressions.print(after)));
  }
  if (input.rows) {
    HEDDLE_ASSIGN(Rows result, evaluation.reshaped(*input.rows, shape));
    call.give(std::move(result));
    return {};
  }
  call.give(Symbolic{input.symbolic->element, shape,
                     reshapedFormula(evaluation, *input.symbolic, shape)});
  return {};
}

static Status reshape(Evaluation &evaluation, Call &call) {
  const std::vector<Expr> before = evaluation.shapeOf(*call.inputs[0]);
  HEDDLE_ASSIGN(std::vector<Expr> shape, evaluation.vectorOf(*call.inputs[1], "sizes"));
  HEDDLE_ASSIGN(const int64_t allowsZero, call.integerOr("allowzero", 0));
  std::optional<size_t> unknown;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis]->isConstant(0) && allowsZero == 0) {
      if (axis >= before.size()) {
        return evaluation.failure(StatusCode::InvalidArgument,
                                  "keeps the size of an axis that is not there");
      }
      shape[axis] = before[axis];
    } else if (shape[axis]->isConstant(-1)) {
      if (unknown) {
        return evaluation.failure(StatusCode::InvalidArgument, "leaves two sizes open");
      }
      unknown = axis;
      shape[axis] = evaluation.integer(1);
    }
  }
  if (unknown) {
    const Expr rest = countOf(evaluation, shape);
    shape[*unknown] = rest->isConstant(0)
                          ? rest
                          : evaluation.expressions.divide(countOf(evaluation, before), rest);
  }
  return giveReshaped(evaluation, call, shape);
}

static Status flattenNode(Evaluation &evaluation, Call &call) {
  const std::vector<Expr> shape = evaluation.shapeOf(*call.inputs[0]);
  HEDDLE_ASSIGN(int64_t axis, call.integerOr("axis", 1));
  const auto rank = static_cast<int64_t>(shape.size());
  axis = axis < 0 ? axis + rank : axis;
  if (axis < 0 || axis > rank) {
    return evaluation.failure(StatusCode::InvalidArgument,
                              fmt::format("its axis is {}, expected 0 to {}", axis, rank));
  }
  return giveReshaped(evaluation, call,
                      {countOf(evaluation, {shape.begin(), shape.begin() + axis}),
                       countOf(evaluation, {shape.begin() + axis, shape.end()})});
}

static Status identity(Evaluation &, Call &call) {
  call.results.push_back(*call.inputs[0]);
  return {};
}

/// Dropout is the identity except in training.
static Status dropout(Evaluation &evaluation, Call &call) {
  if (call.has(2) && evaluation.numberOf(*call.inputs[2]) != 0) {
    return evaluation.failure(StatusCode::Unsupported,
                              "may be in training mode, expected the constant false");
  }
  return identity(evaluation, call);
}

static Status transpose(Evaluation &evaluation, Call &call) {
  const Value &input = *call.inputs[0];
  const std::vector<Expr> shape = evaluation.shapeOf(input);
  HEDDLE_ASSIGN(const auto given, call.integers("perm"));
  std::vector<int64_t> order;
  for (size_t axis = shape.size(); axis-- > 0;) {
    order.push_back(static_cast<int64_t>(axis));
  }
  std::vector<int64_t> sorted = given.value_or(order), all = order;
  std::sort(sorted.begin(), sorted.end());
  std::reverse(all.begin(), all.end());
  if (sorted != all) {
    return evaluation.failure(
        StatusCode::InvalidArgument,
        fmt::format("its permutation does not name each of {} axes once", shape.size()));
  }
  order = given.value_or(order);
  if (input.rows) {
    Rows result = *input.rows;
    for (size_t axis = 0; axis < order.size(); ++axis) {
      result.axes[axis] = input.rows->axes[static_cast<size_t>(order[axis])];
    }
    call.give(std::move(result));
    return {};
  }
  Expressions &expressions = evaluation.expressions;
  Symbolic result{input.symbolic->element, {}, nullptr};
  std::vector<Expr> coordinates(shape.size());
  for (size_t axis = 0; axis < order.size(); ++axis) {
    result.shape.push_back(shape[static_cast<size_t>(order[axis])]);
    coordinates[static_cast<size_t>(order[axis])] = expressions.axis(axis);
  }
  expressions.within(result.shape);
  result.body = expressions.substitute(input.symbolic->body, coordinates);
  call.give(std::move(result));
  return {};
}

/// Returns the axes that the attribute (older versions) or the operand (newer ones) names, or
/// nullopt if there is neither.
static Result<std::optional<std::vector<int64_t>>> namedAxes(Evaluation &evaluation, Call &call,
                                                             size_t rank) {
  std::optional<std::vector<int64_t>> axes;
  if (call.has(1)) {
    HEDDLE_ASSIGN(axes, evaluation.constantsOf(*call.inputs[1], "axes"));
  } else {
    HEDDLE_ASSIGN(axes, call.integers("axes"));
  }
  if (axes) {
    for (int64_t &axis : *axes) {
      axis = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
      if (axis < 0 || axis >= static_cast<int64_t>(rank)) {
        return evaluation.failure(StatusCode::InvalidArgument,
                                  fmt::format("names axis {} of {}", axis, rank));
      }
    }
    std::sort(axes->begin(), axes->end());
  }
  return axes;
}

static Status unsqueeze(Evaluation &evaluation, Call &call) {
  std::vector<Expr> shape = evaluation.shapeOf(*call.inputs[0]);
  size_t count = 0;
  if (call.has(1)) {
    HEDDLE_ASSIGN(const auto axes, evaluation.constantsOf(*call.inputs[1], "axes"));
    count = axes.size();
  } else {
    HEDDLE_ASSIGN(const auto axes, call.integers("axes"));
    count = axes ? axes->size() : 0;
  }
  HEDDLE_ASSIGN(const auto axes, namedAxes(evaluation, call, shape.size() + count));
  if (!axes || shape.size() + count > onnxRankLimit) {
    return evaluation.failure(StatusCode::InvalidArgument, "names no axes, or too many");
  }
  for (const int64_t axis : *axes) {
    shape.insert(shape.begin() + std::min<int64_t>(axis, static_cast<int64_t>(shape.size())),
                 evaluation.integer(1));
  }
  return giveReshaped(evaluation, call, shape);
}

static Status squeeze(Evaluation &evaluation, Call &call) {
  const std::vector<Expr> before = evaluation.shapeOf(*call.inputs[0]);
  HEDDLE_ASSIGN(const auto axes, namedAxes(evaluation, call, before.size()));
  std::vector<Expr> shape;
  for (size_t axis = 0; axis < before.size(); ++axis) {
    const bool isOne = before[axis]->isConstant(1);
    const bool isNamed =
        axes && std::find(axes->begin(), axes->end(), static_cast<int64_t>(axis)) != axes->end();
    if (isNamed && !isOne) {
      return evaluation.failure(StatusCode::InvalidArgument,
                                fmt::format("leaves out axis {} of size {}, expected size 1", axis,
                                            evaluation.expressions.print(before[axis])));
    }
    if (!isNamed && (axes || !isOne)) {
      shape.push_back(before[axis]);
    }
  }
  return giveReshaped(evaluation, call, shape);
}

static Status expand(Evaluation &evaluation, Call &call) {
  const Value &input = *call.inputs[0];
  std::vector<Expr> before = evaluation.shapeOf(input);
  HEDDLE_ASSIGN(std::vector<Expr> shape, evaluation.vectorOf(*call.inputs[1], "sizes"));
  const size_t rank = std::max(before.size(), shape.size());
  before.insert(before.begin(), rank - before.size(), evaluation.integer(1));
  shape.insert(shape.begin(), rank - shape.size(), evaluation.integer(1));
  for (size_t axis = 0; axis < rank; ++axis) {
    if (shape[axis]->isConstant(1)) {
      shape[axis] = before[axis];
    } else if (before[axis] != shape[axis] && !before[axis]->isConstant(1)) {
      return evaluation.unequal(
          before[axis], shape[axis],
          fmt::format("the sizes of axis {} are {} and {}, expected the same or 1", axis,
                      evaluation.expressions.print(before[axis]),
                      evaluation.expressions.print(shape[axis])));
    }
  }
  if (input.rows) {
    Rows rows = *input.rows;
    rows.axes.insert(rows.axes.begin(), rank - rows.axes.size(), {});
    for (size_t axis = 0; axis < rank; ++axis) {
      if (shape[axis] == before[axis]) {
        continue;
      }
      if (!shape[axis]->isConstant()) {
        return evaluation.failure(
            StatusCode::Unsupported,
            "repeats activations along an axis whose size depends on the batch");
      }
      if (evaluation.isWhole()) {
        const Atoms copies{evaluation.newAtom(shape[axis]->integer)};
        HEDDLE_ASSIGN(rows, evaluation.repeatedWhole(std::move(rows), copies));
        rows.axes[axis] = copies;
        continue;
      }
      HEDDLE_ASSIGN(rows, evaluation.repeated(std::move(rows), axis, shape[axis]->integer));
    }
    call.give(std::move(rows));
    return {};
  }
  Symbolic result{input.symbolic->element, shape, nullptr};
  evaluation.expressions.within(shape);
  result.body = evaluation.broadcast(*input.symbolic, rank);
  call.give(std::move(result));
  return {};
}

Status concatRows(Evaluation &evaluation, Call &call, size_t axis) {
  std::erase_if(call.inputs, [&](const Value *input) {
    return evaluation.shapeOf(*input)[axis]->isConstant(0);
  });
  if (call.inputs.size() < 2) {
    return call.inputs.empty() ? evaluation.failure(StatusCode::Unsupported,
                                                    "joins activations that have no elements")
                               : identity(evaluation, call);
  }
  std::vector<mlir::Value> inputs;
  int64_t width = 0;
  Rows result;
  for (const Value *const input : call.inputs) {
    HEDDLE_ASSIGN(Rows part, evaluation.rowsOf(*input));
    if (axis + 1 != part.axes.size() || part.hasKeys()) {
      return evaluation.failure(StatusCode::Unsupported,
                                "joins activations along another axis than the width of rows");
    }
    const Atoms own = part.axes.back();
    if (!inputs.empty()) {
      // The other axes share the atoms of the preceding operands.
      part.axes.pop_back();
      Rows others = result;
      others.axes.pop_back();
      HEDDLE_TRY(evaluation.align(others, part));
      part.axes.push_back(own);
    }
    Atoms rest = part.order();
    rest.resize(rest.size() - std::min(rest.size(), own.size()));
    if (rest.empty()) {
      HEDDLE_ASSIGN(part, evaluation.arranged(std::move(part), {own}));
    } else {
      HEDDLE_ASSIGN(part, evaluation.spread(std::move(part), rest));
    }
    if (part.physical != std::vector<Atoms>{own} ||
        (!inputs.empty() && part.spread != result.spread)) {
      return evaluation.failure(StatusCode::Unsupported,
                                "joins activations whose width is in other parts");
    }
    width += widthOf(own);
    inputs.push_back(part.value);
    result = std::move(part);
  }
  const Atom whole = evaluation.newAtom(width);
  result.axes.back() = {whole};
  result.physical = {{whole}};
  result.value = evaluation.make<transformer::ConcatOp>(
      evaluation.tensorType({ShapedType::kDynamic, width}), inputs);
  call.give(std::move(result));
  return {};
}

/// Appends the rows of this run to those of earlier runs.
static Status concatPast(Evaluation &evaluation, Call &call, size_t axis) {
  if (call.inputs.size() == 1) {
    call.results.push_back(*call.inputs[0]);
    return {};
  }
  const bool isLast = call.inputs.size() == 2;
  HEDDLE_ASSIGN(Rows fresh, evaluation.rowsOf(*call.inputs[1]));
  if (!isLast || !fresh.past.empty()) {
    return evaluation.failure(StatusCode::Unsupported,
                              "joins rows of earlier runs with others than those of this run");
  }
  HEDDLE_ASSIGN(Rows result, evaluation.withPast(*call.inputs[0]->rows, std::move(fresh), axis));
  call.give(std::move(result));
  return {};
}

/// Concatenates formulas along an axis of this total size.
static Symbolic joinedFormula(Evaluation &evaluation, const Call &call,
                              const std::vector<Expr> &first, size_t axis, Expr total) {
  Expressions &expressions = evaluation.expressions;
  Symbolic result{call.inputs[0]->symbolic->element, first, nullptr};
  result.shape[axis] = total;
  expressions.within(result.shape);
  Expr end = total;
  for (size_t i = call.inputs.size(); i-- > 0;) {
    const Symbolic &part = *call.inputs[i]->symbolic;
    const Expr begin = expressions.subtract(end, part.shape[axis]);
    std::vector<Expr> coordinates;
    for (size_t each = 0; each < first.size(); ++each) {
      coordinates.push_back(each == axis && !part.shape[axis]->isConstant(1)
                                ? expressions.subtract(expressions.axis(each), begin)
                            : each == axis ? evaluation.integer(0)
                                           : expressions.axis(each));
    }
    const Expr body = expressions.substitute(part.body, coordinates);
    result.body =
        result.body == nullptr
            ? body
            : expressions.select(expressions.less(expressions.axis(axis), end), body, result.body);
    end = begin;
  }
  return result;
}

static Status concat(Evaluation &evaluation, Call &call) {
  const std::vector<Expr> first = evaluation.shapeOf(*call.inputs[0]);
  HEDDLE_ASSIGN(const size_t axis, call.axisOr("axis", 0, first.size()));
  bool hasRows = false;
  Expressions &expressions = evaluation.expressions;
  Expr total = evaluation.integer(0);
  for (const Value *const input : call.inputs) {
    const std::vector<Expr> shape = evaluation.shapeOf(*input);
    for (size_t i = 0; i < std::max(shape.size(), first.size()); ++i) {
      if (shape.size() != first.size() || (i != axis && shape[i] != first[i])) {
        return evaluation.failure(StatusCode::InvalidArgument,
                                  fmt::format("joins tensors that differ in axis {}", i));
      }
    }
    total = expressions.add(total, shape[axis]);
    hasRows |= input->rows.has_value();
  }
  if (call.inputs[0]->rows && !call.inputs[0]->rows->past.empty()) {
    return concatPast(evaluation, call, axis);
  }
  for (const Value *const input : call.inputs) {
    if (input->rows && !input->rows->past.empty()) {
      return evaluation.failure(StatusCode::Unsupported,
                                "joins rows of earlier runs behind others, expected them first");
    }
  }
  if (hasRows && evaluation.isWhole()) {
    HEDDLE_ASSIGN(Rows result, wholeConcat(evaluation, call, axis));
    call.give(std::move(result));
    return {};
  }
  if (hasRows) {
    const bool areParts =
        std::any_of(call.inputs.begin(), call.inputs.end(), [&](const Value *input) {
          return input->rows && input->rows->space != 0 &&
                 isAxisOf(input->rows->axes[axis], Atom::Kind::Row);
        });
    if (areParts) {
      HEDDLE_ASSIGN(Rows result, evaluation.joinedParts(call, axis));
      call.give(std::move(result));
      return {};
    }
    return concatRows(evaluation, call, axis);
  }
  call.give(joinedFormula(evaluation, call, first, axis, total));
  return {};
}

std::vector<OperatorInfo> layoutOperators() {
  constexpr size_t any = SIZE_MAX;
  return {
      {"", "Identity", 1, 1, 1, identity},
      {"", "Dropout", 7, 1, 3, dropout},
      {"", "Reshape", 5, 2, 2, reshape},
      {"", "Flatten", 1, 1, 1, flattenNode},
      {"", "Transpose", 1, 1, 1, transpose},
      {"", "Unsqueeze", 1, 1, 1, unsqueeze},
      {"", "Unsqueeze", 13, 2, 2, unsqueeze},
      {"", "Squeeze", 1, 1, 1, squeeze},
      {"", "Squeeze", 13, 1, 2, squeeze},
      {"", "Expand", 8, 2, 2, expand},
      {"", "Concat", 4, 1, any, concat, 0, true, true},
  };
}

} // namespace heddle::onnx
