// SPDX-License-Identifier: Apache-2.0
///
/// Writes softmax(scale * Q K^T + bias + mask) V, however it is spelt, as one operation on merged
/// rows. Every softmax is a candidate; AttentionMatch says which are attention, and why others are
/// not.
///
/// Before:
///   %qh = transformer.split_heads %q                    // [t, h, d]; the same for k and v
///   %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows)
///   %z = transformer.scale %s, 0.25
///   %p = transformer.softmax %z in(%rows)
///   %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows)
///   %m = transformer.merge_heads %c
/// After:
///   %m = transformer.attention %q, %k, %v in(%rows, %rows) {heads = 3, scale = 0.25, ...}
///
/// Pinned by tests/compiler/Transforms/fuse-attention.mlir and fuse-attention-declined.mlir.
#include "compiler/Passes.h"
#include "compiler/Report/Report.h"
#include "compiler/Transforms/AttentionMasks.h"
#include "compiler/Transforms/AttentionMatch.h"
#include "compiler/Transforms/EraseUnused.h"
#include "compiler/Transforms/HeadLayout.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_FUSEATTENTIONPASS
#include "compiler/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral passName = "fuse-attention";

/// The operand as rows [t, h * d], head h in columns h * d on.
Value toRows(OpBuilder &builder, Location location, const AttentionOperand &operand) {
  if (operand.isRows()) {
    return operand.tensor;
  }
  // What is no split of rows keeps its own layout: the transpose is then a copy, and stays.
  return mergedHeads(builder, location,
                     transposed(builder, location, operand.tensor, operand.order));
}

std::string summarise(const AttentionMatch &match) {
  std::string sizes = std::to_string(match.keySize);
  if (match.valueSize != match.keySize) {
    sizes += " (values " + std::to_string(match.valueSize) + ")";
  }
  return std::to_string(match.heads) + " heads of " + sizes + ", scale " +
         printNumber(match.scale) + ", " + stringifyVisibility(match.visibility).str() +
         (match.bias ? ", bias @" + match.bias.getValue().str() : "");
}

void fuse(const AttentionMatch &match) {
  ContractOp weighted = match.weighted;
  OpBuilder builder(weighted);
  // Their common prefix is the layer's attention.
  Location location =
      FusedLoc::get(weighted.getContext(),
                    {match.scores->getLoc(), match.softmax->getLoc(), match.weighted->getLoc()});
  reportTaken(location, passName, summarise(match));
  Value query = toRows(builder, location, match.query);
  Value key = toRows(builder, location, match.key);
  Value value = toRows(builder, location, match.value);
  ValueRange segments = weighted.getSegments();
  Value result =
      AttentionOp::create(builder, location, value.getType(), query, key, value, segments[0],
                          segments[1], builder.getI64IntegerAttr(match.heads),
                          builder.getF32FloatAttr(static_cast<float>(match.scale)),
                          VisibilityAttr::get(builder.getContext(), match.visibility), match.bias);
  if (match.resultScale != 1.0) {
    result = ScaleOp::create(builder, location, result,
                             builder.getF32FloatAttr(static_cast<float>(match.resultScale)));
  }
  result = splitHeads(builder, location, result, match.heads, match.valueSize);
  result = transposed(builder, location, result, match.resultOrder);
  weighted.getResult().replaceAllUsesWith(result);
  eraseUnused(weighted);
}

struct FuseAttentionPass : impl::FuseAttentionPassBase<FuseAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<SoftmaxOp> candidates;
    getOperation().walk([&](SoftmaxOp softmax) { candidates.push_back(softmax); });
    for (SoftmaxOp softmax : candidates) {
      std::string reason;
      FailureOr<AttentionMatch> match = matchAttention(softmax, reason);
      if (failed(match)) {
        reportDeclined(softmax.getLoc(), passName, "not fused: " + reason);
        continue;
      }
      fuse(*match);
    }
    simplifyLayouts(getOperation());
  }
};

} // namespace
} // namespace heddle
