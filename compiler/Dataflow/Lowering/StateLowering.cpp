// SPDX-License-Identifier: Apache-2.0
///
/// States: sums that a run reads as they were and leaves changed in place, so that whatever reads
/// one is dispatched before what changes it.
#include "compiler/Dataflow/Lowering/EntryLowering.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

LogicalResult EntryLowering::lowerState(BlockArgument argument) {
  int64_t width = cast<transformer::StateType>(argument.getType()).getWidth();
  if (failed(CacheType::verify([&] { return entry.emitError(); }, width, CacheLayout::State))) {
    return failure();
  }
  auto type = CacheType::get(builder.getContext(), width, CacheLayout::State);
  buffers[argument] = graph.getBody().front().addArgument(type, argument.getLoc());
  return success();
}

LogicalResult EntryLowering::lower(transformer::AccumulateOp op) {
  for (Operation *user : op.getState().getUsers()) {
    if (isa<transformer::PrefixMeanOp>(user) && !bufferOf(user->getResult(0))) {
      return success(); // that one calls again
    }
  }
  KernelParts parts;
  parts.stem = "accumulate";
  parts.computes = AccumulateAttr::get(builder.getContext());
  parts.inputs = {bufferOf(op.getState()), bufferOf(op.getInput())};
  if (typeOf(op.getInput()).getShape().front() != BufferType::kTokens) {
    return op.emitOpError("accumulates rows of sequences, expected rows of tokens");
  }
  parts.result = parts.inputs.front().getType();
  return dispatch(op, parts);
}

LogicalResult EntryLowering::lower(transformer::PrefixMeanOp op) {
  KernelParts parts;
  parts.stem = "prefix_mean";
  parts.computes = PrefixMeanAttr::get(builder.getContext());
  parts.inputs = {bufferOf(op.getInput()), bufferOf(op.getState())};
  if (typeOf(op.getInput()).getShape().front() != BufferType::kTokens) {
    return op.emitOpError("averages rows of sequences, expected rows of tokens");
  }
  parts.result = denseBuffer({BufferType::kTokens, op.getState().getType().getWidth()});
  if (failed(dispatch(op, parts))) {
    return failure();
  }
  for (Operation *user : op.getState().getUsers()) {
    auto accumulate = dyn_cast<transformer::AccumulateOp>(user);
    if (accumulate && accumulate->isBeforeInBlock(op) && failed(lower(accumulate))) {
      return failure();
    }
  }
  return success();
}

} // namespace heddle
