// SPDX-License-Identifier: Apache-2.0
///
/// Rewrites contractions of rows with a weight as linear maps of merged rows, reshaping the weight
/// by a parameter expression, and folds a following bias into the map.
///
/// Before:
///   %w = transformer.weight @W : tensor<12x32x384xf32>
///   %b = transformer.weight @B : tensor<12x32xf32>
///   %c = transformer.contract "tm,hdm->thd" %x, %w
///   %q = transformer.add %c, %b
/// After:
///   transformer.parameter @W.matrix : tensor<384x384xf32> = reshape(@W)
///   transformer.parameter @B.vector : tensor<384xf32> = reshape(@B)
///   %l = transformer.linear %x, @W.matrix, @B.vector
///   %q = transformer.split_heads %l
///
/// Tested by tests/compiler/Model/Attention/normalize-heads.mlir.
#include "compiler/Cost/OperationCost.h"
#include "compiler/Model/Attention/HeadLayout.h"
#include "compiler/Model/Attention/WeightContraction.h"
#include "compiler/Model/Cleanup/EraseUnused.h"
#include "compiler/Parameters/DerivedParameters.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_NORMALIZEHEADSPASS
#include "compiler/Passes.h.inc"

namespace {

/// Returns the axis in `axes` of each letter of `wanted`.
SmallVector<int64_t> axesOf(StringRef wanted, StringRef axes) {
  SmallVector<int64_t> order;
  for (char letter : wanted) {
    order.push_back(axes.find(letter));
  }
  return order;
}

std::string printSizes(ArrayRef<int64_t> sizes) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(sizes, stream, "x");
  return text;
}

/// Derives the parameter of a map as a matrix [made, summed].
FlatSymbolRefAttr toMatrix(DerivedParameters &parameters, const WeightContraction &map,
                           int64_t made, int64_t summed) {
  WeightOp weight = map.weight;
  FlatSymbolRefAttr symbol = weight.getParameterAttr();
  std::string name = symbol.getValue().str();
  Location location = parameters.lookUp(symbol).getLoc();
  if (map.summedBetween) {
    return mapOfHeads(parameters, location, weight, {0, 2, 1});
  }
  SmallVector<int64_t, 2> shape = {made, summed};
  SmallVector<int64_t, 2> stored = map.summedFirst ? SmallVector<int64_t, 2>{summed, made} : shape;
  if (weight.getType().getRank() != 2) {
    symbol = parameters.derive(location, name + (map.summedFirst ? ".flat" : ".matrix"),
                               ExpressionKind::Reshape, symbol, stored);
  }
  if (map.summedFirst) {
    symbol =
        parameters.derive(location, name + ".matrix", ExpressionKind::Transpose, symbol, shape);
  }
  return symbol;
}

void rewrite(DerivedParameters &parameters, ContractOp contract, const WeightContraction &map) {
  OpBuilder builder(contract);
  Location location = contract.getLoc();
  auto rowsType = cast<RankedTensorType>(map.rows.getType());
  RankedTensorType resultType = contract.getType();
  SmallVector<int64_t> summedSizes;
  SmallVector<int64_t> madeSizes;
  for (int64_t axis : axesOf(map.summed, map.rowsAxes)) {
    summedSizes.push_back(rowsType.getDimSize(axis));
  }
  for (int64_t axis : axesOf(map.made, contract.getResultAxes())) {
    madeSizes.push_back(resultType.getDimSize(axis));
  }
  reportTaken(location, passNames::normalizeHeads,
              "a linear map of " + printSizes(summedSizes) + " to " + printSizes(madeSizes));

  std::string row(1, map.row);
  Value rows = transposed(builder, location, map.rows, axesOf(row + map.summed, map.rowsAxes));
  if (map.summed.size() == 2) {
    rows = mergedHeads(builder, location, rows);
  }
  int64_t made = ShapedType::getNumElements(madeSizes);
  FlatSymbolRefAttr matrix =
      toMatrix(parameters, map, made, ShapedType::getNumElements(summedSizes));
  auto type = RankedTensorType::get({ShapedType::kDynamic, made}, resultType.getElementType());
  Value result = LinearOp::create(builder, location, type, rows, matrix, FlatSymbolRefAttr());
  if (map.made.size() == 2) {
    result = splitHeads(builder, location, result, madeSizes[0], madeSizes[1]);
  }
  result = transposed(builder, location, result, axesOf(contract.getResultAxes(), row + map.made));
  contract.getResult().replaceAllUsesWith(result);
  eraseUnused(contract);
}

/// Rewrites `contract` as a linear map per group if it is one: "tgd,gnd->tgn". The weight becomes
/// one matrix of all groups. Keys `k` may be positions of a cache, which stay in it.
bool rewriteGroups(DerivedParameters &parameters, ContractOp contract) {
  bool isLeft = static_cast<bool>(viewWeight(contract.getLhs(), contract.getLhsAxes()).weight);
  WeightView weight = isLeft ? viewWeight(contract.getLhs(), contract.getLhsAxes())
                             : viewWeight(contract.getRhs(), contract.getRhsAxes());
  Value rows = isLeft ? contract.getRhs() : contract.getLhs();
  StringRef rowsAxes = isLeft ? contract.getRhsAxes() : contract.getLhsAxes();
  StringRef result = contract.getResultAxes();
  auto type = cast<RankedTensorType>(rows.getType());
  if (!weight.weight || weight.axes.size() != 3 || rowsAxes.size() != 3 || result.size() != 3 ||
      !type.isDynamicDim(0) || type.getNumDynamicDims() != 1) {
    return false;
  }
  if (rowsAxes[0] == 'k') {
    return false;
  }
  char group = weight.axes[0], made = weight.axes[1], summed = weight.axes[2];
  if (rowsAxes != std::string{rowsAxes[0], group, summed} ||
      result != std::string{rowsAxes[0], group, made}) {
    return false;
  }
  OpBuilder builder(contract);
  Location location = contract.getLoc();
  ArrayRef<int64_t> sizes = weight.weight.getType().getShape();
  FlatSymbolRefAttr matrix = mapOfHeads(parameters, location, weight.weight, {0, 1, 2});
  reportTaken(location, passNames::normalizeHeads,
              "a linear map of each of " + std::to_string(sizes[0]) + " groups, " +
                  printSizes({sizes[2]}) + " to " + printSizes({sizes[1]}));
  Value merged = mergedHeads(builder, location, rows);
  auto mappedType =
      RankedTensorType::get({ShapedType::kDynamic, sizes[0] * sizes[1]}, type.getElementType());
  Value mapped = GroupedLinearOp::create(builder, location, mappedType, merged, matrix,
                                         FlatSymbolRefAttr(), builder.getI64IntegerAttr(sizes[0]));
  contract.getResult().replaceAllUsesWith(
      splitHeads(builder, location, mapped, sizes[0], sizes[1]));
  eraseUnused(contract);
  return true;
}

/// A linear map without a bias behind views, each used once.
struct PlainMap {
  LinearOp linear;
  /// The letters of the map's axes: row, then one or two of the columns.
  std::string axes;
};

PlainMap matchPlainMap(Value value, StringRef letters) {
  PlainMap map;
  std::string axes = letters.str();
  while (value.hasOneUse()) {
    if (auto transpose = value.getDefiningOp<TransposeOp>()) {
      std::string inner = axes;
      for (auto [axis, source] : llvm::enumerate(transpose.getPermutation())) {
        inner[source] = axes[axis];
      }
      axes = inner;
      value = transpose.getInput();
    } else if (auto split = value.getDefiningOp<SplitHeadsOp>()) {
      value = split.getInput();
    } else {
      auto linear = value.getDefiningOp<LinearOp>();
      return {linear && !linear.getBias() ? linear : LinearOp(), axes};
    }
  }
  return map;
}

/// Makes the weight of `add` the bias of the map before it and returns an empty string, or returns
/// the first condition that did not hold.
std::string foldBias(DerivedParameters &parameters, AddOp add) {
  // The axis of the rows, then those of the columns; the letters are arbitrary.
  StringRef letters = StringRef("tab").take_front(add.getType().getRank());
  WeightView bias = viewWeight(add.getRhs(), letters.drop_front());
  PlainMap map = matchPlainMap(add.getLhs(), letters);
  if (!map.linear) {
    return "the sum is not that of a linear map without a bias";
  }
  assert(map.axes.front() == letters.front() && "a weight's axes are static, so the rows lead");
  FlatSymbolRefAttr symbol = bias.weight.getParameterAttr();
  ParameterOp parameter = parameters.lookUp(symbol);
  std::string name = symbol.getValue().str();
  RankedTensorType type = parameter.getTensorType();
  Location location = parameter.getLoc();
  if (StringRef(map.axes).drop_front() != bias.axes) {
    symbol = parameters.derive(location, name + ".transposed", ExpressionKind::Transpose, symbol,
                               {type.getDimSize(1), type.getDimSize(0)});
  }
  if (type.getRank() != 1) {
    symbol = parameters.derive(location, name + ".vector", ExpressionKind::Reshape, symbol,
                               type.getNumElements());
  }
  // The result before the bias is no longer written and read.
  reportTaken(add.getLoc(), passNames::normalizeHeads,
              "the bias of a linear map of " + printSizes(type.getShape()),
              {.activationBytesPerToken =
                   int64_t(rowsOf(add).perToken(2 * type.getNumElements() * sizeof(float)))});
  map.linear.setBiasAttr(symbol);
  map.linear->setLoc(FusedLoc::get(add.getContext(), {map.linear->getLoc(), add.getLoc()}));
  add.getResult().replaceAllUsesWith(add.getLhs());
  eraseUnused(add);
  return {};
}

struct NormalizeHeadsPass : impl::NormalizeHeadsPassBase<NormalizeHeadsPass> {
  using Base::Base;

  void runOnOperation() override {
    DerivedParameters parameters(getOperation());
    SmallVector<ContractOp> contractions;
    SmallVector<AddOp> sums;
    getOperation().walk([&](Operation *op) {
      if (auto contract = dyn_cast<ContractOp>(op)) {
        if (viewWeight(contract.getLhs(), contract.getLhsAxes()).weight ||
            viewWeight(contract.getRhs(), contract.getRhsAxes()).weight) {
          contractions.push_back(contract);
        }
      } else if (auto add = dyn_cast<AddOp>(op)) {
        // There is a bias for every column: weights with fewer axes are not candidates.
        int64_t rank = add.getRhs().getType().getRank();
        StringRef letters = StringRef("abc").take_front(rank);
        if (rank <= 2 && rank + 1 == add.getType().getRank() &&
            viewWeight(add.getRhs(), letters).weight) {
          sums.push_back(add);
        }
      }
    });
    for (ContractOp contract : contractions) {
      if (rewriteGroups(parameters, contract)) {
        continue;
      }
      std::string reason;
      FailureOr<WeightContraction> map = matchWeightContraction(contract, reason);
      if (failed(map)) {
        reportDeclined(contract.getLoc(), passNames::normalizeHeads, "not a linear map: " + reason);
        continue;
      }
      rewrite(parameters, contract, *map);
    }
    // Cancelling views leaves the map directly before its bias.
    simplifyLayouts(getOperation());
    for (AddOp add : sums) {
      std::string reason = foldBias(parameters, add);
      if (!reason.empty()) {
        reportDeclined(add.getLoc(), passNames::normalizeHeads, "not a bias: " + reason);
      }
    }
    simplifyLayouts(getOperation());
  }
};

} // namespace
} // namespace heddle
