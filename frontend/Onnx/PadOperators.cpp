// SPDX-License-Identifier: Apache-2.0
///
/// Pad: extends a tensor along its axes.
#include "frontend/Onnx/Operators.h"

#include "base/Utf8.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <limits>

namespace heddle::onnx {

namespace {

/// The number of elements added along an axis; negative numbers remove elements.
struct Margins {
  int64_t before = 0, after = 0;
};

} // namespace

/// Returns the margins of each axis.
static Result<std::vector<Margins>> marginsOf(Evaluation &evaluation, const Call &call,
                                              size_t rank) {
  HEDDLE_ASSIGN(const auto pads, evaluation.constantsOf(*call.inputs[1], "pads"));
  std::vector<int64_t> axes;
  for (size_t axis = 0; axis < rank; ++axis) {
    axes.push_back(static_cast<int64_t>(axis));
  }
  if (call.has(3)) {
    HEDDLE_ASSIGN(axes, evaluation.constantsOf(*call.inputs[3], "axes"));
  }
  std::vector<Margins> margins(rank);
  const auto count = static_cast<int64_t>(rank);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + count : axes[i];
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    const bool fits = pads.size() == 2 * axes.size() && std::abs(pads[i]) <= most &&
                      std::abs(pads[i + axes.size()]) <= most;
    if (axis < 0 || axis >= count || !fits) {
      return evaluation.failure(
          StatusCode::InvalidArgument,
          fmt::format("has {} pads of {} axes of {}", pads.size(), axes.size(), rank));
    }
    margins[static_cast<size_t>(axis)] = {pads[i], pads[i + axes.size()]};
  }
  return margins;
}

/// Maps a coordinate outside the tensor to that of the element that it repeats.
static Expr insideOf(Expressions &expressions, Expr at, Expr size, std::string_view mode) {
  const Expr zero = expressions.integer(0),
             last = expressions.subtract(size, expressions.integer(1));
  if (mode == "wrap") {
    return expressions.modulo(at, size);
  }
  if (mode == "edge") {
    return expressions.least(expressions.largest(at, zero), last);
  }
  // Reflects at the first and the last element.
  const Expr mirrored = expressions.select(expressions.less(at, zero),
                                           expressions.multiply(at, expressions.integer(-1)), at);
  return expressions.select(
      expressions.less(last, mirrored),
      expressions.subtract(expressions.multiply(last, expressions.integer(2)), mirrored), mirrored);
}

static Symbolic paddedFormula(Evaluation &evaluation, const Symbolic &input,
                              const std::vector<Margins> &margins, std::string_view mode,
                              Expr value) {
  Expressions &expressions = evaluation.expressions;
  Symbolic result{input.element, {}, nullptr};
  for (size_t axis = 0; axis < margins.size(); ++axis) {
    result.shape.push_back(expressions.add(
        input.shape[axis], evaluation.integer(margins[axis].before + margins[axis].after)));
  }
  expressions.within(result.shape);
  std::vector<Expr> coordinates;
  Expr isInside = expressions.boolean(true);
  for (size_t axis = 0; axis < margins.size(); ++axis) {
    const Expr at =
        expressions.subtract(expressions.axis(axis), evaluation.integer(margins[axis].before));
    const bool isWhole = margins[axis].before == 0 && margins[axis].after == 0;
    coordinates.push_back(
        isWhole || mode == "constant" ? at : insideOf(expressions, at, input.shape[axis], mode));
    if (!isWhole && mode == "constant") {
      const Expr isAfter = expressions.negation(expressions.less(at, evaluation.integer(0)));
      isInside = expressions.conjunction(
          isInside, expressions.conjunction(isAfter, expressions.less(at, input.shape[axis])));
    }
  }
  result.body =
      expressions.select(isInside, expressions.substitute(input.body, coordinates), value);
  return result;
}

/// Pads activations with a number, one axis at a time.
static Result<Rows> paddedRows(Evaluation &evaluation, const Call &call, Value value,
                               const std::vector<Margins> &margins, double number) {
  for (size_t axis = 0; axis < margins.size(); ++axis) {
    if (margins[axis].before < 0 || margins[axis].after < 0) {
      return evaluation.failure(StatusCode::Unsupported,
                                "leaves elements of activations out, expected pads of 0 or more");
    }
    const auto beside = [&](int64_t count) {
      Symbolic part{Element::Real, evaluation.shapeOf(value), evaluation.expressions.real(number)};
      part.shape[axis] = evaluation.integer(count);
      return Value{std::move(part), std::nullopt};
    };
    std::vector<Value> parts;
    if (margins[axis].before > 0) {
      parts.push_back(beside(margins[axis].before));
    }
    parts.push_back(value);
    if (margins[axis].after > 0) {
      parts.push_back(beside(margins[axis].after));
    }
    Call joined{call.node, {}};
    for (const Value &part : parts) {
      joined.inputs.push_back(&part);
    }
    if (parts.size() > 1) {
      HEDDLE_ASSIGN(value.rows, wholeConcat(evaluation, joined, axis));
    }
  }
  return *std::move(value.rows);
}

static Status pad(Evaluation &evaluation, Call &call) {
  const Value &input = *call.inputs[0];
  HEDDLE_ASSIGN(const auto named, call.text("mode"));
  const std::string_view mode = named.value_or("constant");
  static constexpr std::string_view modes[] = {"constant", "edge", "reflect", "wrap"};
  if (std::find(std::begin(modes), std::end(modes), mode) == std::end(modes)) {
    return evaluation.failure(
        StatusCode::InvalidArgument,
        fmt::format("\"mode\" is {}, expected \"constant\", \"edge\", \"reflect\" or \"wrap\"",
                    quote(mode)));
  }
  HEDDLE_ASSIGN(const std::vector<Margins> margins,
                marginsOf(evaluation, call, evaluation.shapeOf(input).size()));
  std::optional<double> number = 0;
  if (call.has(2)) {
    number = evaluation.uniformNumberOf(*call.inputs[2]);
  }
  if (!number) {
    return evaluation.failure(StatusCode::Unsupported, "pads with a number that is no constant");
  }
  if (input.symbolic) {
    Expressions &expressions = evaluation.expressions;
    const auto whole = static_cast<int64_t>(input.symbolic->element == Element::Real ? 0 : *number);
    const Expr value = input.symbolic->element == Element::Real ? expressions.real(*number)
                       : input.symbolic->element == Element::Boolean
                           ? expressions.boolean(whole != 0)
                           : evaluation.integer(whole);
    call.give(paddedFormula(evaluation, *input.symbolic, margins, mode, value));
    return {};
  }
  if (!evaluation.isWhole() || mode != "constant") {
    return evaluation.failure(StatusCode::Unsupported, "pads activations, expected constants");
  }
  HEDDLE_ASSIGN(Rows rows, paddedRows(evaluation, call, input, margins, *number));
  call.give(std::move(rows));
  return {};
}

std::vector<OperatorInfo> padOperators() { return {{"", "Pad", 11, 2, 4, pad}}; }

} // namespace heddle::onnx
