// SPDX-License-Identifier: Apache-2.0
///
/// Fuses linear maps of the same rows into one, in program order: a parameter expression
/// concatenates their weights, and their results are columns of one result.
///
/// Before:
///   %q = transformer.linear %x, @query.weight, @query.bias
///   %k = transformer.linear %x, @key.weight, @key.bias
/// After, with @query_key.weight = concat(@query.weight, @key.weight), and the biases likewise:
///   %qk = transformer.linear %x, @query_key.weight, @query_key.bias
///   %q = transformer.columns %qk from 0
///   %k = transformer.columns %qk from 384
///
/// This pays if the users read columns of wider rows in place, as attention, rotation and appending
/// to a cache do: the rows are then read once, and one large product keeps more threads busy than
/// several small ones. Any other user could be fused as the epilogue of its own map, or would need
/// its columns copied; such a map is not fused. Tested by
/// tests/compiler/Model/Rows/fuse-projections.mlir.
#include "compiler/Cost/OperationCost.h"
#include "compiler/Parameters/DerivedParameters.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_FUSEPROJECTIONSPASS
#include "compiler/Passes.h.inc"

namespace {

/// Returns the first user that cannot read columns of wider rows in place, null if all can.
Operation *findCopyingUser(LinearOp linear) {
  Operation *found = nullptr;
  for (Operation *user : linear->getUsers()) {
    // MLIR lists the last use first, so the last assignment is the first user in the program.
    found = isa<AppendOp, AttendOp, AttentionOp, AttentionWeightsOp, RotateOp>(user) ? found : user;
  }
  return found;
}

/// Concatenates parameters along their first axis.
FlatSymbolRefAttr concatenate(DerivedParameters &parameters, Location location,
                              ArrayRef<FlatSymbolRefAttr> symbols) {
  SmallVector<int64_t> shape(parameters.lookUp(symbols.front()).getTensorType().getShape());
  shape.front() = 0;
  for (FlatSymbolRefAttr symbol : symbols) {
    shape.front() += parameters.lookUp(symbol).getTensorType().getDimSize(0);
  }
  return parameters.derive(location, joinNames(symbols), ExpressionKind::Concat, symbols, shape);
}

/// Concatenates the biases of maps, with zeros for maps without one; null if none has a bias.
FlatSymbolRefAttr concatenateBiases(DerivedParameters &parameters, Location location,
                                    ArrayRef<LinearOp> linears) {
  if (llvm::none_of(linears, [](LinearOp linear) { return linear.getBiasAttr(); })) {
    return {};
  }
  SmallVector<FlatSymbolRefAttr> biases;
  for (LinearOp linear : linears) {
    FlatSymbolRefAttr bias = linear.getBiasAttr();
    if (!bias) {
      int64_t width = linear.getType().getDimSize(1);
      // Named after the weight: "self.key.weight.zeros" tells whose bias is missing.
      bias = parameters.derive(location, linear.getWeight().str() + ".zeros", ExpressionKind::Zeros,
                               {}, width);
    }
    biases.push_back(bias);
  }
  return concatenate(parameters, location, biases);
}

void fuse(DerivedParameters &parameters, ArrayRef<LinearOp> linears) {
  LinearOp first = linears.front();
  SmallVector<Location> locations;
  SmallVector<FlatSymbolRefAttr> weights;
  int64_t width = 0;
  for (LinearOp linear : linears) {
    locations.push_back(linear.getLoc());
    weights.push_back(linear.getWeightAttr());
    width += linear.getType().getDimSize(1);
  }
  int64_t inputWidth = first.getInput().getType().getDimSize(1);
  Location location = FusedLoc::get(first.getContext(), locations);
  // Each map except the first saves a read of the rows.
  reportTaken(
      location, passNames::fuseProjections,
      Twine(linears.size()) + " maps of the same rows, " + Twine(inputWidth) + " to " +
          Twine(width),
      {.activationBytesPerToken = int64_t(
           rowsOf(first.getInput()).perToken((linears.size() - 1) * inputWidth * sizeof(float)))});
  FlatSymbolRefAttr weight = concatenate(parameters, location, weights);
  FlatSymbolRefAttr bias = concatenateBiases(parameters, location, linears);
  OpBuilder builder(first);
  auto type =
      RankedTensorType::get({ShapedType::kDynamic, width}, first.getType().getElementType());
  auto fused = LinearOp::create(builder, location, type, first.getInput(), weight, bias);
  int64_t column = 0;
  for (LinearOp linear : linears) {
    auto columns = ColumnsOp::create(builder, linear.getLoc(), linear.getType(), fused,
                                     builder.getI64IntegerAttr(column));
    column += linear.getType().getDimSize(1);
    linear.getResult().replaceAllUsesWith(columns);
  }
  // Not earlier: the replacement is inserted at the first map.
  for (LinearOp linear : linears) {
    linear.erase();
  }
}

struct FuseProjectionsPass : impl::FuseProjectionsPassBase<FuseProjectionsPass> {
  using Base::Base;

  void runOnOperation() override {
    DerivedParameters parameters(getOperation());
    // A MapVector keeps program order. Keyed by block too: within one block the first map dominates
    // all uses of the others.
    llvm::MapVector<std::pair<Value, Block *>, SmallVector<LinearOp>> byRows;
    getOperation().walk([&](LinearOp linear) {
      byRows[{linear.getInput(), linear->getBlock()}].push_back(linear);
    });
    for (auto &[rows, linears] : byRows) {
      if (linears.size() < 2) {
        continue;
      }
      SmallVector<LinearOp> fusible;
      for (LinearOp linear : linears) {
        if (Operation *user = findCopyingUser(linear)) {
          reportDeclined(linear.getLoc(), passNames::fuseProjections,
                         "not fused: its columns would have to be copied for " + describe(user));
        } else {
          fusible.push_back(linear);
        }
      }
      if (fusible.size() >= 2) {
        fuse(parameters, fusible);
      } else if (fusible.size() == 1) {
        reportDeclined(fusible.front().getLoc(), passNames::fuseProjections,
                       "not fused: no other map of these rows can be");
      }
    }
  }
};

} // namespace
} // namespace heddle
