// SPDX-License-Identifier: Apache-2.0
///
/// Patterns of element-wise operations: the scalar maths of a kernel over rows, or of a loop nest
/// if the operands are not rows.
#include "compiler/Dataflow/Lowering/EntryContext.h"
#include "compiler/Dataflow/Lowering/ScalarMaths.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

/// Returns the axes of an element-wise operand relative to a first operand with axes `first`: the
/// same axes, those of a bias of scores for every head, trailing axes, or those of a single number,
/// per row or global. Empty if they do not match.
std::string operandAxes(BufferType first, StringRef firstAxes, BufferType other) {
  // An axis of size 1 that no other operand has.
  constexpr llvm::StringLiteral once = "z";
  if (other.getShape() == ArrayRef<int64_t>(1)) {
    return once.str();
  }
  if (other.getShape() == ArrayRef<int64_t>({first.getShape().front(), 1})) {
    return (firstAxes.take_front() + once).str();
  }
  size_t rank = other.getShape().size();
  if (rank > first.getShape().size()) {
    return {};
  }
  auto isSymbol = [](int64_t dimension) { return dimension < 0; };
  if (rank < first.getShape().size() && llvm::any_of(other.getShape(), isSymbol)) {
    // A bias of scores has t and k, in any position of the scores.
    std::string axes = axesOf(other);
    bool fits = llvm::all_of(llvm::zip_equal(axes, other.getShape()), [&](auto axis) {
      size_t position = firstAxes.find(std::get<0>(axis));
      return position != StringRef::npos && first.getShape()[position] == std::get<1>(axis);
    });
    return fits ? axes : std::string();
  }
  return first.getShape().take_back(rank) == other.getShape() ? firstAxes.take_back(rank).str()
                                                              : std::string();
}

/// Computes `epilogue` for each element, with a rows kernel if possible, else with a nest.
LogicalResult lowerElementwise(Operation *op, EntryContext &entry, StringRef stem,
                               ArrayRef<Value> operands, EpilogueBuilder epilogue) {
  auto first = cast<BufferType>(operands.front().getType());
  BufferType result = entry.denseBuffer(first.getShape());
  bool areRows = isRows(first) && llvm::all_of(operands.drop_front(), [&](Value operand) {
                   return cast<BufferType>(operand.getType()).broadcastsTo(first);
                 });
  if (areRows) {
    KernelParts parts;
    parts.stem = stem;
    parts.computes = RowsAttr::get(op->getContext(), first.getWidth());
    parts.inputs = {operands.front()};
    parts.elementwise.assign(operands.begin() + 1, operands.end());
    parts.results = {result};
    return entry.dispatch(op, parts, epilogue);
  }
  std::string axes = axesOf(first);
  std::string specification = axes;
  for (Value operand : operands.drop_front()) {
    auto type = cast<BufferType>(operand.getType());
    std::string others = operandAxes(first, axes, type);
    if (others.empty()) {
      return op->emitOpError("combines a buffer ") << type << " with rows of " << first;
    }
    specification += "," + others;
  }
  NestParts nest{stem, specification + "->" + axes, ReductionKind::None,
                 SmallVector<Value>(operands), result};
  return entry.nest(op, nest, epilogue);
}

LogicalResult lowerActivate(transformer::ActivateOp op, EntryContext &entry) {
  return lowerElementwise(
      op, entry, stringifyActivation(op.getFunction()), {entry.bufferOf(op.getInput())},
      [&](OpBuilder &region, Location location, ValueRange arguments) {
        return createActivation(region, location, op.getFunction(), arguments.front());
      });
}

LogicalResult lowerAdd(transformer::AddOp op, EntryContext &entry) {
  return lowerElementwise(op, entry, "add",
                          {entry.bufferOf(op.getLhs()), entry.bufferOf(op.getRhs())},
                          [](OpBuilder &region, Location location, ValueRange arguments) {
                            return createSum(region, location, arguments[0], arguments[1]);
                          });
}

LogicalResult lowerMultiply(transformer::MultiplyOp op, EntryContext &entry) {
  return lowerElementwise(op, entry, "multiply",
                          {entry.bufferOf(op.getLhs()), entry.bufferOf(op.getRhs())},
                          [](OpBuilder &region, Location location, ValueRange arguments) {
                            return createProduct(region, location, arguments[0], arguments[1]);
                          });
}

LogicalResult lowerCombine(transformer::CombineOp op, EntryContext &entry) {
  return lowerElementwise(op, entry, stringifyCombination(op.getFunction()),
                          {entry.bufferOf(op.getLhs()), entry.bufferOf(op.getRhs())},
                          [&](OpBuilder &region, Location location, ValueRange arguments) {
                            return createCombination(region, location, op.getFunction(),
                                                     arguments[0], arguments[1]);
                          });
}

LogicalResult lowerShift(transformer::ShiftOp op, EntryContext &entry) {
  return lowerElementwise(op, entry, "shift", {entry.bufferOf(op.getInput())},
                          [&](OpBuilder &region, Location location, ValueRange arguments) {
                            return createSum(region, location, arguments.front(),
                                             createNumber(region, location, op.getNumberAttr()));
                          });
}

LogicalResult lowerClamp(transformer::ClampOp op, EntryContext &entry) {
  return lowerElementwise(
      op, entry, "clamp", {entry.bufferOf(op.getInput())},
      [&](OpBuilder &region, Location location, ValueRange arguments) {
        Value least = createNumber(region, location, op.getLeastAttr());
        Value most = createNumber(region, location, op.getMostAttr());
        Value above = createCombination(region, location, transformer::Combination::Maximum,
                                        arguments.front(), least);
        return createCombination(region, location, transformer::Combination::Minimum, above, most);
      });
}

LogicalResult lowerScale(transformer::ScaleOp op, EntryContext &entry) {
  return lowerElementwise(op, entry, "scale", {entry.bufferOf(op.getInput())},
                          [&](OpBuilder &region, Location location, ValueRange arguments) {
                            return createProduct(
                                region, location, arguments.front(),
                                createNumber(region, location, op.getFactorAttr()));
                          });
}

} // namespace

template <> Pattern patternOf<transformer::ActivateOp>() {
  return rowPattern<transformer::ActivateOp, lowerActivate>();
}

template <> Pattern patternOf<transformer::AddOp>() {
  return rowPattern<transformer::AddOp, lowerAdd>();
}

template <> Pattern patternOf<transformer::MultiplyOp>() {
  return rowPattern<transformer::MultiplyOp, lowerMultiply>();
}

template <> Pattern patternOf<transformer::CombineOp>() {
  return rowPattern<transformer::CombineOp, lowerCombine>();
}

template <> Pattern patternOf<transformer::ScaleOp>() {
  return rowPattern<transformer::ScaleOp, lowerScale>();
}

template <> Pattern patternOf<transformer::ShiftOp>() {
  return rowPattern<transformer::ShiftOp, lowerShift>();
}

template <> Pattern patternOf<transformer::ClampOp>() {
  return rowPattern<transformer::ClampOp, lowerClamp>();
}

} // namespace heddle
