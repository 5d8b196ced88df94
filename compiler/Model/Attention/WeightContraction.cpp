// SPDX-License-Identifier: Apache-2.0
///
/// Classifies the letters of a contraction by their role.
#include "compiler/Model/Attention/WeightContraction.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

WeightView viewWeight(Value value, StringRef axes) {
  std::string letters = axes.str();
  while (auto transpose = value.getDefiningOp<TransposeOp>()) {
    std::string inner = letters;
    for (auto [axis, source] : llvm::enumerate(transpose.getPermutation())) {
      inner[source] = letters[axis];
    }
    letters = inner;
    value = transpose.getInput();
  }
  return {value.getDefiningOp<WeightOp>(), letters};
}

FailureOr<WeightContraction> matchWeightContraction(ContractOp contract, std::string &reason) {
  auto decline = [&](const Twine &text) {
    reason = text.str();
    return failure();
  };
  WeightView left = viewWeight(contract.getLhs(), contract.getLhsAxes());
  WeightView right = viewWeight(contract.getRhs(), contract.getRhsAxes());
  if (left.weight && right.weight) {
    return decline("both operands are weights");
  }
  StringRef result = contract.getResultAxes();
  const WeightView &view = left.weight ? left : right;
  WeightContraction map;
  map.weight = view.weight;
  map.rows = left.weight ? contract.getRhs() : contract.getLhs();
  map.rowsAxes = (left.weight ? contract.getRhsAxes() : contract.getLhsAxes()).str();
  StringRef weightAxes = view.axes;

  auto rowsType = cast<RankedTensorType>(map.rows.getType());
  if (rowsType.getNumDynamicDims() == 0) {
    return decline("the other operand has no rows");
  }
  if (rowsType.getNumDynamicDims() > 1) {
    return decline("the other operand has an entry for each pair of rows");
  }
  for (auto [axis, letter] : llvm::enumerate(map.rowsAxes)) {
    bool ofWeight = weightAxes.contains(letter);
    bool ofResult = result.contains(letter);
    if (rowsType.isDynamicDim(axis)) {
      map.row = letter;
      if (!ofResult) {
        return decline("it sums over the rows");
      }
    } else if (ofWeight && ofResult) {
      return decline("axis '" + Twine(letter) + "' has a map of its own for each index");
    } else if (!ofWeight) {
      return decline("axis '" + Twine(letter) + "' of the activations is not one of the weight");
    }
  }
  for (char letter : view.axes) {
    bool ofRows = StringRef(map.rowsAxes).contains(letter);
    if (!ofRows && !result.contains(letter)) {
      return decline("axis '" + Twine(letter) + "' is only one of the weight");
    }
    (ofRows ? map.summed : map.made) += letter;
  }
  if (map.summed.empty() || map.made.empty() || map.summed.size() > 2 || map.made.size() > 2) {
    return decline("it is not from one or two axes to one or two axes");
  }
  map.summedFirst = weightAxes == map.summed + map.made;
  map.summedBetween = map.summed.size() == 1 && map.made.size() == 2 &&
                      weightAxes == map.made.substr(0, 1) + map.summed + map.made.substr(1);
  if (!map.summedFirst && !map.summedBetween && weightAxes != map.made + map.summed) {
    return decline("the axes '" + weightAxes + "' of the weight do not lie as those of a matrix");
  }
  return map;
}

FlatSymbolRefAttr mapOfHeads(DerivedParameters &parameters, Location location, WeightOp weight,
                             ArrayRef<int64_t> order) {
  FlatSymbolRefAttr symbol = weight.getParameterAttr();
  RankedTensorType type = weight.getType();
  std::string name = symbol.getValue().str();
  int64_t heads = type.getDimSize(order[0]);
  int64_t made = type.getDimSize(order[1]);
  int64_t summed = type.getDimSize(order[2]);
  SmallVector<int64_t, 2> shape = {heads * made, summed};
  auto transpose = [&](FlatSymbolRefAttr matrix, ArrayRef<int64_t> transposed) {
    return parameters.derive(location, name + ".transposed", ExpressionKind::Transpose, matrix,
                             transposed);
  };
  if (order[2] == 2) {
    return parameters.derive(location, name + ".matrix", ExpressionKind::Reshape, symbol, shape);
  }
  if (order[2] == 0) {
    FlatSymbolRefAttr flat = parameters.derive(location, name + ".flat", ExpressionKind::Reshape,
                                               symbol, {summed, heads * made});
    return transpose(flat, shape);
  }
  // [head, summed, made]: transpose the matrix of each head.
  FlatSymbolRefAttr flat = parameters.derive(location, name + ".flat", ExpressionKind::Reshape,
                                             symbol, {heads * summed, made});
  SmallVector<FlatSymbolRefAttr> matrices;
  for (int64_t head = 0; head < heads; ++head) {
    FlatSymbolRefAttr rows = parameters.derive(location, name + ".head", ExpressionKind::Rows, flat,
                                               {summed, made}, {}, head * summed);
    matrices.push_back(transpose(rows, {made, summed}));
  }
  return parameters.derive(location, name + ".matrix", ExpressionKind::Concat, matrices, shape);
}

} // namespace heddle
