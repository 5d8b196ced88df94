// SPDX-License-Identifier: Apache-2.0
///
/// Computes equal expressions once: MLIR's common subexpression elimination, with a report of what
/// it removed. Every operation of the model level is pure, so equal operands mean equal results.
///
/// Before:
///   %a = transformer.positions %rows
///   %b = transformer.positions %rows
/// After: %a for both.
///
/// Tested by tests/compiler/Model/Cleanup/eliminate-common.mlir.
#include "compiler/Cost/OperationCost.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_DEF_ELIMINATECOMMONPASS
#include "compiler/Passes.h.inc"

namespace {

/// Reports each operation that is replaced by an equal one.
struct ReplacementListener final : RewriterBase::Listener {
  void notifyOperationReplaced(Operation *op, ValueRange replacement) override {
    std::string kept = checkpointName(replacement.front().getLoc());
    reportTaken(
        op->getLoc(), passNames::eliminateCommon,
        op->getName().getStringRef() + (kept.empty() ? "" : ", equal to that of " + kept),
        {.flopsPerToken = flopsPerToken(op), .flopsPerTokenAndKey = flopsPerTokenAndKey(op)});
  }
};

struct EliminateCommonPass : impl::EliminateCommonPassBase<EliminateCommonPass> {
  using Base::Base;

  void runOnOperation() override {
    ReplacementListener listener;
    IRRewriter rewriter(&getContext(), &listener);
    eliminateCommonSubExpressions(rewriter, getAnalysis<DominanceInfo>(), getOperation());
  }
};

} // namespace
} // namespace heddle
