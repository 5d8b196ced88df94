// SPDX-License-Identifier: Apache-2.0
///
/// The view that splits rows into heads and merges them again, as axes or as rows of their own.
#include "dialects/Dataflow/Dataflow.h"

using namespace mlir;

namespace heddle::dataflow {

/// C1 and C2 for a view of a cache.
static LogicalResult verifyCaches(ReshapeOp op) {
  auto source = dyn_cast<CacheType>(op.getSource().getType());
  auto result = dyn_cast<CacheType>(op.getType());
  if (!source || !result || source.getLayout() != result.getLayout() ||
      source.getElementType() != result.getElementType()) {
    return op.emitOpError("expects two buffers or two caches of one element type and layout, got ")
           << op.getType() << " from " << op.getSource().getType();
  }
  if (source.getWidth() != result.getWidth()) {
    return op.emitOpError("expects as many elements a position as its source, got ")
           << result << " from " << source;
  }
  return success();
}

LogicalResult ReshapeOp::verify() {
  auto source = dyn_cast<BufferType>(getSource().getType());
  auto result = dyn_cast<BufferType>(getType());
  if (!source || !result) {
    return verifyCaches(*this);
  }
  // C1
  std::optional<RowSpace> from = source.getRowSpace(), to = result.getRowSpace();
  bool isDense = from && to && !source.getRowStride();
  bool isSplit = isDense && to->isSplit() && to->base() == *from;
  bool isJoined = isDense && from->isSplit() && from->base() == *to;
  if ((!isSplit && !isJoined && source.getShape().front() != result.getShape().front()) ||
      source.getElementType() != result.getElementType() ||
      source.getRowStride() != result.getRowStride()) {
    return emitOpError(
               "expects the first dimension, element type and row stride of its source, got ")
           << result << " from " << source;
  }
  // C2
  ArrayRef<int64_t> sourceRow = source.getShape().drop_front();
  ArrayRef<int64_t> resultRow = result.getShape().drop_front();
  if (!sourceRow.empty() && !resultRow.empty() && isLongest(sourceRow.back()) &&
      sourceRow.back() == resultRow.back()) {
    sourceRow = sourceRow.drop_back();
    resultRow = resultRow.drop_back();
  }
  int64_t sourceParts = isJoined ? from->parts() : 1, resultParts = isSplit ? to->parts() : 1;
  auto isConstant = [](int64_t dimension) { return dimension > 0; };
  if (!llvm::all_of(sourceRow, isConstant) || !llvm::all_of(resultRow, isConstant) ||
      sourceParts * source.getConstantElements() != resultParts * result.getConstantElements()) {
    return emitOpError("expects as many elements a row as its source, got ")
           << result << " from " << source;
  }
  return success();
}

} // namespace heddle::dataflow
