// SPDX-License-Identifier: Apache-2.0
///
/// Counts by operation; views, look-ups and masks compute nothing.
#include "compiler/Cost/OperationCost.h"

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

/// The columns of rows.
static int64_t widthOf(Value rows) { return cast<RankedTensorType>(rows.getType()).getDimSize(1); }

/// Two for each combination of the constant axes of a contraction that has keys.
static int64_t keyProducts(ContractOp contract) {
  if (contract.getSegments().empty()) {
    return 0;
  }
  int64_t products = 1;
  auto multiply = [&](StringRef axes, RankedTensorType type, StringRef counted) {
    for (auto [letter, size] : llvm::zip_equal(axes, type.getShape())) {
      products *= counted.contains(letter) || ShapedType::isDynamic(size) ? 1 : size;
    }
  };
  multiply(contract.getLhsAxes(), contract.getLhs().getType(), "");
  multiply(contract.getRhsAxes(), contract.getRhs().getType(), contract.getLhsAxes());
  return 2 * products;
}

int64_t flopsPerToken(Operation *operation) {
  return llvm::TypeSwitch<Operation *, int64_t>(operation)
      .Case<LinearOp>([](LinearOp linear) {
        int64_t width = linear.getType().getDimSize(1);
        return 2 * linear.getInput().getType().getDimSize(1) * width +
               (linear.getBias() ? width : 0);
      })
      .Case<GroupedLinearOp>([](GroupedLinearOp linear) {
        int64_t width = linear.getType().getDimSize(1);
        int64_t groups = linear.getGroups();
        return 2 * (linear.getInput().getType().getDimSize(1) / groups) * width +
               (linear.getBias() ? width : 0);
      })
      .Case<AddOp, MultiplyOp, ScaleOp, ActivateOp, LayerNormOp, RmsNormOp, NormalizeOp>(
          [](Operation *elementWise) { return elementsPerRow(elementWise); })
      .Default([](Operation *) { return int64_t(0); });
}

int64_t flopsPerTokenAndKey(Operation *operation) {
  return llvm::TypeSwitch<Operation *, int64_t>(operation)
      .Case<AttentionOp>([](AttentionOp attention) {
        // Keys and values may have fewer heads; every head of queries is a product.
        return 2 * (widthOf(attention.getQuery()) + widthOf(attention.getResult()));
      })
      .Case<AttentionWeightsOp>(
          [](AttentionWeightsOp weights) { return 2 * widthOf(weights.getQuery()); })
      .Case<AttendOp>([](AttendOp attend) { return 2 * widthOf(attend.getResult()); })
      .Case<ContractOp>([](ContractOp contract) { return keyProducts(contract); })
      .Default([](Operation *) { return int64_t(0); });
}

} // namespace heddle
