// SPDX-License-Identifier: Apache-2.0
///
/// What a program computes only for results that nobody gets without asking: the probabilities that
/// `observe-attention` adds. A run without them does none of it, so reports count none of it.
#ifndef HEDDLE_COMPILER_COST_OPTIONALWORK_H
#define HEDDLE_COMPILER_COST_OPTIONALWORK_H

#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle {

/// The operations before `terminator` that its operands numbered by `isWanted` need.
llvm::DenseSet<mlir::Operation *> neededWork(mlir::Operation *terminator,
                                             llvm::function_ref<bool(unsigned)> isWanted);

/// The operations before `terminator` that are needed for the results numbered by `isOptional` and
/// for no other. What no result needs is not among them.
llvm::DenseSet<mlir::Operation *> optionalWork(mlir::Operation *terminator,
                                               llvm::function_ref<bool(unsigned)> isOptional);

} // namespace heddle

#endif // HEDDLE_COMPILER_COST_OPTIONALWORK_H
