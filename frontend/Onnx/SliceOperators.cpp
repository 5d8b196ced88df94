// SPDX-License-Identifier: Apache-2.0
///
/// Slice and Split: parts of the width, the first row of each sequence, and any part of a formula.
#include "frontend/Onnx/Operators.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <tuple>

using namespace mlir;

namespace heddle::onnx {

namespace {
/// A slice along one axis: `count` coordinates from `begin` on, with a step of `step`.
struct Cut {
  size_t axis;
  Expr begin;
  Expr count;
  int64_t step;
};
} // namespace

/// Returns every `step`th element of an axis.
static Result<Rows> everyNth(Evaluation &evaluation, const Rows &rows, const Cut &cut) {
  static constexpr int64_t most = 256;
  if (!cut.begin->isConstant() || !cut.count->isConstant() || cut.count->integer < 1 ||
      cut.count->integer > most) {
    return evaluation.failure(
        StatusCode::Unsupported,
        fmt::format("takes every {}th element of an axis, expected 1 to {} of "
                    "them",
                    cut.step, most));
  }
  std::vector<Value> parts;
  for (int64_t i = 0; i < cut.count->integer; ++i) {
    HEDDLE_ASSIGN(Rows part,
                  evaluation.sliced(rows, cut.axis, cut.begin->integer + i * cut.step, 1));
    parts.push_back({std::nullopt, std::move(part)});
  }
  Call joined{evaluation.present(), {}};
  for (const Value &part : parts) {
    joined.inputs.push_back(&part);
  }
  return wholeConcat(evaluation, joined, cut.axis);
}

/// Returns part of a value.
static Result<Value> cutOf(Evaluation &evaluation, const Value &value, const Cut &cut) {
  Expressions &expressions = evaluation.expressions;
  if (value.rows) {
    Rows rows = *value.rows;
    const bool isWhole =
        cut.begin->isConstant(0) && cut.count == evaluation.shapeOf(rows)[cut.axis];
    if (isWhole && cut.step == 1) {
      return value;
    }
    HEDDLE_ASSIGN(rows, evaluation.written(std::move(rows)));
    if (evaluation.isWhole() && cut.step != 1) {
      HEDDLE_ASSIGN(rows, everyNth(evaluation, rows, cut));
      return Value{std::nullopt, std::move(rows)};
    }
    if (isAxisOf(rows.axes[cut.axis], Atom::Kind::Row) && cut.count->isConstant(1)) {
      HEDDLE_ASSIGN(rows, evaluation.firstRow(std::move(rows), cut.axis,
                                              cut.begin->isConstant() ? cut.begin->integer : -1));
      return Value{std::nullopt, std::move(rows)};
    }
    if (!isInner(rows.axes[cut.axis]) || cut.step != 1 || !cut.begin->isConstant() ||
        !cut.count->isConstant()) {
      return evaluation.failure(
          StatusCode::Unsupported,
          "takes some of the rows, expected part of the width or the first row");
    }
    HEDDLE_ASSIGN(
        rows, evaluation.sliced(std::move(rows), cut.axis, cut.begin->integer, cut.count->integer));
    return Value{std::nullopt, std::move(rows)};
  }
  Symbolic result = *value.symbolic;
  result.shape[cut.axis] = cut.count;
  expressions.within(result.shape);
  std::vector<Expr> coordinates;
  for (size_t axis = 0; axis < result.shape.size(); ++axis) {
    coordinates.push_back(expressions.axis(axis));
  }
  coordinates[cut.axis] =
      cut.count->isConstant(1)
          ? cut.begin
          : expressions.add(cut.begin, expressions.multiply(evaluation.integer(cut.step),
                                                            expressions.axis(cut.axis)));
  result.body = expressions.substitute(result.body, coordinates);
  return Value{std::move(result), std::nullopt};
}

/// Clamps a bound of a slice to [0, size].
static Result<Expr> boundOf(Evaluation &evaluation, Expr bound, Expr size) {
  Expressions &expressions = evaluation.expressions;
  const int64_t far = std::numeric_limits<int32_t>::max();
  if (bound->isConstant() && bound->integer >= far) {
    return size;
  }
  if (bound->isConstant() && bound->integer < 0) {
    bound = bound->integer <= -far ? evaluation.integer(0) : expressions.add(bound, size);
    bound = bound->isConstant() ? evaluation.integer(std::max<int64_t>(bound->integer, 0)) : bound;
  }
  const Expr least = expressions.least(bound, size);
  if (least == bound || least == size) {
    return least;
  }
  if (!size->isConstant()) {
    return evaluation.failure(StatusCode::Unsupported,
                              fmt::format("ends at {} of {}, which may be fewer",
                                          expressions.print(bound), expressions.print(size)));
  }
  // A table with this number of rows limits the length of sequences.
  evaluation.noteLongest(size->integer);
  return bound;
}

/// Reads the starts, ends, axes and steps, which are operands in newer versions and attributes in
/// older ones.
static Result<std::vector<std::vector<Expr>>> sliceLists(Evaluation &evaluation, Call &call) {
  std::vector<std::vector<Expr>> lists(4);
  static constexpr std::string_view names[] = {"starts", "ends", "axes", "steps"};
  for (size_t i = 0; i < 4; ++i) {
    if (call.has(i + 1)) {
      HEDDLE_ASSIGN(lists[i], evaluation.vectorOf(*call.inputs[i + 1], names[i]));
      continue;
    }
    HEDDLE_ASSIGN(const auto given, call.integers(names[i]));
    for (const int64_t each : given.value_or(std::vector<int64_t>())) {
      lists[i].push_back(evaluation.integer(each));
    }
  }
  return lists;
}

static Status slice(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const auto lists, sliceLists(evaluation, call));
  const auto &[starts, ends, axes, steps] = std::tie(lists[0], lists[1], lists[2], lists[3]);
  Value result = *call.inputs[0];
  const auto rank = static_cast<int64_t>(evaluation.shapeOf(result).size());
  if (starts.size() != ends.size() || (!axes.empty() && axes.size() != starts.size()) ||
      (!steps.empty() && steps.size() != starts.size())) {
    return evaluation.failure(StatusCode::InvalidArgument,
                              "has different numbers of starts, ends, axes and steps");
  }
  Expressions &expressions = evaluation.expressions;
  for (size_t i = 0; i < starts.size(); ++i) {
    const Expr named = axes.empty() ? evaluation.integer(static_cast<int64_t>(i)) : axes[i];
    const Expr step = steps.empty() ? evaluation.integer(1) : steps[i];
    if (!named->isConstant() || !step->isConstant() || step->integer < 1 ||
        named->integer < -rank || named->integer >= rank) {
      return evaluation.failure(
          StatusCode::Unsupported,
          "has axes or steps that are no constants of its range, or steps backwards");
    }
    const auto axis =
        static_cast<size_t>(named->integer < 0 ? named->integer + rank : named->integer);
    const Expr size = evaluation.shapeOf(result)[axis];
    HEDDLE_ASSIGN(const Expr begin, boundOf(evaluation, starts[i], size));
    HEDDLE_ASSIGN(const Expr end, boundOf(evaluation, ends[i], size));
    Expr count = expressions.largest(expressions.subtract(end, begin), evaluation.integer(0));
    if (step->integer != 1) {
      count =
          expressions.divide(expressions.add(count, evaluation.integer(step->integer - 1)), step);
    }
    HEDDLE_ASSIGN(result, cutOf(evaluation, result, {axis, begin, count, step->integer}));
  }
  call.results.push_back(std::move(result));
  return {};
}

static Status split(Evaluation &evaluation, Call &call) {
  const Value &input = *call.inputs[0];
  const std::vector<Expr> shape = evaluation.shapeOf(input);
  HEDDLE_ASSIGN(const size_t axis, call.axisOr("axis", 0, shape.size()));
  std::optional<std::vector<int64_t>> parts;
  if (call.has(1)) {
    HEDDLE_ASSIGN(parts, evaluation.constantsOf(*call.inputs[1], "parts"));
  } else {
    HEDDLE_ASSIGN(parts, call.integers("split"));
  }
  const auto count = static_cast<int64_t>(call.node.outputs.size());
  if (!shape[axis]->isConstant()) {
    return evaluation.failure(StatusCode::Unsupported,
                              "splits an axis whose size depends on the batch");
  }
  const int64_t size = shape[axis]->integer;
  if (!parts) {
    // Equal parts; the last one may be smaller.
    const int64_t each = (size + count - 1) / count;
    parts.emplace();
    for (int64_t i = 0; i < count; ++i) {
      parts->push_back(std::clamp<int64_t>(size - i * each, 0, each));
    }
  }
  int64_t begin = 0;
  for (const int64_t part : *parts) {
    if (part < 0 || part > size - begin) {
      return evaluation.failure(StatusCode::InvalidArgument,
                                fmt::format("takes {} elements from {} of {}", part, begin, size));
    }
    HEDDLE_ASSIGN(
        Value result,
        cutOf(evaluation, input, {axis, evaluation.integer(begin), evaluation.integer(part), 1}));
    call.results.push_back(std::move(result));
    begin += part;
  }
  if (begin != size || parts->size() != call.node.outputs.size()) {
    return evaluation.failure(StatusCode::InvalidArgument,
                              fmt::format("takes {} of {} elements in {} parts, expected all in {}",
                                          begin, size, parts->size(), count));
  }
  return {};
}

std::vector<OperatorInfo> sliceOperators() {
  return {
      {"", "Slice", 1, 1, 1, slice},
      {"", "Slice", 10, 3, 5, slice},
      {"", "Split", 2, 1, 1, split},
      {"", "Split", 13, 1, 2, split},
  };
}

} // namespace heddle::onnx
