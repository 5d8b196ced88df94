// SPDX-License-Identifier: Apache-2.0
///
/// Groups independent loops to run side by side, mainly both directions of a bidirectional layer:
/// threads run them concurrently, and no step of one waits for another's.
///
/// ```mlir
/// %x = dataflow.dispatch @contract(%rows, ...)       : ... // W x of all steps
/// %y = dataflow.loop() ... { ... %x ... }
/// %z = dataflow.dispatch @contract_2(%reversed, ...) : ...
/// %w = dataflow.loop() ... { ... %z ... }
/// ```
/// becomes
/// ```mlir
/// %x = dataflow.dispatch @contract(%rows, ...)       : ...
/// %z = dataflow.dispatch @contract_2(%reversed, ...) : ...
/// %y = dataflow.loop() ... { ... %x ... }
/// %w = dataflow.loop() beside ... { ... %z ... }
/// ```
/// Operations between them that do not depend on them are moved before them, the others after them.
/// The executor decides per batch whether to distribute them over threads; the results are bitwise
/// the same. Tests: tests/compiler/Dataflow/group-loops.mlir
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "dialects/Dataflow/Dataflow.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

#define GEN_PASS_DEF_GROUPLOOPSPASS
#include "compiler/Passes.h.inc"

namespace {

/// The most loops in a group: all their buffers are live at once, which few threads pay for.
constexpr size_t mostLoops = 16;

/// Names a loop in reasons.
std::string nameOf(LoopOp loop) {
  std::string name = placeName(loop.getLoc());
  return name.empty() ? "the loop before it" : name;
}

/// The loops of a graph that run side by side, as they are collected.
class Group {
public:
  explicit Group(LoopOp first) : loops{first} { readers[first] = first; }

  /// Records an operation after the last of the loops.
  void follow(Operation *op) {
    if (LoopOp source = sourceOf(op)) {
      readers[op] = source;
    }
    following.push_back(op);
  }

  /// Returns why a loop after the recorded operations cannot join the group; empty if it can.
  std::string reasonAgainst(LoopOp loop) {
    if (loops.size() == mostLoops) {
      return "not side by side: " + std::to_string(mostLoops) + " loops before it are";
    }
    if (LoopOp source = sourceOf(loop)) {
      return "not side by side: it reads what " + nameOf(source) + " gives";
    }
    auto kept = llvm::find_if(following, [](Operation *op) { return !isMemoryEffectFree(op); });
    if (kept != following.end()) {
      return "not side by side: " + describe(*kept) + " is between it and " + nameOf(loops.back()) +
             ", and has a cache or a state";
    }
    return {};
  }

  void add(LoopOp loop) {
    reportTaken(loop.getLoc(), passNames::groupLoops, "runs beside " + nameOf(loops.back()));
    SmallVector<Operation *> after;
    for (Operation *op : following) {
      if (readers.contains(op)) {
        op->moveAfter(after.empty() ? loop.getOperation() : after.back());
        after.push_back(op);
      } else {
        op->moveBefore(loops.front());
      }
    }
    following = std::move(after);
    loop.setBeside(true);
    readers[loop] = loop;
    loops.push_back(loop);
  }

private:
  /// Returns the loop on which an operation depends, directly or not; null if there is none.
  LoopOp sourceOf(Operation *op) {
    LoopOp source;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        source = operand.getDefiningOp() ? readers.lookup(operand.getDefiningOp()) : LoopOp();
        if (source) {
          return WalkResult::interrupt();
        }
      }
      return WalkResult::advance();
    });
    return source;
  }

  SmallVector<LoopOp> loops;
  /// The operations after the last of the loops.
  SmallVector<Operation *> following;
  /// The operations that depend on these loops, and on which; includes the loops themselves.
  llvm::DenseMap<Operation *, LoopOp> readers;
};

struct GroupLoops : impl::GroupLoopsPassBase<GroupLoops> {
  using Base::Base;

  void runOnOperation() override {
    for (auto graph : getOperation().getOps<GraphOp>()) {
      std::optional<Group> group;
      for (Operation &op : llvm::make_early_inc_range(graph.getBody().front())) {
        auto loop = dyn_cast<LoopOp>(op);
        if (!loop) {
          if (group) {
            group->follow(&op);
          }
          continue;
        }
        std::string reason = group ? group->reasonAgainst(loop) : std::string();
        if (group && reason.empty()) {
          group->add(loop);
          continue;
        }
        if (group) {
          reportDeclined(loop.getLoc(), passNames::groupLoops, reason);
        }
        group.emplace(loop);
      }
    }
  }
};

} // namespace
} // namespace heddle
