// SPDX-License-Identifier: Apache-2.0
///
/// Patterns of operations on caches and states, which persist between runs. Caches are appended to
/// and viewed as keys; a run reads a state in its old value and changes it in place.
#include "compiler/Dataflow/Lowering/EntryContext.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

/// Fails unless an operation adds rows of tokens to a cache or a state: decoders count the
/// positions of memories and histories in tokens.
template <typename Op>
LogicalResult checkTokens(Op op, EntryContext &entry, StringRef verb, StringRef why) {
  int64_t rows = entry.typeOf(op.getInput()).getShape().front();
  if (rows == tokensDimension && op.getRows() == entry.rows) {
    return success();
  }
  return op.emitOpError() << verb << " rows of "
                          << (rows == tokensDimension ? entry.spaceOf(op.getRows())->text()
                                                      : dimensionText(rows))
                          << ", expected rows of tokens: " << why;
}

/// A memory has a position for each appended row. The rows may derive from tokens; then all caches
/// of the entry must have such rows, so that they share one list of positions.
LogicalResult lowerAppend(transformer::AppendOp op, EntryContext &entry) {
  KernelParts parts;
  parts.stem = "append";
  parts.computes = AppendAttr::get(op.getContext());
  parts.inputs = {entry.bufferOf(op.getCache()), entry.bufferOf(op.getInput())};
  if (failed(entry.checkRows(op, "appends", parts.inputs.back(), op.getRows()))) {
    return failure();
  }
  RowSpace rows = *entry.spaceOf(op.getRows());
  if (!rows.arePositions()) {
    return op.emitOpError("appends rows of ")
           << rows.text() << ", expected rows of tokens, or what blocks and strides make of them";
  }
  if (entry.appended.value_or(rows) != rows) {
    return op.emitOpError("appends rows of ")
           << rows.text() << ", and rows of " << entry.appended->text()
           << " are appended to another cache, expected one row space for all caches of an entry";
  }
  entry.appended = rows;
  parts.results = {parts.inputs.front().getType()};
  return entry.dispatch(op, parts);
}

LogicalResult lowerCached(transformer::CachedOp op, EntryContext &entry) {
  bool isAppended = static_cast<bool>(op.getCache().getDefiningOp());
  bool isHistory = static_cast<bool>(op.getRows().getDefiningOp<transformer::HistoryOp>());
  if (isAppended && !isHistory) {
    return op.emitOpError("reads a cache that the entry appends to in segments given to the entry, "
                          "expected the history of the entry's rows");
  }
  if (!isAppended && (isHistory || entry.spaceOf(op.getRows()))) {
    return op.emitOpError("reads a cache that the entry does not append to in segments of the "
                          "entry's rows, expected those of a memory");
  }
  return entry.define(op, entry.bufferOf(op.getCache()));
}

LogicalResult lowerHistory(transformer::HistoryOp op, EntryContext &entry) {
  if (op.getRows() != entry.rows) {
    return op.emitOpError("names other segments for its rows, expected those of the entry's rows");
  }
  return success(); // users inspect the segments
}

/// Writes a kernel that changes a state by rows of its sequence.
template <typename Op>
LogicalResult changeState(Op op, EntryContext &entry, StringRef stem, StringRef verb, StringRef why,
                          KernelFamily computes) {
  if (failed(checkTokens(op, entry, verb, why))) {
    return failure();
  }
  KernelParts parts;
  parts.stem = stem;
  parts.computes = computes;
  parts.inputs = {entry.bufferOf(op.getState()), entry.bufferOf(op.getInput())};
  parts.results = {parts.inputs.front().getType()};
  return entry.dispatch(op, parts);
}

LogicalResult lowerAccumulate(transformer::AccumulateOp op, EntryContext &entry) {
  return changeState(op, entry, "accumulate", "accumulates", "states are sums over tokens",
                     AccumulateAttr::get(op.getContext()));
}

LogicalResult lowerKeep(transformer::KeepOp op, EntryContext &entry) {
  return changeState(op, entry, "keep", "keeps", "the state has the last tokens",
                     KeepAttr::get(op.getContext()));
}

LogicalResult lowerPrefixMean(transformer::PrefixMeanOp op, EntryContext &entry) {
  KernelParts parts;
  parts.stem = "prefix_mean";
  parts.computes = PrefixMeanAttr::get(op.getContext());
  parts.inputs = {entry.bufferOf(op.getInput()), entry.bufferOf(op.getState())};
  if (failed(checkTokens(op, entry, "averages", "states are sums over tokens"))) {
    return failure();
  }
  parts.results = {entry.denseBuffer({tokensDimension, op.getState().getType().getWidth()})};
  return entry.dispatch(op, parts);
}

LogicalResult lowerLoad(transformer::LoadOp op, EntryContext &entry) {
  if (op.getKeys()) {
    FailureOr<Value> keys = entry.keysOf(op);
    if (failed(keys)) {
      return failure();
    }
    if (!*keys || !isa<BlockArgument>(op.getKeys())) {
      return op.emitOpError("has numbers of keys that are rows of the entry, expected those of a "
                            "memory");
    }
  }
  return entry.define(op, entry.loaded(op.getLoc(), entry.bufferOf(op.getState()), op.getGiven(),
                                       RowSpace::sequences()));
}

/// Stores a row for each sequence; rows of a recurrence's steps directly, without moving them.
LogicalResult lowerStore(transformer::StoreOp op, EntryContext &entry) {
  BufferType type = entry.typeOf(op.getInput());
  if (type.getRowSpace() != RowSpace::sequences()) {
    return op.emitOpError("stores rows of ")
           << dimensionText(type.getShape().front()) << ", expected a row for each sequence";
  }
  Value input = entry.bufferOf(op.getInput());
  Value source = entry.unmoved(input);
  KernelParts parts;
  parts.stem = "store";
  parts.computes = StoreAttr::get(op.getContext());
  parts.inputs = {entry.bufferOf(op.getState()),
                  cast<BufferType>(source.getType()).getRowSpace()->isOfSteps() ? source : input};
  parts.results = {parts.inputs.front().getType()};
  return entry.dispatch(op, parts);
}

} // namespace

template <> Pattern patternOf<transformer::AccumulateOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::AfterReaders,
          lowerAs<transformer::AccumulateOp, lowerAccumulate>};
}

template <> Pattern patternOf<transformer::AppendOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::AppendOp, lowerAppend>};
}

template <> Pattern patternOf<transformer::CachedOp>() {
  return {NamedSegments::Keys, CachePositions::views(), LoweringOrder::InPlace,
          lowerAs<transformer::CachedOp, lowerCached>};
}

template <> Pattern patternOf<transformer::HistoryOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::HistoryOp, lowerHistory>};
}

template <> Pattern patternOf<transformer::KeepOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::AfterReaders,
          lowerAs<transformer::KeepOp, lowerKeep>};
}

template <> Pattern patternOf<transformer::LoadOp>() {
  return {NamedSegments::Keys, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::LoadOp, lowerLoad>};
}

template <> Pattern patternOf<transformer::PrefixMeanOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::PrefixMeanOp, lowerPrefixMean>};
}

template <> Pattern patternOf<transformer::StoreOp>() {
  return {NamedSegments::None, CachePositions::none(), LoweringOrder::AfterReaders,
          lowerAs<transformer::StoreOp, lowerStore>};
}

} // namespace heddle
