// SPDX-License-Identifier: Apache-2.0
///
/// The view that splits heads from rows and merges them again.
#include "dialects/Dataflow/Dataflow.h"

using namespace mlir;

namespace heddle::dataflow {

LogicalResult ReshapeOp::verify() {
  BufferType source = getSource().getType();
  BufferType result = getResult().getType();
  // C1
  if (source.getShape().front() != result.getShape().front() ||
      source.getElementType() != result.getElementType() ||
      source.getRowStride() != result.getRowStride()) {
    return emitOpError(
               "expects the first dimension, element type and row stride of its source, got ")
           << result << " from " << source;
  }
  // C2
  auto isConstant = [](int64_t dimension) { return dimension > 0; };
  if (!llvm::all_of(source.getShape().drop_front(), isConstant) ||
      !llvm::all_of(result.getShape().drop_front(), isConstant) ||
      source.getConstantElements() != result.getConstantElements()) {
    return emitOpError("expects as many elements a row as its source, got ")
           << result << " from " << source;
  }
  return success();
}

} // namespace heddle::dataflow
