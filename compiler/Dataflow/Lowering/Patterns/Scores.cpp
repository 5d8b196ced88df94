// SPDX-License-Identifier: Apache-2.0
///
/// Patterns of operations on scores: masks, biases by distance and softmax as loop nests over rows,
/// heads and keys.
#include "compiler/Dataflow/Lowering/EntryContext.h"
#include "compiler/Dataflow/Lowering/ScalarMaths.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

/// Returns the mask that defines `value`, or null after an error.
transformer::MaskOp maskOf(Operation *user, Value value) {
  auto mask = value.getDefiningOp<transformer::MaskOp>();
  if (!mask) {
    user->emitOpError("has a mask that is no 'transformer.mask'");
  }
  return mask;
}

/// Makes a nest write `hidden` at the keys that the mask hides.
void hide(NestParts &nest, transformer::MaskOp mask, FloatAttr hidden) {
  transformer::Visibility visibility = mask.getVisibility().getValue();
  if (!visibility.isAll()) {
    nest.hidden = hidden;
    nest.visibility = visibility.isCausal() ? transformer::VisibilityAttr() : mask.getVisibility();
  }
}

LogicalResult lowerMask(transformer::MaskOp op, EntryContext &entry) {
  // Users inspect the operation.
  return entry.checkVisibility(op, op.getVisibility().getValue(), op.getQueries(), op.getKeys());
}

LogicalResult lowerMaskBias(transformer::MaskBiasOp op, EntryContext &entry) {
  transformer::MaskOp mask = maskOf(op, op.getMask());
  if (!mask) {
    return failure();
  }
  NestParts nest{
      "mask_bias",
      "->tk",
      ReductionKind::None,
      {},
      entry.denseBuffer({entry.rowsIn(mask.getQueries()), entry.longestIn(mask.getKeys())})};
  hide(nest, mask, op.getHiddenAttr());
  return entry.nest(op, nest, [](OpBuilder &region, Location location, ValueRange) {
    return createNumber(region, location, 0.0);
  });
}

LogicalResult lowerPairSum(transformer::PairSumOp op, EntryContext &entry) {
  Value query = entry.bufferOf(op.getQuery()), key = entry.bufferOf(op.getKey());
  FailureOr<Value> keys = entry.keysOf(op);
  if (failed(keys) || failed(entry.checkRows(op, "adds keys to", query, op.getQueries())) ||
      failed(entry.checkRows(op, "adds rows to", key, op.getKeys()))) {
    return failure();
  }
  if (*keys && isa<BufferType>(key.getType())) {
    return op.emitOpError("has keys that are rows, expected those of a cache");
  }
  NestParts nest{"pair_sum",
                 "tw,kw->tkw",
                 ReductionKind::None,
                 {query, key},
                 entry.denseBuffer({entry.rowsIn(op.getQueries()), entry.longestIn(op.getKeys()),
                                    op.getType().getDimSize(2)})};
  return entry.nest(op, nest, [](OpBuilder &region, Location location, ValueRange arguments) {
    return createSum(region, location, arguments[0], arguments[1]);
  });
}

LogicalResult lowerRelativeBias(transformer::RelativeBiasOp op, EntryContext &entry) {
  Value table = entry.parameter(op.getTableAttr());
  int64_t heads = cast<BufferType>(table.getType()).getShape().front();
  if (failed(entry.checkDistances(op, op.getQueries(), op.getKeys()))) {
    return failure();
  }
  NestParts nest{
      "relative_bias",
      "hr->thk",
      ReductionKind::None,
      {table},
      entry.denseBuffer({entry.rowsIn(op.getQueries()), heads, entry.longestIn(op.getKeys())})};
  nest.relative = true;
  return entry.nest(op, nest);
}

LogicalResult lowerSelect(transformer::SelectOp op, EntryContext &entry) {
  transformer::MaskOp mask = maskOf(op, op.getMask());
  if (!mask) {
    return failure();
  }
  Value scores = entry.bufferOf(op.getScores());
  if (failed(entry.checkRows(op, "hides keys from", scores, mask.getQueries()))) {
    return failure();
  }
  if (mask.getVisibility().getValue().isAll()) {
    return entry.define(op, scores);
  }
  BufferType type = entry.typeOf(op.getScores());
  std::string axes = axesOf(type);
  NestParts nest{"select", axes + "->" + axes, ReductionKind::None, {scores}, type};
  hide(nest, mask, op.getHiddenAttr());
  return entry.nest(op, nest);
}

/// Lowers an operation that combines each number with those of all keys of its row.
template <typename Op>
LogicalResult lowerOverKeys(Op op, EntryContext &entry, StringRef stem, ReductionKind reduction) {
  BufferType type = entry.typeOf(op.getInput());
  if (!type.getRowSpace() || !isLongest(type.getShape().back())) {
    return op.emitOpError("has scores ") << type << ", expected [rows, heads, longest]";
  }
  std::string axes = axesOf(type);
  NestParts nest{stem, axes + "->" + axes, reduction, {entry.bufferOf(op.getInput())}, type};
  return entry.nest(op, nest);
}

LogicalResult lowerSoftmax(transformer::SoftmaxOp op, EntryContext &entry) {
  return lowerOverKeys(op, entry, "softmax", ReductionKind::Softmax);
}

LogicalResult lowerDivideBySum(transformer::DivideBySumOp op, EntryContext &entry) {
  return lowerOverKeys(op, entry, "divide_by_sum", ReductionKind::DivideBySum);
}

LogicalResult lowerConvolveKeys(transformer::ConvolveKeysOp op, EntryContext &entry) {
  Value input = entry.bufferOf(op.getInput()), weight = entry.parameter(op.getWeightAttr());
  if (failed(entry.checkRows(op, "convolves keys of", input, op.getQueries()))) {
    return failure();
  }
  BufferType type = entry.typeOf(op.getInput());
  if (!isLongest(type.getShape().back())) {
    return op.emitOpError("has keys ") << type << ", expected [rows, heads, longest]";
  }
  NestParts nest{
      "convolve_keys",
      "thk,whj->tkw",
      ReductionKind::Sum,
      {input, weight},
      entry.denseBuffer({type.getShape()[0], type.getShape()[2], op.getType().getDimSize(2)})};
  nest.slides = true;
  return entry.nest(op, nest, [](OpBuilder &region, Location location, ValueRange arguments) {
    return createProduct(region, location, arguments[0], arguments[1]);
  });
}

} // namespace

template <> Pattern patternOf<transformer::ConvolveKeysOp>() {
  return {NamedSegments::RowsAndKeys, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::ConvolveKeysOp, lowerConvolveKeys>};
}

template <> Pattern patternOf<transformer::DivideBySumOp>() {
  return {NamedSegments::Keys, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::DivideBySumOp, lowerDivideBySum>};
}

template <> Pattern patternOf<transformer::MaskOp>() {
  return {NamedSegments::RowsAndKeys, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::MaskOp, lowerMask>};
}

template <> Pattern patternOf<transformer::MaskBiasOp>() {
  return {NamedSegments::None, CachePositions::none(), LoweringOrder::AtFirstUse,
          lowerAs<transformer::MaskBiasOp, lowerMaskBias>};
}

template <> Pattern patternOf<transformer::PairSumOp>() {
  return {NamedSegments::RowsAndKeys, CachePositions::contracts(), LoweringOrder::InPlace,
          lowerAs<transformer::PairSumOp, lowerPairSum>};
}

template <> Pattern patternOf<transformer::RelativeBiasOp>() {
  return {NamedSegments::RowsAndKeys, CachePositions::none(), LoweringOrder::AtFirstUse,
          lowerAs<transformer::RelativeBiasOp, lowerRelativeBias>};
}

template <> Pattern patternOf<transformer::SelectOp>() {
  return rowPattern<transformer::SelectOp, lowerSelect>();
}

template <> Pattern patternOf<transformer::SoftmaxOp>() {
  return {NamedSegments::Keys, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::SoftmaxOp, lowerSoftmax>};
}

} // namespace heddle
