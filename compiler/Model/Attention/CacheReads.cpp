// SPDX-License-Identifier: Apache-2.0
///
/// The answer of every operation: one that gives none does not compile.
#include "compiler/Model/Attention/CacheReads.h"

#include "dialects/Transformer/VisitOperation.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {
namespace {

using Reads = SmallVector<CacheRead, 2>;

/// What reads rows in their order, or none at all, wherever they come from. Attention that is not
/// fused yet is among these: the cache is not laid out for it.
template <typename Op>
concept ReadsRows =
    llvm::is_one_of<Op, AccumulateOp, ActivateOp, AddOp, AppendOp, BlocksOp, CachedOp, ColumnsOp,
                    ContractOp, ConvolveOp, EmbedOp, GatherOp, GroupedLinearOp, HistoryOp,
                    LayerNormOp, LinearOp, MaskBiasOp, MaskOp, MergeHeadsOp, MultiplyOp,
                    NormalizeOp, ParameterOp, PoolOp, PositionsOp, PrefixMeanOp, RelativeBiasOp,
                    RepeatHeadsOp, RmsNormOp, ScaleOp, SelectOp, SoftmaxOp, SplitHeadsOp,
                    TransposeOp, WeightOp>::value;

template <ReadsRows Op> Reads readsOf(Op) { return {}; }
Reads readsOf(AttentionOp attention) {
  return {{attention.getKey(), true}, {attention.getValue(), false}};
}
Reads readsOf(AttentionWeightsOp weights) { return {{weights.getKey(), true}}; }
Reads readsOf(AttendOp attend) { return {{attend.getValue(), false}}; }

} // namespace

SmallVector<CacheRead, 2> cacheReads(Operation *operation) {
  Reads reads;
  visitOperation(operation, [&](auto op) { reads = readsOf(op); });
  return reads;
}

} // namespace heddle
