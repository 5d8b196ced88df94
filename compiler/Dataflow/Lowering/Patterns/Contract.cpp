// SPDX-License-Identifier: Apache-2.0
///
/// The pattern of contractions over heads, a loop nest that reads caches in any layout.
#include "compiler/Dataflow/Lowering/EntryContext.h"
#include "compiler/Dataflow/Lowering/ScalarMaths.h"

#include <array>

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

/// The letters of a contraction's operands, in the order of their buffers, and of its result.
struct ContractAxes {
  std::array<std::string, 2> operands;
  std::string result;
};

/// Returns a specification in which the result's rows are `t`. If a result has keys but no rows,
/// the kernel computes the keys as its rows: t and k are swapped.
std::string withRows(StringRef axes) {
  StringRef result = axes.split("->").second;
  std::string renamed = axes.str();
  if (result.contains('k') && !result.contains('t')) {
    for (char &axis : renamed) {
      axis = axis == 't' ? 'k' : axis == 'k' ? 't' : axis;
    }
  }
  return renamed;
}

/// Returns the dimensions of a buffer, or of the positions of a cache as keys.
SmallVector<int64_t> shapeOf(Value buffer) {
  auto cache = dyn_cast<CacheType>(buffer.getType());
  if (!cache) {
    return SmallVector<int64_t>(cast<BufferType>(buffer.getType()).getShape());
  }
  SmallVector<int64_t> shape = {longestDimension};
  llvm::append_range(shape, cache.getShape());
  return shape;
}

/// Returns the run-time dimension of an axis of a contraction's result, from the operand that has
/// it.
int64_t resultDimension(char axis, const ContractAxes &axes, ArrayRef<Value> operands) {
  bool isLongest = axis == 'k' && StringRef(axes.result).contains('t');
  for (auto [letters, operand] : llvm::zip_equal(axes.operands, operands)) {
    size_t position = letters.find(axis);
    if (position == std::string::npos) {
      continue;
    }
    return RowDimension{*spaceOfDimension(shapeOf(operand)[position]), isLongest}.number();
  }
  llvm_unreachable("an axis of the result is one of an operand");
}

/// Returns the axes of an operand in the order of its buffer.
std::string bufferAxes(StringRef axes, const CacheView *view) {
  std::string reordered = axes.str();
  if (view) {
    for (auto [axis, place] : llvm::zip(axes, view->order)) {
      reordered[place] = axis;
    }
  }
  return reordered;
}

/// Returns how often a sum over an axis includes each head of a cache with shared heads. 1 if the
/// other operand or the result has the axis: then the nest knows its size and runs over all heads.
int64_t timesSummed(transformer::ContractOp op, EntryContext &entry, const ContractAxes &axes) {
  for (auto [number, value] : llvm::enumerate(op.getOperands().take_front(2))) {
    const CacheView *view = entry.viewOf(value);
    if (!view || view->repeats == 0) {
      continue;
    }
    // A position of the cache is [heads, size]: the head axis follows that of the keys.
    char head = axes.operands[number][1];
    bool isKnown = StringRef(axes.operands[1 - number]).contains(head) ||
                   StringRef(axes.result).contains(head);
    return isKnown ? 1 : view->repeats;
  }
  return 1;
}

/// Fails if an operand's rows or keys are not those of the segments, or of each other.
LogicalResult checkSpaces(transformer::ContractOp op, EntryContext &entry) {
  llvm::SmallDenseMap<char, RowSpace> spaces;
  for (auto [axis, segments] : llvm::zip(StringRef("tk"), op.getSegments())) {
    if (std::optional<RowSpace> space = entry.spaceOf(segments)) {
      spaces.try_emplace(axis, *space);
    }
  }
  StringRef letters[] = {op.getLhsAxes(), op.getRhsAxes()};
  for (auto [axes, value] : llvm::zip_equal(letters, op.getOperands().take_front(2))) {
    auto type = dyn_cast<BufferType>(entry.bufferOf(value).getType());
    for (auto [axis, size] : llvm::zip(axes, type ? type.getShape() : ArrayRef<int64_t>())) {
      std::optional<RowSpace> space = spaceOfDimension(size);
      if (!space) {
        continue;
      }
      RowSpace expected = spaces.try_emplace(axis, *space).first->second;
      if (expected != *space) {
        return op.emitOpError("has an axis '") << axis << "' over rows of " << space->text()
                                               << ", expected rows of " << expected.text();
      }
    }
  }
  return success();
}

/// Fails if a cache is not read as keys, or if the keys are rows and not the cache that has them.
LogicalResult checkContracted(transformer::ContractOp op, EntryContext &entry,
                              const ContractAxes &axes, ArrayRef<Value> operands) {
  FailureOr<Value> keys = entry.keysOf(op);
  if (failed(keys)) {
    return failure();
  }
  bool hasRows = llvm::any_of(axes.operands, [](StringRef each) { return each.contains('t'); });
  for (auto [letters, operand] : llvm::zip_equal(axes.operands, operands)) {
    bool areKeys = StringRef(letters).starts_with("k") && hasRows;
    if (isa<CacheType>(operand.getType()) && !areKeys) {
      return op.emitOpError("reads a cache by '")
             << op.getAxes() << "', expected its rows to be keys 'k' of rows 't'";
    }
  }
  if (failed(checkSpaces(op, entry))) {
    return failure();
  }
  for (auto [letters, operand] : llvm::zip_equal(axes.operands, operands)) {
    size_t key = letters.find('k');
    if (*keys && key != std::string::npos && !isLongest(shapeOf(operand)[key])) {
      return op.emitOpError("has keys that are rows, expected those of a cache");
    }
  }
  return success();
}

LogicalResult lowerContract(transformer::ContractOp op, EntryContext &entry) {
  std::string renamed = withRows(op.getAxes());
  auto [inputAxes, resultAxes] = StringRef(renamed).split("->");
  auto [left, right] = inputAxes.split(',');
  ContractAxes axes;
  axes.operands = {bufferAxes(left, entry.viewOf(op.getLhs())),
                   bufferAxes(right, entry.viewOf(op.getRhs()))};
  axes.result = resultAxes.str();
  SmallVector<Value> operands = {entry.bufferOf(op.getLhs()), entry.bufferOf(op.getRhs())};
  if (failed(checkContracted(op, entry, axes, operands))) {
    return failure();
  }
  SmallVector<int64_t> shape;
  for (auto [axis, size] : llvm::zip_equal(axes.result, op.getType().getShape())) {
    shape.push_back(ShapedType::isDynamic(size) ? resultDimension(axis, axes, operands) : size);
  }
  int64_t times = timesSummed(op, entry, axes);
  NestParts nest{"contract_heads", axes.operands[0] + "," + axes.operands[1] + "->" + axes.result,
                 ReductionKind::Sum, operands, entry.denseBuffer(shape)};
  return entry.nest(op, nest, [&](OpBuilder &region, Location location, ValueRange arguments) {
    Value product = createProduct(region, location, arguments[0], arguments[1]);
    return times == 1 ? product
                      : createProduct(region, location, product,
                                      createNumber(region, location, static_cast<double>(times)));
  });
}

} // namespace

template <> Pattern patternOf<transformer::ContractOp>() {
  return {NamedSegments::RowsAndKeys, CachePositions::contracts(), LoweringOrder::InPlace,
          lowerAs<transformer::ContractOp, lowerContract>};
}

} // namespace heddle
