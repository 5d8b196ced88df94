// SPDX-License-Identifier: Apache-2.0
///
/// Walks from results back to the operations that they need.
#include "compiler/Cost/OptionalWork.h"

#include "mlir/IR/Value.h"

#include "llvm/ADT/SmallVector.h"

using namespace mlir;

namespace heddle {

/// Adds the producer of `value`, and all operations that it needs, to `needed`.
static void addNeeded(Value value, llvm::DenseSet<Operation *> &needed) {
  llvm::SmallVector<Value> open{value};
  while (!open.empty()) {
    Operation *operation = open.pop_back_val().getDefiningOp();
    if (operation && !needed.contains(operation)) {
      // Operations in a loop read values defined before it.
      operation->walk([&](Operation *each) {
        needed.insert(each);
        llvm::append_range(open, each->getOperands());
      });
    }
  }
}

llvm::DenseSet<Operation *> neededWork(Operation *terminator,
                                       llvm::function_ref<bool(unsigned)> isWanted) {
  llvm::DenseSet<Operation *> needed;
  for (OpOperand &operand : terminator->getOpOperands()) {
    if (isWanted(operand.getOperandNumber())) {
      addNeeded(operand.get(), needed);
    }
  }
  return needed;
}

llvm::DenseSet<Operation *> optionalWork(Operation *terminator,
                                         llvm::function_ref<bool(unsigned)> isOptional) {
  llvm::DenseSet<Operation *> optional = neededWork(terminator, isOptional);
  const llvm::DenseSet<Operation *> usual =
      neededWork(terminator, [&](unsigned result) { return !isOptional(result); });
  for (Operation *operation : usual) {
    optional.erase(operation);
  }
  return optional;
}

} // namespace heddle
