// SPDX-License-Identifier: Apache-2.0
///
/// Checks that need only a program: its phase, whether its entries can be called, and how long a
/// sequence may be.
#ifndef HEDDLE_FRONTEND_IMPORT_PROGRAMCHECK_H
#define HEDDLE_FRONTEND_IMPORT_PROGRAMCHECK_H

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <optional>

namespace heddle {

/// Whether a program is purely primitive mathematics: no fused operation, no parameter derived by a
/// pass, no lower level.
bool isFirstPhase(mlir::ModuleOp module);

/// Checks that nested modules, if any, hold only code of kernels: passes and the look-up of
/// parameters expect a single module. Emits errors.
llvm::LogicalResult verifyNesting(mlir::ModuleOp module);

/// Whether the entries are func.func rather than dataflow graphs.
bool hasFunctionEntries(mlir::ModuleOp module);

/// Checks in any phase that the names of entries, inputs and outputs are UTF-8 without control
/// characters. Emits errors.
llvm::LogicalResult verifyNames(mlir::ModuleOp module);

/// Checks that there is an entry and that each entry is well formed: inputs and outputs have
/// distinct names; after the inputs come the segments of the rows, perhaps those of a memory, then
/// caches and states; changed caches and states are results. Emits errors.
llvm::LogicalResult verifyEntries(mlir::ModuleOp module);

/// Checks that the expressions of parameters can be evaluated in reasonable time and memory. Emits
/// errors.
llvm::LogicalResult verifyParameters(mlir::ModuleOp module);

/// The longest sequence that has a position in every position table: the least number of rows from
/// the first position on.
std::optional<int64_t> countPositions(mlir::ModuleOp module);

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_PROGRAMCHECK_H
