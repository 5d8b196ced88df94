// SPDX-License-Identifier: Apache-2.0
///
/// Verification of what passes make of primitive mathematics.
#include "dialects/Transformer/ParameterChecks.h"

#include <cmath>

using namespace mlir;
using namespace heddle::transformer;

LogicalResult AttentionOp::verify() {
  int64_t queryWidth = getQuery().getType().getDimSize(1);
  int64_t keyWidth = getKey().getType().getDimSize(1);
  int64_t valueWidth = getValue().getType().getDimSize(1);
  int64_t heads = getHeadsAttr().getInt();
  // C1
  for (int64_t width : {queryWidth, keyWidth, valueWidth}) {
    if (heads < 1 || width % heads != 0) {
      return emitOpError("expects heads to divide the widths, got ") << heads << " and " << width;
    }
  }
  // C2
  if (queryWidth != keyWidth) {
    return emitOpError("expects queries and keys of one width, got ")
           << queryWidth << " and " << keyWidth;
  }
  if (getType().getDimSize(1) != valueWidth) {
    return emitOpError("expects a result of width ")
           << valueWidth << ", that of the values, got " << getType().getDimSize(1);
  }
  // C3
  if (!getScale().isFiniteNonZero()) {
    return emitOpError("expects a scale that is finite and not zero, got ") << getScaleAttr();
  }
  return success();
}

LogicalResult AttentionOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  // C4
  if (!getBiasAttr()) {
    return success();
  }
  return verifyDistanceTable(*this, getBiasAttr(), getHeadsAttr().getInt(), symbolTable);
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
