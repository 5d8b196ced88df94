// SPDX-License-Identifier: Apache-2.0
///
/// Numbers as records give them: no more digits than were measured.
#ifndef HEDDLE_RUNTIME_TOOLS_ROUNDING_H
#define HEDDLE_RUNTIME_TOOLS_ROUNDING_H

#include <cmath>

namespace heddle::tools {

/// The nearest number with so many digits after the point.
inline double rounded(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_ROUNDING_H
