// SPDX-License-Identifier: Apache-2.0
///
/// Elementwise functions, which graphs compute operator by operator: x / sqrt 2, Erf, plus 1, times
/// x, times 1 / 2. They are collected into one formula, which is emitted as primitive operations
/// when the value is used; `fuse-activation` recognizes activations algebraically.
#include "frontend/Onnx/Evaluation.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

using namespace mlir;
using heddle::transformer::Activation;
using heddle::transformer::Combination;

namespace heddle::onnx {

namespace {

/// The factor c of each part that has the form c * x.
using Factors = std::map<Expr, double>;

/// Returns c if the part is c * x; the factors of its operands are known.
std::optional<double> factorOf(const Factors &factors, Expr part) {
  const auto of = [&](size_t operand) -> std::optional<double> {
    const auto found = factors.find(part->operands[operand]);
    return found == factors.end() ? std::nullopt : std::optional(found->second);
  };
  const auto constant = [&](size_t operand) -> std::optional<double> {
    const Expr value = part->operands[operand];
    return value->isConstant() ? std::optional(value->value()) : std::nullopt;
  };
  switch (part->formula) {
  case Formula::Operand:
    return 1;
  case Formula::Negate:
    return of(0) ? std::optional(-*of(0)) : std::nullopt;
  case Formula::Multiply:
    return of(0) && constant(1)   ? std::optional(*of(0) * *constant(1))
           : constant(0) && of(1) ? std::optional(*constant(0) * *of(1))
                                  : std::nullopt;
  case Formula::Divide:
    return of(0) && constant(1) ? std::optional(*of(0) / *constant(1)) : std::nullopt;
  default:
    return std::nullopt;
  }
}

/// Visits the parts in order of creation, so that operands precede their users.
Factors factorsOf(Expr formula) {
  std::vector<Expr> parts;
  Expressions::walk(formula, [&](Expr part) { parts.push_back(part); });
  std::sort(parts.begin(), parts.end(), [](Expr a, Expr b) { return a->id < b->id; });
  Factors factors;
  for (const Expr part : parts) {
    if (const auto factor = factorOf(factors, part); factor && std::isfinite(*factor)) {
      factors.emplace(part, *factor);
    }
  }
  return factors;
}

std::optional<Activation> activationOf(Formula formula) {
  switch (formula) {
  case Formula::Root:
    return Activation::Sqrt;
  case Formula::Exponential:
    return Activation::Exp;
  case Formula::Logarithm:
    return Activation::Log;
  case Formula::Erf:
    return Activation::Erf;
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

/// Emits a formula of one value; common parts are emitted once.
class FunctionWriter {
public:
  FunctionWriter(Evaluation &evaluation, mlir::Value operand, const Factors &factors)
      : evaluation(evaluation), operand(operand), factors(factors) {}

  Result<mlir::Value> write(Expr function) {
    const auto known = done.find(function);
    if (known != done.end()) {
      return known->second;
    }
    // Errors name the node that produced the function, not the one that reads it.
    const GraphNode *const reader = evaluation.enterFunction(function);
    Result<mlir::Value> value = make(function);
    evaluation.leaveFunction(reader);
    if (value.ok()) {
      done.emplace(function, *value);
    }
    return value;
  }

private:
  Status refuse(const std::string &what) const {
    return evaluation.failure(StatusCode::Unsupported, what);
  }

  /// Checks that a constant is finite in f32, the type of constants in the program.
  Status checkNumber(double number) const {
    return std::isfinite(static_cast<float>(number))
               ? Status()
               : refuse(fmt::format("computes with the constant {}, expected one that is finite in "
                                    "f32",
                                    number));
  }

  Result<mlir::Value> scaled(mlir::Value value, double factor) {
    HEDDLE_TRY(checkNumber(factor));
    return factor == 1
               ? value
               : mlir::Value(evaluation.make<transformer::ScaleOp>(value, evaluation.f32(factor)));
  }

  Result<mlir::Value> make(Expr function);
  Result<mlir::Value> withConstant(Formula formula, mlir::Value value, double number, bool isLeft);
  Result<mlir::Value> ofTwo(Formula formula, mlir::Value left, mlir::Value right);
  Result<mlir::Value> exponential(mlir::Value value, double base);
  Result<mlir::Value> power(mlir::Value value, double exponent);

  mlir::Value activated(Activation function, mlir::Value value) {
    return evaluation.make<transformer::ActivateOp>(function, value);
  }
  mlir::Value combined(Combination function, mlir::Value left, mlir::Value right) {
    return evaluation.make<transformer::CombineOp>(function, left, right);
  }

  Evaluation &evaluation;
  mlir::Value operand;
  const Factors &factors;
  std::map<Expr, mlir::Value> done;
};

Result<mlir::Value> FunctionWriter::make(Expr function) {
  if (function->formula == Formula::Operand) {
    return operand;
  }
  if (const auto factor = factors.find(function); factor != factors.end()) {
    return scaled(operand, factor->second);
  }
  const auto &operands = function->operands;
  if (const std::optional<Activation> activation = activationOf(function->formula)) {
    HEDDLE_ASSIGN(const mlir::Value inner, write(operands[0]));
    return activated(*activation, inner);
  }
  if (function->formula == Formula::Negate) {
    HEDDLE_ASSIGN(const mlir::Value inner, write(operands[0]));
    return scaled(inner, -1);
  }
  if (operands.size() != 2 || function->element != Element::Real) {
    return refuse("reads a function of each element that the program has no operation for");
  }
  const bool isLeft = operands[0]->isConstant();
  if (isLeft || operands[1]->isConstant()) {
    HEDDLE_ASSIGN(const mlir::Value inner, write(operands[isLeft ? 1 : 0]));
    return withConstant(function->formula, inner, operands[isLeft ? 0 : 1]->value(), isLeft);
  }
  HEDDLE_ASSIGN(const mlir::Value left, write(operands[0]));
  HEDDLE_ASSIGN(const mlir::Value right, write(operands[1]));
  return ofTwo(function->formula, left, right);
}

Result<mlir::Value> FunctionWriter::withConstant(Formula formula, mlir::Value value, double number,
                                                 bool isLeft) {
  const double infinity = std::numeric_limits<double>::infinity();
  switch (formula) {
  case Formula::Add:
    HEDDLE_TRY(checkNumber(number));
    return mlir::Value(evaluation.make<transformer::ShiftOp>(value, evaluation.f32(number)));
  case Formula::Multiply:
    return scaled(value, number);
  case Formula::Divide:
    return isLeft ? scaled(activated(Activation::Reciprocal, value), number)
                  : scaled(value, 1 / number);
  case Formula::Least:
  case Formula::Largest: {
    if (std::isnan(number)) {
      return refuse("bounds rows by NaN");
    }
    const bool isMost = formula == Formula::Least;
    return mlir::Value(
        evaluation.make<transformer::ClampOp>(value, evaluation.f32(isMost ? -infinity : number),
                                              evaluation.f32(isMost ? number : infinity)));
  }
  case Formula::Power:
    return isLeft ? exponential(value, number) : power(value, number);
  default:
    return refuse("combines rows with a constant by an operator of integers");
  }
}

Result<mlir::Value> FunctionWriter::ofTwo(Formula formula, mlir::Value left, mlir::Value right) {
  switch (formula) {
  case Formula::Add:
    return mlir::Value(evaluation.make<transformer::AddOp>(left, right));
  case Formula::Multiply:
    return mlir::Value(evaluation.make<transformer::MultiplyOp>(left, right));
  case Formula::Divide:
    return combined(Combination::Divide, left, right);
  case Formula::Least:
    return combined(Combination::Minimum, left, right);
  case Formula::Largest:
    return combined(Combination::Maximum, left, right);
  default:
    return refuse("combines rows, expected a sum, a difference, a product, a quotient, or the "
                  "smaller or larger of two");
  }
}

Result<mlir::Value> FunctionWriter::exponential(mlir::Value value, double base) {
  if (!(base > 0)) {
    return refuse(fmt::format("raises {} to powers, expected a positive number", base));
  }
  HEDDLE_ASSIGN(value, scaled(value, std::log(base)));
  return activated(Activation::Exp, value);
}

/// Emits a power with products, roots and reciprocals where possible, like Tensor::power(). The
/// logarithm of a negative number is undefined: larger integer powers use that of the magnitude,
/// and odd ones restore the sign with one more product.
Result<mlir::Value> FunctionWriter::power(mlir::Value value, double exponent) {
  const double magnitude = std::abs(exponent);
  const bool isWhole = magnitude == std::floor(magnitude);
  if (!std::isfinite(exponent) || exponent == 0) {
    return refuse(fmt::format("raises rows to the power {}, expected another number", exponent));
  }
  if (magnitude != 0.5 && !isWhole) {
    HEDDLE_ASSIGN(value, scaled(activated(Activation::Log, value), exponent));
    return activated(Activation::Exp, value);
  }
  mlir::Value result;
  if (magnitude == 0.5) {
    result = activated(Activation::Sqrt, value);
  } else if (magnitude > mostPowerProducts) {
    const bool isOdd = std::fmod(magnitude, 2) == 1;
    HEDDLE_ASSIGN(const mlir::Value logarithm,
                  scaled(activated(Activation::Log, activated(Activation::Abs, value)),
                         magnitude - (isOdd ? 1 : 0)));
    result = activated(Activation::Exp, logarithm);
    result = isOdd ? evaluation.make<transformer::MultiplyOp>(result, value) : result;
  } else {
    // Square-and-multiply, from the highest bit of the exponent on.
    auto bits = static_cast<int64_t>(magnitude);
    int64_t bit = 1;
    while (bit * 2 <= bits) {
      bit *= 2;
    }
    for (result = value; bit > 1;) {
      bit /= 2;
      result = evaluation.make<transformer::MultiplyOp>(result, result);
      if ((bits & bit) != 0) {
        result = evaluation.make<transformer::MultiplyOp>(result, value);
      }
    }
  }
  return exponent < 0 ? activated(Activation::Reciprocal, result) : result;
}

} // namespace

/// Applies a function to a value. If the value is a concatenation, each distinct part is computed
/// once.
static Result<mlir::Value> applied(Evaluation &evaluation, mlir::Value value, Expr function) {
  const Factors factors = factorsOf(function);
  auto parts = value.getDefiningOp<transformer::ConcatOp>();
  llvm::DenseMap<mlir::Value, mlir::Value> made;
  if (parts) {
    for (const mlir::Value part : parts.getInputs()) {
      made[part] = mlir::Value();
    }
  }
  if (!parts || made.size() == parts.getInputs().size()) {
    return FunctionWriter(evaluation, value, factors).write(function);
  }
  llvm::SmallVector<mlir::Value> results;
  for (const mlir::Value part : parts.getInputs()) {
    mlir::Value &result = made[part];
    if (!result) {
      HEDDLE_ASSIGN(result, FunctionWriter(evaluation, part, factors).write(function));
    }
    results.push_back(result);
  }
  return mlir::Value(evaluation.make<transformer::ConcatOp>(parts.getType(), results));
}

std::optional<double> Evaluation::linearFactor(const Rows &rows) const {
  if (rows.function == nullptr) {
    return 1;
  }
  const Factors factors = factorsOf(rows.function);
  const auto found = factors.find(rows.function);
  return found == factors.end() ? std::nullopt : std::optional(found->second);
}

/// Returns whether a function keeps large negative scores hidden: it is linear with a factor that
/// is not small, or has a lower bound that also hides.
static bool keepsHidden(std::optional<double> factor, Expr function) {
  constexpr double leastFactor = 0.02;
  const auto isBound = [](Expr each) { return each->isConstant() && each->value() <= hides; };
  return (factor && *factor >= leastFactor) ||
         (function->formula == Formula::Largest &&
          ((function->operands[0]->formula == Formula::Operand && isBound(function->operands[1])) ||
           (function->operands[1]->formula == Formula::Operand && isBound(function->operands[0]))));
}

Status Evaluation::checkHidden(const Rows &rows) {
  if (!rows.hiding.isAny()) {
    return {};
  }
  if (!rows.hiding.areWeights) {
    return keepsHidden(linearFactor(rows), rows.function)
               ? Status()
               : failure(
                     StatusCode::Unsupported,
                     "reads a function of scores whose keys are hidden, expected their softmax");
  }
  const Expr atZero = expressions.replace(rows.function, [&](Expr part) {
    return part->formula == Formula::Operand ? expressions.real(0) : nullptr;
  });
  return atZero->isConstant() && atZero->value() == 0
             ? Status()
             : failure(StatusCode::Unsupported,
                       "reads a function of weights that is not 0 for hidden keys, whose weights "
                       "are 0");
}

Result<Rows> Evaluation::written(Rows rows) {
  if (rows.isNan) {
    return failure(StatusCode::Unsupported,
                   "reads whether numbers are NaN, expected this only where such weights become 0");
  }
  if (rows.function != nullptr) {
    HEDDLE_TRY(checkHidden(rows));
    HEDDLE_ASSIGN(rows.value, applied(*this, rows.value, rows.function));
    rows.function = nullptr;
  }
  return rows;
}

} // namespace heddle::onnx
