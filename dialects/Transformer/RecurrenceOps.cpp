// SPDX-License-Identifier: Apache-2.0
///
/// Verifies recurrences: the arguments, operations and results of their regions.
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace heddle::transformer;

/// Returns whether a type is that of scores, [t, h, k].
static bool areScores(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 3 && tensor.isDynamicDim(0) && !tensor.isDynamicDim(1) &&
         tensor.getDimSize(1) > 0 && tensor.isDynamicDim(2) && tensor.getElementType().isF32();
}

/// C1: checks the types of the region's arguments.
static LogicalResult verifyArguments(RecurrenceOp op) {
  size_t inputs = op.getInputs().size();
  size_t arguments = op.getBody().getNumArguments();
  if (inputs == 0 || arguments <= inputs) {
    return op.emitOpError("expects a row of each input and at least one carried value as arguments "
                          "of its region, got ")
           << inputs << " inputs and " << arguments << " arguments";
  }
  for (auto [number, argument] : llvm::enumerate(op.getBody().getArguments())) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    bool isRows = type && type.getRank() == 2 && type.isDynamicDim(0) && type.getDimSize(1) > 0 &&
                  type.getElementType().isF32();
    bool isCarried = number >= inputs && (isRows || areScores(type));
    if (!isCarried && (!isRows || type != op.getInputs()[number].getType())) {
      InFlightDiagnostic error = op.emitOpError("expects argument #")
                                 << number << " of its region to be ";
      if (number < inputs) {
        return error << op.getInputs()[number].getType() << " as the input, got "
                     << argument.getType();
      }
      return error << "rows of f32 or numbers of keys, got " << argument.getType();
    }
  }
  return success();
}

/// C2
static LogicalResult verifyNext(RecurrenceOp op) {
  auto next = dyn_cast<NextOp>(op.getBody().front().getTerminator());
  if (!next) {
    return op.emitOpError("expects a region that ends with 'transformer.next', got '")
           << op.getBody().front().getTerminator()->getName() << "'";
  }
  TypeRange given = next.getOperandTypes();
  TypeRange carried = TypeRange(op.getBody().getArgumentTypes()).drop_front(op.getInputs().size());
  if (given.size() < carried.size() || given.take_front(carried.size()) != carried) {
    return next.emitOpError("expects the types of the carried values (")
           << carried << ") first, got (" << given << ")";
  }
  if (op.getResultTypes() != given) {
    return op.emitOpError("expects results of the types of its 'transformer.next' (")
           << given << "), got (" << op.getResultTypes() << ")";
  }
  return success();
}

/// C4
static bool isOfFloats(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return isa<SegmentsType>(type) || (tensor && tensor.getElementType().isF32());
}

/// C5: returns whether a value is a weight, or reads keys of a cache that the entry does not
/// change.
static bool isOfMemory(Value value) {
  while (Operation *view = value.getDefiningOp()) {
    if (isa<WeightOp>(view)) {
      return true;
    }
    if (auto cached = dyn_cast<CachedOp>(view)) {
      return isa<BlockArgument>(cached.getCache());
    }
    if (!isa<SplitHeadsOp, MergeHeadsOp, RepeatHeadsOp, TransposeOp>(view)) {
      return false;
    }
    value = view->getOperand(0);
  }
  return false;
}

/// C5
static LogicalResult verifyOutside(RecurrenceOp recurrence, Operation &op) {
  if (llvm::count(op.getOperands(), recurrence.getRows()) > 1) {
    return op.emitOpError("in a recurrence: sees rows of other steps, expected keys of a memory");
  }
  for (OpOperand &operand : op.getOpOperands()) {
    Value value = operand.get();
    bool isInside = recurrence.getBody().isAncestor(value.getParentRegion());
    if (!isInside && !isa<SegmentsType>(value.getType()) && !isOfMemory(value)) {
      return op.emitOpError("in a recurrence: expects values of the step, weights, segments and "
                            "keys of a memory, got others as operand #")
             << operand.getOperandNumber();
    }
  }
  return success();
}

LogicalResult RecurrenceOp::verifyRegions() {
  if (failed(verifyArguments(*this)) || failed(verifyNext(*this))) {
    return failure();
  }
  // C3
  TypeRange carried = TypeRange(getBody().getArgumentTypes()).drop_front(getInputs().size());
  if (!getInitial().empty() && TypeRange(getInitial()) != carried) {
    return emitOpError("expects no values in 'from', or those of the carried types (")
           << carried << "), got (" << TypeRange(getInitial()) << ")";
  }
  if (getInitial().empty() && llvm::any_of(carried, areScores)) {
    return emitOpError("expects values in 'from' where numbers of keys are carried, got none");
  }
  for (Operation &op : getBody().front()) {
    // C4
    if (op.getDialect() != (*this)->getDialect() || op.getNumRegions() != 0 ||
        !llvm::all_of(op.getOperandTypes(), isOfFloats) ||
        !llvm::all_of(op.getResultTypes(), isOfFloats) ||
        llvm::any_of(op.getResultTypes(), llvm::IsaPred<SegmentsType>)) {
      return op.emitOpError("in a recurrence: expects operations of the model level on values of "
                            "f32");
    }
    if (failed(verifyOutside(*this, op))) {
      return failure();
    }
  }
  return success();
}
