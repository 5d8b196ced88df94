// SPDX-License-Identifier: Apache-2.0
///
/// Erases operations without used results; caches and states that no entry reads, with the
/// operations that append to them or accumulate into them; caches and states that an entry neither
/// reads nor changes; then parameters that neither an operation nor the expression of a needed
/// parameter names, so that their tensors are not in the binary.
///
/// Before, where no entry reads "key":
///   func.func @decode(%x, %rows, %key: !cache {transformer.name = "key"}) -> (..., !cache {...})
///     %a = transformer.append %key, %x in(%rows)
///     return %y, %a
/// After:
///   func.func @decode(%x, %rows) -> ...
///     return %y
///
/// Tested by tests/compiler/Model/Cleanup/eliminate-dead.mlir and eliminate-dead-caches.mlir.
#include "compiler/Cost/OperationCost.h"
#include "compiler/Parameters/DerivedParameters.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_ELIMINATEDEADPASS
#include "compiler/Passes.h.inc"

namespace {

/// Erases in reverse order, so that operations used only by dead operations die too.
void eraseOperations(ModuleOp module) {
  module.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op)) {
      reportTaken(
          op->getLoc(), passNames::eliminateDead, op->getName().getStringRef(),
          {.flopsPerToken = flopsPerToken(op), .flopsPerTokenAndKey = flopsPerTokenAndKey(op)});
      op->erase();
    }
  });
}

StringAttr cacheNameOf(func::FuncOp entry, BlockArgument argument) {
  return isa<CacheType, StateType>(argument.getType())
             ? entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "transformer.name")
             : StringAttr();
}

/// Calls `visit` for each argument of an entry that is a named cache or state, last arguments
/// first.
void overCaches(func::FuncOp entry, llvm::function_ref<void(BlockArgument, StringAttr)> visit) {
  for (BlockArgument argument : llvm::to_vector(llvm::reverse(entry.getArguments()))) {
    if (StringAttr name = cacheNameOf(entry, argument)) {
      visit(argument, name);
    }
  }
}

/// Returns whether a cache or state, before or after its change, has a user other than its change
/// and the return. Returning an unchanged one is an error, which the lowering reports.
bool isRead(Value cache) {
  return llvm::any_of(cache.getUsers(), [&](Operation *user) {
    if (user->hasTrait<ChangesKept>()) {
      return isRead(user->getResult(0));
    }
    return isa<BlockArgument>(cache) || !user->hasTrait<OpTrait::IsTerminator>();
  });
}

/// Erases a cache or state argument of an entry with the operations that change it and its result.
void eraseCache(func::FuncOp entry, BlockArgument argument) {
  for (Operation *append : llvm::make_early_inc_range(argument.getUsers())) {
    for (OpOperand &use : llvm::make_early_inc_range(append->getResult(0).getUses())) {
      unsigned number = use.getOperandNumber();
      use.getOwner()->eraseOperand(number);
      // Only function types with additional state can fail here.
      (void)entry.eraseResult(number);
    }
    append->erase();
  }
  (void)entry.eraseArgument(argument.getArgNumber());
}

/// Erases caches and states that are written but never read, in all entries. Returns whether there
/// were any.
bool eraseUnreadCaches(ModuleOp module) {
  llvm::DenseSet<Attribute> read;
  for (auto entry : module.getOps<func::FuncOp>()) {
    overCaches(entry, [&](BlockArgument argument, StringAttr name) {
      if (isRead(argument)) {
        read.insert(name);
      }
    });
  }
  bool isChanged = false;
  for (auto entry : module.getOps<func::FuncOp>()) {
    overCaches(entry, [&](BlockArgument argument, StringAttr name) {
      // eraseCaches() erases those that are not appended to either.
      if (read.contains(name) || argument.use_empty()) {
        return;
      }
      auto cache = dyn_cast<CacheType>(argument.getType());
      reportTaken(argument.getLoc(), passNames::eliminateDead,
                  (cache ? "cache \"" : "state \"") + name.getValue() + "\" of @" +
                      entry.getSymName() + ", which no entry reads",
                  {.cacheBytesPerToken = cache ? cache.getPositionBytes() : 0});
      eraseCache(entry, argument);
      isChanged = true;
    });
  }
  return isChanged;
}

/// Erases caches and states that an entry does not use, even if other entries do.
void eraseCaches(ModuleOp module) {
  for (auto entry : module.getOps<func::FuncOp>()) {
    for (int64_t number = int64_t(entry.getNumArguments()) - 1; number >= 0; --number) {
      BlockArgument argument = entry.getArgument(number);
      bool isState = isa<StateType>(argument.getType());
      if ((isState || isa<CacheType>(argument.getType())) && argument.use_empty()) {
        reportTaken(argument.getLoc(), passNames::eliminateDead,
                    (isState ? "a state of @" : "a cache of @") + entry.getSymName());
        // Only function types with additional state can fail here.
        (void)entry.eraseArgument(number);
      }
    }
  }
}

void eraseParameters(ModuleOp module) {
  llvm::DenseSet<Attribute> needed = neededParameters(module);
  for (ParameterOp parameter : llvm::make_early_inc_range(module.getOps<ParameterOp>())) {
    if (needed.contains(parameter.getSymNameAttr())) {
      continue;
    }
    reportTaken(parameter.getLoc(), passNames::eliminateDead, "@" + parameter.getSymName(),
                {.weightBytes = byteSize(parameter)});
    parameter.erase();
  }
}

struct EliminateDeadPass : impl::EliminateDeadPassBase<EliminateDeadPass> {
  using Base::Base;

  void runOnOperation() override {
    // The erased appends may have been the only users of values read from other caches.
    do {
      eraseOperations(getOperation());
    } while (eraseUnreadCaches(getOperation()));
    eraseCaches(getOperation());
    eraseParameters(getOperation());
  }
};

} // namespace
} // namespace heddle
