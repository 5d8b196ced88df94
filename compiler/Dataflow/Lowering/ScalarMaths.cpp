// SPDX-License-Identifier: Apache-2.0
///
/// Activations as their papers define them. createActivation() is their only definition: the names
/// of kernels are derived by comparison with it.
#include "compiler/Dataflow/Lowering/ScalarMaths.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace heddle {
namespace {

constexpr double squareRootOfHalf = 0.70710678118654752440;
constexpr double squareRootOfTwoOverPi = 0.79788456080286535588;

/// x / 2 * (1 + y)
Value createHalfOf(OpBuilder &builder, Location location, Value x, Value y) {
  Value half = createProduct(builder, location, x, createNumber(builder, location, 0.5));
  Value onePlus = createSum(builder, location, y, createNumber(builder, location, 1.0));
  return createProduct(builder, location, half, onePlus);
}

/// "Gaussian Error Linear Units", section 2: x Phi(x).
Value createGelu(OpBuilder &builder, Location location, Value x) {
  Value scale = createNumber(builder, location, squareRootOfHalf);
  Value error = math::ErfOp::create(builder, location, createProduct(builder, location, x, scale));
  return createHalfOf(builder, location, x, error);
}

/// The tanh approximation of the same paper.
Value createGeluNew(OpBuilder &builder, Location location, Value x) {
  Value square = createProduct(builder, location, x, x);
  Value cube = createProduct(builder, location, square, x);
  Value term = createProduct(builder, location, cube, createNumber(builder, location, 0.044715));
  Value sum = createSum(builder, location, x, term);
  Value scale = createNumber(builder, location, squareRootOfTwoOverPi);
  Value tanh =
      math::TanhOp::create(builder, location, createProduct(builder, location, sum, scale));
  return createHalfOf(builder, location, x, tanh);
}

/// 1 / (1 + exp(-x))
Value createSigmoid(OpBuilder &builder, Location location, Value x) {
  Value one = createNumber(builder, location, 1.0);
  Value negated = arith::NegFOp::create(builder, location, x);
  Value exponential = math::ExpOp::create(builder, location, negated);
  return arith::DivFOp::create(builder, location, one,
                               createSum(builder, location, one, exponential));
}

/// "Gaussian Error Linear Units", section 2, the sigmoid approximation: x sigmoid(1.702 x).
Value createQuickGelu(OpBuilder &builder, Location location, Value x) {
  Value scaled = createProduct(builder, location, x, createNumber(builder, location, 1.702));
  return createProduct(builder, location, x, createSigmoid(builder, location, scaled));
}

/// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), in which no exponential overflows.
Value createSoftplus(OpBuilder &builder, Location location, Value x) {
  Value magnitude = math::AbsFOp::create(builder, location, x);
  Value negated = arith::NegFOp::create(builder, location, magnitude);
  Value exponential = math::ExpOp::create(builder, location, negated);
  Value rest = math::Log1pOp::create(builder, location, exponential);
  Value positive =
      arith::MaximumFOp::create(builder, location, x, createNumber(builder, location, 0.0));
  return createSum(builder, location, positive, rest);
}

Value createReciprocal(OpBuilder &builder, Location location, Value x) {
  return arith::DivFOp::create(builder, location, createNumber(builder, location, 1.0), x);
}

/// 1 / sqrt(x)
Value createRsqrt(OpBuilder &builder, Location location, Value x) {
  return createReciprocal(builder, location, math::SqrtOp::create(builder, location, x));
}

/// Only NaN is unordered with itself.
Value createNanToZero(OpBuilder &builder, Location location, Value x) {
  Value isNan = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::UNO, x, x);
  return arith::SelectOp::create(builder, location, isNan, createNumber(builder, location, 0.0), x);
}

} // namespace

Value createNumber(OpBuilder &builder, Location location, FloatAttr number) {
  return arith::ConstantOp::create(builder, location, number);
}

Value createNumber(OpBuilder &builder, Location location, double number) {
  return createNumber(builder, location, builder.getF32FloatAttr(static_cast<float>(number)));
}

Value createSum(OpBuilder &builder, Location location, Value left, Value right) {
  return arith::AddFOp::create(builder, location, left, right, arith::FastMathFlags::contract);
}

Value createProduct(OpBuilder &builder, Location location, Value left, Value right) {
  return arith::MulFOp::create(builder, location, left, right, arith::FastMathFlags::contract);
}

Value createActivation(OpBuilder &builder, Location location, transformer::Activation activation,
                       Value input) {
  switch (activation) {
  case transformer::Activation::Gelu:
    return createGelu(builder, location, input);
  case transformer::Activation::GeluNew:
    return createGeluNew(builder, location, input);
  case transformer::Activation::Relu:
    return arith::MaximumFOp::create(builder, location, input,
                                     createNumber(builder, location, 0.0));
  case transformer::Activation::Tanh:
    return math::TanhOp::create(builder, location, input);
  case transformer::Activation::Silu:
    return createProduct(builder, location, input, createSigmoid(builder, location, input));
  case transformer::Activation::Sigmoid:
    return createSigmoid(builder, location, input);
  case transformer::Activation::QuickGelu:
    return createQuickGelu(builder, location, input);
  case transformer::Activation::Softplus:
    return createSoftplus(builder, location, input);
  case transformer::Activation::Abs:
    return math::AbsFOp::create(builder, location, input);
  case transformer::Activation::Sin:
    return math::SinOp::create(builder, location, input);
  case transformer::Activation::Cos:
    return math::CosOp::create(builder, location, input);
  case transformer::Activation::Floor:
    return math::FloorOp::create(builder, location, input);
  case transformer::Activation::Rsqrt:
    return createRsqrt(builder, location, input);
  case transformer::Activation::Exp:
    return math::ExpOp::create(builder, location, input);
  case transformer::Activation::Log:
    return math::LogOp::create(builder, location, input);
  case transformer::Activation::Erf:
    return math::ErfOp::create(builder, location, input);
  case transformer::Activation::Sqrt:
    return math::SqrtOp::create(builder, location, input);
  case transformer::Activation::Reciprocal:
    return createReciprocal(builder, location, input);
  case transformer::Activation::NanToZero:
    return createNanToZero(builder, location, input);
  }
  llvm_unreachable("every activation has its maths");
}

Value createCombination(OpBuilder &builder, Location location, transformer::Combination combination,
                        Value left, Value right) {
  switch (combination) {
  case transformer::Combination::Subtract:
    return arith::SubFOp::create(builder, location, left, right, arith::FastMathFlags::contract);
  case transformer::Combination::Divide:
    return arith::DivFOp::create(builder, location, left, right);
  case transformer::Combination::Minimum:
    return arith::MinimumFOp::create(builder, location, left, right);
  case transformer::Combination::Maximum:
    return arith::MaximumFOp::create(builder, location, left, right);
  }
  llvm_unreachable("every combination has its maths");
}

// --- Matching --------------------------------------------------------------------------------

namespace {
/// Compares whether `value` is computed like `written`, from one input in place of its argument.
class MathsComparison {
public:
  bool isSame(Value written, Value value);
  llvm::SmallPtrSet<Operation *, 8> operations;

private:
  bool areSame(Operation *written, Operation *op, bool isSwapped);
  Value input;
};
} // namespace

bool MathsComparison::areSame(Operation *written, Operation *op, bool isSwapped) {
  Value inputBefore = input;
  for (unsigned number = 0; number < written->getNumOperands(); ++number) {
    unsigned other = isSwapped ? 1 - number : number;
    if (!isSame(written->getOperand(number), op->getOperand(other))) {
      input = inputBefore;
      return false;
    }
  }
  return true;
}

bool MathsComparison::isSame(Value written, Value value) {
  Operation *expected = written.getDefiningOp();
  if (!expected) {
    input = input ? input : value;
    return input == value;
  }
  Operation *op = value.getDefiningOp();
  if (!op || op->getName() != expected->getName() ||
      op->getAttrDictionary() != expected->getAttrDictionary()) {
    return false;
  }
  bool isSwappable = op->hasTrait<OpTrait::IsCommutative>() && op->getNumOperands() == 2;
  if (!areSame(expected, op, false) && !(isSwappable && areSame(expected, op, true))) {
    return false;
  }
  operations.insert(op);
  return true;
}

ActivationMatcher::ActivationMatcher(MLIRContext *context) {
  OpBuilder builder(context);
  Location location = builder.getUnknownLoc();
  for (uint32_t number = 0; number <= transformer::getMaxEnumValForActivation(); ++number) {
    if (auto activation = transformer::symbolizeActivation(number)) {
      Block *block = builder.createBlock(&maths, maths.end(), builder.getF32Type(), location);
      createActivation(builder, location, *activation, block->getArgument(0));
      activations.push_back(*activation);
    }
  }
}

std::optional<ActivationMatcher::Match> ActivationMatcher::match(Operation *last) {
  if (last->getNumResults() != 1) {
    return std::nullopt;
  }
  for (auto [activation, block] : llvm::zip_equal(activations, maths)) {
    MathsComparison comparison;
    if (comparison.isSame(block.back().getResult(0), last->getResult(0))) {
      return Match{activation, std::move(comparison.operations)};
    }
  }
  return std::nullopt;
}

} // namespace heddle
