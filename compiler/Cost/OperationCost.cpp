// SPDX-License-Identifier: Apache-2.0
///
/// Operations implement their cost per row; the segments that they and their operands name
/// determine the space of the rows.
#include "compiler/Cost/OperationCost.h"

#include "dialects/Transformer/Transformer.h"

#include <variant>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {
namespace {

RowSpace spaceOf(Value segments) {
  return rowsOfSegments(segments).space.value_or(RowSpace::tokens());
}

/// Returns the rows of the results of an operation, or an operand with the same rows.
std::variant<RowSpace, Value> rowsMade(Operation *operation) {
  if (auto pool = dyn_cast<PoolOp>(operation)) {
    return pool.getBlocks() ? spaceOf(pool.getBlocks()) : RowSpace::sequences();
  }
  if (auto slide = dyn_cast<SlideOp>(operation)) {
    return spaceOf(slide.getResultRows());
  }
  if (auto join = dyn_cast<JoinRowsOp>(operation)) {
    return spaceOf(join.getChoices()).base();
  }
  // Operations on rows and keys name the rows first. Softmax names only its keys.
  for (Value operand : operation->getOperands()) {
    if (isa<SegmentsType>(operand.getType()) && !isa<SoftmaxOp>(operation)) {
      return spaceOf(operand);
    }
  }
  for (Value operand : operation->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (type && !type.hasStaticShape()) {
      return operand;
    }
  }
  return RowSpace::tokens();
}

/// Returns the keys of an operation with rows and keys: the last segments that it names.
RowSpace keysOf(Operation *operation) {
  for (Value operand : llvm::reverse(operation->getOperands())) {
    if (isa<SegmentsType>(operand.getType())) {
      return spaceOf(operand);
    }
  }
  return RowSpace::tokens();
}

OperationFlops flopsOf(Operation *operation) {
  auto costs = llvm::dyn_cast<CostInterface>(operation);
  return costs ? costs.getFlops() : OperationFlops();
}

} // namespace

RowSpace rowsOf(Value value) {
  while (Operation *operation = value.getDefiningOp()) {
    std::variant<RowSpace, Value> made = rowsMade(operation);
    if (const auto *rows = std::get_if<RowSpace>(&made)) {
      return *rows;
    }
    value = std::get<Value>(made);
  }
  return RowSpace::tokens();
}

int64_t flopsPerRow(Operation *operation) { return flopsOf(operation).perRow; }

int64_t flopsPerToken(Operation *operation) {
  const int64_t perRow = flopsPerRow(operation);
  return perRow == 0 ? 0 : static_cast<int64_t>(rowsOf(operation->getResult(0)).perToken(perRow));
}

int64_t flopsPerTokenAndKey(Operation *operation) {
  const int64_t perRowAndKey = flopsOf(operation).perRowAndKey;
  return perRowAndKey == 0 ? 0 : flopsPerTokenAndKey(operation, perRowAndKey);
}

int64_t flopsPerTokenAndKey(Operation *operation, int64_t perRowAndKey) {
  const uint64_t perToken = rowsOf(operation->getResult(0)).perToken(perRowAndKey);
  return static_cast<int64_t>(keysOf(operation).perToken(perToken));
}

} // namespace heddle
