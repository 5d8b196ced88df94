// SPDX-License-Identifier: Apache-2.0
///
/// Patterns of operations that change axes: splitting, merging and repeating heads, and transposes.
/// On rows they are views or copies, on a cache always views.
#include "compiler/Dataflow/Lowering/EntryContext.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

/// Views a cache, or dense rows, with positions of another shape.
LogicalResult lowerReshape(Operation *op, EntryContext &entry) {
  Value source = entry.bufferOf(op->getOperand(0));
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op->getResult(0).getType()).getShape().drop_front();
  Type type;
  if (auto cache = dyn_cast<CacheType>(source.getType())) {
    type = CacheType::get(op->getContext(), shape, cache.getElementType(), cache.getLayout());
  } else {
    auto buffer = cast<BufferType>(source.getType());
    SmallVector<int64_t> dimensions = {buffer.getShape().front()};
    llvm::append_range(dimensions, shape);
    type = BufferType::get(op->getContext(), dimensions, buffer.getElementType(),
                           buffer.getRowStride());
  }
  return entry.define(op, ReshapeOp::create(entry.builder, op->getLoc(), type, source));
}

LogicalResult lowerSplitHeads(transformer::SplitHeadsOp op, EntryContext &entry) {
  return lowerReshape(op, entry);
}

LogicalResult lowerMergeHeads(transformer::MergeHeadsOp op, EntryContext &entry) {
  return lowerReshape(op, entry);
}

LogicalResult lowerRepeatHeads(transformer::RepeatHeadsOp op, EntryContext &entry) {
  int64_t times = op.getType().getDimSize(1) / op.getInput().getType().getDimSize(1);
  Value input = entry.bufferOf(op.getInput());
  if (isa<CacheType>(input.getType())) {
    return entry.defineView(op, input, {times, {}});
  }
  ArrayRef<int64_t> shape = entry.typeOf(op.getInput()).getShape();
  NestParts nest{"repeat_heads",
                 "thd->thed",
                 ReductionKind::None,
                 {input},
                 entry.denseBuffer({shape[0], shape[1], times, shape[2]})};
  if (failed(entry.nest(op, nest))) {
    return failure();
  }
  BufferType whole = entry.denseBuffer({shape[0], shape[1] * times, shape[2]});
  return entry.define(
      op, ReshapeOp::create(entry.builder, op.getLoc(), whole, entry.bufferOf(op.getResult())));
}

LogicalResult lowerTranspose(transformer::TransposeOp op, EntryContext &entry) {
  Value input = entry.bufferOf(op.getInput());
  if (isa<CacheType>(input.getType())) {
    const CacheView *before = entry.viewOf(op.getInput());
    CacheView view{before ? before->repeats : 0, {}};
    for (int64_t axis : op.getPermutation()) {
      view.order.push_back(before && !before->order.empty() ? before->order[axis] : axis);
    }
    return entry.defineView(op, input, std::move(view));
  }
  BufferType source = entry.typeOf(op.getInput());
  std::string axes = axesOf(source);
  std::string permuted;
  SmallVector<int64_t> shape;
  for (int64_t axis : op.getPermutation()) {
    permuted += axes[axis];
    shape.push_back(source.getShape()[axis]);
  }
  NestParts nest{
      "transpose", axes + "->" + permuted, ReductionKind::None, {input}, entry.denseBuffer(shape)};
  return entry.nest(op, nest);
}

} // namespace

template <> Pattern patternOf<transformer::MergeHeadsOp>() {
  return {NamedSegments::None, CachePositions::views(), LoweringOrder::InPlace,
          lowerAs<transformer::MergeHeadsOp, lowerMergeHeads>};
}

template <> Pattern patternOf<transformer::RepeatHeadsOp>() {
  return {NamedSegments::None, CachePositions::views(), LoweringOrder::InPlace,
          lowerAs<transformer::RepeatHeadsOp, lowerRepeatHeads>};
}

template <> Pattern patternOf<transformer::SplitHeadsOp>() {
  return {NamedSegments::None, CachePositions::views(), LoweringOrder::InPlace,
          lowerAs<transformer::SplitHeadsOp, lowerSplitHeads>};
}

template <> Pattern patternOf<transformer::TransposeOp>() {
  return {NamedSegments::None, CachePositions::transposes(), LoweringOrder::InPlace,
          lowerAs<transformer::TransposeOp, lowerTranspose>};
}

} // namespace heddle
