// SPDX-License-Identifier: Apache-2.0
///
/// The cost of an operation of the model level, computed from its types: for each row, and for each
/// token. A row of another space may cover several tokens.
#ifndef HEDDLE_COMPILER_COST_OPERATIONCOST_H
#define HEDDLE_COMPILER_COST_OPERATIONCOST_H

#include "heddle/RowSpace.h"

#include <cstdint>

namespace mlir {
class Operation;
class Value;
} // namespace mlir

namespace heddle {

/// Returns the space of the rows of a tensor or of scores.
RowSpace rowsOf(mlir::Value value);

/// Returns the floating-point operations for each row: 2 k n for a linear map and for each group of
/// a grouped one, one per element for element-wise operations, 0 if the cost depends on the length
/// of the sequence or nothing is computed.
int64_t flopsPerRow(mlir::Operation *operation);

/// The same for each token; 0 for rows that are whole sequences.
int64_t flopsPerToken(mlir::Operation *operation);

/// Returns the floating-point operations for each token and each token among its keys: two for each
/// product of attention, fused or not; 0 for operations other than products over or of keys.
int64_t flopsPerTokenAndKey(mlir::Operation *operation);
/// Converts a cost per row and key of an operation, as above.
int64_t flopsPerTokenAndKey(mlir::Operation *operation, int64_t perRowAndKey);

} // namespace heddle

#endif // HEDDLE_COMPILER_COST_OPERATIONCOST_H
