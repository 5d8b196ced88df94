// SPDX-License-Identifier: Apache-2.0
///
/// The elements of formulas that follow from constants alone.
#ifndef HEDDLE_FRONTEND_ONNX_CONSTANTS_H
#define HEDDLE_FRONTEND_ONNX_CONSTANTS_H

#include "frontend/Onnx/Expression.h"

#include "heddle/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle::onnx {

/// A tensor of numbers, row by row.
struct Elements {
  Element element = Element::Real;
  std::vector<int64_t> shape;
  /// One of them has the numbers; truth values are integers 0 and 1.
  std::vector<double> reals;
  std::vector<int64_t> integers;

  bool isReal() const { return element == Element::Real; }
  size_t count() const { return isReal() ? reals.size() : integers.size(); }
  double at(size_t index) const {
    return isReal() ? reals[index] : static_cast<double>(integers[index]);
  }
  void add(double real, int64_t integer) {
    if (isReal()) {
      reals.push_back(real);
    } else {
      integers.push_back(integer);
    }
  }
};

/// Whether a formula depends on nothing but coordinates and constants.
bool isClosed(const Expressions &expressions, Expr body);

/// All elements of such a formula over a shape. A failure says which number cannot be computed.
Result<Elements> elementsOf(const Expressions &expressions, Expr body,
                            std::span<const int64_t> shape);

/// What is left of a division by `divisor`, with the sign of the divisor.
double restOf(double value, double divisor);
int64_t restOf(int64_t value, int64_t divisor);

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_CONSTANTS_H
