// SPDX-License-Identifier: Apache-2.0
///
/// Norms and reductions, expanded to primitive operations. LayerNormalization and a spelled-out
/// norm give the same program, in which `fuse-norm` recognizes the norms.
#include "frontend/Onnx/Operators.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace mlir;
using heddle::transformer::Reduction;

namespace heddle::onnx {

Result<Rows> withColumns(Evaluation &evaluation, Rows rows, const std::vector<bool> &areColumns) {
  Atoms others, columns;
  for (size_t axis = 0; axis < rows.axes.size(); ++axis) {
    for (const Atom &atom : rows.axes[axis]) {
      if (atom.kind == Atom::Kind::Inner) {
        (areColumns[axis] ? columns : others).push_back(atom);
      }
    }
  }
  HEDDLE_ASSIGN(rows, evaluation.written(std::move(rows)));
  if (rows.spread == others && rows.physical == std::vector<Atoms>{columns}) {
    return rows;
  }
  HEDDLE_ASSIGN(rows, evaluation.arranged(std::move(rows), {flatten({others, columns})}));
  return widthOf(others) > 1 ? evaluation.spread(std::move(rows), others) : std::move(rows);
}

Result<Rows> reduced(Evaluation &evaluation, Rows rows, const std::vector<bool> &isReduced,
                     Reduction method) {
  bool isInner = !rows.axes.empty() && !rows.hasKeys();
  for (size_t axis = 0; axis < rows.axes.size(); ++axis) {
    isInner &= !isReduced[axis] || onnx::isInner(rows.axes[axis]);
  }
  if (!isInner) {
    return evaluation.failure(
        StatusCode::Unsupported,
        "reduces activations along another axis than parts of the width of rows");
  }
  HEDDLE_ASSIGN(rows, withColumns(evaluation, std::move(rows), isReduced));
  rows.value = evaluation.make<transformer::ReduceOp>(
      evaluation.tensorType({ShapedType::kDynamic, 1}), method, rows.value);
  for (size_t axis = 0; axis < rows.axes.size(); ++axis) {
    if (isReduced[axis]) {
      rows.axes[axis].clear();
    }
  }
  // Remaining atoms of size 1 are not columns.
  rows.physical = {rows.spread.empty() ? flatten(rows.axes) : Atoms()};
  rows.physical.front().erase(
      std::remove_if(rows.physical.front().begin(), rows.physical.front().end(),
                     [](const Atom &atom) { return atom.kind != Atom::Kind::Inner; }),
      rows.physical.front().end());
  return rows;
}

Result<std::vector<bool>> reducedAxes(Evaluation &evaluation, Call &call, size_t rank) {
  std::optional<std::vector<int64_t>> axes;
  if (call.has(1)) {
    HEDDLE_ASSIGN(axes, evaluation.constantsOf(*call.inputs[1], "axes"));
  } else {
    HEDDLE_ASSIGN(axes, call.integers("axes"));
  }
  HEDDLE_ASSIGN(const int64_t keepsAll, call.integerOr("noop_with_empty_axes", 0));
  const bool isEmpty = !axes || axes->empty();
  std::vector<bool> isReduced(rank, isEmpty && keepsAll == 0);
  const auto count = static_cast<int64_t>(rank);
  for (const int64_t axis : axes.value_or(std::vector<int64_t>())) {
    if (axis < -count || axis >= count) {
      return evaluation.failure(StatusCode::InvalidArgument,
                                fmt::format("names axis {} of {}", axis, rank));
    }
    isReduced[static_cast<size_t>(axis < 0 ? axis + count : axis)] = true;
  }
  return isReduced;
}

// --- norms -----------------------------------------------------------------------------------

namespace {

/// The normalized rows, the mean that was subtracted, and the inverse deviation that they were
/// multiplied by.
struct Normalized {
  Rows rows;
  std::optional<Rows> mean;
  Rows inverse;
};

} // namespace

/// Divides rows, minus their mean if `isCentred`, by the square root of their mean square plus
/// epsilon, over the axes from `first` on.
static Result<Normalized> normalized(Evaluation &evaluation, Rows rows, size_t first,
                                     double epsilon, bool isCentred) {
  std::vector<bool> areColumns(rows.axes.size(), false);
  std::fill(areColumns.begin() + static_cast<int64_t>(first), areColumns.end(), true);
  Normalized result;
  HEDDLE_ASSIGN(rows, evaluation.written(std::move(rows)));
  if (isCentred) {
    HEDDLE_ASSIGN(result.mean, reduced(evaluation, rows, areColumns, Reduction::Mean));
    HEDDLE_ASSIGN(rows, withColumns(evaluation, std::move(rows), areColumns));
    rows.value = evaluation.make<transformer::CombineOp>(transformer::Combination::Subtract,
                                                         rows.value, result.mean->value);
  }
  HEDDLE_ASSIGN(rows, withColumns(evaluation, std::move(rows), areColumns));
  Rows square = rows;
  square.value = evaluation.make<transformer::MultiplyOp>(rows.value, rows.value);
  HEDDLE_ASSIGN(result.inverse,
                reduced(evaluation, std::move(square), areColumns, Reduction::Mean));
  const mlir::Value shifted =
      evaluation.make<transformer::ShiftOp>(result.inverse.value, evaluation.f32(epsilon));
  result.inverse.value =
      evaluation.make<transformer::ActivateOp>(transformer::Activation::Rsqrt, shifted);
  rows.value = evaluation.make<transformer::MultiplyOp>(rows.value, result.inverse.value);
  result.rows = std::move(rows);
  return result;
}

/// Multiplies the last axis by a scale and adds a bias; either may be null.
static Result<Rows> withScale(Evaluation &evaluation, Rows rows, const Value *scale,
                              const Value *bias) {
  Value result{std::nullopt, std::move(rows)};
  if (scale != nullptr) {
    HEDDLE_ASSIGN(result, combined(evaluation, Formula::Multiply, result, *scale));
  }
  if (bias != nullptr) {
    HEDDLE_ASSIGN(result, combined(evaluation, Formula::Add, result, *bias));
  }
  return *std::move(result.rows);
}

/// Normalizes over the last axis, then applies scale and bias.
static Result<Rows> normalized(Evaluation &evaluation, Rows rows, double epsilon, bool isCentred,
                               const Value *scale, const Value *bias) {
  if (rows.axes.empty()) {
    return evaluation.failure(StatusCode::Unsupported, "normalizes a number, expected rows");
  }
  const size_t last = rows.axes.size() - 1;
  HEDDLE_ASSIGN(Normalized norm, normalized(evaluation, std::move(rows), last, epsilon, isCentred));
  return withScale(evaluation, std::move(norm.rows), scale, bias);
}

static const Value *inputOf(const Call &call, size_t index) {
  return call.has(index) ? call.inputs[index] : nullptr;
}

/// Returns the attribute "epsilon", which is added to the mean square.
static Result<double> epsilonOf(const Evaluation &evaluation, const Call &call, double absent) {
  HEDDLE_ASSIGN(const std::optional<double> epsilon, call.real("epsilon"));
  if (epsilon && !std::isfinite(*epsilon)) {
    return evaluation.failure(
        StatusCode::Unsupported,
        fmt::format("attribute \"epsilon\" is {}, expected a finite number", *epsilon));
  }
  return epsilon.value_or(absent);
}

/// LayerNormalization or, if not centred, RMSNormalization.
template <bool isCentred> static Status normalization(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(*call.inputs[0]));
  const size_t rank = rows.axes.size();
  HEDDLE_ASSIGN(const size_t axis, call.axisOr("axis", -1, rank));
  HEDDLE_ASSIGN(const double epsilon, epsilonOf(evaluation, call, 1e-5));
  HEDDLE_ASSIGN(Normalized norm, normalized(evaluation, std::move(rows), axis, epsilon, isCentred));
  HEDDLE_ASSIGN(Rows result,
                withScale(evaluation, std::move(norm.rows), inputOf(call, 1), inputOf(call, 2)));
  call.give(std::move(result));
  if (norm.mean) {
    call.give(*std::move(norm.mean));
    call.give(std::move(norm.inverse));
  }
  return {};
}

/// Emits the norm of the sum of two inputs and a bias. The last result is that sum.
static Status skipNormalization(Evaluation &evaluation, Call &call, bool isCentred,
                                const Value *scale, const Value *shift, const Value *bias) {
  HEDDLE_ASSIGN(const double epsilon, epsilonOf(evaluation, call, 1e-12));
  Value input = *call.inputs[0];
  if (bias != nullptr) {
    HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(input));
    // The bias is merged into the preceding product if that has no other use.
    const bool isOwn = rows.maker == call.node.inputs[0] && evaluation.readers(rows.maker) == 1;
    if (isOwn) {
      HEDDLE_ASSIGN(input.rows, withBias(evaluation, std::move(rows), *bias));
    } else {
      HEDDLE_ASSIGN(input, combined(evaluation, Formula::Add, input, *bias));
    }
  }
  HEDDLE_ASSIGN(Rows sum, combinedRows(evaluation, Formula::Add, input, *call.inputs[1]));
  HEDDLE_ASSIGN(Rows result, normalized(evaluation, sum, epsilon, isCentred, scale, shift));
  call.give(std::move(result));
  // The mean and the inverse deviation are only used in training.
  call.results.resize(3);
  call.give(std::move(sum));
  return {};
}

static Status skipLayerNormalization(Evaluation &evaluation, Call &call) {
  return skipNormalization(evaluation, call, true, call.inputs[2], inputOf(call, 3),
                           inputOf(call, 4));
}

static Status skipSimplifiedLayerNormalization(Evaluation &evaluation, Call &call) {
  return skipNormalization(evaluation, call, false, call.inputs[2], nullptr, inputOf(call, 3));
}

/// Looks up rows of a table by ids.
static Value looked(Evaluation &evaluation, const Symbolic &table, const Symbolic &ids) {
  Expressions &expressions = evaluation.expressions;
  Symbolic result{Element::Real, ids.shape, nullptr, evaluation.present().name};
  result.shape.push_back(table.shape.back());
  expressions.within(result.shape);
  const Expr coordinates[] = {ids.body, expressions.axis(ids.shape.size())};
  result.body = expressions.substitute(table.body, coordinates);
  return Value{std::move(result), std::nullopt};
}

/// Returns the number of visible keys of each sequence, as the ONNX Runtime optimizer computes it
/// from a mask.
static Symbolic lengthsOf(Evaluation &evaluation, const Symbolic &mask) {
  Expressions &expressions = evaluation.expressions;
  expressions.within({});
  const Expr coordinates[] = {expressions.axis(0), expressions.bound()};
  const Expr body =
      expressions.cast(expressions.substitute(mask.body, coordinates), Element::Integer);
  const Expr last = expressions.subtract(mask.shape[1], evaluation.integer(1));
  return {Element::Integer, {mask.shape[0]}, expressions.runningSum(last, body)};
}

/// com.microsoft: the norm of the sum of word, position and token type embeddings.
static Status embedLayerNormalization(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const double epsilon, epsilonOf(evaluation, call, 1e-12));
  for (const size_t index : {0, 1, 2, 3, 4, 7, 8}) {
    const size_t rank = 2;
    if (call.has(index) &&
        (!call.inputs[index]->symbolic || call.inputs[index]->symbolic->shape.size() != rank)) {
      return evaluation.failure(
          StatusCode::Unsupported,
          fmt::format("input {} is no matrix of ids or of the file", index + 1));
    }
  }
  const Symbolic &ids = *call.inputs[0]->symbolic;
  Symbolic positions{Element::Integer, ids.shape, evaluation.expressions.axis(1)};
  if (call.has(8)) {
    positions = *call.inputs[8]->symbolic;
  }
  Value sum = looked(evaluation, *call.inputs[2]->symbolic, ids);
  if (call.has(1) && call.has(4)) {
    HEDDLE_ASSIGN(
        sum, combined(evaluation, Formula::Add, sum,
                      looked(evaluation, *call.inputs[4]->symbolic, *call.inputs[1]->symbolic)));
  }
  HEDDLE_ASSIGN(sum, combined(evaluation, Formula::Add, sum,
                              looked(evaluation, *call.inputs[3]->symbolic, positions)));
  HEDDLE_ASSIGN(Rows result,
                normalized(evaluation, *sum.rows, epsilon, true, call.inputs[5], call.inputs[6]));
  call.give(std::move(result));
  call.results.resize(2);
  if (call.has(7)) {
    call.results[1].symbolic = lengthsOf(evaluation, *call.inputs[7]->symbolic);
  }
  call.give(*std::move(sum.rows));
  return {};
}

std::vector<OperatorInfo> normOperators() {
  static constexpr std::string_view microsoft = "com.microsoft";
  return {
      {"", "LayerNormalization", 17, 2, 3, normalization<true>},
      {"", "RMSNormalization", 23, 2, 2, normalization<false>},
      // ONNX Runtime's operator, in the default domain.
      {"", "SimplifiedLayerNormalization", 1, 2, 2, normalization<false>},
      {microsoft, "SkipLayerNormalization", 1, 3, 5, skipLayerNormalization},
      {microsoft, "SkipSimplifiedLayerNormalization", 1, 3, 4, skipSimplifiedLayerNormalization},
      // Token types and their table may be omitted.
      {microsoft, "EmbedLayerNormalization", 1, 7, 9, embedLayerNormalization, 1 << 1 | 1 << 4},
  };
}

} // namespace heddle::onnx
