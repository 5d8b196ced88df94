// SPDX-License-Identifier: Apache-2.0
///
/// Computes sums of scaled linear maps in the cheapest way. Weights that are multiplied and added
/// up are free: they become parameter expressions.
///
/// Before, for each head i of the Weighted Transformer (Ahmed et al., section 3):
///   %h = transformer.columns %a from 64
///   %o = transformer.linear %h, @branches.1.output.weight, @branches.1.output.bias      // 64 to
///   512 %k = transformer.multiply %o, %kappa %i = transformer.linear %k, @branches.1.inner.weight,
///   @branches.1.inner.bias       // 512 to 256 %r = transformer.activate relu %i %f =
///   transformer.linear %r, @branches.1.outer.weight, @branches.1.outer.bias       // 256 to 512 %w
///   = transformer.multiply %f, %alpha %sum = transformer.add %before, %w
/// After, for all of them:
///   %i = transformer.grouped_linear %a, @inner.weight, @inner.bias {groups = 8}      // 512 to
///   2048 %r = transformer.activate relu %i %sum = transformer.linear %r, @outer.weight,
///   @outer.bias                          // 2048 to 512
///
/// It knows algebra, not models. Rows are read as an affine form, sum over j of c_j W_j,n ... W_j,1
/// a_j + b; constants move into the weights beside them, products are composed, merged, factored
/// out and stacked, and the plan is taken if it has fewer floating-point operations than what is
/// there. Pinned by tests/compiler/Transforms/fuse-branches*.mlir.
#include "compiler/Passes.h"
#include "compiler/Report/Report.h"
#include "compiler/Transforms/BranchPlan.h"
#include "compiler/Transforms/EraseUnused.h"
#include "compiler/Transforms/OperationCost.h"

#include "llvm/ADT/SetVector.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_FUSEBRANCHESPASS
#include "compiler/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral passName = "fuse-branches";

/// How many operations read each parameter, so that bytes are saved with the last of them.
class ParameterUses {
public:
  explicit ParameterUses(ModuleOp module) {
    module.walk([&](Operation *operation) {
      if (!isa<ParameterOp>(operation)) {
        change(operation, 1);
      }
    });
  }

  /// Counts the operation in or out; gives the parameters that then have their first or no use.
  SmallVector<FlatSymbolRefAttr> change(Operation *operation, int64_t by) {
    SmallVector<FlatSymbolRefAttr> changed;
    operation->getAttrDictionary().walk([&](FlatSymbolRefAttr symbol) {
      int64_t &count = counts[symbol];
      count += by;
      if (count == std::max<int64_t>(by, 0)) {
        changed.push_back(symbol);
      }
    });
    return changed;
  }

private:
  llvm::DenseMap<Attribute, int64_t> counts;
};

/// A form and what it takes the place of.
struct Candidate {
  Operation *root;
  AffineForm form;
  PlannedForm planned;
  /// Everything that goes if the plan is taken.
  llvm::SmallSetVector<Operation *, 16> operations;
};

int64_t countMaps(ArrayRef<Operation *> operations) {
  return llvm::count_if(operations, [](Operation *op) { return isa<LinearOp>(op); });
}

/// Whether there may be something to gain: several maps, or one that a weight scales. A constant
/// alone costs nothing where it is, beside the store of a product.
bool isCandidate(const AffineForm &form) {
  int64_t maps = countMaps(form.operations);
  bool isScaled = llvm::any_of(form.operations, [](Operation *op) {
    auto multiply = dyn_cast<MultiplyOp>(op);
    return multiply && multiply.getRhs().getDefiningOp<WeightOp>();
  });
  return maps > 1 || (maps == 1 && isScaled);
}

/// Whether all constants are numbers of f32.
bool isInRange(const AffineForm &form) {
  auto fits = [](const auto &term) {
    double size = std::abs(term.factor.constant);
    return size == 0 ||
           (size >= std::numeric_limits<float>::min() && size <= std::numeric_limits<float>::max());
  };
  return llvm::all_of(form.terms, fits) && llvm::all_of(form.constants, fits);
}

/// A map of what another map gives, which something else needs too.
std::string sharedProduct(const AffineForm &form) {
  for (const Term &term : form.terms) {
    auto linear = term.atom.getDefiningOp<LinearOp>();
    if (!linear || term.chain.empty()) {
      continue;
    }
    for (Operation *user : linear->getUsers()) {
      if (!llvm::is_contained(form.operations, user)) {
        return describe(linear) + " has a second user (" + placeName(user->getLoc()) + ")";
      }
    }
  }
  return {};
}

Location placeOf(ArrayRef<Operation *> operations) {
  SmallVector<Location> locations;
  for (Operation *operation : operations) {
    locations.push_back(operation->getLoc());
  }
  return FusedLoc::get(operations.front()->getContext(), locations);
}

struct FuseBranchesPass : impl::FuseBranchesPassBase<FuseBranchesPass> {
  using Base::Base;

  void runOnOperation() override {
    DerivedParameters parameters(getOperation());
    ParameterUses uses(getOperation());
    // In the order of the program: the products inside of branches come before their sum.
    SmallVector<Operation *> roots;
    getOperation().walk([&](Operation *operation) {
      if (isAffine(operation) && !isWithinForm(operation)) {
        roots.push_back(operation);
      }
    });
    for (Operation *root : roots) {
      visit(root, parameters, uses);
    }
  }

  static void visit(Operation *root, DerivedParameters &parameters, ParameterUses &uses) {
    Candidate candidate{root, flattenAffine(root, parameters), {}, {}};
    AffineForm &form = candidate.form;
    Location place = placeOf(form.operations);
    std::string shared = sharedProduct(form);
    if (!shared.empty()) {
      reportDeclined(place, passName, "not fused: " + shared);
    }
    if (!isCandidate(form)) {
      return;
    }
    if (!isInRange(form)) {
      reportDeclined(place, passName, "not fused: its constants leave the range of f32");
      return;
    }
    int64_t width = cast<RankedTensorType>(root->getResult(0).getType()).getDimSize(1);
    candidate.planned = planAffine(form, width, parameters);
    candidate.operations.insert(form.operations.begin(), form.operations.end());
    SmallVector<Operation *> replaced;
    appendReplaced(candidate.planned.plan, replaced);
    candidate.operations.insert(replaced.begin(), replaced.end());
    const std::string &obstacle = candidate.planned.obstacle;
    if (costOf(candidate.operations.getArrayRef()) <= costOf(candidate.planned.plan)) {
      if (shared.empty()) {
        reportDeclined(place, passName,
                       "not fused: " + (obstacle.empty() ? "it is cheapest as it is" : obstacle));
      }
      return;
    }
    if (!obstacle.empty()) {
      reportDeclined(place, passName, "not one product: " + obstacle);
    }
    take(candidate, parameters, uses);
  }

  static void take(Candidate &candidate, DerivedParameters &parameters, ParameterUses &uses) {
    ArrayRef<Operation *> operations = candidate.operations.getArrayRef();
    int64_t maps = countMaps(operations);
    Location place = placeOf(operations);
    Operation *root = candidate.root;
    Operation *before = root->getPrevNode();
    OpBuilder builder(root);
    Value result = emitPlan(builder, root->getLoc(), candidate.planned.plan, parameters);
    Savings savings;
    auto sizeOf = [&](ArrayRef<FlatSymbolRefAttr> symbols) {
      int64_t size = 0;
      for (FlatSymbolRefAttr symbol : symbols) {
        ParameterOp parameter = parameters.lookUp(symbol);
        size += parameter ? byteSize(parameter) : 0;
      }
      return size;
    };
    Operation *added = before ? before->getNextNode() : &root->getBlock()->front();
    for (; added != root; added = added->getNextNode()) {
      savings.flopsPerToken -= flopsPerToken(added);
      savings.weightBytes -= sizeOf(uses.change(added, 1));
    }
    for (Operation *operation : operations) {
      savings.flopsPerToken += flopsPerToken(operation);
      savings.weightBytes += sizeOf(uses.change(operation, -1));
      // A factor or a vector is read by an operation of its own.
      for (Value operand : operation->getOperands()) {
        auto weight = operand.getDefiningOp<WeightOp>();
        savings.weightBytes += weight && weight->hasOneUse() ? sizeOf(uses.change(weight, -1)) : 0;
      }
    }
    reportTaken(place, passName,
                Twine(maps) + (maps == 1 ? " map as " : " maps as ") +
                    describeMaps(candidate.planned.plan),
                savings);
    root->getResult(0).replaceAllUsesWith(result);
    eraseUnused(root);
  }
};

} // namespace
} // namespace heddle
