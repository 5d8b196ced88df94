// SPDX-License-Identifier: Apache-2.0
///
/// Fuses softmax(f(scale * Q K^T) + bias + mask) V, in any spelling, into one operation on merged
/// rows. Every softmax is a candidate; AttentionMatch decides which are attention, and why others
/// are not.
///
/// If several V share the probabilities, as in layers that share attention, these become an
/// operation of their own, transformer.attention_weights, and each sum a transformer.attend. The
/// same applies if there is another reader of the probabilities. If the probabilities of a single V
/// are also a result of the entry, attention is fused and the weights are computed separately, at
/// no cost to a caller that does not request them.
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
/// f is any element-wise function of scores, such as a soft cap (ScoreMaths.h): it becomes the
/// operation's `score`. Masks are applied after it, biases by distance before, within or after it.
///
/// Instead of a product of queries and keys there may be a weighted sum of a function of pairs
/// (PairScores.h), such as v . tanh(q + k), which becomes the operation's `pairs`. Convolutions
/// over numbers of keys that are added to pairs become its `locations`. Without a softmax, pairs
/// become the scores of an attention without one, so that pairs are never in memory.
///
/// Weights from another normaliser, or changed after the softmax, are summed with values by
/// `transformer.attend`.
///
/// Adjacent heads may share keys or values. Scores may be a sum of products, and biases by distance
/// a sum of multiples: each sum is combined into one (AttentionProducts.h), by derived parameters
/// if possible.
///
/// Tested by tests/compiler/Model/Attention/fuse-attention.mlir, fuse-attention-shared.mlir and
/// fuse-attention-declined.mlir.
#include "compiler/Model/Attention/AttentionMasks.h"
#include "compiler/Model/Attention/AttentionProducts.h"
#include "compiler/Model/Attention/AttentionRange.h"
#include "compiler/Model/Attention/CacheReads.h"
#include "compiler/Model/Attention/HeadLayout.h"
#include "compiler/Model/Cleanup/EraseUnused.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {

#define GEN_PASS_DEF_FUSEATTENTIONPASS
#include "compiler/Passes.h.inc"

namespace {

std::string countHeads(int64_t heads) {
  return std::to_string(heads) + (heads == 1 ? " head" : " heads");
}

/// Describes keys that a mask hides but that still have scores.
std::string summarise(HiddenAttr hidden) {
  if (!hidden) {
    return "";
  }
  bool isAdded = hidden.getKind() == HiddenKind::Added;
  return (isAdded ? " by adding " : " by writing ") +
         printNumber(hidden.getNumber().getValueAsDouble());
}

/// Describes how a sum of products is combined.
std::string summarise(const AttentionMatch &match, ProductArrangement arrangement) {
  std::string count = ", " + std::to_string(match.products.size()) + " products ";
  switch (arrangement) {
  case ProductArrangement::Alone:
    return "";
  case ProductArrangement::SameKeys:
    return count + "by the sum of their queries";
  case ProductArrangement::SameQueries:
    return count + "by the sum of their keys";
  case ProductArrangement::SideBySide:
    return count + "side by side";
  }
  llvm_unreachable("every arrangement is handled");
}

/// Describes locations: the taps of each convolution, and their shared filters.
std::string summarise(const PairLocations &locations, const DerivedParameters &parameters) {
  if (locations.locations.empty()) {
    return "";
  }
  std::string text;
  for (int64_t taps : locations.taps.asArrayRef()) {
    text += (text.empty() ? ", locations of " : " and ") + std::to_string(taps);
  }
  text += " keys";
  return locations.filters
             ? text + " by " +
                   std::to_string(
                       parameters.lookUp(locations.filters).getTensorType().getDimSize(0)) +
                   " filters"
             : text;
}

std::string summarise(const AttentionMatch &match, ProductArrangement arrangement,
                      const std::string &locations, FlatSymbolRefAttr bias, ScoreAttr score,
                      ScoreAttr pairs) {
  int64_t size = sizeOfHeads(match, arrangement);
  std::string text = std::to_string(match.heads) + " heads of " + std::to_string(size);
  if (match.sums.size() == 1 && match.sums.front().valueSize != size) {
    text += " (values " + std::to_string(match.sums.front().valueSize) + ")";
  }
  if (int64_t share = keyShareOf(match); share > 1) {
    text += ", keys of " + countHeads(match.heads / share);
  }
  if (match.sums.size() == 1 && match.sums.front().value.share > 1) {
    text += ", values of " + countHeads(match.heads / match.sums.front().value.share);
  }
  text += summarise(match, arrangement) + ", scale " + printNumber(match.scale()) + ", " +
          match.visibility.text() + summarise(match.hidden) +
          (pairs ? ", pairs " + pairs.text() : "") + locations +
          (bias ? ", bias @" + bias.getValue().str() : "") +
          (score ? ", score " + score.text() : "");
  if (!match.softmax) {
    text += ", scores alone";
  } else if (match.sums.size() > 1) {
    text += ", weights of " + std::to_string(match.sums.size()) + " sums";
  } else if (match.sums.empty()) {
    text += ", weights alone";
  } else if (match.isResult || !match.others.empty()) {
    text += ", and its weights";
  }
  return match.others.empty() ? text : text + ": " + match.others;
}

/// Replaces the contraction of a sum by `result`, given as rows.
void replaceSum(OpBuilder &builder, Location location, WeightedSum &sum, int64_t heads,
                Value result) {
  if (sum.resultScale != 1.0) {
    result = ScaleOp::create(builder, location, result,
                             builder.getF32FloatAttr(static_cast<float>(sum.resultScale)));
  }
  result = sum.sumsHeads ? sumOfHeads(builder, location, result, heads)
                         : splitHeads(builder, location, result, heads, sum.valueSize);
  result = transposed(builder, location, result, sum.resultOrder);
  sum.contract.getResult().replaceAllUsesWith(result);
}

/// Returns the type of the rows of a sum: one head of values for each head of scores.
RankedTensorType typeOf(WeightedSum &sum, int64_t heads) {
  return RankedTensorType::get({ShapedType::kDynamic, heads * sum.valueSize},
                               Float32Type::get(sum.contract->getContext()));
}

/// Sums values with existing weights.
void fuseWeightedSum(AttentionMatch &match, Value weights, DerivedParameters &parameters) {
  WeightedSum &sum = match.sums.front();
  ContractOp contract = sum.contract;
  OpBuilder builder(contract);
  Location location = contract.getLoc();
  Value value = valueRows(builder, location, parameters, sum, match.heads);
  auto all = VisibilityAttr::get(builder.getContext(), Visibility::all());
  Value result = AttendOp::create(builder, location, typeOf(sum, match.heads), weights, value,
                                  contract.getSegments()[0], contract.getSegments()[1], all,
                                  builder.getI64IntegerAttr(sum.value.share));
  replaceSum(builder, location, sum, match.heads, result);
  eraseUnused(contract);
}

/// The role of each cache of a module in attentions, by name. A cache has the layout of keys or of
/// values, the same in all entries.
class CacheRoles {
public:
  explicit CacheRoles(ModuleOp module) {
    module.walk([&](Operation *op) {
      for (const CacheRead &read : cacheReads(op)) {
        note(read.rows, read.isKeys);
      }
    });
  }

  /// Records the roles of an attention's caches; on failure `reason` says which role conflicts.
  LogicalResult add(const AttentionMatch &match, std::string &reason) {
    SmallVector<std::pair<const AttentionOperand *, bool>> operands;
    for (const ScoreProduct &product : match.products) {
      operands.push_back({&product.key, true});
    }
    for (const WeightedSum &sum : match.sums) {
      operands.push_back({&sum.value, false});
    }
    llvm::SmallDenseMap<StringAttr, bool> added;
    for (auto [operand, isKeys] : operands) {
      CachedOp cached = cachedSource(operand->tensor);
      if (cached && !operand->isRows()) {
        reason = isKeys ? "the keys" : "the values";
        reason += " are of a cache and have their axes in another order";
        return failure();
      }
      StringAttr name = nameOf(cached);
      auto role = areKeys.find(name);
      bool isOther = role != areKeys.end() && role->second != isKeys;
      if (name && (isOther || added.try_emplace(name, isKeys).first->second != isKeys)) {
        reason = "cache \"" + name.str() + "\" is read as keys and as values";
        return failure();
      }
    }
    areKeys.insert(added.begin(), added.end());
    return success();
  }

private:
  static StringAttr nameOf(CachedOp cached) {
    return cached ? cacheName(cached.getCache()) : StringAttr();
  }

  void note(Value tensor, bool isKeys) {
    if (StringAttr name = nameOf(cachedSource(tensor))) {
      areKeys.try_emplace(name, isKeys);
    }
  }

  llvm::DenseMap<StringAttr, bool> areKeys;
};

/// Writes one attention as new operations; holds their attributes and shared operands.
class FusedAttention {
public:
  FusedAttention(AttentionMatch &match, ProductArrangement arrangement,
                 DerivedParameters &parameters)
      : match(match), arrangement(arrangement), parameters(parameters),
        builder(match.products.front().contract), heads(builder.getI64IntegerAttr(match.heads)),
        scale(builder.getF32FloatAttr(static_cast<float>(match.scale()))),
        visibility(VisibilityAttr::get(builder.getContext(), match.visibility)),
        score(match.score.empty() ? ScoreAttr()
                                  : ScoreAttr::get(builder.getContext(), match.score)),
        pairs(match.products.front().pairs ? match.products.front().pairs->maths() : ScoreAttr()),
        segments(match.products.front().contract.getSegments()) {}

  void run() {
    builder.setInsertionPoint(match.softmax);
    if (isOneOperation()) {
      fuseSum();
    } else {
      fuseWeights();
    }
    for (WeightedSum &sum : match.sums) {
      eraseUnused(sum.contract);
    }
    // If weights replace it, no contraction leads to it.
    if (match.isResult || !isOneOperation()) {
      eraseUnused(match.softmax);
    }
  }

  /// Writes the scores themselves, if no softmax follows.
  void runAlone() {
    ContractOp contract = match.products.front().contract;
    Location location = contract->getLoc();
    begin(location);
    QueryKeyRows rows = combineProducts(builder, location, parameters, match, arrangement);
    AttentionWeightsOp scores =
        createWeights(location, contract.getType(), rows, builder.getUnitAttr());
    contract.getResult().replaceAllUsesWith(scores.getResult());
    eraseUnused(contract);
  }

private:
  /// Returns whether attention is one operation: any use of the weights is on request of a caller.
  bool isOneOperation() const { return match.sums.size() == 1 && match.others.empty(); }

  /// Returns the locations of the softmax and of the sum's contraction. Their common prefix names
  /// the layer's attention.
  Location locationOf(Location sum) {
    return FusedLoc::get(builder.getContext(),
                         {match.products.front().contract->getLoc(), match.softmax->getLoc(), sum});
  }

  /// Reports the new operation and derives its parameters.
  void begin(Location location) {
    bias = deriveBias(parameters, location, match.biases);
    const ScoreProduct &first = match.products.front();
    if (first.pairs) {
      pairWeights =
          derivePairWeights(parameters, location, *first.pairs, match.heads, first.factor.numbers);
      locations = deriveLocations(parameters, location, *first.pairs);
    }
    reportTaken(
        location, passNames::fuseAttention,
        summarise(match, arrangement, summarise(locations, parameters), bias, score, pairs));
  }

  /// Writes attention over one value and, directly after it, the weights if they are a result, so
  /// that the live ranges of queries and keys do not grow.
  void fuseSum() {
    WeightedSum &sum = match.sums.front();
    builder.setInsertionPoint(sum.contract);
    Location location = locationOf(sum.contract->getLoc());
    begin(location);
    QueryKeyRows rows = combineProducts(builder, location, parameters, match, arrangement);
    Value value = valueRows(builder, location, parameters, sum, match.heads);
    Value result = AttentionOp::create(
        builder, location, typeOf(sum, match.heads), rows.query, rows.key, value, segments[0],
        segments[1], locations.locations, heads, scale, visibility, bias, match.hidden,
        number(rows.keyShare), number(sum.value.share), score, pairs, pairWeights, locations.taps,
        locations.filters, locations.weights);
    if (match.isResult) {
      Operation *last = replaceWeights(location, rows);
      for (Operation *view : match.views) {
        view->moveAfter(last);
        last = view;
      }
    }
    replaceSum(builder, location, sum, match.heads, result);
  }

  /// Writes the weights, and the sum of each value with them.
  void fuseWeights() {
    Location location = locationOf(match.softmax->getLoc());
    begin(location);
    AttentionWeightsOp weights = replaceWeights(
        location, combineProducts(builder, location, parameters, match, arrangement));
    for (WeightedSum &sum : match.sums) {
      builder.setInsertionPoint(sum.contract);
      Location place = sum.contract->getLoc();
      Value value = valueRows(builder, place, parameters, sum, match.heads);
      Value result =
          AttendOp::create(builder, place, typeOf(sum, match.heads), weights, value, segments[0],
                           segments[1], weights.getAttendedKeys(), number(sum.value.share));
      replaceSum(builder, place, sum, match.heads, result);
    }
  }

  /// Replaces the softmax's result by the weights.
  AttentionWeightsOp replaceWeights(Location location, const QueryKeyRows &rows) {
    AttentionWeightsOp weights = createWeights(location, match.softmax.getType(), rows, {});
    match.softmax.getResult().replaceAllUsesWith(weights.getResult());
    return weights;
  }

  AttentionWeightsOp createWeights(Location location, Type type, const QueryKeyRows &rows,
                                   UnitAttr raw) {
    return AttentionWeightsOp::create(
        builder, location, type, rows.query, rows.key, segments[0], segments[1],
        locations.locations, heads, scale, visibility, bias, match.hidden, number(rows.keyShare),
        score, pairs, pairWeights, locations.taps, locations.filters, locations.weights, raw);
  }

  IntegerAttr number(int64_t share) { return builder.getI64IntegerAttr(share); }

  AttentionMatch &match;
  ProductArrangement arrangement;
  DerivedParameters &parameters;
  OpBuilder builder;
  FlatSymbolRefAttr bias;
  IntegerAttr heads;
  FloatAttr scale;
  VisibilityAttr visibility;
  ScoreAttr score;
  ScoreAttr pairs;
  FlatSymbolRefAttr pairWeights;
  PairLocations locations;
  SmallVector<Value> segments;
};

struct FuseAttentionPass : impl::FuseAttentionPassBase<FuseAttentionPass> {
  FuseAttentionPass() = default;
  explicit FuseAttentionPass(ParameterReader reader) : reader(std::move(reader)) {}

  void runOnOperation() override {
    SmallVector<SoftmaxOp> candidates;
    getOperation().walk([&](SoftmaxOp softmax) { candidates.push_back(softmax); });
    CacheRoles roles(getOperation());
    DerivedParameters parameters(getOperation());
    for (SoftmaxOp softmax : candidates) {
      std::string reason;
      FailureOr<AttentionMatch> match = matchAttention(softmax, reason);
      FailureOr<ProductArrangement> arrangement = succeeded(match)
                                                      ? arrangeProducts(*match, reason)
                                                      : FailureOr<ProductArrangement>(failure());
      if (succeeded(arrangement)) {
        reason = rangeObstacle(*match, parameters, reader);
      }
      if (failed(arrangement) || !reason.empty() || failed(roles.add(*match, reason))) {
        reportDeclined(softmax.getLoc(), passNames::fuseAttention, "not fused: " + reason);
        continue;
      }
      FusedAttention(*match, *arrangement, parameters).run();
    }
    fusePairs(roles, parameters);
    fuseSums(roles, parameters);
    simplifyLayouts(getOperation());
  }

  /// Fuses each contraction for which `isCandidate` holds and `match` succeeds.
  void fuseContractions(CacheRoles &roles, llvm::function_ref<bool(ContractOp)> isCandidate,
                        FailureOr<AttentionMatch> (*match)(ContractOp, std::string &),
                        llvm::function_ref<void(ContractOp, AttentionMatch &)> fuse) {
    SmallVector<ContractOp> candidates;
    getOperation().walk([&](ContractOp contract) {
      if (isCandidate(contract)) {
        candidates.push_back(contract);
      }
    });
    for (ContractOp contract : candidates) {
      std::string reason;
      FailureOr<AttentionMatch> found = match(contract, reason);
      if (failed(found) || failed(roles.add(*found, reason))) {
        reportDeclined(contract.getLoc(), passNames::fuseAttention, "not fused: " + reason);
        continue;
      }
      fuse(contract, *found);
    }
  }

  /// Fuses pairs outside any attention into a kernel too.
  void fusePairs(CacheRoles &roles, DerivedParameters &parameters) {
    fuseContractions(
        roles, [](ContractOp contract) { return sumsPairs(contract); }, matchPairScores,
        [&](ContractOp, AttentionMatch &match) {
          FusedAttention(match, ProductArrangement::Alone, parameters).runAlone();
        });
  }

  /// Fuses sums of values, wherever their weights come from.
  void fuseSums(CacheRoles &roles, DerivedParameters &parameters) {
    fuseContractions(
        roles, [](ContractOp contract) { return static_cast<bool>(changedWeights(contract)); },
        matchWeightedSum,
        [&](ContractOp contract, AttentionMatch &match) {
          reportTaken(contract.getLoc(), passNames::fuseAttention,
                      countHeads(match.heads) + " of weights that no softmax gives, values of " +
                          std::to_string(match.sums.front().valueSize));
          fuseWeightedSum(match, changedWeights(contract), parameters);
        });
  }

  ParameterReader reader;
};

} // namespace

std::unique_ptr<Pass> createFuseAttentionPass(ParameterReader reader) {
  return std::make_unique<FuseAttentionPass>(std::move(reader));
}

} // namespace heddle
