// SPDX-License-Identifier: Apache-2.0
///
/// Evaluates formulas that depend only on constants.
#ifndef HEDDLE_FRONTEND_ONNX_CONSTANTS_H
#define HEDDLE_FRONTEND_ONNX_CONSTANTS_H

#include "frontend/Onnx/Expression.h"

#include "heddle/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle::onnx {

/// A dense tensor of numbers in row-major order.
struct Elements {
  Element element = Element::Real;
  std::vector<int64_t> shape;
  /// Only one of the two vectors is used; Booleans are stored as the integers 0 and 1.
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

/// Returns whether a formula depends only on coordinates and constants.
bool isClosed(const Expressions &expressions, Expr body);

/// Computes all elements of a closed formula over a shape. The error names the number that cannot
/// be computed.
Result<Elements> elementsOf(const Expressions &expressions, Expr body,
                            std::span<const int64_t> shape);

/// Returns the remainder of a division by `divisor`, with the sign of the divisor.
double restOf(double value, double divisor);
int64_t restOf(int64_t value, int64_t divisor);

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_CONSTANTS_H
