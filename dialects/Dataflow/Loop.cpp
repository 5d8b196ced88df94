// SPDX-License-Identifier: Apache-2.0
///
/// Verifies loops: their rows, their carried values and their operations.
#include "dialects/Dataflow/Dataflow.h"

using namespace mlir;

namespace heddle::dataflow {

/// C1
static LogicalResult verifyResults(LoopOp loop) {
  std::optional<RowSpace> rows;
  for (Type type : loop.getResultTypes()) {
    auto buffer = cast<BufferType>(type);
    std::optional<RowSpace> space = buffer.getRowSpace();
    ArrayRef<int64_t> row = buffer.getShape().drop_front();
    bool areKeys = row.size() == 2 && row[0] > 0 && row[1] == longestDimension;
    bool isDense = ((row.size() == 1 && row[0] > 0) || areKeys) &&
                   buffer.getElementType().isF32() && buffer.getRowStride() == 0;
    if (!isDense || !space || !space->isOfSteps() || space != rows.value_or(*space)) {
      return loop.emitOpError("expects results that are dense rows of f32, or numbers of keys, of "
                              "'steps' or all of 'steps_reversed', got ")
             << type;
    }
    rows = space;
  }
  return success();
}

/// C4
static LogicalResult verifyNext(LoopOp loop, NextOp next) {
  if (next.getOperandTypes() != loop.getResultTypes()) {
    return next.emitOpError("expects the types of the loop's results (")
           << loop.getResultTypes() << "), got (" << next.getOperandTypes() << ")";
  }
  llvm::SmallDenseSet<Value> given;
  for (Value value : next.getValues()) {
    auto dispatch = value.getDefiningOp<DispatchOp>();
    if (!dispatch || dispatch->getParentOp() != loop || !given.insert(value).second) {
      return next.emitOpError(
                 "expects each operand to be another result of a dispatch of the loop, "
                 "got operand #")
             << given.size();
    }
  }
  return success();
}

/// C5
static LogicalResult verifyInitial(LoopOp loop) {
  TypeRange carried = loop.getBody().getArgumentTypes();
  SmallVector<Type> expected = llvm::map_to_vector(carried, [](Type type) -> Type {
    auto buffer = cast<BufferType>(type);
    SmallVector<int64_t> shape(buffer.getShape());
    shape.front() = RowDimension{RowSpace::ranks()}.number();
    return BufferType::get(type.getContext(), shape, buffer.getElementType(), /*rowStride=*/0);
  });
  bool haveKeys = llvm::any_of(
      carried, [](Type type) { return cast<BufferType>(type).getShape().size() == 3; });
  if (loop.getInitial().empty() && haveKeys) {
    return loop.emitOpError("expects operands where it carries numbers of keys, got none");
  }
  if (!loop.getInitial().empty() && loop.getOperandTypes() != TypeRange(expected)) {
    return loop.emitOpError("expects no operands, or those that its carried values begin with, (")
           << expected << "), got (" << loop.getOperandTypes() << ")";
  }
  return success();
}

/// Returns whether a loop, or an operation in it, reads a result of another operation.
static bool reads(LoopOp loop, Operation *other) {
  WalkResult found = loop->walk([&](Operation *op) {
    bool isRead = llvm::any_of(op->getOperands(),
                               [&](Value operand) { return operand.getDefiningOp() == other; });
    return isRead ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}

/// C6
static LogicalResult verifyBeside(LoopOp loop) {
  if (!loop.getBeside()) {
    return success();
  }
  if (!loop.getNeighbor()) {
    Operation *before = loop->getPrevNode();
    return loop.emitOpError("expects a loop right before it that it runs beside, got '")
           << (before ? before->getName().getStringRef() : "nothing") << "'";
  }
  for (LoopOp other = loop.getNeighbor(); other; other = other.getNeighbor()) {
    if (reads(loop, other)) {
      return loop.emitOpError("expects nothing to be read of the loops that it runs beside");
    }
  }
  return success();
}

LogicalResult LoopOp::verifyRegions() {
  if (failed(verifyResults(*this))) {
    return failure();
  }
  // C2
  TypeRange carried = getBody().getArgumentTypes();
  if (carried.empty() || carried.size() > getNumResults() ||
      carried != TypeRange(getResultTypes()).take_front(carried.size())) {
    return emitOpError("expects arguments of its region of the types of the first results (")
           << getResultTypes() << "), at least one, got (" << carried << ")";
  }
  if (failed(verifyInitial(*this)) || failed(verifyBeside(*this))) {
    return failure();
  }
  // C3
  for (Operation &op : getBody().front()) {
    if (!isa<ColumnsOp, ReshapeOp, DispatchOp, NextOp>(op)) {
      return op.emitOpError("in a loop: expects views and dispatches, got '")
             << op.getName() << "'";
    }
  }
  auto next = dyn_cast<NextOp>(getBody().front().back());
  return next ? verifyNext(*this, next)
              : emitOpError("expects a region that ends with 'dataflow.next', got '")
                    << getBody().front().back().getName() << "'";
}

} // namespace heddle::dataflow
