// SPDX-License-Identifier: Apache-2.0
///
/// Element-wise operations and reductions of rows. This file checks only conditions that result
/// types depend on, and that the operands' shapes match; the dialect's verifiers check the rest
/// when the model is finished.
#include "frontend/Builder/ModelState.h"

#include <cmath>
#include <fmt/format.h>

using namespace mlir;

namespace heddle {

Tensor Tensor::activate(transformer::Activation function) const {
  OperationSite site({this});
  if (!site.ok()) {
    return {};
  }
  return site.make<Tensor, transformer::ActivateOp>(function, value());
}

Tensor Tensor::operator+(const Tensor &right) const {
  OperationSite site({this, &right});
  if (!site.ok()) {
    return {};
  }
  return site.make<Tensor, transformer::AddOp>(value(), right.value());
}

/// Returns whether a tensor can be the right side of a product or combination: the same shape,
/// trailing axes, one number, or one number for each row.
static bool isFactor(RankedTensorType left, RankedTensorType right) {
  const ArrayRef<int64_t> sizes = right.getShape();
  const bool isTrailing = right.hasStaticShape() && right.getRank() <= left.getRank() &&
                          left.getShape().take_back(right.getRank()) == sizes;
  const bool isOneEach = left.getRank() > 0 && left.isDynamicDim(0) && right.getRank() == 2 &&
                         right.isDynamicDim(0) && right.getDimSize(1) == 1;
  return left == right || isTrailing || isOneEach || (right.getRank() == 1 && sizes[0] == 1);
}

/// Checks that; `what` is the result, for messages.
static bool expectFactor(OperationSite &site, std::string_view what, const Tensor &left,
                         const Tensor &right) {
  if (!isFactor(typeOf(left), typeOf(right))) {
    site.fail(fmt::format("a {} of shapes {} and {}, expected the same, trailing sizes of the "
                          "first, [1] or [?, 1]",
                          what, printSizes(typeOf(left).getShape()),
                          printSizes(typeOf(right).getShape())));
  }
  return site.ok();
}

/// Returns the name of a combination's result in messages.
static std::string_view nounOf(transformer::Combination function) {
  switch (function) {
  case transformer::Combination::Subtract:
    return "difference";
  case transformer::Combination::Divide:
    return "quotient";
  case transformer::Combination::Minimum:
    return "minimum";
  case transformer::Combination::Maximum:
    return "maximum";
  }
  return "combination";
}

Tensor Tensor::combine(transformer::Combination function, const Tensor &right) const {
  OperationSite site({this, &right});
  if (!site.ok() || !expectFactor(site, nounOf(function), *this, right)) {
    return {};
  }
  return site.make<Tensor, transformer::CombineOp>(function, value(), right.value());
}

Tensor Tensor::operator-(const Tensor &right) const {
  return combine(transformer::Combination::Subtract, right);
}

Tensor Tensor::operator/(const Tensor &right) const {
  return combine(transformer::Combination::Divide, right);
}

Tensor Tensor::operator*(const Tensor &right) const {
  OperationSite site({this, &right});
  if (!site.ok()) {
    return {};
  }
  if (!expectFactor(site, "product", *this, right)) {
    return {};
  }
  return site.make<Tensor, transformer::MultiplyOp>(value(), right.value());
}

Tensor Tensor::operator*(double factor) const {
  OperationSite site({this});
  if (!site.ok()) {
    return {};
  }
  return site.make<Tensor, transformer::ScaleOp>(value(), site.f32(factor));
}

Tensor Tensor::operator+(double number) const {
  OperationSite site({this});
  if (!site.ok()) {
    return {};
  }
  return site.make<Tensor, transformer::ShiftOp>(value(), site.f32(number));
}

Tensor Tensor::clamp(double least, double most) const {
  OperationSite site({this});
  if (!site.ok()) {
    return {};
  }
  return site.make<Tensor, transformer::ClampOp>(value(), site.f32(least), site.f32(most));
}

Tensor Tensor::power(double exponent) const {
  if (exponent == 0) {
    return clamp(1, 1);
  }
  const double magnitude = std::abs(exponent);
  if (exponent == -0.5) {
    return activate(transformer::Activation::Rsqrt);
  }
  if (exponent < 0 && (magnitude == std::floor(magnitude) || magnitude == 0.5)) {
    return power(magnitude).activate(transformer::Activation::Reciprocal);
  }
  if (magnitude == 0.5) {
    return activate(transformer::Activation::Sqrt);
  }
  if (magnitude == std::floor(magnitude) && magnitude >= 1 && magnitude <= mostPowerProducts) {
    // Exponentiation by squaring, with one more product for an odd exponent.
    const Tensor root = magnitude < 2 ? *this : power(std::floor(magnitude / 2));
    const Tensor even = magnitude < 2 ? root : root * root;
    return magnitude >= 2 && std::fmod(magnitude, 2) == 1 ? even * *this : even;
  }
  // The logarithm of a negative number is NaN; an odd power gets its sign from one more product.
  const bool isWhole = magnitude == std::floor(magnitude);
  const bool isOdd = isWhole && std::fmod(magnitude, 2) == 1;
  const Tensor positive = isWhole ? activate(transformer::Activation::Abs) : *this;
  const Tensor even =
      (positive.activate(transformer::Activation::Log) * (exponent - (isOdd ? 1 : 0)))
          .activate(transformer::Activation::Exp);
  return isOdd ? even * *this : even;
}

Tensor Tensor::reduce(transformer::Reduction method) const {
  OperationSite site({this});
  if (!expectRows(site, *this)) {
    return {};
  }
  return site.make<Tensor, transformer::ReduceOp>(site.tensorType({ShapedType::kDynamic, 1}),
                                                  method, value());
}

} // namespace heddle
