// SPDX-License-Identifier: Apache-2.0
///
/// Patterns of attention and its two halves, which have dedicated kernels.
#include "compiler/Dataflow/Lowering/EntryContext.h"
#include "compiler/Dataflow/Lowering/ScalarMaths.h"

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {
namespace {

/// Adds queries, keys or values, which are rows of `segments`, to the inputs. Queries come first.
LogicalResult addAttended(OpOperand &rows, Value segments, EntryContext &entry,
                          KernelParts &parts) {
  Operation *op = rows.getOwner();
  Value input = entry.bufferOf(rows.get());
  auto type = dyn_cast<BufferType>(input.getType());
  if (failed(entry.checkRows(op, "attends to", input, segments))) {
    return failure();
  }
  FailureOr<Value> keys = entry.keysOf(op);
  if (failed(keys)) {
    return failure();
  }
  if (type && *keys && rows.getOperandNumber() > 0) {
    return op->emitOpError("has keys or values that are rows, expected those of a cache");
  }
  parts.inputs.push_back(input);
  return success();
}

/// Fails if omitting a bias of one column would change the result.
template <typename Attention> LogicalResult checkBias(Attention op, EntryContext &entry) {
  FlatSymbolRefAttr bias = op.getBiasAttr();
  transformer::HiddenAttr hidden = op.getHiddenAttr();
  if (bias && failed(entry.checkDistances(op, op.getQueries(), op.getKeys()))) {
    return failure();
  }
  // Hidden keys have a fixed score without the bias, so it does not cancel in the softmax.
  if (bias && hidden && hidden.getKind() == transformer::HiddenKind::Score &&
      entry.parameterOp(bias).getTensorType().getDimSize(1) == 1) {
    return op->emitOpError("has scores in place of those of hidden keys and a bias of one column, "
                           "expected one of several distances");
  }
  return success();
}

/// Adds the table of biases by distance to the inputs, if it has an effect; returns its distance,
/// else 0.
int64_t addBias(FlatSymbolRefAttr bias, EntryContext &entry, KernelParts &parts) {
  int64_t distance = bias ? entry.parameterOp(bias).getTensorType().getDimSize(1) / 2 : 0;
  // A table of one column is a constant for each head, which cancels in the softmax.
  if (distance > 0) {
    parts.inputs.push_back(entry.parameter(bias));
  }
  return distance;
}

/// Emits the maths of a score: its arguments are the scaled product and, if used, the bias.
Value createScore(OpBuilder &builder, Location location, transformer::ScoreAttr score,
                  ValueRange arguments) {
  SmallVector<Value> values = {arguments.front()};
  auto valueOf = [&](const transformer::ScoreTerm &term) {
    switch (term.kind) {
    case transformer::ScoreTerm::Kind::Value:
      return values[term.value];
    case transformer::ScoreTerm::Kind::Constant:
      return createNumber(builder, location, term.constant);
    case transformer::ScoreTerm::Kind::Bias:
      return arguments[1];
    }
    llvm_unreachable("every term has a value");
  };
  for (const transformer::ScoreStep &step : score.getSteps()) {
    Value left = valueOf(step.left);
    switch (step.kind) {
    case transformer::ScoreStep::Kind::Add:
      values.push_back(createSum(builder, location, left, valueOf(step.right)));
      break;
    case transformer::ScoreStep::Kind::Multiply:
      values.push_back(createProduct(builder, location, left, valueOf(step.right)));
      break;
    case transformer::ScoreStep::Kind::Activate:
      values.push_back(createActivation(builder, location, step.activation, left));
      break;
    }
  }
  return values.back();
}

/// Writes the dispatch of an attention, with the maths of its scores and of its pairs as regions.
template <typename Attention>
LogicalResult dispatchScored(Attention op, EntryContext &entry, KernelParts &parts) {
  transformer::ScoreAttr score = op.getScoreAttr(), pairs = op.getPairsAttr();
  parts.takesBias = score && score.takesBias();
  auto scoreOf = [&](OpBuilder &builder, Location location, ValueRange arguments) {
    return createScore(builder, location, score, arguments);
  };
  auto pairOf = [&](OpBuilder &builder, Location location, ValueRange arguments) {
    Value sum = createSum(builder, location, arguments[0], arguments[1]);
    return createScore(builder, location, pairs, sum);
  };
  return entry.dispatch(op, parts, score ? EpilogueBuilder(scoreOf) : nullptr,
                        pairs ? EpilogueBuilder(pairOf) : nullptr);
}

/// Adds the weights of pairs as the last input, if scores are sums of pairs; returns whether they
/// are.
template <typename Attention>
bool addPairWeights(Attention op, EntryContext &entry, KernelParts &parts) {
  if (FlatSymbolRefAttr weights = op.getPairWeightsAttr()) {
    parts.inputs.push_back(entry.parameter(weights));
    return true;
  }
  return false;
}

/// Locations for the attribute of a kernel: heads, taps, and the number of filters.
struct Locations {
  DenseI64ArrayAttr heads, taps;
  int64_t filters = 0;
};

/// Adds the numbers of keys to the inputs, then their filters and weights.
template <typename Attention>
FailureOr<Locations> addLocations(Attention op, EntryContext &entry, KernelParts &parts) {
  Locations locations;
  if (op.getLocations().empty()) {
    return locations;
  }
  SmallVector<int64_t> heads;
  for (Value locations : op.getLocations()) {
    heads.push_back(cast<RankedTensorType>(locations.getType()).getDimSize(1));
    BufferType expected = entry.denseBuffer(
        {entry.rowsIn(op.getQueries()), heads.back(), entry.longestIn(op.getKeys())});
    if (entry.typeOf(locations) != expected) {
      return op.emitOpError("has locations ")
             << entry.typeOf(locations) << ", expected " << expected;
    }
    parts.inputs.push_back(entry.bufferOf(locations));
  }
  locations.heads = DenseI64ArrayAttr::get(op.getContext(), heads);
  locations.taps = op.getLocationTapsAttr();
  if (FlatSymbolRefAttr filters = op.getLocationFiltersAttr()) {
    parts.inputs.push_back(entry.parameter(filters));
    locations.filters = entry.parameterOp(filters).getTensorType().getDimSize(0);
  }
  parts.inputs.push_back(entry.parameter(op.getLocationWeightsAttr()));
  return locations;
}

LogicalResult lowerAttention(transformer::AttentionOp op, EntryContext &entry) {
  int64_t heads = op.getHeads();
  int64_t keySize = op.getQuery().getType().getDimSize(1) / heads;
  int64_t width = op.getType().getDimSize(1);
  KernelParts parts;
  parts.stem = "attention";
  if (failed(entry.checkVisibility(op, op.getVisibility().getValue(), op.getQueries(),
                                   op.getKeys())) ||
      failed(addAttended(op.getQueryMutable(), op.getQueries(), entry, parts)) ||
      failed(addAttended(op.getKeyMutable(), op.getKeys(), entry, parts)) ||
      failed(addAttended(op.getValueMutable(), op.getKeys(), entry, parts)) ||
      failed(checkBias(op, entry))) {
    return failure();
  }
  int64_t distance = addBias(op.getBiasAttr(), entry, parts);
  FailureOr<Locations> locations = addLocations(op, entry, parts);
  if (failed(locations)) {
    return failure();
  }
  bool pairs = addPairWeights(op, entry, parts);
  parts.computes = AttentionAttr::get(
      op.getContext(), heads, keySize, width / heads, op.getScaleAttr(), op.getVisibility(),
      distance, op.getHiddenAttr(), op.getKeyShare(), op.getValueShare(), pairs, locations->heads,
      locations->taps, locations->filters, Arithmetic::F32);
  parts.results = {entry.denseBuffer({entry.rowsIn(op.getQueries()), width})};
  return dispatchScored(op, entry, parts);
}

LogicalResult lowerAttentionWeights(transformer::AttentionWeightsOp op, EntryContext &entry) {
  int64_t heads = op.getHeads();
  int64_t keySize = op.getQuery().getType().getDimSize(1) / heads;
  KernelParts parts;
  parts.stem = "attention_weights";
  if (failed(entry.checkVisibility(op, op.getVisibility().getValue(), op.getQueries(),
                                   op.getKeys())) ||
      failed(addAttended(op.getQueryMutable(), op.getQueries(), entry, parts)) ||
      failed(addAttended(op.getKeyMutable(), op.getKeys(), entry, parts)) ||
      failed(checkBias(op, entry))) {
    return failure();
  }
  int64_t distance = addBias(op.getBiasAttr(), entry, parts);
  FailureOr<Locations> locations = addLocations(op, entry, parts);
  if (failed(locations)) {
    return failure();
  }
  bool pairs = addPairWeights(op, entry, parts);
  parts.computes = AttentionWeightsAttr::get(op.getContext(), heads, keySize, op.getScaleAttr(),
                                             op.getVisibility(), distance, op.getHiddenAttr(),
                                             op.getKeyShare(), pairs, op.getRaw(), locations->heads,
                                             locations->taps, locations->filters);
  parts.results = {
      entry.denseBuffer({entry.rowsIn(op.getQueries()), heads, entry.longestIn(op.getKeys())})};
  return dispatchScored(op, entry, parts);
}

LogicalResult lowerAttend(transformer::AttendOp op, EntryContext &entry) {
  int64_t heads = op.getWeights().getType().getDimSize(1);
  int64_t width = op.getType().getDimSize(1);
  BufferType weights = entry.typeOf(op.getWeights());
  BufferType expected =
      entry.denseBuffer({entry.rowsIn(op.getQueries()), heads, entry.longestIn(op.getKeys())});
  if (weights != expected) {
    return op.emitOpError("has weights ") << weights << ", expected " << expected;
  }
  KernelParts parts;
  parts.stem = "attend";
  parts.inputs = {entry.bufferOf(op.getWeights())};
  if (failed(entry.checkVisibility(op, op.getVisibility().getValue(), op.getQueries(),
                                   op.getKeys())) ||
      failed(addAttended(op.getValueMutable(), op.getKeys(), entry, parts))) {
    return failure();
  }
  parts.computes = AttendAttr::get(op.getContext(), heads, width / heads, op.getVisibility(),
                                   op.getValueShare());
  parts.results = {entry.denseBuffer({entry.rowsIn(op.getQueries()), width})};
  return entry.dispatch(op, parts);
}

} // namespace

template <> Pattern patternOf<transformer::AttendOp>() {
  return {NamedSegments::RowsAndKeys, CachePositions::attends(/*key=*/-1, /*value=*/1),
          LoweringOrder::InPlace, lowerAs<transformer::AttendOp, lowerAttend>};
}

template <> Pattern patternOf<transformer::AttentionOp>() {
  return {NamedSegments::RowsAndKeys, CachePositions::attends(/*key=*/1, /*value=*/2),
          LoweringOrder::InPlace, lowerAs<transformer::AttentionOp, lowerAttention>};
}

template <> Pattern patternOf<transformer::AttentionWeightsOp>() {
  return {NamedSegments::RowsAndKeys, CachePositions::attends(/*key=*/1, /*value=*/-1),
          LoweringOrder::InPlace, lowerAs<transformer::AttentionWeightsOp, lowerAttentionWeights>};
}

} // namespace heddle
