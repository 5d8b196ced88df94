// SPDX-License-Identifier: Apache-2.0
///
/// Rules of element-wise mathematics and of reductions of rows. Sums and products are linear; for
/// monotonic functions the bounds follow from the ends of the input's range.
#include "tests/EndToEnd/ActivationTwins.h"
#include "tests/EndToEnd/RandomPrograms/Interpreter.h"

#include <algorithm>
#include <cmath>
#include <functional>

using namespace mlir;

namespace heddle {

using namespace transformer;

/// Returns the element of the right operand that is combined with element `i` of the left: the same
/// or, if the right operand is broadcast, according to its type: one number, one for each row, one
/// for each row and key of scores, or one for each position in the trailing axes.
static std::function<int64_t(int64_t)> repetition(RankedTensorType leftType, RankedTensorType type,
                                                  const BoundedTensor &left,
                                                  const BoundedTensor &right) {
  const auto elements = static_cast<int64_t>(left.elements.size());
  const auto others = static_cast<int64_t>(right.elements.size());
  if (type == leftType) {
    return [](int64_t i) { return i; };
  }
  if (type.hasStaticShape()) {
    return [others](int64_t i) { return i % others; };
  }
  if (type.getNumDynamicDims() == 1) {
    return [each = std::max<int64_t>(elements / left.shape[0], 1)](int64_t i) { return i / each; };
  }
  return [heads = left.shape[1], keys = left.width()](int64_t i) {
    return i / (heads * keys) * keys + i % keys;
  };
}

/// Returns the length of an axis of the right operand with unknown length, and that of the left
/// operand's corresponding axis. Weights have none.
static std::vector<std::pair<int64_t, int64_t>> axesThatMeet(RankedTensorType leftType,
                                                             RankedTensorType type,
                                                             const BoundedTensor &left,
                                                             const BoundedTensor &right) {
  std::vector<std::pair<int64_t, int64_t>> axes;
  if (type == leftType) {
    for (size_t axis = 0; axis < left.shape.size(); ++axis) {
      axes.emplace_back(right.shape[axis], left.shape[axis]);
    }
  } else if (!type.hasStaticShape()) {
    axes.emplace_back(right.shape.front(), left.shape.front());
    if (type.getNumDynamicDims() > 1) {
      axes.emplace_back(right.width(), left.width());
    }
  }
  return axes;
}

template <typename Op>
void Interpreter::combine(Op op, Bounded (*combineElements)(const Bounded &, const Bounded &)) {
  const BoundedTensor &left = of(op.getLhs()), &right = of(op.getRhs());
  const RankedTensorType leftType = op.getLhs().getType(), rightType = op.getRhs().getType();
  for (auto [found, expected] : axesThatMeet(leftType, rightType, left, right)) {
    if (!fits(op, found, expected)) {
      return;
    }
  }
  BoundedTensor result(left.shape);
  const auto other = repetition(leftType, rightType, left, right);
  for (size_t i = 0; i < result.elements.size(); ++i) {
    result.elements[i] = combineElements(
        left.elements[i], right.elements[static_cast<size_t>(other(static_cast<int64_t>(i)))]);
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(AddOp op) { combine(op, sum); }

template <> void Interpreter::evaluate(MultiplyOp op) { combine(op, product); }

/// Returns a / b, for a b that cannot be zero: the error is largest where both are.
static Bounded quotient(const Bounded &a, const Bounded &b) {
  if (!a.isKnown() || !b.isKnown() || a.hidden || b.hidden || (b.low() <= 0 && b.high() >= 0)) {
    return Bounded::anything();
  }
  const double value = a.value / b.value;
  double error = 0;
  for (const double top : {a.low(), a.high()}) {
    for (const double bottom : {b.low(), b.high()}) {
      error = std::max(error, std::abs(top / bottom - value));
    }
  }
  // A pass may multiply by the reciprocal of b.
  return roundResult(value, error + 8 * unitRoundoff * (std::abs(value) + error) + underflow);
}

static Bounded difference(const Bounded &a, const Bounded &b) { return sum(a, scaled(b, -1)); }

/// Returns the chosen one of two numbers, without rounding.
static Bounded chosen(const Bounded &a, const Bounded &b, double value) {
  if (!a.isKnown() || !b.isKnown() || a.hidden || b.hidden) {
    return Bounded::anything();
  }
  return {value, std::max(a.error, b.error), std::max(a.magnitude, b.magnitude), false};
}

static Bounded smaller(const Bounded &a, const Bounded &b) {
  return chosen(a, b, std::min(a.value, b.value));
}

static Bounded larger(const Bounded &a, const Bounded &b) {
  return chosen(a, b, std::max(a.value, b.value));
}

template <> void Interpreter::evaluate(CombineOp op) {
  switch (op.getFunction()) {
  case Combination::Subtract:
    return combine(op, difference);
  case Combination::Divide:
    return combine(op, quotient);
  case Combination::Minimum:
    return combine(op, smaller);
  case Combination::Maximum:
    return combine(op, larger);
  }
}

template <> void Interpreter::evaluate(ShiftOp op) {
  BoundedTensor result = of(op.getInput());
  for (Bounded &element : result.elements) {
    element = sum(element, Bounded::exact(op.getNumber().convertToDouble()));
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(ClampOp op) {
  BoundedTensor result = of(op.getInput());
  for (Bounded &element : result.elements) {
    const double value = std::min(std::max(element.value, op.getLeast().convertToDouble()),
                                  op.getMost().convertToDouble());
    element = chosen(element, element, value);
    element.magnitude = element.most();
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(ScaleOp op) {
  BoundedTensor result = of(op.getInput());
  for (Bounded &element : result.elements) {
    element = scaled(element, op.getFactor().convertToDouble());
  }
  define(op, std::move(result));
}

// --- Functions of one number -----------------------------------------------------------------

Bounded activated(Activation function, const Bounded &x) {
  // InterpreterTest requires a twin of each.
  const ActivationTwin &twin = *findActivationTwin(stringifyActivation(function));
  if (x.hidden && function == Activation::Sigmoid) {
    return Bounded::exact(0);
  }
  if (!x.isKnown() || x.hidden) {
    return Bounded::anything();
  }
  if (twin.isOfPositives() && x.low() <= 0) {
    return Bounded::anything();
  }
  const double value = twin.value(x.value);
  double rounding = 0;
  switch (twin.rounding) {
  case TwinRounding::None:
    return roundResult(value, twin.slope * x.error);
  case TwinRounding::Jumps:
    return roundResult(value, std::max(twin.value(x.high()) - value, value - twin.value(x.low())));
  case TwinRounding::OfResult:
    // Convex and decreasing: the error is largest at the minimum.
    return roundResult(value, twin.value(x.low()) - value + 4 * unitRoundoff * std::abs(value));
  case TwinRounding::Rises:
  case TwinRounding::RisesFromZero:
    return roundResult(value, std::max(twin.value(x.high()) - value, value - twin.value(x.low())) +
                                  8 * unitRoundoff * std::abs(value) + underflow);
  case TwinRounding::OfInput:
    rounding = 8 * std::abs(x.value);
    break;
  case TwinRounding::OfExponent:
    rounding = (12 + 4 * std::abs(x.value)) * std::abs(value);
    break;
  }
  // A number whose exponential overflows is zero: those of 1.702 x do from 52 on.
  constexpr double mostExponent = 50;
  const double vanished = x.most() > mostExponent ? 1e-37 * (1 + std::abs(x.value)) : underflow;
  // The second derivative of these is at most 2, which bounds how far a function exceeds its values
  // at the ends of the input's range.
  const double ends =
      std::max(std::abs(twin.value(x.high()) - value), std::abs(twin.value(x.low()) - value));
  const double carried = std::min(twin.slope * x.error, ends + x.error * x.error);
  return roundResult(value, carried + rounding * unitRoundoff + vanished);
}

template <> void Interpreter::evaluate(ActivateOp op) {
  BoundedTensor result = of(op.getInput());
  for (Bounded &element : result.elements) {
    element = activated(op.getFunction(), element);
  }
  define(op, std::move(result));
}

// --- Numbers of rows ---------------------------------------------------------------------------

template <> void Interpreter::evaluate(ReduceOp op) {
  const BoundedTensor &input = of(op.getInput());
  BoundedTensor result({input.rows(), 1});
  for (int64_t row = 0; row < input.rows(); ++row) {
    ProductSum total;
    Bounded least = input.at(row, 0), most = least;
    for (int64_t column = 0; column < input.width(); ++column) {
      total.add(input.at(row, column), Bounded::exact(1));
      least = smaller(least, input.at(row, column));
      most = larger(most, input.at(row, column));
    }
    const Bounded mean =
        product(total.finish(), Bounded::exact(1 / static_cast<double>(input.width())));
    result.at(row, 0) = op.getMethod() == Reduction::Mean  ? mean
                        : op.getMethod() == Reduction::Sum ? total.finish()
                        : op.getMethod() == Reduction::Max ? most
                                                           : least;
  }
  define(op, std::move(result));
}

} // namespace heddle
