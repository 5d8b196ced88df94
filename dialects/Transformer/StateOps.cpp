// SPDX-License-Identifier: Apache-2.0
///
/// Verifies operations on states. All of them read a state as it was before the run, and at most
/// one changes it.
#include "dialects/Transformer/ParameterChecks.h"

using namespace mlir;
using namespace heddle::transformer;

LogicalResult heddle::transformer::verifyEarlier(Operation *op, Value state) {
  Operation *other = state.getDefiningOp();
  if (!other || !other->hasTrait<ChangesKept>()) {
    return success();
  }
  InFlightDiagnostic error = op->emitOpError("expects a state that nothing has changed");
  error.attachNote(other->getLoc()) << "this has changed it";
  return error;
}

/// Checks that no other operation changes the state that `op` changes. Reports each pair once, at
/// the later operation.
static LogicalResult verifyOnlyChange(Operation *op) {
  for (Operation *other : op->getOperand(0).getUsers()) {
    if (other->hasTrait<ChangesKept>() && other != op && other->getBlock() == op->getBlock() &&
        other->isBeforeInBlock(op)) {
      InFlightDiagnostic error = op->emitOpError("expects a state that nothing else changes");
      error.attachNote(other->getLoc()) << "this changes it";
      return error;
    }
  }
  return success();
}

// Traits check C1.
LogicalResult PrefixMeanOp::verify() { return verifyEarlier(*this, getState()); } // C2

LogicalResult AccumulateOp::verify() {
  if (failed(verifyOnlyChange(*this))) { // C2
    return failure();
  }
  return verifyEarlier(*this, getState()); // C3
}

LogicalResult KeepOp::verify() {
  // C1
  int64_t width = getInput().getType().getDimSize(1), elements = getState().getType().getWidth();
  if (width < 1 || elements % width != 0) {
    return emitOpError("expects a state of whole rows of ")
           << width << " elements, got " << elements << " elements";
  }
  if (failed(verifyOnlyChange(*this))) { // C2
    return failure();
  }
  return verifyEarlier(*this, getState()); // C3
}

LogicalResult LoadOp::verify() {
  // C3
  bool isKeyed = getState().getType().getKeyed();
  if (isKeyed != static_cast<bool>(getKeys())) {
    return emitOpError("expects 'over' exactly where a state has keys, got ")
           << (isKeyed ? "none for " : "it for ") << getState().getType();
  }
  if (isKeyed && getGiven()) {
    return emitOpError("expects a state without keys to be given by another entry, got ")
           << getState().getType();
  }
  return verifyEarlier(*this, getState()); // C2
}

LogicalResult StoreOp::verify() {
  if (failed(verifyOnlyChange(*this))) { // C2
    return failure();
  }
  return verifyEarlier(*this, getState()); // C3
}
