// SPDX-License-Identifier: Apache-2.0
///
/// Fuses activations that are spelt as their formulas into one operation.
///
/// Before:
///   %a = transformer.scale %x, 0.707106769
///   %b = transformer.activate erf %a
///   %c = transformer.shift %b, 1.0
///   %d = transformer.multiply %x, %c
///   %e = transformer.scale %d, 0.5
/// After:
///   %e = transformer.activate gelu %x
///
/// All distributions of the factors are recognised: the expression after a function f of x is
/// expanded to a polynomial in x and f (Polynomial) and compared: gelu is x / 2 + x erf / 2.
/// Candidates are the functions that activations are made of; of tanh and sigmoid only those with a
/// matching polynomial. Tested by tests/compiler/Model/Rows/fuse-activation.mlir.
#include "compiler/Model/Cleanup/EraseUnused.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/SetVector.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_FUSEACTIVATIONPASS
#include "compiler/Passes.h.inc"

namespace {

/// Limits beyond which an expression is not an activation and must not be expanded: the degree in
/// each variable, the operations of a formula, the operations after a function, and the candidates
/// for x.
constexpr int mostDegree = 4, mostReads = 64;
constexpr size_t mostFollowing = 24, mostVariables = 16;
/// Constants may be rounded to f32 and multiplied with each other.
constexpr double tolerance = 2e-6;

bool areNear(double a, double b) { return std::abs(a - b) <= tolerance * std::abs(b); }

/// Coefficients by the degrees of x and of f.
using Polynomial = std::map<std::pair<int, int>, double>;

/// Returns whether two have the same terms with nearly the same coefficients.
bool areNear(const Polynomial &a, const Polynomial &b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto terms) {
           const auto &[left, right] = terms;
           return left.first == right.first && areNear(left.second, right.second);
         });
}

/// Reads values as polynomials in x and f.
class PolynomialReader {
public:
  PolynomialReader(Value x, Value f) : x(x), f(f) {}

  /// Returns nothing if the value depends on something else or is too large.
  std::optional<Polynomial> read(Value value) {
    if (value == x || value == f) {
      return Polynomial{{{value == x ? 1 : 0, value == x ? 0 : 1}, 1.0}};
    }
    Operation *op = left > 0 ? value.getDefiningOp() : nullptr;
    --left;
    if (auto scale = dyn_cast_if_present<ScaleOp>(op)) {
      return scaled(read(scale.getInput()), scale.getFactor().convertToDouble());
    }
    if (auto shift = dyn_cast_if_present<ShiftOp>(op)) {
      std::optional<Polynomial> sum = read(shift.getInput());
      Polynomial number = {{{0, 0}, shift.getNumber().convertToDouble()}};
      return sum ? std::optional(added(*sum, number)) : std::nullopt;
    }
    auto combine = dyn_cast_if_present<CombineOp>(op);
    bool isDifference = combine && combine.getFunction() == Combination::Subtract;
    if ((!isDifference && !isa_and_present<AddOp, MultiplyOp>(op)) ||
        op->getOperand(0).getType() != op->getOperand(1).getType()) {
      return std::nullopt;
    }
    std::optional<Polynomial> one = read(op->getOperand(0));
    std::optional<Polynomial> other = one ? read(op->getOperand(1)) : std::nullopt;
    if (!other) {
      return std::nullopt;
    }
    return isa<MultiplyOp>(op) ? multiplied(*one, *other)
                               : added(*one, *scaled(other, isDifference ? -1 : 1));
  }

private:
  static std::optional<Polynomial> scaled(std::optional<Polynomial> polynomial, double factor) {
    if (polynomial) {
      for (auto &[degrees, coefficient] : *polynomial) {
        coefficient *= factor;
      }
    }
    return polynomial;
  }
  static Polynomial added(Polynomial sum, const Polynomial &other) {
    for (const auto &[degrees, coefficient] : other) {
      sum[degrees] += coefficient;
    }
    return sum;
  }
  static std::optional<Polynomial> multiplied(const Polynomial &a, const Polynomial &b) {
    Polynomial product;
    for (const auto &[left, leftFactor] : a) {
      for (const auto &[right, rightFactor] : b) {
        std::pair degrees(left.first + right.first, left.second + right.second);
        if (degrees.first > mostDegree || degrees.second > mostDegree) {
          return std::nullopt;
        }
        product[degrees] += leftFactor * rightFactor;
      }
    }
    return product;
  }

  Value x, f;
  int left = mostReads;
};

/// An activation as a polynomial in x and a function of a polynomial in x.
struct Formula {
  Activation activation;
  Activation function;
  Polynomial argument;
  Polynomial result;
};

ArrayRef<Formula> formulas() {
  static const double rootOfHalf = std::sqrt(0.5), rootOfTwoOverPi = std::sqrt(2 / M_PI);
  static const Formula all[] = {
      {Activation::Gelu, Activation::Erf, {{{1, 0}, rootOfHalf}}, {{{1, 0}, 0.5}, {{1, 1}, 0.5}}},
      {Activation::GeluNew,
       Activation::Tanh,
       {{{1, 0}, rootOfTwoOverPi}, {{3, 0}, rootOfTwoOverPi * 0.044715}},
       {{{1, 0}, 0.5}, {{1, 1}, 0.5}}},
      {Activation::Silu, Activation::Sigmoid, {{{1, 0}, 1.0}}, {{{1, 1}, 1.0}}},
      {Activation::QuickGelu, Activation::Sigmoid, {{{1, 0}, 1.702}}, {{{1, 1}, 1.0}}},
  };
  return all;
}

/// Returns candidates for x: the argument itself, and the values that it is computed from.
SmallVector<Value> variablesOf(Value argument) {
  llvm::SmallSetVector<Value, 16> found;
  found.insert(argument);
  for (size_t next = 0; next < found.size() && found.size() < mostVariables; ++next) {
    Operation *op = found[next].getDefiningOp();
    if (!isa_and_present<ScaleOp, ShiftOp, AddOp, MultiplyOp, CombineOp>(op)) {
      continue;
    }
    for (Value operand : op->getOperands()) {
      if (operand.getType() == argument.getType()) {
        found.insert(operand);
      }
    }
  }
  return found.takeVector();
}

/// Returns whether an operation that reads part of a formula may itself be part of it.
bool mayBePart(Operation *op, ActivateOp function) {
  return isa<ScaleOp, ShiftOp, AddOp, MultiplyOp, CombineOp>(op) &&
         op->getBlock() == function->getBlock() && op->getResult(0).getType() == function.getType();
}

class FunctionMatcher {
public:
  explicit FunctionMatcher(ActivateOp function) : function(function) {}

  void run() {
    SmallVector<Value> variables = variablesOf(function.getInput());
    // The operations after the function, nearest first: several formulas may share it.
    llvm::SmallSetVector<Operation *, 16> following;
    following.insert(function);
    SmallVector<Operation *> replaced;
    for (size_t next = 0; next < following.size() && following.size() < mostFollowing; ++next) {
      Operation *op = following[next];
      if (next > 0 &&
          llvm::any_of(variables, [&](Value x) { return matches(op->getResult(0), x); })) {
        replaced.push_back(op);
        continue;
      }
      // MLIR lists the last use first.
      SmallVector<Operation *> users(op->getUsers());
      for (Operation *user : llvm::reverse(users)) {
        if (mayBePart(user, function)) {
          following.insert(user);
        }
      }
    }
    if (!replaced.empty()) {
      for (Operation *op : replaced) {
        eraseUnused(op);
      }
      return;
    }
    // A tanh or sigmoid may stand alone; an erf only occurs in a gelu.
    if (reason.empty() && function.getFunction() == Activation::Erf) {
      reason = "what follows is not half of a number times one plus its error function";
    }
    if (!reason.empty()) {
      reportDeclined(function.getLoc(), passNames::fuseActivation, "not fused: " + reason);
    }
  }

private:
  /// Returns whether `result` is an activation of `x`, and fuses it.
  bool matches(Value result, Value x) {
    std::optional<Polynomial> argument = PolynomialReader(x, Value()).read(function.getInput());
    std::optional<Polynomial> whole = PolynomialReader(x, function.getResult()).read(result);
    if (!argument || !whole) {
      return false;
    }
    for (const Formula &formula : formulas()) {
      if (formula.function != function.getFunction() || !areNear(*whole, formula.result)) {
        continue;
      }
      if (!areNear(*argument, formula.argument)) {
        reason =
            ("the " + stringifyActivation(formula.function) +
             " is of another polynomial than that of " + stringifyActivation(formula.activation))
                .str();
        continue;
      }
      OpBuilder builder(result.getDefiningOp());
      Value made = ActivateOp::create(builder, result.getLoc(), formula.activation, x);
      reportTaken(result.getLoc(), passNames::fuseActivation,
                  stringifyActivation(formula.activation) + " of its formula");
      result.replaceAllUsesWith(made);
      return true;
    }
    return false;
  }

  ActivateOp function;
  std::string reason;
};

/// Returns x of `1 + exp(x)`; null if a value is no such sum.
Value exponentOf(Value value) {
  auto shift = value.getDefiningOp<ShiftOp>();
  auto exp = shift && shift.getNumber().isExactlyValue(1.0)
                 ? shift.getInput().getDefiningOp<ActivateOp>()
                 : ActivateOp();
  return exp && exp.getFunction() == Activation::Exp ? exp.getInput() : Value();
}

/// Returns -x; cancels an existing negation.
Value negated(OpBuilder &builder, Location location, Value x) {
  auto scale = x.getDefiningOp<ScaleOp>();
  if (scale && scale.getFactor().isExactlyValue(-1.0)) {
    return scale.getInput();
  }
  return ScaleOp::create(builder, location, x, builder.getF32FloatAttr(-1));
}

/// 1 / (1 + exp(-x)) becomes a sigmoid, a factor if it was a divisor; log(1 + exp(x)) becomes
/// softplus, which does not overflow.
void fuseExponential(Operation *op) {
  auto activate = dyn_cast<ActivateOp>(op);
  auto divide = dyn_cast<CombineOp>(op);
  bool isLog = activate && activate.getFunction() == Activation::Log;
  bool isReciprocal = activate && activate.getFunction() == Activation::Reciprocal;
  bool isQuotient = divide && divide.getFunction() == Combination::Divide &&
                    divide.getLhs().getType() == divide.getRhs().getType();
  Value x = isLog || isReciprocal ? exponentOf(op->getOperand(0))
            : isQuotient          ? exponentOf(op->getOperand(1))
                                  : Value();
  if (!x) {
    return;
  }
  OpBuilder builder(op);
  Location location = op->getLoc();
  Activation kind = isLog ? Activation::Softplus : Activation::Sigmoid;
  Value made =
      ActivateOp::create(builder, location, kind, isLog ? x : negated(builder, location, x));
  if (isQuotient) {
    made = MultiplyOp::create(builder, location, divide.getLhs(), made);
  }
  reportTaken(location, passNames::fuseActivation, stringifyActivation(kind) + " of its formula");
  op->getResult(0).replaceAllUsesWith(made);
  eraseUnused(op);
}

struct FuseActivationPass : impl::FuseActivationPassBase<FuseActivationPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> ends;
    getOperation().walk([&](Operation *op) {
      if (isa<ActivateOp, CombineOp>(op)) {
        ends.push_back(op);
      }
    });
    // Only operations before the replaced one are erased.
    for (Operation *op : ends) {
      fuseExponential(op);
    }
    SmallVector<ActivateOp> functions;
    getOperation().walk([&](ActivateOp activate) {
      if (llvm::any_of(formulas(), [&](const Formula &formula) {
            return formula.function == activate.getFunction();
          })) {
        functions.push_back(activate);
      }
    });
    for (ActivateOp function : functions) {
      FunctionMatcher(function).run();
    }
  }
};

} // namespace
} // namespace heddle
