// SPDX-License-Identifier: Apache-2.0
///
/// Random element-wise mathematics: one operation at a time, and norms and activations as exporters
/// spell them, with their factors at any place.
#include "tests/EndToEnd/RandomPrograms/ProgramGenerator.h"

#include <cmath>

namespace heddle {

Written ProgramGenerator::combine(const std::string &function, const Written &x,
                                  const Written &other) {
  const double exponent =
      function == "divide" ? x.exponent - other.exponent : std::max(x.exponent, other.exponent);
  return define(
      x.kind, x.type, x.heads, x.width, exponent,
      fmt::format("combine {} {}, {} : {}, {}", function, x.name, other.name, x.type, other.type));
}

Written ProgramGenerator::shift(const Written &x, double number) {
  return define(x.kind, x.type, x.heads, x.width, x.exponent,
                fmt::format("shift {}, {:.9e} : {}", x.name, number, x.type));
}

Written ProgramGenerator::multiply(const Written &x, const Written &factor) {
  return define(x.kind, x.type, x.heads, x.width, x.exponent + factor.exponent,
                fmt::format("multiply {}, {} : {}, {}", x.name, factor.name, x.type, factor.type));
}

Written ProgramGenerator::scaleBy(const Written &x, double factor) {
  return define(x.kind, x.type, x.heads, x.width, x.exponent,
                fmt::format("scale {}, {:.9e} : {}", x.name, factor, x.type));
}

Written ProgramGenerator::apply(std::string_view function, const Written &x) {
  return define(x.kind, x.type, x.heads, x.width, x.exponent,
                fmt::format("activate {} {} : {}", function, x.name, x.type));
}

Written ProgramGenerator::reduce(const std::string &method, const Written &x) {
  return define(x.kind, rowsType(1), 0, 1, x.exponent,
                fmt::format("reduce {} {} : {} -> {}", method, x.name, x.type, rowsType(1)));
}

Written ProgramGenerator::elementwise(const Written &x) {
  const std::string function = dice.of({"subtract", "divide", "minimum", "maximum"});
  switch (dice.below(5)) {
  case 0:
    return shift(x, dice.signedUnit());
  case 1: {
    const double least = dice.signedUnit(), most = least + std::abs(dice.signedUnit());
    const std::string upper = dice.once(3) ? "0x7F800000" : fmt::format("{:.9e}", most);
    return define(x.kind, x.type, x.heads, x.width, x.exponent,
                  fmt::format("clamp {} from {:.9e} to {} : {}", x.name, least, upper, x.type));
  }
  case 2:
    return combine(dice.of({"subtract", "minimum", "maximum"}), x,
                   weight({dice.once(2) ? x.width : 1}, x.exponent));
  case 3: {
    const Written number = reduce(dice.of({"mean", "sum", "max", "min"}), x);
    return combine(function, x, function == "divide" ? shift(apply("abs", number), 1) : number);
  }
  default: {
    const Written other = dice.once(2) ? x : linear(x, x.width);
    return combine(function, x, function == "divide" ? shift(apply("abs", other), 1) : other);
  }
  }
}

/// Writes a norm of small numbers: the bounds of a mean of large squares may be wider than epsilon,
/// so that nothing is known of its root. A row of one column has no variance.
Written ProgramGenerator::spelledNorm(const Written &given) {
  if (given.width == 1) {
    return norm(given);
  }
  Written x = apply("tanh", given);
  x.exponent = 0;
  const bool isCentred = dice.once(2);
  const Written c = isCentred ? combine("subtract", x, reduce("mean", x)) : x;
  const Written square = multiply(c, c);
  const Written mean =
      dice.once(3) ? scaleBy(reduce("sum", square), 1.0 / double(x.width)) : reduce("mean", square);
  const Written shifted = shift(mean, dice.of({1e-5, 1e-3, 0.1}));
  Written unit = c;
  const bool isEarly = dice.once(3);
  if (isEarly) {
    unit = multiply(unit, weight({x.width}, 0));
  }
  switch (dice.below(3)) {
  case 0:
    unit = multiply(unit, apply("rsqrt", shifted));
    break;
  case 1:
    unit = combine("divide", unit, apply("sqrt", shifted));
    break;
  default:
    unit = multiply(unit, apply("reciprocal", apply("sqrt", shifted)));
    break;
  }
  // The following operations see numbers of about 1.
  unit.exponent = 0;
  if (!isEarly && dice.once(2)) {
    const Written scaled = multiply(unit, weight({x.width}, 0));
    unit = dice.once(3) ? add(unit, scaled) : scaled;
  }
  return dice.once(2) ? add(unit, weight({x.width}, 0)) : unit;
}

/// The numbers are small, so that their cubes and exponentials stay in the range of f32.
Written ProgramGenerator::spelledActivation(const Written &given) {
  Written x = scaleBy(apply("tanh", given), 4);
  x.exponent = 0;
  // The factor of a half is at any place: on the number, on the sum, or after both.
  const int64_t place = dice.below(3);
  const auto halfOf = [&](const Written &one, const Written &sum) {
    const Written left = place == 0 ? scaleBy(one, 0.5) : one;
    const Written right = place == 1 ? scaleBy(sum, 0.5) : sum;
    const Written both = dice.once(2) ? multiply(left, right) : multiply(right, left);
    return place == 2 ? scaleBy(both, 0.5) : both;
  };
  switch (dice.below(4)) {
  case 0:
    return halfOf(x, shift(apply("erf", scaleBy(x, std::sqrt(0.5))), 1));
  case 1: {
    const Written cube = multiply(multiply(x, x), x);
    const Written inner = add(x, scaleBy(cube, 0.044715));
    return halfOf(x, shift(apply("tanh", scaleBy(inner, std::sqrt(2 / M_PI))), 1));
  }
  case 2:
    return multiply(x, apply("sigmoid", dice.once(2) ? x : scaleBy(x, 1.702)));
  default:
    return combine("divide", x, shift(apply("exp", scaleBy(x, -1)), 1));
  }
}

} // namespace heddle
