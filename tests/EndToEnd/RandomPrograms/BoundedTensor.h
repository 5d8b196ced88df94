// SPDX-License-Identifier: Apache-2.0
///
/// Tensors of double precision whose elements carry a bound of the error of f32 arithmetic: the
/// running error analysis by which random programs are judged. A bound holds for every order of
/// additions, for fused multiply-adds, and for weights that were multiplied with each other
/// beforehand, because rounding is charged to the sum of magnitudes of all terms, which
/// cancellation does not reduce.
#ifndef HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_BOUNDEDTENSOR_H
#define HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_BOUNDEDTENSOR_H

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace heddle {

/// Half the distance from 1 to the next f32.
inline double unitRoundoff = 0x1p-24;
/// The possible error of a subnormal f32 result: half the smallest subnormal suffices for one
/// operation; a kernel may use several where the program has one.
inline double underflow = 0x1p-147;
/// Sums of magnitudes above this may overflow in some order of evaluation: a kernel may add terms
/// before it scales them, or exponentials of many keys before it divides.
inline constexpr double overflow = 0x1p122;
/// A number that hides a key is infinite for every score below a hundredth of it.
inline constexpr double hidesAll = -1e30;

/// A number, and the maximum error of f32.
struct Bounded {
  double value = 0;
  /// Infinite: f32 may give anything, including infinities and NaN.
  double error = 0;
  /// The sum of the magnitudes of all terms that the value is a linear function of.
  double magnitude = 0;
  /// Whether it is a score that hides its key: `value` or less, possibly minus infinity.
  bool hidden = false;

  static Bounded exact(double value) { return {value, 0, std::abs(value), false}; }
  static Bounded anything() {
    return {0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
            false};
  }
  static Bounded hiding(double value) { return {value, 0, 0, true}; }

  bool isKnown() const { return error < std::numeric_limits<double>::infinity(); }
  double low() const { return value - error; }
  double high() const { return value + error; }
  /// Returns the maximum absolute value.
  double most() const { return std::abs(value) + error; }
  /// Returns whether compiled code may give this result.
  bool allows(float result) const;
};

/// While it lives, bounds of arithmetic assume fewer digits.
class CoarserRounding {
public:
  explicit CoarserRounding(double times) : times(times) {
    unitRoundoff *= times;
    underflow *= times;
  }
  ~CoarserRounding() {
    unitRoundoff /= times;
    underflow /= times;
  }
  CoarserRounding(const CoarserRounding &) = delete;
  CoarserRounding &operator=(const CoarserRounding &) = delete;

private:
  double times;
};

/// Returns the result of a linear operation of `terms` terms: errors of its operands, and roundings
/// of the terms' magnitudes.
Bounded roundLinear(double value, double operandErrors, double magnitude, int64_t terms);

/// Returns the result of any other operation, with an error that includes its roundings.
Bounded roundResult(double value, double error);

/// Return the sum and the product of two numbers.
Bounded sum(const Bounded &a, const Bounded &b);
Bounded product(const Bounded &a, const Bounded &b);
/// Returns a number times a constant of the program.
Bounded scaled(const Bounded &a, double factor);

/// A sum of products, accumulated term by term.
class ProductSum {
public:
  void add(const Bounded &a, const Bounded &b);
  Bounded finish() const;

private:
  double value = 0;
  double errors = 0;
  double magnitude = 0;
  int64_t terms = 0;
  bool known = true;
};

/// Elements in row-major order.
struct BoundedTensor {
  std::vector<int64_t> shape;
  std::vector<Bounded> elements;

  BoundedTensor() = default;
  explicit BoundedTensor(std::vector<int64_t> sizes);

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  /// Returns the number of elements of the last axis.
  int64_t width() const { return shape.back(); }
  /// Returns the number of rows.
  int64_t rows() const {
    return width() == 0 ? 0 : static_cast<int64_t>(elements.size()) / width();
  }
  Bounded &at(int64_t row, int64_t column) {
    return elements[static_cast<size_t>(row * width() + column)];
  }
  const Bounded &at(int64_t row, int64_t column) const {
    return elements[static_cast<size_t>(row * width() + column)];
  }
  /// Returns the distance of neighbours along each axis.
  std::vector<int64_t> strides() const;
};

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_BOUNDEDTENSOR_H
