// SPDX-License-Identifier: Apache-2.0
///
/// Functions of each element, which graphs write operator by operator: x / sqrt 2, Erf, plus 1,
/// times x, times 1 / 2. They are collected as one formula, and written when something else reads
/// the value: as an activation of the dialect if the formula is one, else as the parts that it has.
#include "frontend/Onnx/Evaluation.h"

#include <array>
#include <cmath>
#include <fmt/format.h>

using namespace mlir;
using heddle::transformer::Activation;

namespace heddle::onnx {

namespace {

struct KnownFunction {
  Activation activation;
  double (*value)(double);
};

double gelu(double x) { return x * (1 + std::erf(x / std::sqrt(2.0))) / 2; }

double geluNew(double x) {
  return x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// As the documentation of `transformer.activate` has them.
constexpr KnownFunction knownFunctions[] = {
    {Activation::Gelu, gelu},
    {Activation::GeluNew, geluNew},
    {Activation::Relu, [](double x) { return std::max(x, 0.0); }},
    {Activation::Tanh, [](double x) { return std::tanh(x); }},
    {Activation::Silu, [](double x) { return x * sigmoid(x); }},
    {Activation::Sigmoid, sigmoid},
    {Activation::QuickGelu, [](double x) { return x * sigmoid(1.702 * x); }},
    {Activation::Softplus, [](double x) { return x > 30 ? x : std::log1p(std::exp(x)); }},
    {Activation::Abs, [](double x) { return std::abs(x); }},
    {Activation::Sin, [](double x) { return std::sin(x); }},
    {Activation::Cos, [](double x) { return std::cos(x); }},
    {Activation::Floor, [](double x) { return std::floor(x); }},
};

/// Where formulas are compared: everywhere that their constants, which exporters round to f32,
/// could show.
std::vector<double> comparedAt() {
  std::vector<double> points{0};
  for (double x = 1e-6; x < 1e4; x *= 1.37) {
    points.insert(points.end(), {x, -x});
  }
  return points;
}

/// The rounding of constants to f32 changes a value by a few units of 6e-8 of the larger of it and
/// x.
constexpr double sameWithin = 1e-6;

bool isSame(Expr formula, double (*value)(double)) {
  for (const double x : comparedAt()) {
    const std::optional<double> y = Expressions::evaluate(formula, x);
    if (!y || std::isnan(*y) ||
        std::abs(*y - value(x)) > sameWithin * std::max(std::abs(value(x)), std::abs(x))) {
      return false;
    }
  }
  return true;
}

/// c if the formula is c * x.
std::optional<double> factorOf(Expr formula) {
  const std::optional<double> factor = Expressions::evaluate(formula, 1);
  if (!factor || !std::isfinite(*factor)) {
    return std::nullopt;
  }
  bool isLinear = true;
  Expressions::walk(formula, [&](Expr part) {
    isLinear &= part->formula == Formula::Operand || part->formula == Formula::Multiply ||
                part->formula == Formula::Divide || part->formula == Formula::Negate ||
                part->isConstant();
  });
  for (const double x : {-3.0, 0.5, 7.0}) {
    const std::optional<double> y = Expressions::evaluate(formula, x);
    isLinear &= y.has_value() && std::abs(*y - *factor * x) <= 1e-9 * std::abs(*factor * x);
  }
  return isLinear ? factor : std::nullopt;
}

std::optional<Activation> activationOf(Formula formula) {
  switch (formula) {
  case Formula::Tanh:
    return Activation::Tanh;
  case Formula::Sigmoid:
    return Activation::Sigmoid;
  case Formula::Relu:
    return Activation::Relu;
  case Formula::Absolute:
    return Activation::Abs;
  case Formula::Sine:
    return Activation::Sin;
  case Formula::Cosine:
    return Activation::Cos;
  case Formula::Floor:
    return Activation::Floor;
  default:
    return std::nullopt;
  }
}

} // namespace

Result<mlir::Value> Evaluation::applied(mlir::Value value, Expr function) {
  if (function->formula == Formula::Operand) {
    return value;
  }
  if (const std::optional<double> factor = factorOf(function)) {
    return mlir::Value(make<transformer::ScaleOp>(value, f32(*factor)));
  }
  for (const KnownFunction &known : knownFunctions) {
    if (isSame(function, known.value)) {
      return mlir::Value(make<transformer::ActivateOp>(known.activation, value));
    }
  }
  const auto &operands = function->operands;
  if (const std::optional<Activation> activation = activationOf(function->formula)) {
    HEDDLE_ASSIGN(const mlir::Value inner, applied(value, operands[0]));
    return mlir::Value(make<transformer::ActivateOp>(*activation, inner));
  }
  const bool isBinary = function->formula == Formula::Add || function->formula == Formula::Multiply;
  if (isBinary && (operands[0]->isConstant() != operands[1]->isConstant()) &&
      function->formula == Formula::Multiply) {
    const size_t constant = operands[0]->isConstant() ? 0 : 1;
    HEDDLE_ASSIGN(const mlir::Value inner, applied(value, operands[1 - constant]));
    return mlir::Value(make<transformer::ScaleOp>(inner, f32(operands[constant]->value())));
  }
  if (isBinary && !operands[0]->isConstant() && !operands[1]->isConstant()) {
    HEDDLE_ASSIGN(const mlir::Value left, applied(value, operands[0]));
    HEDDLE_ASSIGN(const mlir::Value right, applied(value, operands[1]));
    return mlir::Value(function->formula == Formula::Add
                           ? mlir::Value(make<transformer::AddOp>(left, right))
                           : mlir::Value(make<transformer::MultiplyOp>(left, right)));
  }
  if (function->formula == Formula::Power && operands[1]->isConstant() &&
      operands[1]->value() == 2) {
    HEDDLE_ASSIGN(const mlir::Value inner, applied(value, operands[0]));
    return mlir::Value(make<transformer::MultiplyOp>(inner, inner));
  }
  return failure(StatusCode::Unsupported,
                 "reads a function of each element that is no activation of the dialect and is not "
                 "made of some");
}

/// Parts that lie side by side, of which some are the same: each is computed once.
Result<mlir::Value> Evaluation::appliedToParts(transformer::ConcatOp parts, Expr function) {
  llvm::DenseMap<mlir::Value, mlir::Value> made;
  llvm::SmallVector<mlir::Value> results;
  for (const mlir::Value part : parts.getInputs()) {
    mlir::Value &result = made[part];
    if (!result) {
      HEDDLE_ASSIGN(result, applied(part, function));
    }
    results.push_back(result);
  }
  return mlir::Value(make<transformer::ConcatOp>(parts.getType(), results));
}

static bool hasEqualParts(transformer::ConcatOp concat) {
  const llvm::DenseSet<mlir::Value> parts(concat.getInputs().begin(), concat.getInputs().end());
  return parts.size() < concat.getInputs().size();
}

Result<Rows> Evaluation::written(Rows rows) {
  if (rows.isNan) {
    return failure(StatusCode::Unsupported,
                   "reads whether numbers are NaN, expected this only where such weights become 0");
  }
  if (rows.function != nullptr) {
    auto concat = rows.value.getDefiningOp<transformer::ConcatOp>();
    HEDDLE_ASSIGN(const mlir::Value value, concat &&hasEqualParts(concat)
                                               ? appliedToParts(concat, rows.function)
                                               : applied(rows.value, rows.function));
    if (isMasked(rows.value)) {
      setMasked(value);
    }
    rows.value = value;
    rows.function = nullptr;
  }
  return rows;
}

} // namespace heddle::onnx
