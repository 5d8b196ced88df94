// SPDX-License-Identifier: Apache-2.0
///
/// Matches weights of each row and key that are not directly the result of a softmax, at the
/// contraction that sums values with them. A kernel needs them in row order, with the keys of a row
/// adjacent.
#include "compiler/Model/Attention/AttentionMatch.h"

#include "llvm/ADT/SetVector.h"

#include <tuple>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

bool areOfRowsFirst(Value numbers) {
  // No model has more.
  constexpr size_t most = 64;
  llvm::SmallSetVector<Value, 8> seen;
  seen.insert(numbers);
  for (size_t next = 0; next < seen.size(); ++next) {
    Operation *producer = seen[next].getDefiningOp();
    auto contract = dyn_cast_if_present<ContractOp>(producer);
    bool isTurned = contract && (contract.getResultAxes().front() != 't' ||
                                 contract.getResultAxes().back() != 'k');
    if (isTurned || isa_and_nonnull<TransposeOp>(producer) || seen.size() > most) {
      return false;
    }
    // Other operations keep the order of operands of the same type.
    for (Value operand : contract || !producer ? ValueRange() : producer->getOperands()) {
      if (operand.getType() == numbers.getType()) {
        seen.insert(operand);
      }
    }
  }
  return true;
}

/// Returns the operand of a contraction that is weights [t, h, k], in this order, summed over the
/// keys; null if there is none.
static Value weightsOf(ContractOp contract) {
  for (auto [value, axes, others] :
       {std::tuple(contract.getLhs(), contract.getLhsAxes(), contract.getRhsAxes()),
        std::tuple(contract.getRhs(), contract.getRhsAxes(), contract.getLhsAxes())}) {
    auto type = cast<RankedTensorType>(value.getType());
    bool areWeights =
        axes.size() == 3 && axes.front() == 't' && axes.back() == 'k' && !type.isDynamicDim(1);
    StringRef result = contract.getResultAxes();
    if (areWeights && result.contains('t') && !result.contains('k') && others.contains('k') &&
        !others.contains('t')) {
      return value;
    }
  }
  return {};
}

Value changedWeights(ContractOp contract) {
  Value weights = weightsOf(contract);
  Operation *producer = weights ? weights.getDefiningOp() : nullptr;
  // The pass has already reported why the softmax's weights are not an attention.
  auto ofPairs = dyn_cast_if_present<AttentionWeightsOp>(producer);
  bool isOther = isa_and_present<SoftmaxOp>(producer) || (ofPairs && !ofPairs.getRaw());
  return isOther ? Value() : weights;
}

} // namespace heddle
