// SPDX-License-Identifier: Apache-2.0
///
/// Drops operations whose results nothing needs, caches that an entry neither reads nor appends to,
/// then parameters that neither an operation nor the
/// expression of a needed parameter names: their tensors do not enter the binary.
///
/// Pinned by tests/compiler/Transforms/eliminate-dead.mlir.
#include "compiler/Passes.h"
#include "compiler/Report/Report.h"
#include "compiler/Transforms/DerivedParameters.h"
#include "compiler/Transforms/OperationCost.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_ELIMINATEDEADPASS
#include "compiler/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral passName = "eliminate-dead";

/// Last operations first: what only dead operations use is dead too.
void eraseOperations(ModuleOp module) {
  module.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op)) {
      reportTaken(op->getLoc(), passName, op->getName().getStringRef(),
                  {.flopsPerToken = flopsPerToken(op)});
      op->erase();
    }
  });
}

/// What an entry has appended to is a result of it, and stays.
void eraseCaches(ModuleOp module) {
  for (auto entry : module.getOps<func::FuncOp>()) {
    for (int64_t number = int64_t(entry.getNumArguments()) - 1; number >= 0; --number) {
      BlockArgument argument = entry.getArgument(number);
      if (isa<CacheType>(argument.getType()) && argument.use_empty()) {
        reportTaken(argument.getLoc(), passName, "a cache of @" + entry.getSymName());
        // Fails only for types with more to them than arguments.
        (void)entry.eraseArgument(number);
      }
    }
  }
}

void eraseParameters(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::DenseSet<Attribute> needed;
  SmallVector<ParameterOp> pending;
  auto need = [&](Operation *user) {
    // Symbols may lie inside expressions, arrays and dictionaries.
    user->getAttrDictionary().walk([&](FlatSymbolRefAttr symbol) {
      if (!needed.insert(symbol.getAttr()).second) {
        return;
      }
      if (auto parameter = symbols.lookup<ParameterOp>(symbol.getAttr())) {
        pending.push_back(parameter);
      }
    });
  };
  module.walk([&](Operation *op) {
    if (!isa<ParameterOp>(op)) {
      need(op);
    }
  });
  while (!pending.empty()) {
    need(pending.pop_back_val());
  }
  for (ParameterOp parameter : llvm::make_early_inc_range(module.getOps<ParameterOp>())) {
    if (needed.contains(parameter.getSymNameAttr())) {
      continue;
    }
    reportTaken(parameter.getLoc(), passName, "@" + parameter.getSymName(),
                {.weightBytes = byteSize(parameter)});
    parameter.erase();
  }
}

struct EliminateDeadPass : impl::EliminateDeadPassBase<EliminateDeadPass> {
  using Base::Base;

  void runOnOperation() override {
    eraseOperations(getOperation());
    eraseCaches(getOperation());
    eraseParameters(getOperation());
  }
};

} // namespace
} // namespace heddle
