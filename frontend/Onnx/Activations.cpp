// SPDX-License-Identifier: Apache-2.0
///
/// Activation operators, expanded to formulas. `fuse-activation` recognizes an activation whether a
/// graph uses Gelu or spells it out.
#include "frontend/Onnx/Operators.h"

#include "base/Utf8.h"

#include <cmath>
#include <fmt/format.h>

using namespace mlir;

namespace heddle::onnx {

static Expr functionOf(Evaluation &evaluation, const Rows &rows) {
  return rows.function != nullptr ? rows.function : evaluation.expressions.operand();
}

/// Returns x (1 + erf(x / sqrt 2)) / 2, or its approximation by the hyperbolic tangent.
static Expr gelu(Expressions &expressions, Expr x, bool isTanh) {
  const auto times = [&](double factor, Expr value) {
    return expressions.multiply(expressions.real(factor), value);
  };
  Expr inner = times(std::sqrt(0.5), x);
  if (isTanh) {
    const Expr cube = expressions.apply(Formula::Power, {x, expressions.real(3)});
    inner = times(std::sqrt(2 / M_PI), expressions.add(x, times(0.044715, cube)));
  }
  const Expr curve = expressions.apply(isTanh ? Formula::Tanh : Formula::Erf, {inner});
  return times(0.5, expressions.multiply(x, expressions.add(curve, expressions.real(1))));
}

static Status giveGelu(Evaluation &evaluation, Call &call, Rows rows, bool isTanh) {
  // The formula reads its operand several times.
  HEDDLE_ASSIGN(rows, evaluation.written(std::move(rows)));
  rows.function = gelu(evaluation.expressions, evaluation.expressions.operand(), isTanh);
  call.give(std::move(rows));
  return {};
}

static Status geluNode(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const auto approximate, call.text("approximate"));
  if (approximate && *approximate != "none" && *approximate != "tanh") {
    return evaluation.failure(
        StatusCode::InvalidArgument,
        fmt::format("\"approximate\" is {}, expected \"none\" or \"tanh\"", quote(*approximate)));
  }
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(*call.inputs[0]));
  return giveGelu(evaluation, call, std::move(rows), approximate == "tanh");
}

/// com.microsoft: Gelu of the input plus a bias. The bias is merged into the preceding product if
/// that has no other use.
template <bool isTanh> static Status biasGelu(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(*call.inputs[0]));
  if (call.has(1)) {
    if (rows.maker == call.node.inputs[0] && evaluation.readers(rows.maker) == 1) {
      HEDDLE_ASSIGN(rows, withBias(evaluation, std::move(rows), *call.inputs[1]));
    } else {
      HEDDLE_ASSIGN(rows, combinedRows(evaluation, Formula::Add, *call.inputs[0], *call.inputs[1]));
    }
  }
  return giveGelu(evaluation, call, std::move(rows), isTanh);
}

/// Emits x sigmoid(alpha x).
static Status giveSwish(Evaluation &evaluation, Call &call, double otherwise) {
  HEDDLE_ASSIGN(const std::optional<double> alpha, call.real("alpha"));
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(*call.inputs[0]));
  Expressions &expressions = evaluation.expressions;
  const Expr x = functionOf(evaluation, rows);
  const Expr inner = expressions.multiply(x, expressions.real(alpha.value_or(otherwise)));
  rows.function = expressions.multiply(x, expressions.apply(Formula::Sigmoid, {inner}));
  call.give(std::move(rows));
  return {};
}

static Status quickGelu(Evaluation &evaluation, Call &call) {
  return giveSwish(evaluation, call, 1.702);
}

static Status swish(Evaluation &evaluation, Call &call) { return giveSwish(evaluation, call, 1); }

/// Emits swish(gate) times the other operand.
static Status swiGlu(Evaluation &evaluation, Call &call) {
  Call gate{call.node, {call.inputs[0]}};
  HEDDLE_TRY(swish(evaluation, gate));
  call.asked.insert(gate.asked.begin(), gate.asked.end());
  HEDDLE_ASSIGN(Value result,
                combined(evaluation, Formula::Multiply, gate.results.front(), *call.inputs[1]));
  call.results.push_back(std::move(result));
  return {};
}

/// Emits log(1 + exp(x)).
static Status softplus(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(*call.inputs[0]));
  HEDDLE_ASSIGN(rows, evaluation.written(std::move(rows)));
  rows.value =
      evaluation.make<transformer::ActivateOp>(transformer::Activation::Softplus, rows.value);
  call.give(std::move(rows));
  return {};
}

/// A formula of the operand and an attribute, which has a default value.
using AttributeFormula = Expr (*)(Expressions &, Expr, double);
static Status giveFormula(Evaluation &evaluation, Call &call, double otherwise,
                          AttributeFormula formula) {
  HEDDLE_ASSIGN(const std::optional<double> alpha, call.real("alpha"));
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(*call.inputs[0]));
  rows.function =
      formula(evaluation.expressions, functionOf(evaluation, rows), alpha.value_or(otherwise));
  call.give(std::move(rows));
  return {};
}

/// Emits alpha (exp(x) - 1) for x < 0, and x otherwise.
static Status elu(Evaluation &evaluation, Call &call) {
  return giveFormula(evaluation, call, 1, [](Expressions &expressions, Expr x, double alpha) {
    const Expr zero = expressions.real(0);
    const Expr power = expressions.apply(Formula::Exponential, {expressions.least(x, zero)});
    const Expr below =
        expressions.multiply(expressions.real(alpha), expressions.add(power, expressions.real(-1)));
    return expressions.add(below, expressions.largest(x, zero));
  });
}

/// Emits alpha x for x < 0, and x otherwise.
static Status leakyRelu(Evaluation &evaluation, Call &call) {
  return giveFormula(evaluation, call, 0.01, [](Expressions &expressions, Expr x, double alpha) {
    const Expr zero = expressions.real(0);
    return expressions.add(
        expressions.multiply(expressions.real(alpha), expressions.least(x, zero)),
        expressions.largest(x, zero));
  });
}

/// Returns alpha x + beta, clamped to [0, 1].
static Expr bounded(Expressions &expressions, Expr x, double alpha, double beta) {
  const Expr line =
      expressions.add(expressions.multiply(expressions.real(alpha), x), expressions.real(beta));
  return expressions.least(expressions.largest(line, expressions.real(0)), expressions.real(1));
}

static Status hardSigmoid(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(const std::optional<double> alpha, call.real("alpha"));
  HEDDLE_ASSIGN(const std::optional<double> beta, call.real("beta"));
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(*call.inputs[0]));
  rows.function = bounded(evaluation.expressions, functionOf(evaluation, rows), alpha.value_or(0.2),
                          beta.value_or(0.5));
  call.give(std::move(rows));
  return {};
}

static Status hardSwish(Evaluation &evaluation, Call &call) {
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(*call.inputs[0]));
  const Expr x = functionOf(evaluation, rows);
  rows.function =
      evaluation.expressions.multiply(x, bounded(evaluation.expressions, x, 1.0 / 6, 0.5));
  call.give(std::move(rows));
  return {};
}

/// Clamps to the second and third operand, either of which may be omitted.
static Status clip(Evaluation &evaluation, Call &call) {
  Value result = *call.inputs[0];
  for (const size_t bound : {size_t{1}, size_t{2}}) {
    if (call.has(bound)) {
      HEDDLE_ASSIGN(result, combined(evaluation, bound == 1 ? Formula::Largest : Formula::Least,
                                     result, *call.inputs[bound]));
    }
  }
  call.results.push_back(std::move(result));
  return {};
}

std::vector<OperatorInfo> activationOperators() {
  static constexpr std::string_view microsoft = "com.microsoft";
  return {
      {"", "Gelu", 20, 1, 1, geluNode},
      {"", "Softplus", 1, 1, 1, softplus},
      {"", "Swish", 24, 1, 1, swish},
      {"", "Clip", 11, 1, 3, clip},
      {"", "Elu", 6, 1, 1, elu},
      {"", "LeakyRelu", 6, 1, 1, leakyRelu},
      {"", "HardSigmoid", 6, 1, 1, hardSigmoid},
      {"", "HardSwish", 14, 1, 1, hardSwish},
      {"", "SwiGLU", 28, 2, 2, swiGlu},
      {microsoft, "Gelu", 1, 1, 1, geluNode},
      {microsoft, "BiasGelu", 1, 2, 2, biasGelu<false>},
      {microsoft, "FastGelu", 1, 1, 2, biasGelu<true>},
      {microsoft, "QuickGelu", 1, 1, 1, quickGelu},
  };
}

} // namespace heddle::onnx
