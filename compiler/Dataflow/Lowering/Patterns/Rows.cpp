// SPDX-License-Identifier: Apache-2.0
///
/// Patterns of operations on whole rows: linear maps, convolutions, norms, reductions, pooling, and
/// views of columns.
#include "compiler/Dataflow/Lowering/EntryContext.h"
#include "compiler/Dataflow/Lowering/ScalarMaths.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

/// Writes the dispatch of `op`, with the bias added if there is one.
LogicalResult dispatchWithBias(Operation *op, EntryContext &entry, KernelParts &parts,
                               FlatSymbolRefAttr bias) {
  if (!bias) {
    return entry.dispatch(op, parts);
  }
  parts.elementwise = {entry.parameter(bias)};
  return entry.dispatch(op, parts, [](OpBuilder &region, Location location, ValueRange arguments) {
    return createSum(region, location, arguments[0], arguments[1]);
  });
}

/// Lowers the linear map of each of `groups` equal parts of the input's columns.
LogicalResult lowerLinearMap(Operation *op, EntryContext &entry, FlatSymbolRefAttr weight,
                             FlatSymbolRefAttr bias, int64_t groups) {
  BufferType input = entry.typeOf(op->getOperand(0));
  int64_t width = cast<RankedTensorType>(op->getResult(0).getType()).getDimSize(1);
  KernelParts parts;
  parts.stem = "contract";
  parts.computes = ContractAttr::get(op->getContext(), width / groups, input.getWidth() / groups,
                                     groups, Arithmetic::F32);
  parts.inputs = {entry.bufferOf(op->getOperand(0)), entry.parameter(weight)};
  parts.results = {entry.denseBuffer({input.getShape().front(), width})};
  return dispatchWithBias(op, entry, parts, bias);
}

LogicalResult lowerGroupedLinear(transformer::GroupedLinearOp op, EntryContext &entry) {
  return lowerLinearMap(op, entry, op.getWeightAttr(), op.getBiasAttr(), op.getGroups());
}

LogicalResult lowerLinear(transformer::LinearOp op, EntryContext &entry) {
  return lowerLinearMap(op, entry, op.getWeightAttr(), op.getBiasAttr(), /*groups=*/1);
}

/// Channels are vectorised: the weight is read transposed, [kernel, width].
LogicalResult lowerConvolve(transformer::ConvolveOp op, EntryContext &entry) {
  Value input = entry.bufferOf(op.getInput());
  if (failed(entry.checkRows(op, "convolves", input, op.getRows()))) {
    return failure();
  }
  assert((!op.getState() || op.getRows() == entry.rows) && "entries with states derive no rows");
  int64_t width = op.getType().getDimSize(1);
  int64_t kernel = entry.parameterOp(op.getWeightAttr()).getTensorType().getDimSize(1);
  KernelParts parts;
  parts.stem = "convolve";
  parts.computes =
      ConvolveAttr::get(op.getContext(), width, kernel, static_cast<int64_t>(op.getDilation()),
                        op.getCausal(), static_cast<bool>(op.getState()));
  parts.inputs = {input, entry.transposedParameter(op.getWeightAttr())};
  if (op.getState()) {
    parts.inputs.push_back(entry.bufferOf(op.getState()));
  }
  parts.results = {entry.denseBuffer({entry.rowsIn(op.getRows()), width})};
  return dispatchWithBias(op, entry, parts, op.getBiasAttr());
}

LogicalResult lowerColumns(transformer::ColumnsOp op, EntryContext &entry) {
  Value input = entry.bufferOf(op.getInput());
  BufferType source = entry.typeOf(op.getInput());
  int64_t width = op.getType().getDimSize(1);
  if (width == source.getWidth()) {
    return entry.define(op, input);
  }
  auto type = BufferType::get(op.getContext(), {source.getShape().front(), width},
                              source.getElementType(), source.getRowElements());
  return entry.define(
      op, ColumnsOp::create(entry.builder, op.getLoc(), type, input, op.getFirstAttr()));
}

LogicalResult lowerAngles(transformer::AnglesOp op, EntryContext &entry) {
  if (int64_t most = op.getMostAttr().getInt()) {
    entry.limitPositions(op.getRows(), most);
  }
  KernelParts parts;
  parts.stem = "angles";
  parts.computes = AnglesAttr::get(op.getContext(), op.getFrequenciesAttr());
  parts.results = {entry.denseBuffer({entry.rowsIn(op.getRows()), op.getType().getDimSize(1)})};
  return entry.dispatch(op, parts);
}

LogicalResult lowerRotate(transformer::RotateOp op, EntryContext &entry) {
  BufferType input = entry.typeOf(op.getInput());
  auto heads = static_cast<int64_t>(op.getHeads());
  KernelParts parts;
  parts.stem = "rotate";
  parts.computes = RotateAttr::get(op.getContext(), heads, input.getWidth() / heads,
                                   op.getCosine().getType().getDimSize(1));
  parts.inputs = {entry.bufferOf(op.getInput()), entry.bufferOf(op.getCosine()),
                  entry.bufferOf(op.getSine())};
  parts.results = {entry.denseBuffer(input.getShape())};
  return entry.dispatch(op, parts);
}

/// Reads rows directly if they were moved only for the concatenation.
LogicalResult lowerConcat(transformer::ConcatOp op, EntryContext &entry) {
  // In a loop all rows are those of the step.
  bool isInLoop = isa<LoopOp>(entry.builder.getInsertionBlock()->getParentOp());
  KernelParts parts;
  SmallVector<int64_t> widths;
  int64_t rows = entry.typeOf(op.getInputs().front()).getShape().front();
  for (Value input : op.getInputs()) {
    BufferType type = entry.typeOf(input);
    if (type.getShape().front() != rows) {
      return op.emitOpError("puts rows of ")
             << dimensionText(rows) << " and of " << dimensionText(type.getShape().front())
             << " side by side, expected rows of one space";
    }
    widths.push_back(type.getWidth());
    Value buffer = entry.bufferOf(input);
    parts.inputs.push_back(isInLoop ? buffer : entry.unmoved(buffer));
  }
  parts.stem = "collect";
  parts.computes = CollectAttr::get(op.getContext(), widths);
  parts.results = {entry.denseBuffer({rows, op.getType().getDimSize(1)})};
  return entry.dispatch(op, parts);
}

LogicalResult lowerSpread(transformer::SpreadOp op, EntryContext &entry) {
  BufferType type = entry.typeOf(op.getInput());
  if (type.getRowSpace() != RowSpace::sequences()) {
    return op.emitOpError("spreads rows of ")
           << dimensionText(type.getShape().front()) << ", expected a row for each sequence";
  }
  if (entry.spaceOf(op.getRows()) != RowSpace::tokens()) {
    return op.emitOpError("spreads rows over those of ")
           << entry.spaceOf(op.getRows())->text() << ", expected rows of tokens";
  }
  return entry.define(op,
                      entry.moved(op.getLoc(), entry.bufferOf(op.getInput()), RowSpace::tokens()));
}

/// Lowers one norm of rows to a separate kernel.
LogicalResult lowerNorm(Operation *op, EntryContext &entry, NormKind kind, FloatAttr epsilon,
                        ArrayRef<FlatSymbolRefAttr> operands) {
  BufferType type = entry.typeOf(op->getOperand(0));
  KernelParts parts;
  parts.stem = stringifyNormKind(kind);
  parts.computes = RowsAttr::get(op->getContext(), type.getWidth());
  parts.inputs = {entry.bufferOf(op->getOperand(0))};
  parts.norm = NormAttr::get(op->getContext(), kind, epsilon);
  for (FlatSymbolRefAttr operand : operands) {
    parts.normOperands.push_back(entry.parameter(operand));
  }
  parts.results = {entry.denseBuffer(type.getShape())};
  return entry.dispatch(op, parts);
}

LogicalResult lowerLayerNorm(transformer::LayerNormOp op, EntryContext &entry) {
  return lowerNorm(op, entry, NormKind::LayerNorm, op.getEpsilonAttr(),
                   {op.getWeightAttr(), op.getBiasAttr()});
}

LogicalResult lowerRmsNorm(transformer::RmsNormOp op, EntryContext &entry) {
  return lowerNorm(op, entry, NormKind::RmsNorm, op.getEpsilonAttr(), {op.getWeightAttr()});
}

LogicalResult lowerNormalize(transformer::NormalizeOp op, EntryContext &entry) {
  return lowerNorm(op, entry, NormKind::Normalize, op.getEpsilonAttr(), {});
}

LogicalResult lowerRowSoftmax(transformer::RowSoftmaxOp op, EntryContext &entry) {
  return lowerNorm(op, entry, NormKind::Softmax, entry.builder.getF32FloatAttr(0), {});
}

ReduceKind toReduceKind(transformer::Reduction method) {
  switch (method) {
  case transformer::Reduction::Mean:
    return ReduceKind::Mean;
  case transformer::Reduction::Sum:
    return ReduceKind::Sum;
  case transformer::Reduction::Max:
    return ReduceKind::Max;
  case transformer::Reduction::Min:
    return ReduceKind::Min;
  }
  llvm_unreachable("every reduction has its kernel");
}

LogicalResult lowerReduce(transformer::ReduceOp op, EntryContext &entry) {
  BufferType input = entry.typeOf(op.getInput());
  KernelParts parts;
  parts.stem = "reduce";
  parts.computes = ReduceAttr::get(op.getContext(), toReduceKind(op.getMethod()), input.getWidth());
  parts.inputs = {entry.bufferOf(op.getInput())};
  parts.results = {entry.denseBuffer({input.getShape().front(), 1})};
  return entry.dispatch(op, parts);
}

PoolKind toPoolKind(transformer::Pooling method) {
  switch (method) {
  case transformer::Pooling::Mean:
    return PoolKind::Mean;
  case transformer::Pooling::Cls:
    return PoolKind::Cls;
  case transformer::Pooling::Max:
    return PoolKind::Max;
  case transformer::Pooling::Sum:
    return PoolKind::Sum;
  }
  llvm_unreachable("every pooling has its kernel");
}

/// Segments need no kernel: operations that read rows of blocks ask the entry for their space.
LogicalResult lowerBlocks(transformer::BlocksOp, EntryContext &) { return success(); }

LogicalResult lowerPool(transformer::PoolOp op, EntryContext &entry) {
  BufferType input = entry.typeOf(op.getInput());
  if (failed(entry.checkRows(op, "pools", entry.bufferOf(op.getInput()), op.getRows()))) {
    return failure();
  }
  int64_t rows = op.getBlocks() ? entry.rowsIn(op.getBlocks()) : sequencesDimension;
  KernelParts parts;
  parts.stem = "pool";
  parts.computes = PoolAttr::get(op.getContext(), toPoolKind(op.getMethod()), input.getWidth());
  parts.inputs = {entry.bufferOf(op.getInput())};
  parts.results = {entry.denseBuffer({rows, input.getWidth()})};
  return entry.dispatch(op, parts);
}

} // namespace

template <> Pattern patternOf<transformer::BlocksOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::BlocksOp, lowerBlocks>};
}

template <> Pattern patternOf<transformer::ColumnsOp>() {
  return rowPattern<transformer::ColumnsOp, lowerColumns>();
}

template <> Pattern patternOf<transformer::AnglesOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::AnglesOp, lowerAngles>};
}

template <> Pattern patternOf<transformer::RotateOp>() {
  return rowPattern<transformer::RotateOp, lowerRotate>();
}

template <> Pattern patternOf<transformer::ConcatOp>() {
  return rowPattern<transformer::ConcatOp, lowerConcat>();
}

template <> Pattern patternOf<transformer::SpreadOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::SpreadOp, lowerSpread>};
}

template <> Pattern patternOf<transformer::ConvolveOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::ConvolveOp, lowerConvolve>};
}

template <> Pattern patternOf<transformer::GroupedLinearOp>() {
  return rowPattern<transformer::GroupedLinearOp, lowerGroupedLinear>();
}

template <> Pattern patternOf<transformer::LayerNormOp>() {
  return rowPattern<transformer::LayerNormOp, lowerLayerNorm>();
}

template <> Pattern patternOf<transformer::LinearOp>() {
  return rowPattern<transformer::LinearOp, lowerLinear>();
}

template <> Pattern patternOf<transformer::NormalizeOp>() {
  return rowPattern<transformer::NormalizeOp, lowerNormalize>();
}

template <> Pattern patternOf<transformer::PoolOp>() {
  return {NamedSegments::Rows, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<transformer::PoolOp, lowerPool>};
}

template <> Pattern patternOf<transformer::ReduceOp>() {
  return rowPattern<transformer::ReduceOp, lowerReduce>();
}

template <> Pattern patternOf<transformer::RmsNormOp>() {
  return rowPattern<transformer::RmsNormOp, lowerRmsNorm>();
}

template <> Pattern patternOf<transformer::RowSoftmaxOp>() {
  return rowPattern<transformer::RowSoftmaxOp, lowerRowSoftmax>();
}

} // namespace heddle
