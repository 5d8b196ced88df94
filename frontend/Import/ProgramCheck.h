// SPDX-License-Identifier: Apache-2.0
///
/// Checks that need only a program: its phase, the form of its entries, and the longest sequence.
#ifndef HEDDLE_FRONTEND_IMPORT_PROGRAMCHECK_H
#define HEDDLE_FRONTEND_IMPORT_PROGRAMCHECK_H

#include "formats/Checkpoint/Checkpoint.h"
#include "heddle/Status.h"
#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle {

/// Returns whether a program consists of primitive operations only: no fused operations, no
/// parameters derived by passes, no lower levels.
bool isFirstPhase(mlir::ModuleOp module);

/// Checks that no operation of Heddle is in a nested module: passes and the look-up of parameters
/// expect a single one. Emits errors.
llvm::LogicalResult verifyOneModule(mlir::ModuleOp module);

/// Checks in addition that nested modules only occur beside a dataflow.graph. Emits errors.
llvm::LogicalResult verifyNesting(mlir::ModuleOp module);

/// Returns whether the entries are func.func rather than dataflow graphs.
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

/// Returns the longest sequence with a position in every position table: the least number of rows
/// from the first position on.
std::optional<int64_t> countPositions(mlir::ModuleOp module);

/// Checks that every parameter with a source is in the checkpoint, with its shape and its type, or
/// a type that can be read as f32.
Status checkParameters(mlir::ModuleOp module, const Checkpoint &checkpoint);

/// Makes f32 parameters whose tensors are f16, bf16 or codes conversions of a parameter with that
/// type: `@w : f32 from "w"` becomes `@w.f16 : f16 from "w"` and `@w : f32 = convert(@w.f16)`.
void keepStoredTypes(mlir::ModuleOp module, const Checkpoint &checkpoint);

/// Checks that every tensor of the checkpoint is a parameter's source or in `unused`, where a name
/// that ends in a dot covers all names that begin with it. Notes the unused tensors.
Status checkSurplus(mlir::ModuleOp module, const Checkpoint &checkpoint,
                    std::span<const std::string> unused, std::vector<std::string> &notes);

/// Notes the tensors of the checkpoint that no parameter names. This is no error, because a program
/// need not use all tensors.
void noteSurplus(mlir::ModuleOp module, const Checkpoint &checkpoint,
                 std::vector<std::string> &notes);

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_PROGRAMCHECK_H
