// SPDX-License-Identifier: Apache-2.0
///
/// The rounding errors of weights that are stored in fewer bits, matrix by matrix.
#ifndef HEDDLE_COMPILER_LINK_ROUNDINGERRORS_H
#define HEDDLE_COMPILER_LINK_ROUNDINGERRORS_H

#include "compiler/Link/Parameters.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// A parameter that is stored in fewer bits than f32.
struct RoundingError {
  /// The tensors of the checkpoint that it is made of, named as in decisions.
  std::string where;
  /// "i4, one scale and code of zero for every 32 of a row", "bf16".
  std::string stored;
  /// The root of the sum of squared differences over that of squared elements: 0 if the conversion
  /// is exact or all elements are zero; NaN if an element is NaN.
  double relative = 0;
  /// Bits of an element; bytes as stored, in bf16, and in the next finer precision.
  unsigned bits = 0;
  int64_t bytes = 0, bytesInBf16 = 0, bytesInFiner = 0;
  /// The matrices and tables of the checkpoint that it is made of.
  std::vector<std::string> tensors;
};

/// Returns the errors of the parameters that were converted from f32, the largest first. Evaluates
/// each parameter twice.
Result<std::vector<RoundingError>> roundingErrors(mlir::ModuleOp module,
                                                  const ParameterSource &source);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_ROUNDINGERRORS_H
