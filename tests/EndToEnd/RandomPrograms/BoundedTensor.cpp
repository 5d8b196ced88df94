// SPDX-License-Identifier: Apache-2.0
///
/// Arithmetic on numbers with bounds. Constants are twice what a proof by hand gives for one
/// operation, so that a bound stays valid if a kernel multiplies twice where the program does once.
#include "tests/EndToEnd/RandomPrograms/BoundedTensor.h"

#include <cstdlib>
#include <functional>
#include <numeric>

namespace heddle {

bool Bounded::allows(float result) const {
  if (!isKnown()) {
    return true;
  }
  if (hidden) {
    return result <= value * 0.99;
  }
  return std::abs(static_cast<double>(result) - value) <= error;
}

Bounded roundLinear(double value, double operandErrors, double magnitude, int64_t terms) {
  if (!(magnitude + operandErrors < overflow)) {
    return Bounded::anything();
  }
  const auto count = static_cast<double>(terms);
  const double rounding = (2 * count + 4) * unitRoundoff * magnitude + count * underflow;
  return {value, operandErrors + rounding, magnitude, false};
}

Bounded roundResult(double value, double error) {
  if (!(std::abs(value) + error < overflow)) {
    return Bounded::anything();
  }
  return {value, error, std::abs(value) + error, false};
}

/// Returns a hidden score after arithmetic.
static Bounded stillHidden(double value) {
  return value <= hidesAll ? Bounded::hiding(value) : Bounded::anything();
}

/// Returns whether a number is zero in f32 too, for example a bias or a product of zeros that a
/// pass has made: adding it loses no digits that are subnormal.
static bool isZero(const Bounded &number) { return number.magnitude == 0 && number.error == 0; }

Bounded sum(const Bounded &a, const Bounded &b) {
  if (!a.isKnown() || !b.isKnown()) {
    return Bounded::anything();
  }
  if (a.hidden || b.hidden) {
    return stillHidden(a.high() + b.high());
  }
  return roundLinear(a.value + b.value, a.error + b.error, a.magnitude + b.magnitude,
                     isZero(a) || isZero(b) ? 0 : 1);
}

Bounded product(const Bounded &a, const Bounded &b) {
  ProductSum one;
  one.add(a, b);
  return one.finish();
}

Bounded scaled(const Bounded &a, double factor) {
  if (a.hidden) {
    return factor > 0 ? stillHidden(a.value * factor) : Bounded::anything();
  }
  return product(a, Bounded::exact(factor));
}

void ProductSum::add(const Bounded &a, const Bounded &b) {
  known = known && a.isKnown() && b.isKnown() && !a.hidden && !b.hidden;
  value += a.value * b.value;
  errors += std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error;
  magnitude += a.magnitude * b.magnitude;
  terms += isZero(a) || isZero(b) ? 0 : 1;
}

Bounded ProductSum::finish() const {
  return known ? roundLinear(value, errors, magnitude, terms) : Bounded::anything();
}

BoundedTensor::BoundedTensor(std::vector<int64_t> sizes) : shape(std::move(sizes)) {
  elements.resize(static_cast<size_t>(
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>())));
}

std::vector<int64_t> BoundedTensor::strides() const {
  std::vector<int64_t> result(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;) {
    result[axis - 1] = result[axis] * shape[axis];
  }
  return result;
}

} // namespace heddle
