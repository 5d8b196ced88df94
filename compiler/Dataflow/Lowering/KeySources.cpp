// SPDX-License-Identifier: Apache-2.0
///
/// Finds keys by the segments that operations name, and follows them through scores and views.
#include "compiler/Dataflow/Lowering/KeySources.h"

using namespace mlir;

namespace heddle {
namespace {

/// Returns a row space as a map key.
int64_t numberOf(RowSpace space) { return RowDimension{space}.number(); }

/// Returns whether a value has one element for each pair of a row and a key.
bool hasPairs(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && llvm::count_if(tensor.getShape(), ShapedType::isDynamic) > 1;
}

} // namespace

Value KeySources::canonicalSegments(Value segments) const {
  if (segments.getDefiningOp<transformer::DerivedRowsInterface>()) {
    transformer::SegmentRows its = transformer::rowsOfSegments(segments);
    Value first = its.space ? derived.lookup({its.rows, numberOf(*its.space)}) : Value();
    return first ? first : segments;
  }
  auto history = segments.getDefiningOp<transformer::HistoryOp>();
  if (!history) {
    return segments;
  }
  for (Operation *user : history.getRows().getUsers()) {
    auto other = dyn_cast<transformer::HistoryOp>(user);
    if (other && other->isBeforeInBlock(history)) {
      history = other;
    }
  }
  return history.getResult();
}

void KeySources::begin(Value rowSegments, Block &entry, llvm::function_ref<Value(Value)> bufferOf) {
  rows = rowSegments;
  for (auto op : entry.getOps<transformer::DerivedRowsInterface>()) {
    Value segments = op->getResult(0);
    transformer::SegmentRows its = transformer::rowsOfSegments(segments);
    if (its.space) {
      derived.try_emplace({its.rows, numberOf(*its.space)}, segments);
    }
  }
  for (auto op : entry.getOps<transformer::CachedOp>()) {
    if (BlockArgument argument = transformer::cacheArgument(op.getCache())) {
      segmentCaches.try_emplace(canonicalSegments(op.getRows()), bufferOf(argument));
    }
  }
}

Value KeySources::sourceOf(Value segments) const {
  Value canonical = canonicalSegments(segments);
  if (canonical == rows) {
    return {};
  }
  if (Value cache = segmentCaches.lookup(canonical)) {
    return cache;
  }
  // Without a cache, the history is the rows themselves.
  auto history = canonical.getDefiningOp<transformer::HistoryOp>();
  return history ? sourceOf(history.getRows()) : canonical;
}

LogicalResult KeySources::note(Operation *op, const Pattern &pattern) {
  std::optional<Value> keys;
  auto meet = [&](Value found) -> LogicalResult {
    if (keys && *keys != found) {
      return op->emitOpError("combines values of different keys");
    }
    keys = found;
    return success();
  };
  Value segments = pattern.keysOf(op);
  if (segments && failed(meet(sourceOf(segments)))) {
    return failure();
  }
  for (Value operand : op->getOperands()) {
    if ((hasPairs(operand) || ofValue.contains(operand)) && failed(meet(ofValue.lookup(operand)))) {
      return failure();
    }
  }
  if (!keys || !*keys) {
    return success();
  }
  for (Value result : op->getResults()) {
    if (pattern.caches.isView() || hasPairs(result)) {
      ofValue[result] = *keys;
    }
  }
  ofOperation[op] = *keys;
  return success();
}

LogicalResult KeySources::hand(Operation *op, Value from, Value to) {
  if (!hasPairs(from)) {
    return success();
  }
  Value keys = ofValue.lookup(from);
  auto [found, isNew] = ofValue.try_emplace(to, keys);
  return found->second == keys ? success() : op->emitOpError("combines values of different keys");
}

FailureOr<Value> KeySources::of(Operation *op) const {
  Value keys = ofOperation.lookup(op);
  if (!keys) {
    return keys;
  }
  // Segments derived from the entry's rows are rows of it; others have been rejected.
  if (keys.getDefiningOp<transformer::DerivedRowsInterface>()) {
    return Value();
  }
  if (isa<transformer::SegmentsType>(keys.getType())) {
    return op->emitOpError("has keys of segments that no cache gives");
  }
  return keys;
}

} // namespace heddle
