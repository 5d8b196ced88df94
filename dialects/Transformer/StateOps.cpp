// SPDX-License-Identifier: Apache-2.0
///
/// Verifies operations on states.
#include "dialects/Transformer/Transformer.h"

using namespace mlir;
using namespace heddle::transformer;

/// C2 of prefix_mean and C3 of accumulate: the state is the one from before the run.
static LogicalResult verifyEarlier(Operation *op, Value state) {
  auto other = state.getDefiningOp<AccumulateOp>();
  if (!other) {
    return success();
  }
  InFlightDiagnostic error = op->emitOpError("expects a state that nothing was accumulated into");
  error.attachNote(other.getLoc()) << "this has accumulated into it";
  return error;
}

// C1 is checked by traits.
LogicalResult PrefixMeanOp::verify() { return verifyEarlier(*this, getState()); }

LogicalResult AccumulateOp::verify() {
  // C2: one error for each pair is enough, at the later operation.
  for (Operation *user : getState().getUsers()) {
    auto other = dyn_cast<AccumulateOp>(user);
    if (other && other != *this && other->getBlock() == (*this)->getBlock() &&
        other->isBeforeInBlock(*this)) {
      InFlightDiagnostic error = emitOpError("expects a state that nothing else accumulates into");
      error.attachNote(other.getLoc()) << "this accumulates into it";
      return error;
    }
  }
  return verifyEarlier(*this, getState());
}
