// SPDX-License-Identifier: Apache-2.0
///
/// Computes softmax(score(scale * Q K^T)) V, or with sums over pairs instead of products, one
/// sequence and head of keys at a time. Scores stay in the first-level cache.
///
/// The keys of a sequence are transposed once into scratch. A tile of queries iterates over the
/// keys in blocks of kKeyBlock, in the order of their positions, with an online softmax: running
/// maximum, running sum, running product with V (Milakov & Gimelshein 2018). Block boundaries are
/// fixed, so the bits of a row depend only on its own sequence. Caches (heddle/Abi.h) hold
/// transposed keys already, in blocks of positions; everything else is the same.
#include "compiler/Target/Emitters/AttentionPairs.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle {

// Keys that a tile of queries processes at once: 8 rows of scores take 8 KiB.
static constexpr int64_t kKeyBlock = 256;
// Vectors of per-row numbers in scratch.
static constexpr int64_t kNumbers = 2;

namespace {
/// A tile with the running state of an online softmax, in scratch.
struct Attention : AttentionTile {
  float scale = 1;
  Value accumulators = {}; // [rows][valueVectors * lanes]
  // One number per row, [kMostLanes] each: the running maximum and sum.
  Value maxima = {}, sums = {};

  /// Returns the address of a vector of a row's running product.
  Value accumulator(int64_t row, int64_t vector) {
    return code.at(accumulators, (row * valueVectors() + vector) * code.lanes);
  }
};
} // namespace

// Applies the online softmax to one block: updates the running maxima and sums, and turns scores
// into weights relative to the maxima. Per-row numbers are computed for all rows of the tile at
// once, one row per lane. Returns the factors that rescale older products to the new maxima. If
// `shown` is given, a mask hides the keys from `shown` on from all rows; their weights are added to
// `hidden`.
static Value emitSoftmax(Attention &a, ArrayRef<Value> blockMaxima, Value from, Value count,
                         Value shown, Value &hidden) {
  VectorCode &code = a.code;
  Value before = code.loadVector(a.maxima);
  Value maxima = code.maximaOfLanes(blockMaxima);
  if (a.isRounded()) {
    // Scaling by a power of two is exact, so weights round alike whatever keys came before.
    maxima = LLVM::FCeilOp::create(code.builder, code.location, maxima);
  }
  maxima = code.maximum(maxima, before);
  Value correction =
      math::Exp2Op::create(code.builder, code.location, code.subtractFloat(before, maxima));
  code.storeVector(maxima, a.maxima);
  SmallVector<Value> blockSums;
  for (int64_t first = 0; first < a.rows; first += kRowsTogether) {
    SmallVector<Value> group;
    for (int64_t r = first; r < std::min(first + kRowsTogether, a.rows); ++r) {
      group.push_back(code.broadcastLane(maxima, r));
    }
    Value weights;
    blockSums.append(shown ? exponentiateHidden(a, first, group, shown, count, weights)
                           : exponentiate(a, first, group, from, count));
    if (shown) {
      hidden = hidden ? code.addFloat(hidden, weights) : weights;
    }
  }
  Value sums = code.fma(code.loadVector(a.sums), correction, code.sumsOfLanes(blockSums));
  code.storeVector(sums, a.sums);
  return correction;
}

// Computes accumulators[r][:] = accumulators[r][:] * corrections[r] + sum over j of weight[r][j]
// V[j][:].
static void emitValues(Attention &a, Value corrections, Value firstKey, Value from, Value count,
                       const KeyLimits &limits) {
  VectorCode &code = a.code;
  SmallVector<Value> weights;
  for (int64_t r = 0; r < a.rows; ++r) {
    weights.push_back(a.scoresOf(r));
  }
  for (ValueGroup group : valueGroups(a)) {
    SmallVector<Value> sums;
    for (int64_t r = 0; r < a.rows; ++r) {
      Value correction = code.broadcastLane(corrections, r);
      for (int64_t v = group.first; v < group.first + group.count; ++v) {
        sums.push_back(code.multiplyFloat(code.loadVector(a.accumulator(r, v)), correction));
      }
    }
    sums = a.isPaired ? dotValues(a, group, firstKey, from, count, sums)
                      : addValues(a, group, weights, firstKey, count, limits, sums);
    for (int64_t r = 0; r < a.rows; ++r) {
      for (int64_t v = 0; v < group.count; ++v) {
        code.storeVector(sums[r * group.count + v], a.accumulator(r, group.first + v));
      }
    }
  }
}

// Does the same on AMX, for the keys from <= j < count.
static void emitAmxValues(Attention &a, Value corrections, Value firstKey, Value from,
                          Value count) {
  VectorCode &code = a.code;
  for (int64_t r = 0; r < a.rows; ++r) {
    Value correction = code.broadcastLane(corrections, r);
    for (int64_t v = 0; v < a.valueVectors(); ++v) {
      Value sum = code.loadVector(a.accumulator(r, v));
      code.storeVector(code.multiplyFloat(sum, correction), a.accumulator(r, v));
    }
  }
  multiplyValues(a, a.accumulators, firstKey, from, count);
}

static void resetTile(Attention &a) {
  VectorCode &code = a.code;
  code.storeVector(code.splat(kLowestScore), a.maxima);
  code.storeVector(code.splat(0), a.sums);
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t v = 0; v < a.valueVectors(); ++v) {
      code.storeVector(code.splat(0), a.accumulator(r, v));
    }
  }
}

// Stores result[row][head] = accumulators / sum, for `count` queries from number `query` on.
static void storeTile(Attention &a, Value query, Value count) {
  VectorCode &code = a.code;
  code.loop(code.integer(0), count, 1, [&](Value r) {
    Value sum = code.loadScalar(code.at(a.sums, r));
    Value factor = code.broadcast(code.divideFloat(code.number(1.0f), sum));
    Value from = code.at(a.accumulators, code.multiply(r, a.valueVectors() * code.lanes));
    QueryPlace place = placeOf(a, code.add(query, r));
    Value to = a.result.at(code, place.row, code.multiply(place.head, a.valueSize));
    for (int64_t v = 0; v < a.valueVectors(); ++v) {
      Value x = code.multiplyFloat(code.loadVector(code.at(from, v * code.lanes)), factor);
      code.storeVector(x, code.at(to, v * code.lanes), code.validLanes(v, a.valueSize));
    }
  });
}

// Computes the tile of queries from number `query` on; `last` is past the last query to compute.
static void emitTile(Attention &a, Value query, Value last) {
  VectorCode &code = a.code;
  TileRows tile = enterTile(a, query, last);
  resetTile(a);
  takeQueries(a, tile);
  writeLocations(a, tile, query);
  Value firstBlock = code.multiply(code.divide(tile.first, kKeyBlock), kKeyBlock);
  code.loop(firstBlock, tile.seen, kKeyBlock, [&](Value firstKey) {
    Value from = code.larger(code.subtract(tile.first, firstKey), code.integer(0));
    Value count = code.smaller(code.subtract(tile.seen, firstKey), code.integer(kKeyBlock));
    KeyLimits limits = limitsOf(a, tile, firstKey, count);
    SmallVector<Value> maxima = emitScores(a, tile, a.scale, firstKey, from, count, limits);
    Value shown = a.hidden ? mostVisible(a, tile, firstKey, count) : Value(), hidden;
    Value corrections = emitSoftmax(a, maxima, from, count, shown, hidden);
    if (shown) {
      // If all weights of hidden keys are zero, their values are not needed.
      Value isSeen = isNotZero(code, code.sumOfLanes(hidden));
      count = code.select(isSeen, count, code.smaller(shown, count));
      limits.ends = visibleOf(a, tile, firstKey, count);
    }
    if (a.isOnAmx) {
      emitAmxValues(a, corrections, firstKey, from, count);
    } else {
      emitValues(a, corrections, firstKey, from, count, limits);
    }
  });
  storeTile(a, query, tile.count);
}

// Returns the largest number of rows of a tile on any target.
static int64_t mostRowsOf(dataflow::AttentionAttr computes) {
  return computes.getArithmetic() == dataflow::Arithmetic::Bf16 ? kAmxRows : kMostRows;
}

static Attention prepare(VectorCode &code, const KernelBody &body,
                         dataflow::AttentionAttr computes) {
  Attention a{{code, code.target.tileRows, computes.getKeySize(), computes.getValueSize()},
              computes.getScale().getValue().convertToFloat()};
  loadAttention(a, body, computes);
  a.rows = a.isOnAmx ? kAmxRows : a.rows;
  assert(a.rows <= mostRowsOf(computes) && a.rows <= code.lanes && code.lanes <= kMostLanes &&
         "scratch is sized for every target");
  a.scores = body.arguments.scratch(code);
  a.scorePitch = code.integer(kKeyBlock);
  Value next = code.at(a.scores, a.rows * kKeyBlock);
  a.products = a.scores;
  if (a.isOnAmx && a.bias) {
    // The scores hold biases before the products are computed.
    a.products = next;
    next = code.at(next, a.rows * kKeyBlock);
  }
  a.accumulators = next;
  next = code.at(a.accumulators, a.rows * a.valueVectors() * code.lanes);
  for (Value *numbers : {&a.maxima, &a.sums}) {
    *numbers = next;
    next = code.at(next, kMostLanes);
  }
  if (a.isRounded()) {
    a.roundedQueries = next;
    next = code.at(next, kMostRows * static_cast<int64_t>(llvm::alignTo(a.keySize, kAmxBf16Steps)));
  }
  a.keysTransposed =
      loadLocations(a, body, computes.getFirstLocation(), computes.getHeadsOfLocations(),
                    computes.getTapsOfLocations(), computes.getLocationFilters(), next);
  return a;
}

template <> KernelScratch scratchOf(dataflow::AttentionAttr computes) {
  uint64_t valueLanes = llvm::alignTo(computes.getValueSize(), kMostLanes);
  const bool isRounded = computes.getArithmetic() == dataflow::Arithmetic::Bf16;
  ScratchElements keys = isRounded ? roundedFactors(computes)
                                   : transposedKeys(computes.getVisibility(), computes.getHidden(),
                                                    computes.getKeySize());
  // With biases, AMX stores products beside them.
  const uint64_t scores = isRounded && computes.getBiasDistance() > 0 ? 2 : 1;
  ScratchElements locations = locationElements(
      computes.getHeadsOfLocations(), computes.getTapsOfLocations(), computes.getLocationFilters());
  uint64_t fixed =
      mostRowsOf(computes) * (scores * kKeyBlock + valueLanes) + kNumbers * kMostLanes + keys.fixed;
  return {(fixed + locations.fixed) * 4, (keys.perLongest + locations.perLongest) * 4};
}

template <> void emit(VectorCode &code, const KernelBody &body, dataflow::AttentionAttr computes) {
  Attention attention = prepare(code, body, computes);
  if (attention.isOnAmx) {
    enterAmx(attention, body.function);
  }
  overTiles(attention, body.arguments,
            [&](Value query, Value last) { emitTile(attention, query, last); });
  if (attention.isOnAmx) {
    leaveAmx(code);
  }
}

} // namespace heddle
