// SPDX-License-Identifier: Apache-2.0
///
/// Functions that entries call. In text, the common beginning of entries is written once, as a
/// private function, while passes see entries without calls. These two transformations convert
/// between both forms.
#ifndef HEDDLE_FRONTEND_IMPORT_SHAREDFUNCTIONS_H
#define HEDDLE_FRONTEND_IMPORT_SHAREDFUNCTIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// The most operations that inlining may add. Without a limit, functions that call others twice
/// would grow without bound.
inline constexpr int64_t mostInlinedOperations = int64_t{1} << 20;

/// Replaces every call of a `func.func` by the function's operations, keeping their locations, and
/// erases private functions that were called. Emits an error for a function without a body or with
/// several blocks, for recursion, and for too many operations.
llvm::LogicalResult inlineCalls(mlir::ModuleOp module);

/// Moves the common beginning of several entries into a private function that they call.
/// inlineCalls() restores the same entries, operation by operation.
void shareBeginnings(mlir::ModuleOp module);

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_SHAREDFUNCTIONS_H
