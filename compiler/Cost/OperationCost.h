// SPDX-License-Identifier: Apache-2.0
///
/// What an operation of the model level costs, from its types: for each row, and for each token,
/// of which a row of another space takes several.
#ifndef HEDDLE_COMPILER_COST_OPERATIONCOST_H
#define HEDDLE_COMPILER_COST_OPERATIONCOST_H

#include "heddle/RowSpace.h"

#include <cstdint>

namespace mlir {
class Operation;
class Value;
} // namespace mlir

namespace heddle {

/// The space of the rows of a tensor or of scores.
RowSpace rowsOf(mlir::Value value);

/// Floating-point operations for each row: 2 k n for a linear map and for each group of a grouped
/// one, one an element for element-wise operations, 0 where the cost depends on the length of the
/// sequence or nothing is computed.
int64_t flopsPerRow(mlir::Operation *operation);

/// The same for each token; 0 for rows that are whole sequences.
int64_t flopsPerToken(mlir::Operation *operation);

/// Floating-point operations for each token and each token among its keys: two for each product of
/// attention, fused or not; 0 for what is no product over or of keys.
int64_t flopsPerTokenAndKey(mlir::Operation *operation);
/// So many for each row and key of an operation, as above.
int64_t flopsPerTokenAndKey(mlir::Operation *operation, int64_t perRowAndKey);

} // namespace heddle

#endif // HEDDLE_COMPILER_COST_OPERATIONCOST_H
