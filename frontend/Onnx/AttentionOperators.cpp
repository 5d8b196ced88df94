// SPDX-License-Identifier: Apache-2.0
///
/// Operators for whole attentions, expanded to products, masks and softmax. `fuse-attention`
/// recognizes these just as it recognizes attention that a graph spells out.
#include "frontend/Onnx/Operators.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

using namespace mlir;

namespace heddle::onnx {

namespace {

/// Queries, keys and values [batch, heads, rows, size], and how their scores are computed.
struct AttentionParts {
  Rows query, key, value;
  double scale = 1;
  /// The soft cap of the scores, applied with a hyperbolic tangent; 0 if there is none.
  double cap = 0;
  /// Formulas to add to the scores; they are broadcast over missing leading axes.
  std::vector<Symbolic> biases = {};
};

} // namespace

static Status refuse(const Evaluation &evaluation, const std::string &what) {
  return evaluation.failure(StatusCode::Unsupported, what);
}

Result<Rows> splitHeads(Evaluation &evaluation, Rows rows, int64_t heads) {
  const std::vector<Expr> shape = evaluation.shapeOf(rows);
  if (shape.size() != 3 || heads < 1 || !shape[2]->isConstant() || shape[2]->integer % heads != 0) {
    return refuse(evaluation, fmt::format("divides {} among {} heads",
                                          shape.size() == 3 ? evaluation.expressions.print(shape[2])
                                                            : fmt::format("{} axes", shape.size()),
                                          heads));
  }
  HEDDLE_ASSIGN(
      rows, evaluation.reshaped(std::move(rows), {shape[0], shape[1], evaluation.integer(heads),
                                                  evaluation.integer(shape[2]->integer / heads)}));
  std::swap(rows.axes[1], rows.axes[2]);
  return rows;
}

Result<Rows> joinHeads(Evaluation &evaluation, Rows rows) {
  const std::vector<Expr> shape = evaluation.shapeOf(rows);
  std::swap(rows.axes[1], rows.axes[2]);
  return evaluation.reshaped(
      std::move(rows), {shape[0], shape[2], evaluation.expressions.multiply(shape[1], shape[3])});
}

/// Repeats each head of keys for the heads of queries that share it.
static Result<Rows> repeatHeads(Evaluation &evaluation, Rows rows, int64_t times) {
  if (times == 1) {
    return rows;
  }
  rows.axes.insert(rows.axes.begin() + 2, Atoms());
  HEDDLE_ASSIGN(rows, evaluation.repeated(std::move(rows), 2, times));
  rows.axes[1].insert(rows.axes[1].end(), rows.axes[2].begin(), rows.axes[2].end());
  rows.axes.erase(rows.axes.begin() + 2);
  return rows;
}

/// Emits softmax(query key^T scale + biases) value.
static Result<Rows> attended(Evaluation &evaluation, AttentionParts parts) {
  Expressions &expressions = evaluation.expressions;
  if (parts.query.axes.size() != 4 || parts.key.axes.size() != 4 || parts.value.axes.size() != 4) {
    return refuse(evaluation, "its queries, keys and values have no heads");
  }
  const int64_t heads = widthOf(parts.query.axes[1]);
  for (Rows *const part : {&parts.key, &parts.value}) {
    const int64_t own = widthOf(part->axes[1]);
    if (own < 1 || heads % own != 0) {
      return refuse(evaluation,
                    fmt::format("has {} heads of queries and {} of keys or values, expected a "
                                "multiple",
                                heads, own));
    }
    HEDDLE_ASSIGN(*part, repeatHeads(evaluation, std::move(*part), heads / own));
  }
  std::swap(parts.key.axes[2], parts.key.axes[3]);
  HEDDLE_ASSIGN(Rows scores, product(evaluation, std::move(parts.query), std::move(parts.key)));
  // The product may carry a factor of the keys.
  const Expr products = scores.function != nullptr ? scores.function : expressions.operand();
  scores.function = expressions.multiply(products, expressions.real(parts.scale));
  if (parts.cap != 0) {
    const Expr cap = expressions.real(parts.cap);
    scores.function = expressions.multiply(
        expressions.apply(Formula::Tanh, {expressions.divide(scores.function, cap)}), cap);
  }
  for (const Symbolic &bias : parts.biases) {
    HEDDLE_ASSIGN(scores, withMask(evaluation, std::move(scores), bias));
  }
  HEDDLE_ASSIGN(Rows weights, softmaxOfKeys(evaluation, std::move(scores)));
  return product(evaluation, std::move(weights), std::move(parts.value));
}

/// Returns 0 where a Boolean formula holds, and `hidden` elsewhere.
static Symbolic biasOf(Evaluation &evaluation, Symbolic visible, double hidden) {
  Expressions &expressions = evaluation.expressions;
  expressions.within(visible.shape);
  visible.body = expressions.select(visible.body, expressions.real(0), expressions.real(hidden));
  visible.element = Element::Real;
  return visible;
}

/// Hides the keys after each query. With a past, the query's position includes the past.
static Symbolic causalBias(Evaluation &evaluation, const AttentionParts &parts, double hidden) {
  Expressions &expressions = evaluation.expressions;
  const Expr rows = evaluation.shapeOf(parts.query)[2], keys = evaluation.shapeOf(parts.key)[2];
  Symbolic visible{Element::Boolean, {rows, keys}, nullptr};
  expressions.within(visible.shape);
  const Expr position = rows == keys ? expressions.axis(0)
                                     : expressions.add(expressions.axis(0), evaluation.earlier());
  visible.body = expressions.negation(expressions.less(position, expressions.axis(1)));
  return biasOf(evaluation, std::move(visible), hidden);
}

static double inverseRoot(Evaluation &evaluation, const Rows &query) {
  const Expr size = evaluation.shapeOf(query).back();
  return size->isConstant() ? 1 / std::sqrt(static_cast<double>(size->integer)) : 1;
}

/// Returns the queries, keys and values of an operator, split into heads.
static Result<AttentionParts> partsOf(Evaluation &evaluation, const Call &call, int64_t queryHeads,
                                      int64_t keyHeads) {
  AttentionParts parts;
  HEDDLE_ASSIGN(parts.query, evaluation.rowsOf(*call.inputs[0]));
  HEDDLE_ASSIGN(parts.key, evaluation.rowsOf(*call.inputs[1]));
  HEDDLE_ASSIGN(parts.value, evaluation.rowsOf(*call.inputs[2]));
  if (parts.query.axes.size() == 3) {
    HEDDLE_ASSIGN(parts.query, splitHeads(evaluation, std::move(parts.query), queryHeads));
    HEDDLE_ASSIGN(parts.key, splitHeads(evaluation, std::move(parts.key), keyHeads));
    HEDDLE_ASSIGN(parts.value, splitHeads(evaluation, std::move(parts.value), keyHeads));
  }
  return parts;
}

/// Prepends the keys and values of earlier runs to those of this run.
static Status joinPasts(Evaluation &evaluation, const Call &call, AttentionParts &parts) {
  for (const size_t input : {size_t{4}, size_t{5}}) {
    if (!call.has(input) || !call.inputs[input]->rows || call.inputs[input]->rows->past.empty()) {
      return refuse(evaluation, "has keys and values of a past that are no inputs of the graph");
    }
    Rows &fresh = input == 4 ? parts.key : parts.value;
    HEDDLE_ASSIGN(fresh, evaluation.withPast(*call.inputs[input]->rows, std::move(fresh), 2));
  }
  return {};
}

/// Attention of opset 23.
static Status attention(Evaluation &evaluation, Call &call) {
  if (evaluation.isWhole()) {
    return wholeAttention(evaluation, call);
  }
  HEDDLE_ASSIGN(const int64_t queryHeads, call.integerOr("q_num_heads", 0));
  HEDDLE_ASSIGN(const int64_t keyHeads, call.integerOr("kv_num_heads", 0));
  HEDDLE_ASSIGN(const int64_t isCausal, call.integerOr("is_causal", 0));
  HEDDLE_ASSIGN(const std::optional<double> scale, call.real("scale"));
  HEDDLE_ASSIGN(const std::optional<double> cap, call.real("softcap"));
  if (call.has(6)) {
    return refuse(evaluation, "has lengths of its keys, expected a mask");
  }
  HEDDLE_ASSIGN(AttentionParts parts, partsOf(evaluation, call, queryHeads, keyHeads));
  const bool isJoined = evaluation.shapeOf(*call.inputs[0]).size() == 3;
  if (call.has(4) || call.has(5)) {
    HEDDLE_TRY(joinPasts(evaluation, call, parts));
  }
  const Rows presentKey = parts.key, presentValue = parts.value;
  parts.scale = scale.value_or(inverseRoot(evaluation, parts.query));
  parts.cap = cap.value_or(0);
  const double hidden = -std::numeric_limits<double>::infinity();
  if (call.has(3)) {
    if (!call.inputs[3]->symbolic) {
      return refuse(evaluation, "has a mask that is computed of activations");
    }
    const Symbolic &mask = *call.inputs[3]->symbolic;
    parts.biases.push_back(mask.element == Element::Boolean ? biasOf(evaluation, mask, hidden)
                                                            : mask);
  }
  if (isCausal != 0) {
    parts.biases.push_back(causalBias(evaluation, parts, hidden));
  }
  HEDDLE_ASSIGN(Rows result, attended(evaluation, std::move(parts)));
  if (isJoined) {
    HEDDLE_ASSIGN(result, joinHeads(evaluation, std::move(result)));
  }
  call.give(std::move(result));
  call.give(presentKey);
  call.give(presentValue);
  return {};
}

/// Returns the mask of a com.microsoft operator as a bias. The operand holds the visibility of each
/// key, or the number of visible keys.
static Result<Symbolic> contribMask(Evaluation &evaluation, const Value &value, Expr rows,
                                    double hidden) {
  if (!value.symbolic || value.symbolic->element == Element::Real ||
      value.symbolic->shape.empty() || value.symbolic->shape.size() > 2 ||
      value.symbolic->shape[0] != evaluation.batch()) {
    return refuse(evaluation, "has a mask that is neither [batch, keys] nor the number of keys of "
                              "each sequence");
  }
  const Symbolic &mask = *value.symbolic;
  Expressions &expressions = evaluation.expressions;
  const Expr one = evaluation.integer(1);
  Symbolic visible{Element::Boolean, {evaluation.batch(), one, one, rows}, nullptr};
  expressions.within(visible.shape);
  const Expr coordinates[] = {expressions.axis(0), expressions.axis(3)};
  const Expr body = expressions.substitute(mask.body, coordinates);
  visible.body = mask.shape.size() == 1 ? expressions.less(expressions.axis(3), body)
                                        : expressions.cast(body, Element::Boolean);
  return biasOf(evaluation, std::move(visible), hidden);
}

/// Reads the scale and causality of a com.microsoft operator, and the mask and bias from the given
/// inputs.
static Status readContrib(Evaluation &evaluation, const Call &call, AttentionParts &parts,
                          size_t maskInput, size_t biasInput) {
  HEDDLE_ASSIGN(const std::optional<double> scale, call.real("scale"));
  HEDDLE_ASSIGN(const std::optional<double> filter, call.real("mask_filter_value"));
  HEDDLE_ASSIGN(const int64_t isCausal, call.integerOr("unidirectional", 0));
  // 0 selects the default.
  parts.scale = scale.value_or(0) != 0 ? *scale : inverseRoot(evaluation, parts.query);
  const double hidden = filter.value_or(-10000);
  const std::vector<Expr> keys = evaluation.shapeOf(parts.key);
  if (call.has(maskInput)) {
    HEDDLE_ASSIGN(Symbolic mask, contribMask(evaluation, *call.inputs[maskInput], keys[2], hidden));
    parts.biases.push_back(std::move(mask));
  }
  if (call.has(biasInput)) {
    if (!call.inputs[biasInput]->symbolic) {
      return refuse(evaluation, "has a bias of scores that is computed of activations");
    }
    parts.biases.push_back(*call.inputs[biasInput]->symbolic);
  }
  if (isCausal != 0) {
    parts.biases.push_back(causalBias(evaluation, parts, hidden));
  }
  return {};
}

/// com.microsoft: one matrix projects to queries, keys and values.
static Status contribAttention(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const int64_t heads, call.integerOr("num_heads", 0));
  HEDDLE_ASSIGN(const auto sizes, call.integers("qkv_hidden_sizes"));
  HEDDLE_ASSIGN(const int64_t turns, call.integerOr("do_rotary", 0));
  if (call.has(4) || call.has(6) || turns != 0 || !call.inputs[1]->symbolic) {
    return refuse(evaluation, "has a past, rotary positions or a matrix that is computed");
  }
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(*call.inputs[0]));
  HEDDLE_ASSIGN(rows, linear(evaluation, std::move(rows), *call.inputs[1]->symbolic, false));
  if (call.has(2)) {
    HEDDLE_ASSIGN(rows, withBias(evaluation, std::move(rows), *call.inputs[2]));
  }
  const int64_t width = widthOf(rows.axes.back());
  const std::vector<int64_t> widths = sizes.value_or(std::vector<int64_t>(3, width / 3));
  if (rows.axes.size() != 3 || widths.size() != 3 || widths[0] < 1 || widths[1] < 1 ||
      widths[2] < 1 || widths[0] > width || widths[1] > width || widths[2] > width ||
      widths[0] + widths[1] + widths[2] != width) {
    return refuse(evaluation,
                  fmt::format("its queries, keys and values are no parts of {} columns", width));
  }
  AttentionParts parts;
  int64_t first = 0;
  size_t number = 0;
  for (Rows *const part : {&parts.query, &parts.key, &parts.value}) {
    const int64_t count = widths[number++];
    HEDDLE_ASSIGN(Rows columns, evaluation.sliced(rows, 2, first, count));
    HEDDLE_ASSIGN(*part, splitHeads(evaluation, std::move(columns), heads));
    first += count;
  }
  HEDDLE_TRY(readContrib(evaluation, call, parts, 3, 5));
  HEDDLE_ASSIGN(Rows result, attended(evaluation, std::move(parts)));
  HEDDLE_ASSIGN(result, joinHeads(evaluation, std::move(result)));
  call.give(std::move(result));
  return {};
}

/// com.microsoft: separate queries, keys and values with the same head size.
static Status multiHeadAttention(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const int64_t heads, call.integerOr("num_heads", 0));
  if (!call.has(1) || !call.has(2) || call.has(3) || call.has(6) || call.has(7) || call.has(8) ||
      call.has(9)) {
    return refuse(evaluation, "has packed operands, a bias or a past, expected queries, keys and "
                              "values with their biases");
  }
  if (evaluation.shapeOf(*call.inputs[1]).size() != 3) {
    return refuse(evaluation, "has keys that are no rows");
  }
  HEDDLE_ASSIGN(AttentionParts parts, partsOf(evaluation, call, heads, heads));
  HEDDLE_TRY(readContrib(evaluation, call, parts, 4, 5));
  HEDDLE_ASSIGN(Rows result, attended(evaluation, std::move(parts)));
  HEDDLE_ASSIGN(result, joinHeads(evaluation, std::move(result)));
  call.give(std::move(result));
  return {};
}

std::vector<OperatorInfo> attentionOperators() {
  static constexpr std::string_view microsoft = "com.microsoft";
  return {
      {"", "Attention", 23, 3, 7, attention, 0, false, true},
      {microsoft, "Attention", 1, 2, 7, contribAttention},
      {microsoft, "MultiHeadAttention", 1, 1, 10, multiHeadAttention},
  };
}

} // namespace heddle::onnx
