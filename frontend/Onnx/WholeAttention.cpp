// SPDX-License-Identifier: Apache-2.0
///
/// Attention over tensors of static shapes: products, constant masks and a softmax over parts of a
/// row. A mask may have any form, because nothing has to be proved about it.
#include "frontend/Onnx/Operators.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

using namespace mlir;

namespace heddle::onnx {

namespace {

constexpr double hidden = -std::numeric_limits<double>::infinity();

/// How a node computes scores.
struct ScoreRules {
  double scale = 1, cap = 0;
  bool isCausal = false;
  /// The number of keys before and after itself that a query attends to; negative for no limit.
  int64_t before = -1, after = -1;
  /// The stage of the scores that the last result returns.
  int64_t shown = 0;
};

} // namespace

static Value valueOf(Rows rows) { return {std::nullopt, std::move(rows)}; }
static Value valueOf(Symbolic formula) { return {std::move(formula), std::nullopt}; }

/// Prepends the past keys or values.
static Result<Rows> afterPast(Evaluation &evaluation, const Call &call, size_t input, Rows fresh) {
  if (!call.has(input)) {
    return fresh;
  }
  const Value last = valueOf(std::move(fresh));
  Call joined{call.node, {call.inputs[input], &last}};
  return wholeConcat(evaluation, joined, 2);
}

/// Repeats each head of keys for the heads of queries that share it.
static Result<Rows> forHeads(Evaluation &evaluation, Rows rows, int64_t heads) {
  const int64_t own = widthOf(rows.axes[1]);
  if (heads % own != 0) {
    return evaluation.failure(StatusCode::Unsupported,
                              fmt::format("has {} heads of queries and {} of keys or values, "
                                          "expected a multiple",
                                          heads, own));
  }
  if (heads == own) {
    return rows;
  }
  const Atoms copies{evaluation.newAtom(heads / own)};
  HEDDLE_ASSIGN(rows, evaluation.repeatedWhole(std::move(rows), copies));
  rows.axes[1].insert(rows.axes[1].end(), copies.begin(), copies.end());
  return rows;
}

/// Returns which keys the attributes make visible, [batch or 1, 1, queries, keys].
static Result<Symbolic> visibleKeys(Evaluation &evaluation, const Call &call,
                                    const ScoreRules &rules, int64_t queries, int64_t keys,
                                    int64_t past) {
  Expressions &expressions = evaluation.expressions;
  const Symbolic *const counts = call.has(6) ? &*call.inputs[6]->symbolic : nullptr;
  const Expr one = evaluation.integer(1);
  Symbolic visible{Element::Boolean,
                   {counts != nullptr ? counts->shape[0] : one, one, evaluation.integer(queries),
                    evaluation.integer(keys)},
                   expressions.boolean(true)};
  expressions.within(visible.shape);
  const Expr key = expressions.axis(3), batch = expressions.axis(0);
  const Expr count =
      counts != nullptr ? expressions.substitute(counts->body, {&batch, 1}) : nullptr;
  const Expr first = count != nullptr ? expressions.subtract(count, evaluation.integer(queries))
                                      : evaluation.integer(past);
  const Expr position = expressions.add(expressions.axis(2), first);
  const auto require = [&](Expr condition) {
    visible.body = expressions.conjunction(visible.body, condition);
  };
  if (count != nullptr) {
    require(expressions.less(key, count));
  }
  const auto notAfter = [&](int64_t distance) {
    require(expressions.negation(
        expressions.less(expressions.add(position, evaluation.integer(distance)), key)));
  };
  if (rules.isCausal) {
    notAfter(0);
  }
  if (rules.after >= 0) {
    notAfter(rules.after);
  }
  if (rules.before >= 0) {
    require(expressions.negation(
        expressions.less(key, expressions.subtract(position, evaluation.integer(rules.before)))));
  }
  return visible;
}

/// Returns the mask operand as a bias; keys beyond the end of the mask are hidden.
static Symbolic maskOf(Evaluation &evaluation, const Symbolic &mask, int64_t keys) {
  Expressions &expressions = evaluation.expressions;
  Symbolic bias = mask;
  if (bias.shape.empty()) {
    bias.shape.push_back(evaluation.integer(1));
  }
  const size_t last = bias.shape.size() - 1;
  const Expr count = bias.shape[last];
  if (!count->isConstant(1)) {
    bias.shape[last] = evaluation.integer(keys);
  }
  expressions.within(bias.shape);
  if (bias.element == Element::Boolean) {
    bias.body = expressions.select(bias.body, expressions.real(0), expressions.real(hidden));
    bias.element = Element::Real;
  }
  if (!count->isConstant(1)) {
    bias.body = expressions.select(expressions.less(expressions.axis(last), count), bias.body,
                                   expressions.real(hidden));
  }
  return bias;
}

/// Returns whether a bias hides all keys of some query.
static Result<bool> hidesAll(Evaluation &evaluation, const Symbolic &bias) {
  HEDDLE_ASSIGN(const Elements elements, evaluation.elementsOf(bias));
  const auto keys = static_cast<size_t>(elements.shape.empty() ? 1 : elements.shape.back());
  for (size_t row = 0; keys > 0 && row + keys <= elements.count(); row += keys) {
    size_t count = 0;
    while (count < keys && elements.at(row + count) == hidden) {
      ++count;
    }
    if (count == keys) {
      return true;
    }
  }
  return false;
}

/// Adds the biases that hide keys. Returns whether some query may have no visible key.
static Result<bool> addBiases(Evaluation &evaluation, const Call &call, Value &scores,
                              const Symbolic &visible, int64_t keys) {
  Expressions &expressions = evaluation.expressions;
  Symbolic total = visible;
  expressions.within(total.shape);
  total.body = expressions.select(visible.body, expressions.real(0), expressions.real(hidden));
  total.element = Element::Real;
  if (call.has(3) && !call.inputs[3]->symbolic) {
    HEDDLE_ASSIGN(scores, combined(evaluation, Formula::Add, scores, *call.inputs[3]));
  } else if (call.has(3)) {
    HEDDLE_ASSIGN(const Value both,
                  combined(evaluation, Formula::Add, valueOf(std::move(total)),
                           valueOf(maskOf(evaluation, *call.inputs[3]->symbolic, keys))));
    total = *both.symbolic;
  }
  HEDDLE_ASSIGN(const bool isBlind, hidesAll(evaluation, total));
  if (!total.body->isConstant() || total.body->value() != 0) {
    HEDDLE_ASSIGN(scores, combined(evaluation, Formula::Add, scores, valueOf(std::move(total))));
  }
  return isBlind || (call.has(3) && !call.inputs[3]->symbolic);
}

static Result<ScoreRules> rulesOf(const Call &call, int64_t size) {
  ScoreRules rules;
  HEDDLE_ASSIGN(const int64_t isCausal, call.integerOr("is_causal", 0));
  HEDDLE_ASSIGN(const std::optional<double> scale, call.real("scale"));
  HEDDLE_ASSIGN(const std::optional<double> cap, call.real("softcap"));
  HEDDLE_ASSIGN(rules.before, call.integerOr("left_window_size", -1));
  HEDDLE_ASSIGN(rules.after, call.integerOr("right_window_size", -1));
  HEDDLE_ASSIGN(rules.shown, call.integerOr("qk_matmul_output_mode", 0));
  rules.isCausal = isCausal != 0;
  rules.scale = scale.value_or(1 / std::sqrt(static_cast<double>(size)));
  rules.cap = cap.value_or(0);
  return rules;
}

/// Returns the scores at each stage of their computation, and finally the weights.
static Result<std::vector<Value>> statesOf(Evaluation &evaluation, const Call &call,
                                           const ScoreRules &rules, Rows query, Rows key,
                                           int64_t past) {
  Expressions &expressions = evaluation.expressions;
  const int64_t queries = evaluation.shapeOf(query)[2]->integer;
  const int64_t keys = evaluation.shapeOf(key)[2]->integer;
  std::swap(key.axes[2], key.axes[3]);
  HEDDLE_ASSIGN(Rows scores, wholeProduct(evaluation, std::move(query), std::move(key)));
  scores.function = expressions.multiply(expressions.operand(), expressions.real(rules.scale));
  std::vector<Value> states{valueOf(scores)};
  if (rules.cap != 0) {
    const Expr cap = expressions.real(rules.cap);
    scores.function = expressions.multiply(
        expressions.apply(Formula::Tanh, {expressions.divide(scores.function, cap)}), cap);
  }
  states.push_back(valueOf(scores));
  Value biased = states.back();
  HEDDLE_ASSIGN(const Symbolic visible, visibleKeys(evaluation, call, rules, queries, keys, past));
  HEDDLE_ASSIGN(const bool isBlind, addBiases(evaluation, call, biased, visible, keys));
  states.push_back(biased);
  HEDDLE_ASSIGN(Rows weights, rowSoftmax(evaluation, *biased.rows, 3));
  if (isBlind) {
    // A query without visible keys has weights of 0.
    weights.value =
        evaluation.make<transformer::ActivateOp>(transformer::Activation::NanToZero, weights.value);
  }
  states.push_back(valueOf(std::move(weights)));
  return states;
}

Status wholeAttention(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const int64_t queryHeads, call.integerOr("q_num_heads", 0));
  HEDDLE_ASSIGN(const int64_t keyHeads, call.integerOr("kv_num_heads", 0));
  Rows parts[3];
  const bool isJoined = evaluation.shapeOf(*call.inputs[0]).size() == 3;
  for (size_t i = 0; i < 3; ++i) {
    HEDDLE_ASSIGN(parts[i], evaluation.rowsOf(*call.inputs[i]));
    if (isJoined) {
      HEDDLE_ASSIGN(parts[i],
                    splitHeads(evaluation, std::move(parts[i]), i == 0 ? queryHeads : keyHeads));
    }
    if (parts[i].axes.size() != 4) {
      return evaluation.failure(StatusCode::Unsupported,
                                "its queries, keys and values have no heads");
    }
  }
  if (call.has(6) &&
      (!evaluation.isClosed(*call.inputs[6]) || call.inputs[6]->symbolic->shape.size() != 1)) {
    return evaluation.failure(StatusCode::Unsupported,
                              "has numbers of keys that are no vector of constants");
  }
  for (const size_t input : {size_t{4}, size_t{5}}) {
    if (call.has(input) &&
        (!call.has(9 - input) || evaluation.shapeOf(*call.inputs[input]).size() != 4)) {
      return evaluation.failure(
          StatusCode::Unsupported,
          "has a past that is not keys and values [batch, heads, rows, size]");
    }
  }
  HEDDLE_ASSIGN(const ScoreRules rules, rulesOf(call, widthOf(parts[0].axes[3])));
  const int64_t past =
      call.has(4) ? evaluation.shapeOf(*call.inputs[4]).at(2)->integer : int64_t{0};
  HEDDLE_ASSIGN(parts[1], afterPast(evaluation, call, 4, std::move(parts[1])));
  HEDDLE_ASSIGN(parts[2], afterPast(evaluation, call, 5, std::move(parts[2])));
  const Rows presentKey = parts[1], presentValue = parts[2];
  const int64_t heads = widthOf(parts[0].axes[1]);
  HEDDLE_ASSIGN(Rows key, forHeads(evaluation, parts[1], heads));
  HEDDLE_ASSIGN(Rows value, forHeads(evaluation, parts[2], heads));
  HEDDLE_ASSIGN(const std::vector<Value> states,
                statesOf(evaluation, call, rules, std::move(parts[0]), std::move(key), past));
  HEDDLE_ASSIGN(Rows result, wholeProduct(evaluation, *states.back().rows, std::move(value)));
  if (isJoined) {
    HEDDLE_ASSIGN(result, joinHeads(evaluation, std::move(result)));
  }
  call.give(std::move(result));
  call.give(presentKey);
  call.give(presentValue);
  if (rules.shown < 0 || rules.shown > 3) {
    return evaluation.failure(
        StatusCode::InvalidArgument,
        fmt::format("\"qk_matmul_output_mode\" is {}, expected 0 to 3", rules.shown));
  }
  call.results.push_back(states[static_cast<size_t>(rules.shown)]);
  return {};
}

} // namespace heddle::onnx
