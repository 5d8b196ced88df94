// SPDX-License-Identifier: Apache-2.0
///
/// Patterns of operations on what outlives a run: caches, which are appended to and seen as keys,
/// and states, sums that a run reads as they were and leaves changed in place.
#include "compiler/Dataflow/Lowering/EntryContext.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

LogicalResult lowerAppend(transformer::AppendOp op, EntryContext &entry) {
  KernelParts parts;
  parts.stem = "append";
  parts.computes = AppendAttr::get(op.getContext());
  parts.inputs = {entry.bufferOf(op.getCache()), entry.bufferOf(op.getInput())};
  if (entry.typeOf(op.getInput()).getShape().front() != BufferType::kTokens) {
    return op.emitOpError("appends rows of sequences, expected rows of tokens");
  }
  parts.results = {parts.inputs.front().getType()};
  return entry.dispatch(op, parts);
}

LogicalResult lowerCached(transformer::CachedOp op, EntryContext &entry) {
  bool isAppended = static_cast<bool>(op.getCache().getDefiningOp());
  bool isHistory = static_cast<bool>(op.getRows().getDefiningOp());
  if (isAppended && !isHistory) {
    return op.emitOpError("reads a cache that the entry appends to in segments given to the entry, "
                          "expected the history of the entry's rows");
  }
  if (!isAppended && (isHistory || op.getRows() == entry.rows)) {
    return op.emitOpError("reads a cache that the entry does not append to in segments of the "
                          "entry's rows, expected those of a memory");
  }
  return entry.define(op, entry.bufferOf(op.getCache()));
}

LogicalResult lowerHistory(transformer::HistoryOp, EntryContext &) {
  return success(); // segments are read where they are used
}

LogicalResult lowerAccumulate(transformer::AccumulateOp op, EntryContext &entry) {
  KernelParts parts;
  parts.stem = "accumulate";
  parts.computes = AccumulateAttr::get(op.getContext());
  parts.inputs = {entry.bufferOf(op.getState()), entry.bufferOf(op.getInput())};
  if (entry.typeOf(op.getInput()).getShape().front() != BufferType::kTokens) {
    return op.emitOpError("accumulates rows of sequences, expected rows of tokens");
  }
  parts.results = {parts.inputs.front().getType()};
  return entry.dispatch(op, parts);
}

LogicalResult lowerPrefixMean(transformer::PrefixMeanOp op, EntryContext &entry) {
  KernelParts parts;
  parts.stem = "prefix_mean";
  parts.computes = PrefixMeanAttr::get(op.getContext());
  parts.inputs = {entry.bufferOf(op.getInput()), entry.bufferOf(op.getState())};
  if (entry.typeOf(op.getInput()).getShape().front() != BufferType::kTokens) {
    return op.emitOpError("averages rows of sequences, expected rows of tokens");
  }
  parts.results = {entry.denseBuffer({BufferType::kTokens, op.getState().getType().getWidth()})};
  return entry.dispatch(op, parts);
}

} // namespace

template <> Pattern patternOf<transformer::AccumulateOp>() {
  return {NamedSegments::Rows, CacheUse::none(), LoweringOrder::AfterReaders,
          lowerAs<transformer::AccumulateOp, lowerAccumulate>};
}

template <> Pattern patternOf<transformer::AppendOp>() {
  return {NamedSegments::Rows, CacheUse::none(), LoweringOrder::InPlace,
          lowerAs<transformer::AppendOp, lowerAppend>};
}

template <> Pattern patternOf<transformer::CachedOp>() {
  return {NamedSegments::Keys, CacheUse::views(), LoweringOrder::InPlace,
          lowerAs<transformer::CachedOp, lowerCached>};
}

template <> Pattern patternOf<transformer::HistoryOp>() {
  return {NamedSegments::Rows, CacheUse::none(), LoweringOrder::InPlace,
          lowerAs<transformer::HistoryOp, lowerHistory>};
}

template <> Pattern patternOf<transformer::PrefixMeanOp>() {
  return {NamedSegments::Rows, CacheUse::none(), LoweringOrder::InPlace,
          lowerAs<transformer::PrefixMeanOp, lowerPrefixMean>};
}

} // namespace heddle
