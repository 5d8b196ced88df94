// SPDX-License-Identifier: Apache-2.0
///
/// Hoists dispatches that read no carried value out of loops: they then compute all rows at once
/// instead of one step after the other. A product then uses each weight for as many rows as there
/// are.
///
/// ```mlir
/// %y = dataflow.loop -> ... {
/// ^bb0(%before: ...):
///   %x = dataflow.dispatch @contract(%rows, %input, ...)    : ... // W x
///   %h = dataflow.dispatch @contract_0(%before, %hidden, %x) : ... // U h + W x
///   dataflow.next %h : ...
/// }
/// ```
/// becomes
/// ```mlir
/// %x = dataflow.dispatch @contract(%rows, %input, ...) : ...
/// %y = dataflow.loop -> ... {
/// ^bb0(%before: ...):
///   %h = dataflow.dispatch @contract_0(%before, %hidden, %x) : ...
///   dataflow.next %h : ...
/// }
/// ```
/// The same kernels compute the same rows, so results are bitwise the same. Tests:
/// tests/compiler/Dataflow/hoist-from-loops.mlir
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "dialects/Dataflow/Dataflow.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

#define GEN_PASS_DEF_HOISTFROMLOOPSPASS
#include "compiler/Passes.h.inc"

namespace {

/// Returns the first operand that is defined in the loop's region; null if there is none.
Value findInner(Operation *op, LoopOp loop) {
  auto found = llvm::find_if(op->getOperands(), [&](Value operand) {
    return loop.getBody().isAncestor(operand.getParentRegion());
  });
  return found == op->operand_end() ? Value() : *found;
}

/// Returns why a dispatch cannot be hoisted; empty if it can.
std::string reasonAgainst(DispatchOp dispatch, LoopOp loop) {
  if (Value inner = findInner(dispatch, loop)) {
    std::string name = placeName(inner.getLoc());
    return "not moved: it reads what a step gives" + (name.empty() ? name : " (" + name + ")");
  }
  if (llvm::any_of(dispatch->getUsers(), llvm::IsaPred<NextOp>)) {
    return "not moved: it is what the loop itself gives";
  }
  return {};
}

struct HoistFromLoops : impl::HoistFromLoopsPassBase<HoistFromLoops> {
  using Base::Base;

  void runOnOperation() override {
    getOperation().walk([](LoopOp loop) {
      // Nothing may be placed between loops that run side by side.
      LoopOp first = loop;
      while (LoopOp neighbor = first.getNeighbor()) {
        first = neighbor;
      }
      for (Operation &op : llvm::make_early_inc_range(loop.getBody().front())) {
        auto dispatch = dyn_cast<DispatchOp>(op);
        if (!dispatch && !isa<NextOp>(op) && !findInner(&op, loop)) {
          // A view.
          op.moveBefore(first);
        }
        if (!dispatch) {
          continue;
        }
        std::string reason = reasonAgainst(dispatch, loop);
        if (!reason.empty()) {
          reportDeclined(dispatch.getLoc(), passNames::hoistFromLoops, reason);
          continue;
        }
        dispatch->moveBefore(first);
        reportTaken(dispatch.getLoc(), passNames::hoistFromLoops,
                    dispatch.getKernel() + " runs once over the rows of all steps");
      }
    });
  }
};

} // namespace
} // namespace heddle
