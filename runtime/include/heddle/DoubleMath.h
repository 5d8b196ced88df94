// SPDX-License-Identifier: Apache-2.0
///
/// The exponential and the logarithm by which softmax is normalised in double precision, spelled
/// out: hosts compute with them and compilers emit them, so all have the same bits. They use IEEE
/// additions, subtractions, multiplications, divisions and comparisons, none of which may be
/// contracted, and integer operations on the bits of numbers. Errors are below 3 units in the last
/// place.
#ifndef HEDDLE_DOUBLEMATH_H
#define HEDDLE_DOUBLEMATH_H

#include <bit>
#include <cstdint>
#include <limits>

namespace heddle {

/// Operations of the host. Words wrap around, as those of NaN do.
struct HostDoubles {
  using Number = double;
  using Word = int64_t;

  static double number(double value) { return value; }
  static double add(double a, double b) { return a + b; }
  static double subtract(double a, double b) { return a - b; }
  static double multiply(double a, double b) { return a * b; }
  static double divide(double a, double b) { return a / b; }
  static bool less(double a, double b) { return a < b; }
  static double select(bool condition, double a, double b) { return condition ? a : b; }
  static int64_t word(int64_t value) { return value; }
  static int64_t bitsOf(double value) { return std::bit_cast<int64_t>(value); }
  static double ofBits(int64_t bits) { return std::bit_cast<double>(bits); }
  static int64_t addWords(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
  static int64_t subtractWords(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  }
  static int64_t shiftLeft(int64_t a, int bits) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) << bits);
  }
  static int64_t shiftRight(int64_t a, int bits) { return a >> bits; }
};

/// `Operations` has the types Number (a double) and Word (its bits as an integer), and functions of
/// the names below. Comparisons with NaN are false.
template <typename Operations> class DoubleMath {
public:
  using Number = typename Operations::Number;
  using Word = typename Operations::Word;

  explicit DoubleMath(Operations &o) : o(o) {}

  /// Returns e^x for x <= 0 or NaN; at least e^-708, so that it is a normal number.
  Number exponential(Number x) {
    x = o.select(o.less(x, o.number(-708)), o.number(-708), x);
    // The last bits of the shifted number are x / ln 2, rounded.
    Number shifted = o.add(o.multiply(x, o.number(0x1.71547652b82fep+0)), o.number(kShift));
    Number whole = o.subtract(shifted, o.number(kShift));
    Number rest = o.subtract(o.subtract(x, o.multiply(whole, o.number(kUpperLn2))),
                             o.multiply(whole, o.number(kLowerLn2)));
    constexpr int degree = 13;
    Number sum = o.number(1 / factorial(degree));
    for (int k = degree - 1; k >= 0; --k) {
      sum = o.add(o.multiply(sum, rest), o.number(1 / factorial(k)));
    }
    Word exponent = o.subtractWords(o.bitsOf(shifted), o.word(kShiftBits));
    Word power = o.shiftLeft(o.addWords(exponent, o.word(kBias)), kMantissaBits);
    return o.multiply(sum, o.ofBits(power));
  }

  /// Returns log(x) for x >= 1 or NaN.
  Number logarithm(Number x) {
    // x = 2^exponent * part, and part is in [sqrt(1/2), sqrt(2)).
    Word bits = o.bitsOf(x);
    Word exponent = o.shiftRight(o.subtractWords(bits, o.word(kRootBits)), kMantissaBits);
    Number part = o.ofBits(o.subtractWords(bits, o.shiftLeft(exponent, kMantissaBits)));
    // log(part) = 2 (t + t^3 / 3 + t^5 / 5 + ...)
    Number over = o.subtract(part, o.number(1));
    Number t = o.divide(over, o.add(o.number(2), over));
    Number square = o.multiply(t, t);
    constexpr int degree = 21;
    Number sum = o.number(1.0 / degree);
    for (int k = degree - 2; k >= 3; k -= 2) {
      sum = o.add(o.multiply(sum, square), o.number(1.0 / k));
    }
    Number twice = o.add(t, t);
    Number ofPart = o.add(twice, o.multiply(twice, o.multiply(square, sum)));
    Number whole = o.subtract(o.ofBits(o.addWords(exponent, o.word(kShiftBits))), o.number(kShift));
    Number result = o.add(o.multiply(whole, o.number(kUpperLn2)),
                          o.add(o.multiply(whole, o.number(kLowerLn2)), ofPart));
    // Infinity and NaN are their own logarithms.
    return o.select(o.less(x, o.number(std::numeric_limits<double>::infinity())), result, x);
  }

private:
  static constexpr double factorial(int k) { return k == 0 ? 1 : k * factorial(k - 1); }

  /// 1.5 * 2^52: numbers near it are integers.
  static constexpr double kShift = 0x1.8p+52;
  static constexpr int64_t kShiftBits = 0x4338000000000000;
  /// The bits of sqrt(1/2).
  static constexpr int64_t kRootBits = 0x3FE6A09E667F3BCD;
  static constexpr int64_t kBias = 1023;
  static constexpr int kMantissaBits = 52;
  /// ln 2 in two parts; integers of 20 bits times the first are exact.
  static constexpr double kUpperLn2 = 0x1.62e42feep-1, kLowerLn2 = 0x1.a39ef35793c76p-33;

  Operations &o;
};

} // namespace heddle

#endif // HEDDLE_DOUBLEMATH_H
