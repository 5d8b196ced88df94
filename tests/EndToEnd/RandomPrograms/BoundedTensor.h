// SPDX-License-Identifier: Apache-2.0
///
/// Tensors of double precision whose every element carries a bound of what f32 arithmetic may do to
/// it: the running error analysis that random programs are judged by. A bound holds for every order
/// of additions, for fused multiplications and additions, and for weights that were multiplied with
/// each other beforehand, because rounding is charged to the sum of magnitudes of all terms, which
/// cancellation does not make smaller.
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
/// What a result below the normal numbers of f32 may lose: half the least of them is enough for one
/// operation; a kernel may take several where the program has one.
inline double underflow = 0x1p-147;
/// Sums of magnitudes above this may overflow in some order of evaluation: a kernel may add terms
/// before it scales them, or exponentials of many keys before it divides.
inline constexpr double overflow = 0x1p122;
/// A number that hides a key is infinite for every score below its hundredth.
inline constexpr double hidesAll = -1e30;

/// A number, and how far f32 may be from it.
struct Bounded {
  double value = 0;
  /// Infinite: f32 may give anything, infinities and NaN included.
  double error = 0;
  /// The sum of the magnitudes of all terms that the value is a linear function of.
  double magnitude = 0;
  /// A score that hides its key: `value` or less, perhaps minus infinity.
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
  /// The largest absolute value.
  double most() const { return std::abs(value) + error; }
  /// Whether a result of compiled code may stand here.
  bool allows(float result) const;
};

/// Bounds of arithmetic that rounds as if it had fewer digits, while it lives.
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

/// A result of a linear operation of `terms` terms: errors of its operands, and roundings of the
/// terms' magnitudes.
Bounded roundLinear(double value, double operandErrors, double magnitude, int64_t terms);

/// A result of any other operation, with an error that includes its roundings.
Bounded roundResult(double value, double error);

/// The sum and the product of two numbers.
Bounded sum(const Bounded &a, const Bounded &b);
Bounded product(const Bounded &a, const Bounded &b);
/// A number times a constant of the program.
Bounded scaled(const Bounded &a, double factor);

/// A sum of products that grows term by term.
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
  /// Elements of the last axis.
  int64_t width() const { return shape.back(); }
  /// Rows of it.
  int64_t rows() const {
    return width() == 0 ? 0 : static_cast<int64_t>(elements.size()) / width();
  }
  Bounded &at(int64_t row, int64_t column) {
    return elements[static_cast<size_t>(row * width() + column)];
  }
  const Bounded &at(int64_t row, int64_t column) const {
    return elements[static_cast<size_t>(row * width() + column)];
  }
  /// The distance of neighbours along each axis.
  std::vector<int64_t> strides() const;
};

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_BOUNDEDTENSOR_H
