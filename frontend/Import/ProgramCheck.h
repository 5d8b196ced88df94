// SPDX-License-Identifier: Apache-2.0
///
/// What can be told from a program alone: its phase, whether its entries can be called, and how
/// long a sequence may be.
#ifndef HEDDLE_FRONTEND_IMPORT_PROGRAMCHECK_H
#define HEDDLE_FRONTEND_IMPORT_PROGRAMCHECK_H

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <optional>

namespace heddle {

/// Whether a program is primitive mathematics only: no fused operation, no parameter
/// derived by a pass, nothing of a lower level.
bool isFirstPhase(mlir::ModuleOp module);

/// Checks that modules inside the program, if there are any, hold code of kernels only: passes and
/// the look-up of parameters know one module. Emits what is wrong.
llvm::LogicalResult verifyNesting(mlir::ModuleOp module);

/// Whether the program is one of func.func: all but those whose entries are graphs of dataflow.
bool hasFunctionEntries(mlir::ModuleOp module);

/// Checks that the names of entries, inputs and outputs are UTF-8 without control characters, in
/// any phase. Emits what is wrong.
llvm::LogicalResult verifyNames(mlir::ModuleOp module);

/// Checks that there is an entry, and that each has inputs and outputs by distinct names, the
/// segments of its rows after the inputs, then perhaps those of a memory, then caches, whose
/// results are what was appended to them. Emits what is wrong.
llvm::LogicalResult verifyEntries(mlir::ModuleOp module);

/// Checks that the expressions of parameters can be evaluated in sensible time and memory. Emits
/// what is wrong.
llvm::LogicalResult verifyParameters(mlir::ModuleOp module);

/// The longest sequence that has a position in every table: the least number of rows, from the
/// first position on, of the tables that positions are looked up in.
std::optional<int64_t> countPositions(mlir::ModuleOp module);

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_PROGRAMCHECK_H
