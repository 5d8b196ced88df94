// SPDX-License-Identifier: Apache-2.0
///
/// RotaryEmbedding, expanded to x cos + turned(x) sin, where turned(x) is (-second, first) of each
/// rotated pair. `fuse-rotary` recognizes it just as it recognizes a rotary embedding that a graph
/// spells out.
#include "frontend/Onnx/Operators.h"

#include <fmt/format.h>

namespace heddle::onnx {

namespace {

/// Which pairs a node rotates.
struct Turning {
  int64_t heads = 0;
  /// The number of columns of a head that are rotated.
  int64_t width = 0;
  /// Whether a pair consists of adjacent elements, instead of one element of each half.
  bool isInterleaved = false;
};

} // namespace

static Status refuse(const Evaluation &evaluation, const std::string &what) {
  return evaluation.failure(StatusCode::Unsupported, what);
}

/// Concatenates tensors along the last axis.
static Result<Value> sideBySideValues(Evaluation &evaluation, const Call &call,
                                      const std::vector<Value> &parts) {
  Call joined{call.node, {}};
  for (const Value &part : parts) {
    joined.inputs.push_back(&part);
  }
  const size_t last = evaluation.shapeOf(parts.front()).size() - 1;
  if (evaluation.isWhole()) {
    HEDDLE_ASSIGN(Rows rows, wholeConcat(evaluation, joined, last));
    return Value{std::nullopt, std::move(rows)};
  }
  HEDDLE_TRY(concatRows(evaluation, joined, last));
  return std::move(joined.results.front());
}

/// Returns the cosines or sines [batch, rows, half] as [batch, rows, 1, width]: each number applies
/// to both elements of its pair.
static Result<Value> factorsOf(Evaluation &evaluation, const Call &call, const Value &table,
                               const Turning &turning) {
  Expressions &expressions = evaluation.expressions;
  const int64_t half = turning.width / 2;
  if (table.rows) {
    if (turning.isInterleaved || call.has(3) || table.rows->axes.size() != 3) {
      return refuse(evaluation,
                    "has cosines that are activations, and pairs that are neighbours or "
                    "positions");
    }
    HEDDLE_ASSIGN(Value both, sideBySideValues(evaluation, call, {table, table}));
    both.rows->axes.insert(both.rows->axes.begin() + 2, Atoms());
    return both;
  }
  const Symbolic &cosines = *table.symbolic;
  const Symbolic *const positions = call.has(3) ? &*call.inputs[3]->symbolic : nullptr;
  const size_t rank = positions != nullptr ? 2 : 3;
  if (cosines.shape.size() != rank || !cosines.shape.back()->isConstant() ||
      cosines.shape.back()->integer < half) {
    return refuse(evaluation, fmt::format("has cosines or sines of {} axes, expected {} with {} "
                                          "columns",
                                          cosines.shape.size(), rank, half));
  }
  Symbolic result{Element::Real, positions != nullptr ? positions->shape : cosines.shape, nullptr};
  result.shape.resize(2);
  result.shape.push_back(evaluation.integer(1));
  result.shape.push_back(evaluation.integer(turning.width));
  expressions.within(result.shape);
  const Expr column = turning.isInterleaved
                          ? expressions.divide(expressions.axis(3), evaluation.integer(2))
                          : expressions.modulo(expressions.axis(3), evaluation.integer(half));
  const Expr place[] = {expressions.axis(0), expressions.axis(1)};
  result.body =
      positions != nullptr
          ? expressions.substitute(
                cosines.body,
                std::vector<Expr>{expressions.substitute(positions->body, place), column})
          : expressions.substitute(cosines.body, std::vector<Expr>{place[0], place[1], column});
  return Value{std::move(result), std::nullopt};
}

/// Swaps the elements of each pair and negates the second ones.
static Result<Value> turnedPairs(Evaluation &evaluation, const Call &call, const Rows &rows,
                                 const Turning &turning) {
  Expressions &expressions = evaluation.expressions;
  const int64_t half = turning.width / 2;
  Rows pairs = rows;
  std::vector<Expr> shape = evaluation.shapeOf(rows);
  if (turning.isInterleaved) {
    std::vector<Expr> split = shape;
    split.back() = evaluation.integer(half);
    split.push_back(evaluation.integer(2));
    HEDDLE_ASSIGN(pairs, evaluation.reshaped(std::move(pairs), split));
  }
  const size_t last = pairs.axes.size() - 1;
  const int64_t size = turning.isInterleaved ? 1 : half;
  HEDDLE_ASSIGN(Rows first, evaluation.sliced(pairs, last, 0, size));
  HEDDLE_ASSIGN(Rows second, evaluation.sliced(pairs, last, size, size));
  second.function = expressions.multiply(expressions.operand(), expressions.real(-1));
  HEDDLE_ASSIGN(Value turned, sideBySideValues(evaluation, call,
                                               {Value{std::nullopt, std::move(second)},
                                                Value{std::nullopt, std::move(first)}}));
  if (turning.isInterleaved) {
    HEDDLE_ASSIGN(turned.rows, evaluation.reshaped(*std::move(turned.rows), shape));
  }
  return turned;
}

static Result<Rows> rotated(Evaluation &evaluation, const Call &call, Rows rows,
                            const Turning &turning) {
  const size_t last = rows.axes.size() - 1;
  const int64_t size = widthOf(rows.axes.back());
  HEDDLE_ASSIGN(rows, evaluation.written(std::move(rows)));
  HEDDLE_ASSIGN(Rows part, evaluation.sliced(rows, last, 0, turning.width));
  HEDDLE_ASSIGN(const Value cosines, factorsOf(evaluation, call, *call.inputs[1], turning));
  HEDDLE_ASSIGN(const Value sines, factorsOf(evaluation, call, *call.inputs[2], turning));
  HEDDLE_ASSIGN(const Value turned, turnedPairs(evaluation, call, part, turning));
  HEDDLE_ASSIGN(const Value straight, combined(evaluation, Formula::Multiply,
                                               Value{std::nullopt, std::move(part)}, cosines));
  HEDDLE_ASSIGN(const Value crossed, combined(evaluation, Formula::Multiply, turned, sines));
  HEDDLE_ASSIGN(Value result, combined(evaluation, Formula::Add, straight, crossed));
  if (turning.width < size) {
    HEDDLE_ASSIGN(Rows rest,
                  evaluation.sliced(std::move(rows), last, turning.width, size - turning.width));
    HEDDLE_ASSIGN(
        result, sideBySideValues(evaluation, call, {result, Value{std::nullopt, std::move(rest)}}));
  }
  return *std::move(result.rows);
}

static Status rotaryEmbedding(Evaluation &evaluation, Call &call) {
  Turning turning;
  HEDDLE_ASSIGN(turning.heads, call.integerOr("num_heads", 0));
  HEDDLE_ASSIGN(turning.width, call.integerOr("rotary_embedding_dim", 0));
  HEDDLE_ASSIGN(const int64_t interleaved, call.integerOr("interleaved", 0));
  turning.isInterleaved = interleaved != 0;
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(*call.inputs[0]));
  const std::vector<Expr> shape = evaluation.shapeOf(rows);
  if (call.has(3) && (!call.inputs[3]->symbolic || call.inputs[3]->symbolic->shape.size() != 2)) {
    return refuse(evaluation, "has positions that are not integers [batch, rows]");
  }
  if (shape.size() == 3) {
    HEDDLE_ASSIGN(rows, splitHeads(evaluation, std::move(rows), turning.heads));
  }
  if (rows.axes.size() != 4) {
    return refuse(evaluation, fmt::format("turns {} axes, expected [batch, heads, rows, size]",
                                          rows.axes.size()));
  }
  // [batch, rows, heads, size]: cosines apply to whole rows.
  std::swap(rows.axes[1], rows.axes[2]);
  const int64_t size = widthOf(rows.axes.back());
  turning.width = turning.width == 0 ? size : turning.width;
  if (turning.width < 2 || turning.width % 2 != 0 || turning.width > size) {
    return refuse(evaluation, fmt::format("turns {} of {} columns, expected an even number of them",
                                          turning.width, size));
  }
  HEDDLE_ASSIGN(Rows result, rotated(evaluation, call, std::move(rows), turning));
  std::swap(result.axes[1], result.axes[2]);
  if (shape.size() == 3) {
    HEDDLE_ASSIGN(result, joinHeads(evaluation, std::move(result)));
  }
  call.give(std::move(result));
  return {};
}

std::vector<OperatorInfo> rotaryOperators() {
  return {{"", "RotaryEmbedding", 23, 3, 4, rotaryEmbedding}};
}

} // namespace heddle::onnx
