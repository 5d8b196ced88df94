// SPDX-License-Identifier: Apache-2.0
///
/// Counts by operation; views, look-ups and masks compute nothing.
#include "compiler/Transforms/OperationCost.h"

#include "dialects/Transformer/Transformer.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

/// Elements of one row of a result, 0 if they depend on the length of the sequence.
static int64_t elementsPerRow(Operation *operation) {
  auto type = cast<RankedTensorType>(operation->getResult(0).getType());
  ArrayRef<int64_t> sizes = type.getShape();
  if (sizes.empty() || type.getNumDynamicDims() != 1 || !type.isDynamicDim(0)) {
    return 0;
  }
  return ShapedType::getNumElements(sizes.drop_front());
}

int64_t flopsPerToken(Operation *operation) {
  return llvm::TypeSwitch<Operation *, int64_t>(operation)
      .Case<LinearOp>([](LinearOp linear) {
        int64_t width = linear.getType().getDimSize(1);
        return 2 * linear.getInput().getType().getDimSize(1) * width +
               (linear.getBias() ? width : 0);
      })
      .Case<AddOp, MultiplyOp, ScaleOp, ActivateOp, LayerNormOp, RmsNormOp, NormalizeOp>(
          [](Operation *elementWise) { return elementsPerRow(elementWise); })
      .Default([](Operation *) { return int64_t(0); });
}

} // namespace heddle
