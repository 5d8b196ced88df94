// SPDX-License-Identifier: Apache-2.0
///
/// Verifies fused operations.
#include "dialects/Transformer/ParameterChecks.h"

#include <cmath>

using namespace mlir;
using namespace heddle::transformer;

/// Checks C1 of attention and attention_weights, except shares.
static LogicalResult verifyHeadsDivide(Operation *op, int64_t heads, ArrayRef<int64_t> widths) {
  for (int64_t width : widths) {
    if (heads < 1 || width % heads != 0) {
      return op->emitOpError("expects heads to divide the widths, got ")
             << heads << " and " << width;
    }
  }
  return success();
}

/// Checks that `share` adjacent heads can share one head of keys or values.
static LogicalResult verifyShare(Operation *op, StringRef what, int64_t share, int64_t heads) {
  if (share < 1 || heads % share != 0) {
    return op->emitOpError("expects ")
           << what << " that divides the " << heads << " heads, got " << share;
  }
  return success();
}

/// Checks C2 of attention and attention_weights.
static LogicalResult verifyKeyWidth(Operation *op, int64_t queryWidth, int64_t keyWidth,
                                    int64_t share) {
  // The share divides the heads, and the heads divide the query width.
  if (keyWidth == queryWidth / share) {
    return success();
  }
  if (share == 1) {
    return op->emitOpError("expects queries and keys of one width, got ")
           << queryWidth << " and " << keyWidth;
  }
  return op->emitOpError("expects keys of width ")
         << queryWidth / share << " for queries of " << queryWidth << " and a key share of "
         << share << ", got " << keyWidth;
}

/// Checks C3 of attention and attention_weights.
static LogicalResult verifyScale(Operation *op, FloatAttr scale) {
  if (!scale.getValue().isFiniteNonZero()) {
    return op->emitOpError("expects a scale that is finite and not zero, got ") << scale;
  }
  return success();
}

/// Checks C5 of attention, C6 of attention_weights.
static LogicalResult verifyHidden(Operation *op, VisibilityAttr visibility, HiddenAttr hidden) {
  if (hidden && !visibility.getValue().isCausal()) {
    return op->emitOpError("expects 'hidden' only with visibility causal, got ")
           << visibility.getValue().text();
  }
  return success();
}

/// Checks C6 of attention, C7 of attention_weights.
static LogicalResult verifyScore(Operation *op, ScoreAttr score, FlatSymbolRefAttr bias,
                                 SymbolTableCollection &symbolTable) {
  if (!score || !score.takesBias()) {
    return success();
  }
  if (!bias) {
    return op->emitOpError("expects a bias for a score that takes it, got none");
  }
  auto table = symbolTable.lookupNearestSymbolFrom<ParameterOp>(op, bias);
  if (table.getTensorType().getDimSize(1) == 1) {
    return op->emitOpError("expects a bias of several distances for a score that takes it, got ")
           << bias << " of one";
  }
  return success();
}

/// Checks C7 of attention, C8 of attention_weights, except the shape of the weights.
static LogicalResult verifyPairs(Operation *op, ScoreAttr pairs, FlatSymbolRefAttr weights) {
  if (static_cast<bool>(pairs) != static_cast<bool>(weights)) {
    return op->emitOpError("expects both 'pairs' and 'pair_weights' or neither, got ")
           << (pairs ? "'pairs'" : "'pair_weights'") << " alone";
  }
  if (pairs && pairs.takesBias()) {
    return op->emitOpError("expects maths of pairs without a bias, got ") << pairs;
  }
  return success();
}

/// Checks the shape of the weights of pairs.
static LogicalResult verifyPairWeights(Operation *op, FlatSymbolRefAttr weights, int64_t heads,
                                       RankedTensorType query, SymbolTableCollection &symbolTable) {
  return weights ? verifyParameterShape(op, "pair weights", weights,
                                        {heads, query.getDimSize(1) / heads}, symbolTable)
                 : success();
}

std::optional<int64_t> heddle::transformer::numbersNear(ArrayRef<int64_t> heads,
                                                        ArrayRef<int64_t> taps) {
  int64_t near = 0, all = 0;
  for (auto [headsOf, tapsOf] : llvm::zip_equal(heads, taps)) {
    if (headsOf < 1 || headsOf > mostLocationHeads || tapsOf < 1 || tapsOf > mostNear ||
        tapsOf % 2 == 0) {
      return std::nullopt;
    }
    all += headsOf;
    near += headsOf * tapsOf;
    if (all > mostLocationHeads || near > mostNear) {
      return std::nullopt;
    }
  }
  return near;
}

/// Returns nothing if an operation's locations violate C8 of attention.
template <typename Op> static std::optional<int64_t> numbersNear(Op op) {
  ArrayRef<int64_t> taps = op.getLocationTaps().value_or(ArrayRef<int64_t>());
  auto heads = llvm::map_to_vector(op.getLocations(), [](Value numbers) {
    return cast<RankedTensorType>(numbers.getType()).getDimSize(1);
  });
  return heads.size() == taps.size() ? numbersNear(heads, taps) : std::nullopt;
}

/// Checks C8 of attention, C10 of attention_weights, except the shapes of parameters.
template <typename Op> static LogicalResult verifyLocations(Op op) {
  ArrayRef<int64_t> taps = op.getLocationTaps().value_or(ArrayRef<int64_t>());
  if (taps.size() != op.getLocations().size()) {
    return op.emitOpError("expects 'location_taps' with a number for each of ")
           << op.getLocations().size() << " tensors of locations, got " << taps.size();
  }
  if (!numbersNear(op)) {
    InFlightDiagnostic error = op.emitOpError("expects odd numbers of taps, at most ")
                               << mostLocationHeads << " heads and " << mostNear
                               << " numbers near a key, got taps ";
    llvm::interleaveComma(taps, error);
    error << " of ";
    llvm::interleaveComma(op.getLocations().getTypes(), error);
    return error;
  }
  bool hasLocations = !taps.empty();
  if (hasLocations && !op.getPairsAttr()) {
    return op.emitOpError("expects 'locations' only with 'pairs'");
  }
  if (hasLocations != static_cast<bool>(op.getLocationWeightsAttr()) ||
      (!hasLocations && op.getLocationFiltersAttr())) {
    return op.emitOpError("expects 'location_weights' exactly where there are locations, and "
                          "'location_filters' only there");
  }
  return success();
}

/// Checks the shapes of the parameters of locations.
template <typename Op>
static LogicalResult verifyLocationShapes(Op op, SymbolTableCollection &symbolTable) {
  if (op.getLocations().empty()) {
    return success();
  }
  int64_t lines = *numbersNear(op);
  if (FlatSymbolRefAttr filters = op.getLocationFiltersAttr()) {
    ParameterOp parameter = lookUpParameter(op, "location filters", filters, symbolTable);
    if (!parameter) {
      return failure();
    }
    int64_t count = parameter.getTensorType().getDimSize(0);
    if (failed(
            verifyParameterShape(op, "location filters", filters, {count, lines}, symbolTable))) {
      return failure();
    }
    lines = count;
  }
  int64_t size = op.getQuery().getType().getDimSize(1) / static_cast<int64_t>(op.getHeads());
  return verifyParameterShape(op, "location weights", op.getLocationWeightsAttr(), {size, lines},
                              symbolTable);
}

/// Checks C2 of attend and attention: the result is as wide as the values times the share.
static LogicalResult verifyMixedWidth(Operation *op, RankedTensorType values,
                                      RankedTensorType result, int64_t share) {
  int64_t expected = 0;
  if (!llvm::MulOverflow(values.getDimSize(1), share, expected) &&
      result.getDimSize(1) == expected) {
    return success();
  }
  InFlightDiagnostic error = op->emitOpError("expects a result of width ");
  if (share == 1) {
    error << values.getDimSize(1) << ", that of the values";
  } else {
    error << values.getDimSize(1) << " * " << share << ", that of the values times their share";
  }
  return error << ", got " << result.getDimSize(1);
}

LogicalResult HiddenAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, HiddenKind,
                                 FloatAttr number) {
  if (!number.getType().isF32() ||
      !(std::abs(number.getValue().convertToFloat()) <= HiddenAttr::largestNumber)) {
    return emitError() << "expects an f32 of at most 2^127 in size for hidden keys, got " << number;
  }
  return success();
}

LogicalResult AttendOp::verify() {
  // C1
  int64_t heads = getWeights().getType().getDimSize(1);
  int64_t width = getType().getDimSize(1);
  if (width % heads != 0) {
    return emitOpError("expects weights of heads that divide the width of the result, got ")
           << heads << " and " << width;
  }
  // C2
  int64_t share = getValueShare();
  return success(succeeded(verifyShare(*this, "a value share", share, heads)) &&
                 succeeded(verifyMixedWidth(*this, getValue().getType(), getType(), share)));
}

LogicalResult AttentionOp::verify() {
  int64_t queryWidth = getQuery().getType().getDimSize(1);
  int64_t keyWidth = getKey().getType().getDimSize(1);
  int64_t heads = getHeads();
  int64_t keyShare = getKeyShare();
  int64_t valueShare = getValueShare();
  return success(
      succeeded(verifyHeadsDivide(*this, heads, {queryWidth, getType().getDimSize(1)})) &&
      succeeded(verifyShare(*this, "a key share", keyShare, heads)) &&
      succeeded(verifyShare(*this, "a value share", valueShare, heads)) &&
      succeeded(verifyKeyWidth(*this, queryWidth, keyWidth, keyShare)) &&
      succeeded(verifyMixedWidth(*this, getValue().getType(), getType(), valueShare)) &&
      succeeded(verifyScale(*this, getScaleAttr())) &&
      succeeded(verifyHidden(*this, getVisibility(), getHiddenAttr())) &&
      succeeded(verifyPairs(*this, getPairsAttr(), getPairWeightsAttr())) &&
      succeeded(verifyLocations(*this)));
}

LogicalResult AttentionOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C4
  if (getBiasAttr() && failed(verifyDistanceTable(*this, getBiasAttr(), getHeads(), symbolTable))) {
    return failure();
  }
  return success(
      succeeded(verifyScore(*this, getScoreAttr(), getBiasAttr(), symbolTable)) &&
      succeeded(verifyPairWeights(*this, getPairWeightsAttr(), static_cast<int64_t>(getHeads()),
                                  getQuery().getType(), symbolTable)) &&
      succeeded(verifyLocationShapes(*this, symbolTable)));
}

LogicalResult AttentionWeightsOp::verify() {
  int64_t queryWidth = getQuery().getType().getDimSize(1);
  int64_t keyWidth = getKey().getType().getDimSize(1);
  int64_t heads = getHeads();
  int64_t share = getKeyShare();
  if (failed(verifyHeadsDivide(*this, heads, queryWidth)) ||
      failed(verifyShare(*this, "a key share", share, heads)) ||
      failed(verifyKeyWidth(*this, queryWidth, keyWidth, share)) ||
      failed(verifyScale(*this, getScaleAttr())) ||
      failed(verifyHidden(*this, getVisibility(), getHiddenAttr())) ||
      failed(verifyPairs(*this, getPairsAttr(), getPairWeightsAttr())) ||
      failed(verifyLocations(*this))) {
    return failure();
  }
  // C9
  if (getRaw() && !getVisibility().getValue().isAll()) {
    return emitOpError("expects raw scores of all keys, got those that a row sees of '")
           << getVisibility().getValue().text() << "'";
  }
  if (getRaw() && getBiasAttr()) {
    return emitOpError("expects raw scores without a bias, got ") << getBiasAttr();
  }
  // C5
  if (getType().getDimSize(1) != heads) {
    return emitOpError("expects a result of ")
           << heads << " heads, got " << getType().getDimSize(1);
  }
  return success();
}

LogicalResult AttentionWeightsOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C4
  if (getBiasAttr() && failed(verifyDistanceTable(*this, getBiasAttr(), getHeads(), symbolTable))) {
    return failure();
  }
  return success(
      succeeded(verifyScore(*this, getScoreAttr(), getBiasAttr(), symbolTable)) &&
      succeeded(verifyPairWeights(*this, getPairWeightsAttr(), static_cast<int64_t>(getHeads()),
                                  getQuery().getType(), symbolTable)) &&
      succeeded(verifyLocationShapes(*this, symbolTable)));
}

LogicalResult EmbedOp::verify() {
  // C1
  size_t lookups = getIds().size() + getPositionOffsets().size();
  if (getTables().empty() || getTables().size() != lookups) {
    return emitOpError("expects a table for each of the ")
           << lookups << " ids and position offsets, at least one, got " << getTables().size();
  }
  // C3
  if (getNormWeight().has_value() != getNormBias().has_value()) {
    return emitOpError("expects both a norm weight and a norm bias or neither, got a ")
           << (getNormWeight() ? "weight" : "bias") << " alone";
  }
  // C4
  if (getEpsilon().has_value() != getNormWeight().has_value()) {
    return emitOpError("expects epsilon exactly with a norm, got ")
           << (getEpsilon() ? "epsilon" : "a norm") << " alone";
  }
  if (getEpsilon() && (!getEpsilon()->isFinite() || getEpsilon()->isNegative())) {
    return emitOpError("expects a finite epsilon of 0 or more, got ") << getEpsilonAttr();
  }
  // C5
  if (static_cast<bool>(getRows()) == getPositionOffsets().empty()) {
    return emitOpError("expects segments exactly with position offsets, got ")
           << (getRows() ? "segments" : "offsets") << " alone";
  }
  // C6
  if (!getScales().empty() && getScales().size() != getIds().size()) {
    return emitOpError("expects no scales or one for each of the ")
           << getIds().size() << " ids, got " << getScales().size();
  }
  for (float scale : getScales()) {
    if (!std::isfinite(scale) || scale == 0.0F) {
      return emitOpError("expects scales that are finite and not zero, got ") << scale;
    }
  }
  // C7
  for (int64_t offset : getPositionOffsets()) {
    if (offset < 0) {
      return emitOpError("expects position offsets of 0 or more, got ") << offset;
    }
  }
  // C8
  for (auto [number, ids] : llvm::enumerate(getIds())) {
    if (ids.getDefiningOp<PositionsOp>()) {
      return emitOpError("expects positions as 'positions', got them as ids #") << number;
    }
  }
  return success();
}

LogicalResult EmbedOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  int64_t width = getType().getDimSize(1);
  // C2
  for (auto table : getTables().getAsRange<FlatSymbolRefAttr>()) {
    if (failed(verifyTable(*this, table, width, symbolTable))) {
      return failure();
    }
  }
  if (!getNormWeightAttr()) {
    return success();
  }
  // C3
  return success(
      succeeded(
          verifyParameterShape(*this, "norm weight", getNormWeightAttr(), {width}, symbolTable)) &&
      succeeded(verifyParameterShape(*this, "norm bias", getNormBiasAttr(), {width}, symbolTable)));
}

LogicalResult GroupedLinearOp::verify() {
  // C1
  int64_t groups = getGroupsAttr().getInt();
  for (int64_t width : {getInput().getType().getDimSize(1), getType().getDimSize(1)}) {
    if (groups < 1 || width % groups != 0) {
      return emitOpError("expects groups to divide the widths, got ") << groups << " and " << width;
    }
  }
  return success();
}

LogicalResult GroupedLinearOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C2, C3
  int64_t inputs = getInput().getType().getDimSize(1) / getGroupsAttr().getInt();
  return verifyLinearMap(*this, getWeightAttr(), getBiasAttr(), inputs, getType().getDimSize(1),
                         symbolTable);
}

LogicalResult RotateOp::verify() {
  // C1
  int64_t heads = getHeadsAttr().getInt(), width = getType().getDimSize(1);
  if (failed(verifyHeadsDivide(*this, heads, width))) {
    return failure();
  }
  // C2
  int64_t pairs = getCosine().getType().getDimSize(1);
  if (pairs > width / heads / 2) {
    return emitOpError("expects cosines of at most half the ")
           << width / heads << " columns of a head, got " << pairs;
  }
  return success();
}

// --- costs -----------------------------------------------------------------------------------

// Counts `flops` per row and key. If a row sees a bounded number of keys, counts that many per row.
static OperationFlops ofVisibleKeys(VisibilityAttr visibility, int64_t flops) {
  std::optional<int64_t> keys = visibility.getValue().span(1);
  return keys ? OperationFlops{.perRow = *keys * flops} : OperationFlops{.perRowAndKey = flops};
}

// Returns the flops of locations per row and key: those of the filters, and those of adding the
// lines to every column.
template <typename Op> static int64_t flopsOfLocations(Op op) {
  int64_t near = numbersNear(op).value_or(0), lines = near, ofFilters = 0;
  if (FlatSymbolRefAttr filters = op.getLocationFiltersAttr()) {
    auto parameter = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(op, filters);
    lines = parameter ? parameter.getTensorType().getDimSize(0) : near;
    ofFilters = 2 * near * lines;
  }
  return ofFilters + 2 * lines * op.getQuery().getType().getDimSize(1);
}

// Keys and values may have fewer heads, but every head of queries is multiplied.
OperationFlops AttentionOp::getFlops() {
  return ofVisibleKeys(getVisibility(),
                       2 * (getQuery().getType().getDimSize(1) + getType().getDimSize(1)) +
                           flopsOfLocations(*this));
}

OperationFlops AttentionWeightsOp::getFlops() {
  return ofVisibleKeys(getVisibility(),
                       2 * getQuery().getType().getDimSize(1) + flopsOfLocations(*this));
}

OperationFlops AttendOp::getFlops() {
  return ofVisibleKeys(getVisibility(), 2 * getType().getDimSize(1));
}

// Four products and two sums per pair.
OperationFlops RotateOp::getFlops() {
  return {.perRow = 6 * static_cast<int64_t>(getHeads()) * getCosine().getType().getDimSize(1)};
}

OperationFlops GroupedLinearOp::getFlops() {
  int64_t width = getType().getDimSize(1);
  int64_t inputs = getInput().getType().getDimSize(1) / static_cast<int64_t>(getGroups());
  return {.perRow = 2 * inputs * width + (getBias() ? width : 0)};
}
