// SPDX-License-Identifier: Apache-2.0
///
/// Computes softmax(score(scale * Q K^T)), the first half of attention, and stores the weights, or
/// only the scores.
///
/// A tile of queries has the scores of all its keys in scratch before the first exponential: the
/// maximum is then known, and no product has to be rescaled. Only keys of the sequence are stored:
/// the memory after them belongs to the next head, which may be another thread's.
#include "compiler/Target/Emitters/AttentionTile.h"

using namespace mlir;

namespace heddle {

namespace {
/// A tile that stores its weights as the result.
struct AttentionWeights : AttentionTile {
  float scale = 1;
  Value factors = {}; // [kMostLanes] in scratch: the inverse of each row's sum
};
} // namespace

// Turns the scores of the tile into exponentials, and stores the inverses of their sums as factors.
static void emitExponentials(AttentionWeights &a, ArrayRef<Value> maxima, Value from, Value count) {
  VectorCode &code = a.code;
  for (int64_t first = 0; first < a.rows; first += kRowsTogether) {
    SmallVector<Value> group;
    for (int64_t r = first; r < std::min(first + kRowsTogether, a.rows); ++r) {
      group.push_back(code.broadcast(code.maximumOfLanes(maxima[r])));
    }
    for (auto [r, sum] : llvm::enumerate(exponentiate(a, first, group, from, count))) {
      Value factor = code.divideFloat(code.number(1.0f), code.sumOfLanes(sum));
      code.storeScalar(factor, code.at(a.factors, first + static_cast<int64_t>(r)));
    }
  }
}

// Stores result[row][head][:] = exponentials[r][:] * factors[r], or the scores themselves, for each
// query r of the tile, whose first has number `query`; stores zeros for keys that no row of the
// tile sees.
static void storeTile(AttentionWeights &a, const TileRows &tile, Value query) {
  VectorCode &code = a.code;
  Value seen = code.subtract(tile.seen, tile.first);
  Value whole = code.multiply(code.divide(seen, code.lanes), code.lanes);
  code.loop(code.integer(0), tile.count, 1, [&](Value r) {
    Value factor = a.isRaw ? Value() : code.broadcast(code.loadScalar(code.at(a.factors, r)));
    Value from = code.at(a.scores, code.multiply(r, a.scorePitch));
    QueryPlace place = placeOf(a, code.add(query, r));
    Value all = a.result.at(code, place.row, code.multiply(place.head, a.longest));
    Value to = code.at(all, tile.first);
    auto weights = [&](Value j) {
      Value stored = code.loadVector(code.at(from, j));
      return factor ? code.multiplyFloat(stored, factor) : stored;
    };
    code.loop(code.integer(0), whole, code.lanes,
              [&](Value j) { code.storeVector(weights(j), code.at(to, j)); });
    code.when(code.less(whole, seen), [&] {
      Value rest = code.subtract(a.keyCount, tile.first);
      code.storeBelow(weights(whole), code.at(to, whole), whole, rest);
    });
    code.loop(code.integer(0), tile.first, code.lanes,
              [&](Value j) { code.storeVector(code.splat(0), code.at(all, j)); });
    if (a.visibility.to) {
      code.loop(a.roundUp(tile.seen), a.keyCount, code.lanes,
                [&](Value j) { code.storeBelow(code.splat(0), code.at(all, j), j, a.keyCount); });
    }
  });
}

static void emitTile(AttentionWeights &a, Value query, Value last) {
  VectorCode &code = a.code;
  TileRows tile = enterTile(a, query, last);
  // Scratch holds scores from the first key of the tile on.
  Value from = code.integer(0), count = code.subtract(tile.seen, tile.first);
  KeyLimits limits = limitsOf(a, tile, tile.first, count);
  writeLocations(a, tile, query);
  SmallVector<Value> maxima = emitScores(a, tile, a.scale, tile.first, from, count, limits);
  if (!a.isRaw) {
    emitExponentials(a, maxima, from, count);
  }
  storeTile(a, tile, query);
}

template <> KernelScratch scratchOf(dataflow::AttentionWeightsAttr computes) {
  // Scores, locations and transposed keys, each in whole vectors.
  ScratchElements keys =
      transposedKeys(computes.getVisibility(), computes.getHidden(), computes.getKeySize());
  std::optional<int64_t> scores =
      mostKeysOf(computes.getVisibility(), computes.getHidden(), kMostRows);
  ScratchElements locations = locationElements(
      computes.getHeadsOfLocations(), computes.getTapsOfLocations(), computes.getLocationFilters());
  uint64_t keysOfRow = scores ? static_cast<uint64_t>(*scores) : kMostLanes;
  return {(kMostLanes + kMostRows * keysOfRow + locations.fixed + keys.fixed) * 4,
          ((scores ? 0 : kMostRows) + locations.perLongest + keys.perLongest) * 4};
}

template <>
void emit(VectorCode &code, const KernelBody &body, dataflow::AttentionWeightsAttr computes) {
  AttentionWeights a{{code, code.target.tileRows, computes.getKeySize()},
                     computes.getScale().getValue().convertToFloat()};
  loadAttention(a, body, computes);
  a.factors = body.arguments.scratch(code);
  a.scores = code.at(a.factors, kMostLanes);
  std::optional<int64_t> scores =
      mostKeysOf(computes.getVisibility(), computes.getHidden(), kMostRows);
  a.scorePitch = scores ? code.integer(*scores) : a.roundUp(a.longest);
  a.keysTransposed =
      loadLocations(a, body, computes.getFirstLocation(), computes.getHeadsOfLocations(),
                    computes.getTapsOfLocations(), computes.getLocationFilters(),
                    code.at(a.scores, code.multiply(a.scorePitch, a.rows)));
  overTiles(a, body.arguments, [&](Value query, Value last) { emitTile(a, query, last); });
}

} // namespace heddle
