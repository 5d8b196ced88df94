// SPDX-License-Identifier: Apache-2.0
///
/// What an operation of the model level costs for each row, from its types: for reports.
#ifndef HEDDLE_COMPILER_COST_OPERATIONCOST_H
#define HEDDLE_COMPILER_COST_OPERATIONCOST_H

#include <cstdint>

namespace mlir {
class Operation;
}

namespace heddle {

/// Floating-point operations for each row: 2 k n for a linear map and for each group of a grouped
/// one, one an element for element-wise operations, 0 where the cost depends on the length of the
/// sequence or nothing is computed.
int64_t flopsPerToken(mlir::Operation *operation);

/// Floating-point operations for each row and key that it sees: two for each product of attention,
/// fused or not; 0 for what is no product over or of keys.
int64_t flopsPerTokenAndKey(mlir::Operation *operation);

} // namespace heddle

#endif // HEDDLE_COMPILER_COST_OPERATIONCOST_H
