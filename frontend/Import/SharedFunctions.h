// SPDX-License-Identifier: Apache-2.0
///
/// Functions that entries call. In text, what entries have in common is written once, as a private
/// function; passes see entries without calls. These two transformations lead from one to the
/// other and back.
#ifndef HEDDLE_FRONTEND_IMPORT_SHAREDFUNCTIONS_H
#define HEDDLE_FRONTEND_IMPORT_SHAREDFUNCTIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// The most operations that calls may bring into a program: functions that call others twice would
/// otherwise grow without bound.
inline constexpr int64_t mostInlinedOperations = int64_t{1} << 20;

/// Replaces every call of a `func.func` of the program by the function's operations, with the
/// locations that they have there, and drops private functions that were called. Emits what is
/// wrong: a function without a body or with several blocks, functions that call themselves, too
/// many operations.
llvm::LogicalResult inlineCalls(mlir::ModuleOp module);

/// Moves the operations with which several entries begin alike into a private function that these
/// entries call. inlineCalls() gives back the same entries, operation by operation.
void shareBeginnings(mlir::ModuleOp module);

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_SHAREDFUNCTIONS_H
