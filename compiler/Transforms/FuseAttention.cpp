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

#include "llvm/ADT/DenseMap.h"

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

/// What each cache of a module is to attentions, by its name: it lies in memory as one of the two
/// needs it, in all entries.
class CacheRoles {
public:
  explicit CacheRoles(ModuleOp module) {
    module.walk([&](AttentionOp op) {
      for (auto [tensor, isKeys] :
           {std::pair(op.getKey(), true), std::pair(op.getValue(), false)}) {
        if (StringAttr name = nameOf(cachedSource(tensor))) {
          areKeys.try_emplace(name, isKeys);
        }
      }
    });
  }

  /// Notes what the caches of an attention are; on failure `reason` says why they cannot be that.
  LogicalResult add(const AttentionMatch &match, std::string &reason) {
    StringAttr names[2];
    for (bool isKeys : {true, false}) {
      const AttentionOperand &operand = isKeys ? match.key : match.value;
      CachedOp cached = cachedSource(operand.tensor);
      if (cached && !operand.isRows()) {
        reason = (isKeys ? "the keys" : "the values");
        reason += " are of a cache and have their axes in another order";
        return failure();
      }
      names[isKeys] = nameOf(cached);
    }
    for (bool isKeys : {true, false}) {
      auto role = areKeys.find(names[isKeys]);
      bool isOther = role != areKeys.end() && role->second != isKeys;
      if (names[isKeys] && (isOther || names[0] == names[1])) {
        reason = "cache \"" + names[isKeys].str() + "\" is read as keys and as values";
        return failure();
      }
    }
    for (bool isKeys : {true, false}) {
      if (names[isKeys]) {
        areKeys.try_emplace(names[isKeys], isKeys);
      }
    }
    return success();
  }

private:
  static StringAttr nameOf(CachedOp cached) {
    return cached ? cacheName(cached.getCache()) : StringAttr();
  }

  llvm::DenseMap<StringAttr, bool> areKeys;
};

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
    CacheRoles roles(getOperation());
    for (SoftmaxOp softmax : candidates) {
      std::string reason;
      FailureOr<AttentionMatch> match = matchAttention(softmax, reason);
      if (failed(match) || failed(roles.add(*match, reason))) {
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
