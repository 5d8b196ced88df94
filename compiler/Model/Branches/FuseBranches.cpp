// SPDX-License-Identifier: Apache-2.0
///
/// Computes sums of scaled linear maps in the cheapest way. Multiplying and adding weights is free:
/// they become parameter expressions.
///
/// Before, for each head i of the Weighted Transformer (Ahmed et al., section 3):
///   %h = transformer.columns %a from 64
///   %o = transformer.linear %h, @branches.1.output.weight       // 64 to 512
///   %k = transformer.multiply %o, %kappa
///   %i = transformer.linear %k, @branches.1.inner.weight        // 512 to 256
///   %r = transformer.activate relu %i
///   %f = transformer.linear %r, @branches.1.outer.weight        // 256 to 512
///   %w = transformer.multiply %f, %alpha
///   %sum = transformer.add %before, %w
/// After, for all of them:
///   %i = transformer.grouped_linear %a, @inner.weight {groups = 8}      // 512 to 2048
///   %r = transformer.activate relu %i
///   %sum = transformer.linear %r, @outer.weight                         // 2048 to 512
///
/// The pass relies on algebra, not on specific models. AffineForm.h defines the forms that it
/// reads, Evaluation.h what it makes of them, and EvaluationRange.h when that would change a
/// result. Tested by tests/compiler/Model/Branches/fuse-branches*.mlir.
#include "compiler/Cost/OperationCost.h"
#include "compiler/Model/Branches/Evaluation.h"
#include "compiler/Model/Branches/EvaluationRange.h"
#include "compiler/Model/Cleanup/EraseUnused.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_FUSEBRANCHESPASS
#include "compiler/Passes.h.inc"

namespace {

/// Counts the operations that read each parameter, so that its bytes are saved with the last of
/// them.
class ParameterUses {
public:
  explicit ParameterUses(ModuleOp module) {
    module.walk([&](Operation *operation) {
      if (!isa<ParameterOp>(operation)) {
        change(operation, 1);
      }
    });
  }

  /// Adds `by` to the uses of an operation's parameters. Returns the parameters that get their
  /// first use or lose their last one.
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

/// A form and the operations that its evaluation replaces.
struct Candidate {
  Operation *root;
  AffineForm form;
  ChosenEvaluation chosen;
  /// All operations that are erased if the evaluation is taken.
  llvm::SmallSetVector<Operation *, 16> operations;
};

int64_t countMaps(ArrayRef<Operation *> operations) {
  return llvm::count_if(operations, [](Operation *op) { return isa<LinearOp>(op); });
}

/// Returns whether an evaluation could be cheaper: the form has several maps, or one that a weight
/// scales. A constant factor alone is free: it is applied when a product is stored.
bool isCandidate(const AffineForm &form) {
  int64_t maps = countMaps(form.operations);
  bool isScaled = llvm::any_of(form.operations, [](Operation *op) {
    auto multiply = dyn_cast<MultiplyOp>(op);
    return multiply && multiply.getRhs().getDefiningOp<WeightOp>();
  });
  return maps > 1 || (maps == 1 && isScaled);
}

/// Describes a map of another map's result that has other users.
std::string sharedProduct(const AffineForm &form) {
  llvm::SmallDenseSet<Operation *> operations(form.operations.begin(), form.operations.end());
  llvm::SmallDenseSet<Operation *> seen;
  for (const Term &term : form.terms) {
    auto linear = term.atom.getDefiningOp<LinearOp>();
    if (!linear || term.chain.empty() || !seen.insert(linear).second) {
      continue;
    }
    for (Operation *user : linear->getUsers()) {
      if (!operations.contains(user)) {
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

/// The largest form that is evaluated as a whole. Larger forms are first evaluated in parts, from
/// their operands on; each part that becomes one product is small again. So the time is linear in
/// the length of a program, not cubic.
constexpr int64_t largestForm = 2048;

/// Visits the forms of a module.
class Fusion {
public:
  Fusion(ModuleOp module, const ParameterReader &reader)
      : parameters(module), uses(module), range(parameters, reader) {}

  void visit(Operation *operation);

private:
  /// The old or new result of a form, and whether there was a choice.
  struct Visited {
    Value result;
    bool isCandidate;
  };

  FormSize sizeOf(Value value) const;
  void cutOperands(Operation *operation);
  Visited visitForm(Operation *root);
  Value take(Candidate &candidate);

  DerivedParameters parameters;
  ParameterUses uses;
  EvaluationRange range;
  llvm::DenseMap<Operation *, FormSize> sizes;
  FormEnds ends;
};

/// Returns the size of a value inside a larger form.
FormSize Fusion::sizeOf(Value value) const {
  Operation *producer = value.getDefiningOp();
  bool isPart = isAffine(producer) && value.hasOneUse() && !ends.contains(value);
  return isPart ? sizes.lookup(producer) : FormSize();
}

/// Visits operands separately until the form of the operation is small enough.
void Fusion::cutOperands(Operation *operation) {
  auto size = [&](Value value) { return sizeOf(value); };
  while (formSize(operation, size).total > largestForm) {
    auto operands = affineOperands(operation);
    Value largest = *llvm::max_element(operands, [&](Value left, Value right) {
      return sizeOf(left).total < sizeOf(right).total;
    });
    if (sizeOf(largest).total == 1) {
      return;
    }
    auto [result, isCandidate] = visitForm(largest.getDefiningOp());
    if (result == largest || sizeOf(result).total > largestForm / 2) {
      ends.insert(result);
      if (isCandidate) {
        reportDeclined(operation->getLoc(), passNames::fuseBranches,
                       "not one product: more than " + Twine(largestForm) +
                           " operations, terms and maps are planned in parts");
      }
    }
  }
}

/// Operations are visited in program order: the products inside branches before their sum.
void Fusion::visit(Operation *operation) {
  cutOperands(operation);
  sizes[operation] = formSize(operation, [&](Value value) { return sizeOf(value); });
  if (!isWithinForm(operation)) {
    visitForm(operation);
  }
}

/// Takes an evaluation of the form of `root`, or reports why not.
Fusion::Visited Fusion::visitForm(Operation *root) {
  Candidate candidate{root, flattenAffine(root, parameters, ends), {}, {}};
  AffineForm &form = candidate.form;
  Location place = placeOf(form.operations);
  std::string shared = sharedProduct(form);
  if (!shared.empty()) {
    reportDeclined(place, passNames::fuseBranches, "not fused: " + shared);
  }
  Value result = root->getResult(0);
  if (!isCandidate(form)) {
    return {result, false};
  }
  int64_t width = cast<RankedTensorType>(result.getType()).getDimSize(1);
  candidate.chosen = chooseEvaluation(form, width, parameters, ends);
  candidate.operations.insert(form.operations.begin(), form.operations.end());
  SmallVector<Operation *> replaced;
  appendReplaced(candidate.chosen.evaluation, replaced);
  candidate.operations.insert(replaced.begin(), replaced.end());
  const std::string &obstacle = candidate.chosen.obstacle;
  if (costOf(candidate.operations.getArrayRef()) <= costOf(candidate.chosen.evaluation)) {
    if (shared.empty()) {
      reportDeclined(place, passNames::fuseBranches,
                     "not fused: " + (obstacle.empty() ? "it is cheapest as it is" : obstacle));
    }
    return {result, true};
  }
  if (std::string lost = range.obstacleOf(form, candidate.chosen.evaluation); !lost.empty()) {
    reportDeclined(place, passNames::fuseBranches, "not fused: " + lost);
    return {result, true};
  }
  if (!obstacle.empty()) {
    reportDeclined(place, passNames::fuseBranches, "not one product: " + obstacle);
  }
  return {take(candidate), true};
}

/// Writes the evaluation in place of the replaced operations and returns its result.
Value Fusion::take(Candidate &candidate) {
  ArrayRef<Operation *> operations = candidate.operations.getArrayRef();
  int64_t maps = countMaps(operations);
  Location place = placeOf(operations);
  Operation *root = candidate.root;
  Operation *before = root->getPrevNode();
  OpBuilder builder(root);
  Value result = emitEvaluation(builder, root->getLoc(), candidate.chosen.evaluation, parameters);
  Savings savings;
  auto byteSizes = [&](ArrayRef<FlatSymbolRefAttr> symbols) {
    int64_t size = 0;
    for (FlatSymbolRefAttr symbol : symbols) {
      ParameterOp parameter = parameters.lookUp(symbol);
      size += parameter ? byteSize(parameter) : 0;
    }
    return size;
  };
  SmallVector<Operation *> added;
  for (auto it = before ? std::next(Block::iterator(before)) : root->getBlock()->begin();
       &*it != root; ++it) {
    savings.flopsPerToken -= flopsPerToken(&*it);
    savings.weightBytes -= byteSizes(uses.change(&*it, 1));
    added.push_back(&*it);
  }
  for (Operation *operation : operations) {
    savings.flopsPerToken += flopsPerToken(operation);
    savings.weightBytes += byteSizes(uses.change(operation, -1));
    // A factor or a vector is read by a separate operation.
    for (Value operand : operation->getOperands()) {
      auto weight = operand.getDefiningOp<WeightOp>();
      savings.weightBytes += weight && weight->hasOneUse() ? byteSizes(uses.change(weight, -1)) : 0;
    }
  }
  reportTaken(place, passNames::fuseBranches,
              Twine(maps) + (maps == 1 ? " map as " : " maps as ") +
                  describeMaps(candidate.chosen.evaluation),
              savings);
  root->getResult(0).replaceAllUsesWith(result);
  eraseUnused(root);
  range.keepTaken(parameters);
  for (Operation *operation : added) {
    // A new operation may reuse the address of an erased one.
    for (Value value : operation->getResults()) {
      ends.erase(value);
    }
    if (isAffine(operation)) {
      sizes[operation] = formSize(operation, [&](Value value) { return sizeOf(value); });
    }
  }
  return result;
}

struct FuseBranchesPass : impl::FuseBranchesPassBase<FuseBranchesPass> {
  FuseBranchesPass() = default;
  explicit FuseBranchesPass(ParameterReader reader) : reader(std::move(reader)) {}

  void runOnOperation() override {
    SmallVector<Operation *> operations;
    getOperation().walk([&](Operation *operation) {
      if (isAffine(operation)) {
        operations.push_back(operation);
      }
    });
    Fusion fusion(getOperation(), reader);
    // Erased operations always precede the root of their replacement, so the list never holds a
    // dangling pointer.
    for (Operation *operation : operations) {
      fusion.visit(operation);
    }
  }

  ParameterReader reader;
};

} // namespace

std::unique_ptr<Pass> createFuseBranchesPass(ParameterReader reader) {
  return std::make_unique<FuseBranchesPass>(std::move(reader));
}

} // namespace heddle
