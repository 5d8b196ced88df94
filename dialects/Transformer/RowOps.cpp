// SPDX-License-Identifier: Apache-2.0
///
/// Verifies primitive operations on rows.
#include "dialects/Transformer/ParameterChecks.h"

#include "heddle/RowSpace.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace heddle::transformer;

void GatherOp::build(OpBuilder &builder, OperationState &state, StringRef table, Value ids,
                     int64_t width) {
  auto type = RankedTensorType::get({ShapedType::kDynamic, width}, builder.getF32Type());
  build(builder, state, type, table, ids);
}

LogicalResult GatherOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C1
  return verifyTable(*this, getTableAttr(), getType().getDimSize(1), symbolTable);
}

LogicalResult PositionsOp::verify() {
  // C1
  int64_t offset = getOffsetAttr().getInt();
  if (offset < 0) {
    return emitOpError("expects an offset of 0 or more, got ") << offset;
  }
  return success();
}

LogicalResult AnglesOp::verify() {
  // C1. Each frequency is a constant of a kernel.
  constexpr int64_t mostFrequencies = 1024;
  ArrayRef<float> frequencies = getFrequencies();
  auto count = static_cast<int64_t>(frequencies.size());
  if (count != getType().getDimSize(1) || count > mostFrequencies ||
      !llvm::all_of(frequencies, [](float x) { return std::isfinite(x); })) {
    return emitOpError("expects a finite frequency for each of ")
           << getType().getDimSize(1) << " columns, at most " << mostFrequencies << ", got "
           << getFrequenciesAttr();
  }
  // C2
  if (getMostAttr().getInt() < 0) {
    return emitOpError("expects at most 0 rows, for any, or more, got ") << getMostAttr().getInt();
  }
  return success();
}

LogicalResult BlocksOp::verify() {
  // C1. If every size is in range, only their product can be too large.
  int64_t size = getSizeAttr().getInt();
  std::optional<heddle::RowSpace> rows = rowsOfSegments(getRows()).space;
  if (!rows || rows->blocks(size)) {
    // The operation that derives invalid segments reports them.
    return success();
  }
  if (rows->isSplit()) {
    return emitOpError("expects rows that are no choices, got ") << rows->text();
  }
  bool isBlockOfBlocks =
      size >= heddle::RowSpace::leastSize && size <= heddle::RowSpace::largestSize;
  return emitOpError("expects blocks of ")
         << heddle::RowSpace::leastSize << " to " << heddle::RowSpace::largestSize << " rows, got "
         << (isBlockOfBlocks ? size * static_cast<int64_t>(rows->unit()) : size);
}

std::optional<heddle::RowSpace> BlocksOp::deriveSpace(heddle::RowSpace space) {
  return space.blocks(getSizeAttr().getInt());
}

SegmentRows heddle::transformer::rowsOfSegments(Value segments) {
  // More steps than any row space has. Bounds the walk if unverified operations form a cycle.
  constexpr size_t mostSteps = 64;
  SmallVector<DerivedRowsInterface> steps;
  while (auto derived = segments.getDefiningOp<DerivedRowsInterface>()) {
    if (steps.size() == mostSteps) {
      return {segments, std::nullopt};
    }
    steps.push_back(derived);
    segments = derived.getRows();
  }
  std::optional<heddle::RowSpace> space = heddle::RowSpace::tokens();
  for (DerivedRowsInterface step : llvm::reverse(steps)) {
    space = space ? step.deriveSpace(*space) : space;
  }
  return {segments, space};
}

bool heddle::transformer::areSameSegments(Value left, Value right) {
  SegmentRows leftRows = rowsOfSegments(left);
  SegmentRows rightRows = rowsOfSegments(right);
  if (leftRows.rows == rightRows.rows && leftRows.space == rightRows.space) {
    return true;
  }
  auto leftHistory = left.getDefiningOp<HistoryOp>();
  auto rightHistory = right.getDefiningOp<HistoryOp>();
  return leftHistory && rightHistory && leftHistory.getRows() == rightHistory.getRows();
}

LogicalResult ConcatOp::verify() {
  // C1
  int64_t width = 0;
  for (Value input : getInputs()) {
    width += cast<RankedTensorType>(input.getType()).getDimSize(1);
  }
  if (getInputs().empty() || width != getType().getDimSize(1)) {
    return emitOpError("expects a result as wide as its ")
           << getInputs().size() << " inputs together, " << width << ", got "
           << getType().getDimSize(1);
  }
  return success();
}

LogicalResult PoolOp::verify() {
  if (!getBlocks()) {
    return success();
  }
  // C1
  SegmentRows from = rowsOfSegments(getRows());
  SegmentRows to = rowsOfSegments(getBlocks());
  if (!from.space || !to.space) {
    // The operation that derives them reports this.
    return success();
  }
  bool isGrouped = from.rows == to.rows && from.space != to.space &&
                   to.space->rowsFrom(*from.space).value_or(0) > (from.space->isSplit() ? 0 : 1);
  if (isGrouped) {
    return success();
  }
  InFlightDiagnostic error =
      emitOpError("expects segments in 'to' whose rows are groups of those in 'in', got ");
  return from.rows == to.rows ? error << to.space->text() << " of " << from.space->text()
                              : error << "rows of other segments";
}

LogicalResult LinearOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C1, C2
  return verifyLinearMap(*this, getWeightAttr(), getBiasAttr(), getInput().getType().getDimSize(1),
                         getType().getDimSize(1), symbolTable);
}

LogicalResult ConvolveOp::verify() {
  // C3. The reach of the kernel is checked with the weight.
  auto dilation = static_cast<int64_t>(getDilation());
  if (dilation < 1 || dilation > mostDistance) {
    return emitOpError("expects a dilation of 1 to 2^20, got ") << dilation;
  }
  // C4
  if (getState() && !getCausal()) {
    return emitOpError("expects no state, as it is not causal");
  }
  // C5. The size of the state is checked with the weight.
  return getState() ? verifyEarlier(*this, getState()) : success();
}

LogicalResult ConvolveOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C1
  constexpr int64_t mostElements = 256;
  int64_t width = getType().getDimSize(1), kernel = mostElements;
  if (auto parameter = symbolTable.lookupNearestSymbolFrom<ParameterOp>(*this, getWeightAttr());
      parameter && parameter.getTensorType().getRank() == 2) {
    kernel = std::min(kernel, parameter.getTensorType().getDimSize(1));
  }
  if (failed(
          verifyParameterShape(*this, "weight", getWeightAttr(), {width, kernel}, symbolTable))) {
    return failure();
  }
  // C3
  if ((kernel - 1) * static_cast<int64_t>(getDilation()) > mostDistance) {
    return emitOpError("expects a kernel that reaches at most 2^20 rows, got one of ")
           << kernel << " elements and a dilation of " << getDilation();
  }
  // C5
  int64_t rows = (kernel - 1) * static_cast<int64_t>(getDilation());
  if (getState() && getState().getType().getWidth() != rows * width) {
    return emitOpError("expects a state of ")
           << rows << " rows of " << width << " elements, got " << getState().getType();
  }
  // C2
  return getBiasAttr() ? verifyParameterShape(*this, "bias", getBiasAttr(), {width}, symbolTable)
                       : success();
}

LogicalResult ColumnsOp::verify() {
  // C1
  int64_t inputs = getInput().getType().getDimSize(1);
  int64_t width = getType().getDimSize(1);
  int64_t first = getFirstAttr().getInt();
  if (first < 0 || width > inputs || first > inputs - width) {
    return emitOpError("expects columns within the input's ")
           << inputs << ", got " << width << " from " << first;
  }
  return success();
}

/// Returns whether `right` is broadcast along the leading axes of `left`, or is a bias [t, k] of
/// scores [t, h, k].
static bool isRepeated(RankedTensorType left, RankedTensorType right) {
  if (right.getRank() >= left.getRank()) {
    return false;
  }
  if (right.hasStaticShape()) {
    return right.getShape() == left.getShape().take_back(right.getRank());
  }
  return left.getRank() == 3 && right.getRank() == 2 && right.getNumDynamicDims() == 2 &&
         left.isDynamicDim(0) && !left.isDynamicDim(1) && left.isDynamicDim(2);
}

LogicalResult AddOp::verify() {
  // C1 is a trait. C2
  RankedTensorType left = getLhs().getType();
  RankedTensorType right = getRhs().getType();
  if (left != right && !isRepeated(left, right)) {
    return emitOpError("expects a right operand of shape ")
           << printShape(left.getShape())
           << ", of its trailing static axes, or ?x? for scores, got "
           << printShape(right.getShape());
  }
  return success();
}

/// Returns whether `right` is a single number or one number for each row of `left`.
static bool isScalarOf(RankedTensorType left, RankedTensorType right) {
  ArrayRef<int64_t> shape = right.getShape();
  bool ofRows = left.getRank() > 0 && left.isDynamicDim(0);
  return shape == ArrayRef<int64_t>(1) ||
         (ofRows && shape == ArrayRef<int64_t>({ShapedType::kDynamic, 1}));
}

bool MultiplyOp::hasScalarRhs() { return isScalarOf(getLhs().getType(), getRhs().getType()); }

/// Checks C2 of products and combinations: the shapes of the operands can be broadcast.
static LogicalResult verifyMet(Operation *op, RankedTensorType left, RankedTensorType right) {
  if (left != right && !(right.hasStaticShape() && isRepeated(left, right)) &&
      !isScalarOf(left, right)) {
    return op->emitOpError("expects a right operand of shape ")
           << printShape(left.getShape())
           << ", of its trailing static axes, 1, or ?x1 for rows, got "
           << printShape(right.getShape());
  }
  return success();
}

LogicalResult MultiplyOp::verify() {
  // C1 is a trait. C2
  return verifyMet(*this, getLhs().getType(), getRhs().getType());
}

LogicalResult CombineOp::verify() {
  // C1 is a trait. C2
  return verifyMet(*this, getLhs().getType(), getRhs().getType());
}

LogicalResult ScaleOp::verify() {
  // C1
  if (!getFactor().isFinite()) {
    return emitOpError("expects a finite factor, got ") << getFactorAttr();
  }
  return success();
}

LogicalResult ShiftOp::verify() {
  // C1
  if (!getNumber().isFinite()) {
    return emitOpError("expects a finite number, got ") << getNumberAttr();
  }
  return success();
}

LogicalResult ClampOp::verify() {
  // C1. NaN fails every comparison.
  if (!(getLeast() <= getMost())) {
    return emitOpError("expects a lower bound of at most the upper one, got ")
           << getLeastAttr() << " and " << getMostAttr();
  }
  return success();
}

LogicalResult ReduceOp::verify() {
  // C1
  if (int64_t columns = getType().getDimSize(1); columns != 1) {
    return emitOpError("expects a result of 1 column, got ") << columns;
  }
  return success();
}

LogicalResult LayerNormOp::verify() {
  // C2
  if (!getEpsilon().isFinite() || getEpsilon().isNegative()) {
    return emitOpError("expects a finite epsilon of 0 or more, got ") << getEpsilonAttr();
  }
  return success();
}

LogicalResult LayerNormOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C1
  int64_t width = getType().getDimSize(1);
  return success(
      succeeded(verifyParameterShape(*this, "weight", getWeightAttr(), {width}, symbolTable)) &&
      succeeded(verifyParameterShape(*this, "bias", getBiasAttr(), {width}, symbolTable)));
}

LogicalResult RmsNormOp::verify() {
  // C2
  if (!getEpsilon().isFinite() || getEpsilon().isNegative()) {
    return emitOpError("expects a finite epsilon of 0 or more, got ") << getEpsilonAttr();
  }
  return success();
}

LogicalResult RmsNormOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C1
  return verifyParameterShape(*this, "weight", getWeightAttr(), {getType().getDimSize(1)},
                              symbolTable);
}

LogicalResult NormalizeOp::verify() {
  // C1
  if (!getEpsilon().isFinite() || getEpsilon().isNegative() || getEpsilon().isZero()) {
    return emitOpError("expects a finite epsilon above 0, got ") << getEpsilonAttr();
  }
  return success();
}

// --- costs -----------------------------------------------------------------------------------

OperationFlops LinearOp::getFlops() {
  int64_t width = getType().getDimSize(1);
  return {.perRow = 2 * getInput().getType().getDimSize(1) * width + (getBias() ? width : 0)};
}

/// Counts one per element of a row of the result; nothing if a row's size depends on the length of
/// the sequence.
static OperationFlops flopsOfElements(RankedTensorType type) {
  ArrayRef<int64_t> sizes = type.getShape();
  if (sizes.empty() || type.getNumDynamicDims() != 1 || !type.isDynamicDim(0)) {
    return {};
  }
  return {.perRow = ShapedType::getNumElements(sizes.drop_front())};
}

OperationFlops AnglesOp::getFlops() { return flopsOfElements(getType()); }
OperationFlops AddOp::getFlops() { return flopsOfElements(getType()); }
OperationFlops MultiplyOp::getFlops() { return flopsOfElements(getType()); }
OperationFlops CombineOp::getFlops() { return flopsOfElements(getType()); }
OperationFlops ScaleOp::getFlops() { return flopsOfElements(getType()); }
OperationFlops ShiftOp::getFlops() { return flopsOfElements(getType()); }
OperationFlops ClampOp::getFlops() { return flopsOfElements(getType()); }
OperationFlops ReduceOp::getFlops() { return flopsOfElements(getInput().getType()); }
OperationFlops ActivateOp::getFlops() { return flopsOfElements(getType()); }
OperationFlops LayerNormOp::getFlops() { return flopsOfElements(getType()); }
OperationFlops RmsNormOp::getFlops() { return flopsOfElements(getType()); }
OperationFlops NormalizeOp::getFlops() { return flopsOfElements(getType()); }

OperationFlops ConvolveOp::getFlops() {
  auto weight = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(*this, getWeightAttr());
  int64_t width = getType().getDimSize(1), kernel = weight.getTensorType().getDimSize(1);
  return {.perRow = 2 * kernel * width + (getBias() ? width : 0)};
}
