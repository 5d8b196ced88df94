// SPDX-License-Identifier: Apache-2.0
///
/// Erases with a worklist, from a replaced operation to its operands.
#include "compiler/Model/Cleanup/EraseUnused.h"

#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

namespace heddle {

void eraseUnused(mlir::Operation *operation) {
  // A set, because an operation that uses a value twice must not push its producer twice.
  llvm::SmallSetVector<mlir::Operation *, 8> pending;
  pending.insert(operation);
  while (!pending.empty()) {
    mlir::Operation *current = pending.pop_back_val();
    if (!mlir::isOpTriviallyDead(current)) {
      continue;
    }
    for (mlir::Value operand : current->getOperands()) {
      if (mlir::Operation *producer = operand.getDefiningOp()) {
        pending.insert(producer);
      }
    }
    current->erase();
  }
}

} // namespace heddle
