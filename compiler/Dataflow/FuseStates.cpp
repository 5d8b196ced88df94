// SPDX-License-Identifier: Apache-2.0
///
/// Fuses the prefix means of rows and the update of the state with their sum into one kernel with
/// two results: both add up the same rows in the same order, which are then read once instead of
/// twice.
///
/// ```mlir
/// %y = dataflow.dispatch @prefix_mean(%x, %s)            : (...) -> !dataflow.buffer<...>
/// %t = dataflow.dispatch @accumulate(%s, %x) changes [0] : (...) -> !dataflow.state<...>
/// ```
/// becomes
/// ```mlir
/// %y, %t = dataflow.dispatch @running_mean(%x, %s) changes [1]
///     : (...) -> (!dataflow.buffer<...>, !dataflow.state<...>)
/// ```
/// Tests: tests/compiler/Dataflow/fuse-states.mlir
#include "compiler/Dataflow/KernelBuilder.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

#define GEN_PASS_DEF_FUSESTATESPASS
#include "compiler/Passes.h.inc"

namespace {

/// A dispatch of means, and the dispatch that adds the same rows to the same state.
struct StatePair {
  DispatchOp mean;
  DispatchOp update;
  /// Where a single dispatch can replace both.
  DispatchOp place;
};

struct FuseStates : impl::FuseStatesPassBase<FuseStates> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    llvm::DenseMap<StringAttr, int64_t> runs = countRuns(module);
    for (auto graph : module.getOps<GraphOp>()) {
      SmallVector<DispatchOp> means;
      for (auto dispatch : graph.getDispatches()) {
        if (isa<PrefixMeanAttr>(familyOf(dispatch, symbols))) {
          means.push_back(dispatch);
        }
      }
      for (DispatchOp mean : means) {
        StatePair candidate{mean, {}, {}};
        std::string reason = reasonAgainst(candidate, symbols);
        if (reason.empty()) {
          fuse(candidate, symbols, runs);
        } else {
          reportDeclined(mean.getLoc(), passNames::fuseStates, "not fused: " + reason);
        }
      }
    }
  }

private:
  static KernelFamily familyOf(DispatchOp dispatch, SymbolTable &symbols) {
    return symbols.lookup<KernelOp>(dispatch.getKernel()).getComputes();
  }

  /// Completes a candidate, or returns why it cannot be fused.
  static std::string reasonAgainst(StatePair &candidate, SymbolTable &symbols) {
    DispatchOp mean = candidate.mean;
    Value rows = mean.getInputs()[0], state = mean.getInputs()[1];
    for (OpOperand &use : state.getUses()) {
      auto user = dyn_cast<DispatchOp>(use.getOwner());
      if (user && user.changesOperand(use.getOperandNumber())) {
        candidate.update = user;
      }
    }
    DispatchOp update = candidate.update;
    if (!update) {
      return "the entry does not change its state";
    }
    if (!isa<AccumulateAttr>(familyOf(update, symbols)) || update.getInputs()[1] != rows) {
      return "other rows are added to its state" + placeInBrackets(update.getLoc());
    }
    // The state may be stored once no other dispatch reads its old value; the means may be computed
    // as late as their first use.
    auto isBetween = [&](Operation *user) {
      return mean->isBeforeInBlock(user) && user->isBeforeInBlock(update);
    };
    if (llvm::none_of(mean->getResult(0).getUsers(), isBetween)) {
      candidate.place = update;
      return {};
    }
    auto reader = llvm::find_if(state.getUsers(), isBetween);
    if (reader != state.getUsers().end()) {
      return "another kernel reads the state between it and what changes it" +
             placeInBrackets((*reader)->getLoc());
    }
    candidate.place = mean;
    return {};
  }

  static void fuse(StatePair &candidate, SymbolTable &symbols,
                   llvm::DenseMap<StringAttr, int64_t> &runs) {
    auto [mean, update, place] = candidate;
    KernelParts parts;
    parts.stem = "running_mean";
    parts.computes = RunningMeanAttr::get(mean.getContext());
    parts.inputs = SmallVector<Value>(mean.getInputs());
    parts.results = {mean->getResult(0).getType(), update->getResult(0).getType()};
    OpBuilder builder(place);
    Location location = builder.getFusedLoc({mean.getLoc(), update.getLoc()});
    DispatchOp fused = createDispatch(builder, symbols, location, parts);
    ++runs[fused.getKernelAttr().getAttr()];
    Savings savings;
    savings.activationBytesPerToken =
        sizeof(float) * cast<BufferType>(parts.results.front()).getWidth();
    reportTaken(mean.getLoc(), passNames::fuseStates,
                "means and the sum of the same rows in one pass" + placeInBrackets(update.getLoc()),
                savings);
    mean->getResult(0).replaceAllUsesWith(fused.getResult(0));
    update->getResult(0).replaceAllUsesWith(fused.getResult(1));
    for (DispatchOp replaced : {mean, update}) {
      auto kernel = symbols.lookup<KernelOp>(replaced.getKernel());
      replaced.erase();
      if (--runs[kernel.getSymNameAttr()] == 0) {
        symbols.erase(kernel);
      }
    }
  }
};

} // namespace
} // namespace heddle
