// SPDX-License-Identifier: Apache-2.0
///
/// Finds work that only optional results need: the probabilities that `observe-attention` adds. A
/// run that does not request them skips that work, so reports do not count it.
#ifndef HEDDLE_COMPILER_COST_OPTIONALWORK_H
#define HEDDLE_COMPILER_COST_OPTIONALWORK_H

#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle {

/// Returns the operations before `terminator` that its operands selected by `isWanted` need.
llvm::DenseSet<mlir::Operation *> neededWork(mlir::Operation *terminator,
                                             llvm::function_ref<bool(unsigned)> isWanted);

/// Returns the operations before `terminator` that only the results selected by `isOptional` need.
/// Operations that no result needs are not included.
llvm::DenseSet<mlir::Operation *> optionalWork(mlir::Operation *terminator,
                                               llvm::function_ref<bool(unsigned)> isOptional);

} // namespace heddle

#endif // HEDDLE_COMPILER_COST_OPTIONALWORK_H
