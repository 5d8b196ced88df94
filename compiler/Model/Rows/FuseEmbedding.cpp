// SPDX-License-Identifier: Apache-2.0
///
/// Fuses sums of table look-ups and their layer norm into one operation, which applies the norm
/// while the rows are in registers.
///
/// Before:
///   %w = transformer.gather @word[%ids]
///   %s = transformer.gather @segment[%types]
///   %i = transformer.positions %rows
///   %p = transformer.gather @position[%i]
///   %a = transformer.add %w, %s
///   %b = transformer.add %a, %p
///   %n = transformer.layer_norm %b, @weight, @bias {epsilon = 1.0e-12 : f32}
/// After:
///   %n = transformer.embed [@word, @segment, @position] ids(%ids, %types) positions(%rows)
///            {norm_weight = @weight, norm_bias = @bias, epsilon = ..., position_offsets = [0]}
///
/// A look-up by ids may be multiplied by a number, as in "Attention is all you need": it becomes
/// one of `scales`. Look-ups by position have no factors, and one operation numbers the rows of one
/// segmentation: others are not fused. Tables are summed left to right as written, those by
/// position last, as in BERT. Any other order or nesting changes the rounding, by one ulp per
/// table. Tested by tests/compiler/Model/Rows/fuse-embedding.mlir.
#include "compiler/Cost/OperationCost.h"
#include "compiler/Model/Cleanup/EraseUnused.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_FUSEEMBEDDINGPASS
#include "compiler/Passes.h.inc"

namespace {

/// Rows of a table, multiplied by a number.
struct LookUp {
  GatherOp gather;
  float scale = 1.0F;
};

/// Returns the positions that index a look-up; null if it is indexed by ids.
PositionsOp positionsOf(GatherOp gather) { return gather.getIds().getDefiningOp<PositionsOp>(); }

/// Returns the look-up that `value` is; its gather is null if it is none.
LookUp lookUpOf(Value value) {
  auto scale = value.getDefiningOp<ScaleOp>();
  if (!scale) {
    return {value.getDefiningOp<GatherOp>()};
  }
  auto gather = scale.getInput().getDefiningOp<GatherOp>();
  // A factor of zero would make the table unused, which this pass does not handle.
  bool isFactor = gather && scale.getInput().hasOneUse() && scale.getFactor().isNonZero() &&
                  (!positionsOf(gather) || scale.getFactor().isExactlyValue(1));
  return {isFactor ? gather : GatherOp(), scale.getFactor().convertToFloat()};
}

/// The sums of a program that consist only of look-ups, found in program order. A sum may have as
/// many look-ups as the program has operations, so neither finding nor reading one recurses.
class LookUpSums {
public:
  explicit LookUpSums(ModuleOp module) {
    module.walk([&](AddOp add) {
      if (contains(add.getLhs()) && contains(add.getRhs()) && !numbersDifferentRows(add)) {
        Value left = rowsOf(add.getLhs());
        sums[add] = left ? left : rowsOf(add.getRhs());
      }
    });
  }

  bool isSum(AddOp add) const { return sums.contains(add); }
  /// Returns whether `value` is a look-up or a sum of look-ups only, used once.
  bool contains(Value value) const {
    if (!value.hasOneUse()) {
      return false;
    }
    auto add = value.getDefiningOp<AddOp>();
    return add ? isSum(add) : lookUpOf(value).gather != nullptr;
  }
  /// Returns whether an addition of two such values has look-ups by positions of different rows.
  bool numbersDifferentRows(AddOp add) const {
    Value left = rowsOf(add.getLhs()), right = rowsOf(add.getRhs());
    return left && right && !areSameSegments(left, right);
  }

private:
  /// Returns the segments whose positions index look-ups in a sum; null if there are none.
  Value rowsOf(Value value) const {
    if (auto add = value.getDefiningOp<AddOp>()) {
      return sums.lookup(add);
    }
    PositionsOp positions = positionsOf(lookUpOf(value).gather);
    return positions ? positions.getRows() : Value();
  }

  llvm::DenseMap<Operation *, Value> sums;
};

/// Returns the look-ups of a sum, left to right.
SmallVector<LookUp> collectLookUps(Value sum) {
  SmallVector<LookUp> lookUps;
  SmallVector<Value> open = {sum};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (auto add = value.getDefiningOp<AddOp>()) {
      open.append({add.getRhs(), add.getLhs()});
    } else {
      lookUps.push_back(lookUpOf(value));
    }
  }
  return lookUps;
}

/// The operands of an embed operation.
struct Tables {
  SmallVector<Attribute> tables;
  SmallVector<Value> ids;
  /// One factor for each of the ids; empty if all are 1.
  SmallVector<float> scales;
  /// The segments whose rows are numbered, and the first index for each table.
  Value rows;
  SmallVector<int64_t> offsets;
};

Tables arrange(ArrayRef<LookUp> lookUps) {
  Tables result;
  SmallVector<Attribute> byPosition;
  for (auto [lookUp, scale] : lookUps) {
    if (PositionsOp positions = positionsOf(lookUp)) {
      result.rows = positions.getRows();
      result.offsets.push_back(positions.getOffset());
      byPosition.push_back(lookUp.getTableAttr());
    } else {
      result.ids.push_back(lookUp.getIds());
      result.scales.push_back(scale);
      result.tables.push_back(lookUp.getTableAttr());
    }
  }
  if (llvm::all_of(result.scales, [](float scale) { return scale == 1.0F; })) {
    result.scales.clear();
  }
  result.tables.append(byPosition);
  return result;
}

/// Fuses `sum`, an addition of look-ups or the single look-up before `norm`; `norm` may be null.
void fuse(Operation *sum, LayerNormOp norm) {
  SmallVector<LookUp> lookUps = collectLookUps(sum->getResult(0));
  Tables tables = arrange(lookUps);
  Operation *root = norm ? norm.getOperation() : sum;
  OpBuilder builder(root);
  SmallVector<Location> locations;
  int64_t factors = 0;
  for (auto [gather, scale] : lookUps) {
    locations.push_back(gather.getLoc());
    factors += scale == 1.0F ? 0 : 1;
  }
  locations.push_back(root->getLoc());
  Location location = FusedLoc::get(root->getContext(), locations);
  auto type = cast<RankedTensorType>(root->getResult(0).getType());
  // Every intermediate result was written once and read once.
  int64_t intermediates = 2 * int64_t(lookUps.size()) - 1 + factors + (norm ? 1 : 0) - 1;
  reportTaken(location, passNames::fuseEmbedding,
              Twine(lookUps.size()) + " tables of " + Twine(type.getDimSize(1)) +
                  (norm ? ", layer norm" : ""),
              {.activationBytesPerToken =
                   int64_t(rowsOf(root->getResult(0))
                               .perToken(intermediates * 2 * type.getDimSize(1) * sizeof(float)))});
  auto embed = EmbedOp::create(
      builder, location, type, builder.getArrayAttr(tables.tables), tables.ids, tables.rows,
      builder.getDenseI64ArrayAttr(tables.offsets), builder.getDenseF32ArrayAttr(tables.scales),
      norm ? norm.getWeightAttr() : nullptr, norm ? norm.getBiasAttr() : nullptr,
      norm ? norm.getEpsilonAttr() : nullptr);
  root->getResult(0).replaceAllUsesWith(embed);
  eraseUnused(root);
}

/// Returns the layer norm that is the only user of `value`, if there is one.
LayerNormOp normOf(Value value) {
  return value.hasOneUse() ? dyn_cast<LayerNormOp>(*value.getUsers().begin()) : LayerNormOp();
}

/// Describes why `sum`, of a look-up and `summand`, is not a sum of look-ups only.
std::string describeObstacle(AddOp sum, Value summand) {
  Operation *producer = summand.getDefiningOp();
  if (!producer) {
    return "a summand is an argument of the function";
  }
  auto scale = summand.getDefiningOp<ScaleOp>();
  auto scaled = scale ? scale.getInput().getDefiningOp<GatherOp>() : GatherOp();
  if (scaled && positionsOf(scaled) && !scale.getFactor().isExactlyValue(1)) {
    return "a look-up by position has a factor (" + describe(producer) + ")";
  }
  if (lookUpOf(summand).gather) {
    for (Operation *user : summand.getUsers()) {
      if (user != sum) {
        return "a look-up has a second user (" + describe(user) + ")";
      }
    }
  }
  return "a summand is not a table look-up (" + describe(producer) + ")";
}

/// The outermost operation of a sum of look-ups, and the norm after it or null.
using Root = std::pair<Operation *, LayerNormOp>;

/// Adds the sum to the roots, or reports why not, if it is the outermost of its look-ups.
void classify(AddOp add, const LookUpSums &sums, SmallVectorImpl<Root> &roots) {
  bool left = sums.contains(add.getLhs());
  bool right = sums.contains(add.getRhs());
  if (left && right) {
    auto outer = add->hasOneUse() ? dyn_cast<AddOp>(*add->getUsers().begin()) : AddOp();
    if (!sums.isSum(add)) {
      reportDeclined(add.getLoc(), passNames::fuseEmbedding,
                     "not fused: its look-ups are by positions of different rows");
    } else if (!outer || !sums.isSum(outer)) {
      roots.emplace_back(add, normOf(add));
    }
    return;
  }
  // An operand added to a sum of look-ups is no candidate; an operand added to a single look-up is.
  Value other = left ? add.getRhs() : add.getLhs();
  Value lookUp = left ? add.getLhs() : add.getRhs();
  if (lookUpOf(lookUp).gather) {
    reportDeclined(add.getLoc(), passNames::fuseEmbedding,
                   "not fused: " + describeObstacle(add, other));
  }
}

struct FuseEmbeddingPass : impl::FuseEmbeddingPassBase<FuseEmbeddingPass> {
  using Base::Base;

  void runOnOperation() override {
    // Finds all sums before rewriting any: their operations are disjoint.
    LookUpSums sums(getOperation());
    SmallVector<Root> roots;
    getOperation().walk([&](Operation *op) {
      if (auto add = dyn_cast<AddOp>(op)) {
        classify(add, sums, roots);
      } else if (isa<GatherOp, ScaleOp>(op) && lookUpOf(op->getResult(0)).gather) {
        if (LayerNormOp norm = normOf(op->getResult(0))) {
          roots.emplace_back(op, norm);
        }
      }
    });
    for (auto [sum, norm] : roots) {
      fuse(sum, norm);
    }
  }
};

} // namespace
} // namespace heddle
