// SPDX-License-Identifier: Apache-2.0
///
/// Makes attentions reuse earlier ones, as a policy requests: the architecture of a Shared
/// Attention Network, which must be trained that way (Xiao et al., "Sharing attention weights for
/// fast Transformer", section 3.1). The attentions of each kind are numbered in program order,
/// independent of the model; the first of a block is its head. Members of a block of self or
/// encoder attention reuse the probabilities of its head, members of a block of cross attention its
/// sums of values, before the output projection.
///
/// Before, with encoder:2:
///   %p1 = transformer.softmax %z1 in(%rows)
///   %c1 = transformer.contract "thk,khd->thd" %p1, %v1
///   %p2 = transformer.softmax %z2 in(%rows)
///   %c2 = transformer.contract "thk,khd->thd" %p2, %v2
/// After:
///   %c2 = transformer.contract "thk,khd->thd" %p1, %v2      // %z2 and what it needed are gone
///
/// This is not an equivalence: the program computes something else than before. The module records
/// that in `transformer.sharing`. Tested by tests/compiler/Model/Sharing/apply-sharing*.mlir.
#include "compiler/Cost/OperationCost.h"
#include "compiler/Model/Attention/AttentionMasks.h"
#include "compiler/Model/Attention/AttentionMatch.h"
#include "compiler/Model/Attention/HeadLayout.h"
#include "compiler/Model/Sharing/SharingPolicy.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_APPLYSHARINGPASS
#include "compiler/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral sharingAttribute = "transformer.sharing";

int64_t headsOf(SoftmaxOp softmax) {
  return cast<RankedTensorType>(softmax.getType()).getDimSize(1);
}

/// Erases dead operations and the operations that only they use, and counts their cost.
Savings eraseDead(ArrayRef<Operation *> operations) {
  Savings savings;
  llvm::SetVector<Operation *> pending(operations.begin(), operations.end());
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!isOpTriviallyDead(op)) {
      continue;
    }
    savings.flopsPerToken += flopsPerToken(op);
    savings.flopsPerTokenAndKey += flopsPerTokenAndKey(op);
    for (Value operand : op->getOperands()) {
      if (Operation *producer = operand.getDefiningOp()) {
        pending.insert(producer);
      }
    }
    op->erase();
  }
  return savings;
}

/// Emits an error that begins with the name of the attention.
InFlightDiagnostic errorAbout(Operation *op) {
  return emitError(op->getLoc()) << placeName(op->getLoc()) << " ";
}

/// Matches the attention of a softmax; emits an error if it is not one.
FailureOr<AttentionMatch> matchShared(SoftmaxOp softmax) {
  std::string reason;
  FailureOr<AttentionMatch> match = matchAttention(softmax, reason);
  if (failed(match) || !match->others.empty()) {
    return errorAbout(softmax) << "is to share its attention and is not the softmax of one: "
                               << (failed(match) ? reason : match->others);
  }
  return match;
}

/// Fails unless a member of a block has as many heads and the same visibility as the block's head.
LogicalResult checkMember(SoftmaxOp head, SoftmaxOp member) {
  std::string name = placeName(head.getLoc());
  if (headsOf(head) != headsOf(member)) {
    return errorAbout(member) << "has " << headsOf(member) << " heads, expected " << headsOf(head)
                              << " as " << name << " has, whose attention it is to share";
  }
  if (!areSameSegments(head.getKeys(), member.getKeys())) {
    return errorAbout(member) << "is over other keys than " << name
                              << ", whose attention it is to share";
  }
  FailureOr<AttentionMatch> first = matchShared(head);
  if (failed(first)) {
    return failure();
  }
  FailureOr<AttentionMatch> second = matchShared(member);
  if (failed(second)) {
    return failure();
  }
  if (first->visibility != second->visibility || first->hidden != second->hidden ||
      first->biases != second->biases) {
    return errorAbout(member) << "has another mask or another bias by distance than " << name
                              << ", whose attention it is to share";
  }
  if (first->score != second->score) {
    return errorAbout(member) << "has another function of its scores than " << name
                              << ", whose attention it is to share";
  }
  return success();
}

LogicalResult shareProbabilities(SoftmaxOp head, SoftmaxOp member) {
  if (failed(checkMember(head, member))) {
    return failure();
  }
  Location location = member.getLoc();
  std::string text = "shares the probabilities of " + placeName(head.getLoc());
  member.getResult().replaceAllUsesWith(head.getResult());
  reportTaken(location, passNames::applySharing, text, eraseDead({member}));
  return success();
}

/// A softmax and its sum of values, which are shared.
struct Context {
  SoftmaxOp softmax;
  WeightedSum sum;
};

/// Emits an error if the softmax is not that of one attention with one sum.
FailureOr<Context> matchContext(SoftmaxOp softmax) {
  FailureOr<AttentionMatch> match = matchShared(softmax);
  if (failed(match)) {
    return failure();
  }
  if (match->sums.size() != 1) {
    return errorAbout(softmax) << "is to share its sum of values and has " << match->sums.size();
  }
  if (match->sums.front().sumsHeads) {
    return errorAbout(softmax) << "is to share its sum of values and sums over its heads too";
  }
  return Context{softmax, match->sums.front()};
}

LogicalResult shareContext(const Context &head, const Context &member) {
  SoftmaxOp headSoftmax = head.softmax;
  SoftmaxOp memberSoftmax = member.softmax;
  ContractOp headContext = head.sum.contract;
  ContractOp memberContext = member.sum.contract;
  if (failed(checkMember(headSoftmax, memberSoftmax))) {
    return failure();
  }
  std::string name = placeName(headSoftmax.getLoc());
  if (head.sum.valueSize != member.sum.valueSize) {
    return errorAbout(memberContext)
           << "has values of " << member.sum.valueSize << " a head, expected " << head.sum.valueSize
           << " as " << name << " has, whose attention it is to share";
  }
  if (memberContext->isBeforeInBlock(headContext)) {
    return errorAbout(memberContext)
           << "sums its values before " << name << " does, whose sums it is to share";
  }
  SmallVector<int64_t> permutation;
  for (int64_t axis : member.sum.resultOrder) {
    permutation.push_back(llvm::find(head.sum.resultOrder, axis) - head.sum.resultOrder.begin());
  }
  OpBuilder builder(memberContext);
  Location location = memberSoftmax.getLoc();
  memberContext.getResult().replaceAllUsesWith(
      transposed(builder, memberContext.getLoc(), headContext.getResult(), permutation));
  // If the probabilities are also a result, it has those that are used.
  memberSoftmax.getResult().replaceAllUsesWith(headSoftmax.getResult());
  reportTaken(location, passNames::applySharing, "shares the context of " + name,
              eraseDead({memberSoftmax, memberContext}));
  return success();
}

/// "self:1,2 covers 3 layers"
std::string covers(const SharingPolicy::Kind &kind) {
  int64_t layers = kind.layers();
  return kind.text() + " covers " + std::to_string(layers) + (layers == 1 ? " layer" : " layers");
}

struct ApplySharingPass : impl::ApplySharingPassBase<ApplySharingPass> {
  using Base::Base;

  void runOnOperation() override {
    std::string reason;
    FailureOr<SharingPolicy> parsed = parseSharingPolicy(policy, reason);
    if (failed(parsed)) {
      getOperation().emitError("the sharing policy has ") << reason;
      return signalPassFailure();
    }
    for (const SharingPolicy::Kind &kind : parsed->kinds) {
      if (failed(apply(kind))) {
        return signalPassFailure();
      }
    }
    getOperation()->setAttr(sharingAttribute, StringAttr::get(&getContext(), parsed->text()));
  }

  /// Applies the blocks of one kind to every entry with attentions of that kind.
  LogicalResult apply(const SharingPolicy::Kind &kind) {
    bool isApplied = false;
    for (auto entry : getOperation().getOps<func::FuncOp>()) {
      SmallVector<SoftmaxOp> softmaxes;
      entry.walk([&](SoftmaxOp softmax) {
        if (attentionKind(softmax) == kind.kind && softmax->getBlock() == &entry.front()) {
          softmaxes.push_back(softmax);
        }
      });
      if (!softmaxes.empty()) {
        isApplied = true;
        if (failed(applyTo(entry, kind, softmaxes))) {
          return failure();
        }
      }
    }
    return isApplied ? success()
                     : emitError(getOperation().getLoc())
                           << covers(kind) << ", but no entry has "
                           << spellingOf(kind.kind)->policyName << " attention";
  }

  LogicalResult applyTo(func::FuncOp entry, const SharingPolicy::Kind &kind,
                        ArrayRef<SoftmaxOp> softmaxes) {
    if (kind.layers() != int64_t(softmaxes.size())) {
      // A layer that already shares has no softmax of its own.
      return emitError(entry.getLoc())
             << covers(kind) << ", but entry '" << entry.getSymName() << "' has "
             << softmaxes.size()
             << (softmaxes.size() == 1 ? " that computes its" : " that compute their") << " own "
             << spellingOf(kind.kind)->policyName << " attention";
    }
    size_t next = 0;
    for (int64_t size : kind.sizes) {
      ArrayRef<SoftmaxOp> block = softmaxes.slice(next, size);
      next += size;
      // A block of one changes nothing.
      if (size > 1 && failed(kind.kind == AttentionKind::Cross ? applyContext(block)
                                                               : applyProbabilities(block))) {
        return failure();
      }
    }
    return success();
  }

  static LogicalResult applyProbabilities(ArrayRef<SoftmaxOp> block) {
    return success(llvm::all_of(block.drop_front(), [&](SoftmaxOp member) {
      return succeeded(shareProbabilities(block.front(), member));
    }));
  }

  static LogicalResult applyContext(ArrayRef<SoftmaxOp> block) {
    SmallVector<Context> contexts;
    for (SoftmaxOp softmax : block) {
      FailureOr<Context> context = matchContext(softmax);
      if (failed(context)) {
        return failure();
      }
      contexts.push_back(*context);
    }
    return success(llvm::all_of(ArrayRef(contexts).drop_front(), [&](const Context &member) {
      return succeeded(shareContext(contexts.front(), member));
    }));
  }
};

} // namespace
} // namespace heddle
