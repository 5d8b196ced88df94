// SPDX-License-Identifier: Apache-2.0
///
/// Verifies operations on caches.
#include "dialects/Transformer/Transformer.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace heddle::transformer;

BlockArgument heddle::transformer::cacheArgument(Value cache) {
  Operation *change = cache.getDefiningOp();
  return dyn_cast<BlockArgument>(change && change->hasTrait<ChangesKept>() ? change->getOperand(0)
                                                                           : cache);
}

StringAttr heddle::transformer::cacheName(Value cache) {
  BlockArgument argument = cacheArgument(cache);
  auto entry = argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
                        : FunctionOpInterface();
  return entry && argument.getOwner()->isEntryBlock()
             ? entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "transformer.name")
             : StringAttr();
}

CachedOp heddle::transformer::cachedSource(Value value) {
  while (isa_and_nonnull<SplitHeadsOp, MergeHeadsOp, RepeatHeadsOp, TransposeOp>(
      value.getDefiningOp())) {
    value = value.getDefiningOp()->getOperand(0);
  }
  return value.getDefiningOp<CachedOp>();
}

/// Returns the segments of the queries of scores: the first segments found among the operations
/// that compute the scores.
static Value queriesOf(Value scores) {
  SmallVector<Value> values = {scores};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!values.empty()) {
    Operation *op = values.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second) {
      continue;
    }
    for (Value operand : op->getOperands()) {
      if (isa<SegmentsType>(operand.getType())) {
        return operand;
      }
      auto tensor = dyn_cast<RankedTensorType>(operand.getType());
      if (tensor && tensor.getNumDynamicDims() > 1) {
        values.push_back(operand);
      }
    }
  }
  return {};
}

heddle::AttentionKind heddle::transformer::attentionKind(SoftmaxOp softmax) {
  Value keys = softmax.getKeys();
  Value queries = queriesOf(softmax.getInput());
  if (queries && queries.getDefiningOp<DerivedRowsInterface>()) {
    return AttentionKind::No;
  }
  if (keys.getDefiningOp<HistoryOp>()) {
    return AttentionKind::Decoder;
  }
  auto argument = dyn_cast<BlockArgument>(keys);
  if (!argument) {
    return AttentionKind::No;
  }
  // The first segments argument of an entry is that of its own rows; others belong to a memory.
  auto isSegments = [](BlockArgument each) { return isa<SegmentsType>(each.getType()); };
  return *llvm::find_if(argument.getOwner()->getArguments(), isSegments) == argument
             ? AttentionKind::Encoder
             : AttentionKind::Cross;
}

LogicalResult AppendOp::verify() {
  // Traits check C1. C2: reports each pair once, at the later operation.
  for (Operation *user : getCache().getUsers()) {
    auto other = dyn_cast<AppendOp>(user);
    if (other && other != *this && other->getBlock() == (*this)->getBlock() &&
        other->isBeforeInBlock(*this)) {
      InFlightDiagnostic error = emitOpError("expects a cache that nothing else appends to");
      error.attachNote(other.getLoc()) << "this appends to it";
      return error;
    }
  }
  // C3
  if (auto other = getCache().getDefiningOp<AppendOp>()) {
    InFlightDiagnostic error = emitOpError("expects a cache that nothing was appended to");
    error.attachNote(other.getLoc()) << "this has appended to it";
    return error;
  }
  return success();
}

LogicalResult CachedOp::verify() {
  int64_t width = getCache().getType().getWidth();
  int64_t got = getType().getDimSize(1);
  // C1
  if (got != width) {
    return emitOpError("expects a result of width ") << width << ", that of the cache, got " << got;
  }
  // C2
  for (Operation *user : getCache().getUsers()) {
    if (isa<AppendOp>(user)) {
      InFlightDiagnostic error = emitOpError("expects a cache that nothing appends to");
      error.attachNote(user->getLoc()) << "this appends to it: its result can be read";
      return error;
    }
  }
  return success();
}
