// SPDX-License-Identifier: Apache-2.0
///
/// What storing weights in fewer bits changes of them, matrix by matrix.
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
  /// The tensors of the checkpoint that it was made of, as decisions name them.
  std::string where;
  /// "i4, one scale and code of zero for every 32 of a row", "bf16".
  std::string stored;
  /// The root of the sum of squared differences, over that of squared elements: 0 where nothing was
  /// lost, and where all elements are zero. No number where an element is none.
  double relative = 0;
  /// Bits of an element, bytes as it is stored, in bf16, and in the next finer precision.
  unsigned bits = 0;
  int64_t bytes = 0, bytesInBf16 = 0, bytesInFiner = 0;
  /// The matrices and tables of the checkpoint that it was made of.
  std::vector<std::string> tensors;
};

/// Those of a module that were converted from f32, the largest error first. Evaluates each twice.
Result<std::vector<RoundingError>> roundingErrors(mlir::ModuleOp module,
                                                  const ParameterSource &source);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_ROUNDINGERRORS_H
