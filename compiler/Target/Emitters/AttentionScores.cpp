// SPDX-License-Identifier: Apache-2.0
///
/// Products of queries and keys, their masks, and their exponentials.
///
/// Keys are transposed, [head size][keys], in a cache or in scratch. A vector of scores is
/// therefore a sum of products over the head size, lane by lane, in one order for every tile.
#include "compiler/Target/Emitters/AttentionPairs.h"

#include "heddle/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace heddle {

// The score of a hidden key. Its weight is zero, because the maximum of a row is at least
// kLowestScore.
static constexpr float kHidden = -std::numeric_limits<float>::infinity();

// Returns the address of the transposed keys from number `position` of the sequence on, a multiple
// of the lanes.
static Value keysFrom(AttentionTile &a, Value position) {
  VectorCode &code = a.code;
  if (!a.isCached) {
    return code.at(a.keysTransposed,
                   a.firstTransposed ? code.subtract(position, a.firstTransposed) : position);
  }
  Value block = a.keyCache.blockAt(code, a.keyBlocks, position);
  return a.keyPlaces.elementAt(code, block, code.remainder(position, HEDDLE_BLOCK),
                               code.multiply(a.keyHead(), a.keySize));
}

// Returns the scales of cached codes, one key per lane; null if keys have none.
static Value keyScales(AttentionTile &a, Value position) {
  VectorCode &code = a.code;
  if (!a.keyPlaces.hasScales()) {
    return {};
  }
  Value block = a.keyCache.blockAt(code, a.keyBlocks, position);
  return code.loadVector(a.keyPlaces.scaleAt(code, block, code.remainder(position, HEDDLE_BLOCK),
                                             code.multiply(a.keyHead(), a.keySize)));
}

// Loads a vector of keys, `line` elements after `start`.
static Value loadKeys(const AttentionTile &a, Value start, Value line) {
  return a.code.loadStored(a.code.storedAt(start, line, a.keyElement), a.keyElement);
}

void transposeKeys(AttentionTile &a) {
  if (a.isPaired) {
    pairKeys(a);
    return;
  }
  VectorCode &code = a.code;
  int64_t size = a.keySize;
  Value keys = code.at(a.key, code.multiply(a.keyHead(), size));
  Value lastRow = code.add(a.firstKey, code.subtract(a.keyCount, code.integer(1)));
  Value firstRow = a.firstScratchRow();
  code.loop(code.integer(0), a.pitch, code.lanes, [&](Value j) {
    SmallVector<Value> rows;
    for (int64_t lane = 0; lane < code.lanes; ++lane) {
      Value row = code.smaller(code.add(code.add(firstRow, j), lane), lastRow);
      rows.push_back(code.at(keys, code.multiply(row, a.keyStride)));
    }
    for (int64_t d = 0; d < size; d += code.lanes) {
      int64_t valid = std::min(code.lanes, size - d);
      SmallVector<Value> square;
      for (Value row : rows) {
        Value elements = code.loadVector(code.at(row, d), valid);
        square.push_back(a.isRounded() ? code.nearestBf16(elements) : elements);
      }
      square = code.transposeSquare(square);
      for (int64_t i = 0; i < valid; ++i) {
        Value place = code.add(code.multiply(a.pitch, d + i), j);
        code.storeVector(square[i], code.at(a.keysTransposed, place));
      }
    }
  });
}

// Computes the products of one register tile: rows of queries times vectors of keys, whose
// addresses are `keys`.
static SmallVector<Value> scoreTile(AttentionTile &a, ArrayRef<Value> queries, ArrayRef<Value> keys,
                                    ArrayRef<Value> scales) {
  VectorCode &code = a.code;
  auto vectors = static_cast<int64_t>(keys.size());
  int64_t size = a.keySize, unroll = size % 4 == 0 ? 4 : 1;
  SmallVector<Value> sums(a.rows * vectors, code.splat(0));
  sums = code.loop(code.integer(0), code.integer(size), unroll, sums,
                   [&](Value first, ValueRange carried) {
                     SmallVector<Value> next(carried);
                     for (int64_t u = 0; u < unroll; ++u) {
                       Value d = code.add(first, u), line = code.multiply(d, a.pitch);
                       SmallVector<Value> loaded;
                       for (Value start : keys) {
                         loaded.push_back(loadKeys(a, start, line));
                       }
                       for (int64_t r = 0; r < a.rows; ++r) {
                         Value q = code.broadcast(code.loadScalar(code.at(queries[r], d)));
                         for (int64_t v = 0; v < vectors; ++v) {
                           Value &sum = next[r * vectors + v];
                           sum = code.fma(q, loaded[v], sum);
                         }
                       }
                     }
                     return next;
                   });
  // All codes of a key share one scale.
  for (auto [number, sum] : llvm::enumerate(sums)) {
    Value scale = scales[number % keys.size()];
    sum = scale ? code.multiplyFloat(sum, scale) : sum;
  }
  return sums;
}

namespace {
/// Rows of a register tile: the queries, the pair weights of their heads, and, with locations, the
/// addresses of their lines at the first key.
struct PairRows {
  SmallVector<Value> queries, weights, lines;

  PairRows slice(size_t first, size_t count) const {
    auto of = [&](ArrayRef<Value> all) {
      return SmallVector<Value>(all.empty() ? all : all.slice(first, count));
    };
    return {of(queries), of(weights), of(lines)};
  }
};
} // namespace

// Computes the same with a function f of pairs: sums over d of weights[d] f(q[d], k[d]), where
// locations are added to k first.
static SmallVector<Value> pairSums(AttentionTile &a, const PairRows &rows, ArrayRef<Value> keys,
                                   ArrayRef<Value> scales) {
  VectorCode &code = a.code;
  SmallVector<Value> sums(rows.queries.size() * keys.size(), code.splat(0));
  return code.loop(code.integer(0), code.integer(a.keySize), 1, sums,
                   [&](Value d, ValueRange carried) {
                     Value line = code.multiply(d, a.pitch);
                     SmallVector<Value> loaded, elements, next;
                     for (auto [start, scale] : llvm::zip_equal(keys, scales)) {
                       Value key = loadKeys(a, start, line);
                       loaded.push_back(scale ? code.multiplyFloat(key, scale) : key);
                     }
                     for (size_t row = 0; row < rows.queries.size(); ++row) {
                       elements.append(loaded);
                     }
                     if (!rows.lines.empty()) {
                       elements = addLocations(a, d, rows.lines, static_cast<int64_t>(keys.size()),
                                               std::move(elements));
                     }
                     for (auto [query, weight] : llvm::zip_equal(rows.queries, rows.weights)) {
                       Value q = code.broadcast(code.loadScalar(code.at(query, d)));
                       Value w = code.broadcast(code.loadScalar(code.at(weight, d)));
                       for (size_t v = 0; v < keys.size(); ++v) {
                         Value key = elements[next.size()];
                         Value pair = cloneScalarMaths(code, *a.pairs, {q, key}, code.vector);
                         next.push_back(code.fma(w, pair, carried[next.size()]));
                       }
                     }
                     return next;
                   });
}

// Computes the sums of a register tile, at most kMostPairs pairs of vectors at a time: f needs
// registers for its constants too, and reloading keys is cheap compared to it. `key` is the first
// key.
static SmallVector<Value> pairTile(AttentionTile &a, PairRows rows, ArrayRef<Value> keys,
                                   ArrayRef<Value> scales, Value key) {
  SmallVector<Value> sums;
  for (Value &lines : rows.lines) {
    lines = a.code.at(lines, key);
  }
  size_t all = rows.queries.size(), together = std::max<size_t>(kMostPairs / keys.size(), 1);
  for (size_t first = 0; first < all; first += together) {
    sums.append(pairSums(a, rows.slice(first, std::min(together, all - first)), keys, scales));
  }
  return sums;
}

// Returns the factor of stored scores: softmax uses powers of two instead of powers of e.
static double scoreUnit(const AttentionTile &a) { return a.isRaw ? 1 : M_LOG2E; }

// Stores scores[r][j] = bias[head][j - position of row r] for the keys firstKey + j, from <= j <
// count. The bias is multiplied by log2(e) unless the function of scores takes it as an argument.
static void emitBias(AttentionTile &a, const TileRows &tile, Value firstKey, Value from,
                     Value count) {
  VectorCode &code = a.code;
  int64_t distance = a.biasDistance, width = 2 * distance + 1;
  for (int64_t r = 0; r < a.rows; ++r) {
    Value table = code.at(a.bias, code.multiply(tile.heads[r], width));
    // Distances are shifted so that none is negative.
    Value first = code.add(code.subtract(firstKey, a.positionOf(tile.rows[r])), distance);
    Value scores = a.scoresOf(r);
    code.loop(from, count, 1, [&](Value j) {
      Value index = code.larger(code.add(first, j), code.integer(0));
      index = code.smaller(index, code.integer(width - 1));
      Value bias = code.loadScalar(code.at(table, index));
      if (!a.scoreTakesBias) {
        bias = code.multiplyFloat(bias, code.number(static_cast<float>(scoreUnit(a))));
      }
      code.storeScalar(bias, code.at(scores, j));
    });
  }
}

// Returns the number that replaces or changes the scores of hidden keys, times log2(e).
static float hiddenNumber(const AttentionTile &a) {
  return static_cast<float>(a.hidden.getNumber().getValueAsDouble() * scoreUnit(a));
}

// Returns whether the bias is added to scores instead of passed to their function.
static bool addsBias(const AttentionTile &a) { return a.bias && !a.scoreTakesBias; }

// Returns log2(e) * score(product) for a vector of scaled products. If the function takes a bias,
// it is at `place`.
static Value mappedScores(AttentionTile &a, Value product, Value place) {
  VectorCode &code = a.code;
  SmallVector<Value, 2> arguments = {product};
  if (a.score->getNumArguments() > 1) {
    arguments.push_back(code.loadVector(place));
  }
  Value score = cloneScalarMaths(code, *a.score, arguments, code.vector);
  return code.multiplyFloat(score, code.splat(static_cast<float>(scoreUnit(a))));
}

// Returns the scores of a vector of keys from `first` on, of which the row sees those below
// `visible`; a mask of a finite number hides the others. `scores` include log2(e); the bias, if
// there is one, is at `place` already.
static Value hiddenScores(AttentionTile &a, Value scores, Value place, Value first, Value visible) {
  VectorCode &code = a.code;
  float number = hiddenNumber(a);
  auto withBias = [&](Value unbiased) {
    return addsBias(a) ? code.addFloat(unbiased, code.loadVector(place)) : unbiased;
  };
  switch (a.hidden.getKind()) {
  case transformer::HiddenKind::Added:
    return code.addFloat(withBias(scores), code.keepBelow(code.splat(0), first, visible, number));
  case transformer::HiddenKind::Score:
    return code.keepBelow(withBias(scores), first, visible, number);
  case transformer::HiddenKind::Product:
    return withBias(code.keepBelow(scores, first, visible, number));
  }
}

// Returns the scores of a vector of keys without masks: products times a factor, mapped, plus the
// bias unless a mask has to be applied before it.
static Value unmaskedScores(AttentionTile &a, Value product, Value factor, Value place) {
  VectorCode &code = a.code;
  bool isBiased = addsBias(a) && !a.hidden;
  if (isBiased && !a.score) {
    return code.fma(product, factor, code.loadVector(place));
  }
  Value scores = code.multiplyFloat(product, factor);
  scores = a.score ? mappedScores(a, scores, place) : scores;
  return isBiased ? code.addFloat(scores, code.loadVector(place)) : scores;
}

// Stores the number of hidden keys as the scores from `first` on, and updates the maxima.
static SmallVector<Value> writeScores(AttentionTile &a, Value first, Value count,
                                      ArrayRef<Value> maxima) {
  VectorCode &code = a.code;
  Value number = code.splat(hiddenNumber(a));
  return code.loop(first, a.roundUp(count), code.lanes, SmallVector<Value>(maxima),
                   [&](Value j, ValueRange carried) {
                     SmallVector<Value> next;
                     Value score = code.keepBelow(number, j, count, kHidden);
                     for (int64_t r = 0; r < a.rows; ++r) {
                       code.storeVector(score, code.at(a.scoresOf(r), j));
                       next.push_back(code.maximum(score, carried[r]));
                     }
                     return next;
                   });
}

// Returns the elements from one rounded query of a tile to the next.
static int64_t queryPitch(const AttentionTile &a) {
  return static_cast<int64_t>(llvm::alignTo(a.keySize, a.code.lanes));
}

static Value queryOf(AttentionTile &a, const TileRows &tile, int64_t row) {
  VectorCode &code = a.code;
  Value query = code.at(a.query, code.multiply(tile.heads[row], a.keySize));
  return code.at(query, code.multiply(tile.rows[row], a.queryStride));
}

void takeQueries(AttentionTile &a, const TileRows &tile) {
  if (!a.isRounded()) {
    return;
  }
  VectorCode &code = a.code;
  SmallVector<Value> queries;
  for (int64_t r = 0; r < a.rows; ++r) {
    queries.push_back(queryOf(a, tile, r));
  }
  if (a.isPaired) {
    pairQueries(a, queries);
    return;
  }
  constexpr int64_t unroll = 4;
  for (auto [number, query] : llvm::enumerate(queries)) {
    Value to = code.at(a.roundedQueries, static_cast<int64_t>(number) * queryPitch(a));
    code.overRow(a.keySize, unroll, [&](Value column, int64_t valid) {
      Value elements = code.loadVector(code.at(query, column), valid);
      code.storeVector(code.nearestBf16(elements), code.at(to, column));
    });
  }
}

static PairRows pairRows(AttentionTile &a, const TileRows &tile) {
  VectorCode &code = a.code;
  PairRows rows;
  for (int64_t r = 0; r < a.rows; ++r) {
    Value head = code.multiply(tile.heads[r], a.keySize);
    rows.queries.push_back(a.isRounded() ? code.at(a.roundedQueries, r * queryPitch(a))
                                         : queryOf(a, tile, r));
    rows.weights.push_back(a.pairs ? code.at(a.pairWeights, head) : Value());
    if (!a.locations.empty()) {
      // A row that repeats the last one uses its lines.
      Value number = code.smaller(code.integer(r), code.subtract(tile.count, code.integer(1)));
      rows.lines.push_back(code.at(a.locationScratch, code.multiply(number, a.locationPitch)));
    }
  }
  return rows;
}

// Computes the products of the rows of a tile with `vectors` vectors of keys from number firstKey +
// j on.
static SmallVector<Value> productsOf(AttentionTile &a, const PairRows &rows, Value firstKey,
                                     Value j, int64_t vectors) {
  VectorCode &code = a.code;
  SmallVector<Value> keys, scales, products;
  if (a.isOnAmx) {
    for (int64_t r = 0; r < a.rows; ++r) {
      Value row = code.at(a.products, code.multiply(a.scorePitch, r));
      for (int64_t v = 0; v < vectors; ++v) {
        products.push_back(code.loadVector(code.at(row, code.add(j, v * code.lanes))));
      }
    }
    return products;
  }
  if (a.isPaired) {
    return dotKeys(a, code.add(firstKey, j), vectors);
  }
  for (int64_t v = 0; v < vectors; ++v) {
    Value position = code.add(code.add(firstKey, j), v * code.lanes);
    keys.push_back(keysFrom(a, position));
    scales.push_back(keyScales(a, position));
  }
  return a.pairs ? pairTile(a, rows, keys, scales, code.add(firstKey, j))
                 : scoreTile(a, rows.queries, keys, scales);
}

SmallVector<Value> emitScores(AttentionTile &a, const TileRows &tile, float scale, Value firstKey,
                              Value from, Value count, const KeyLimits &limits) {
  VectorCode &code = a.code;
  // With a function of scores, scoreUnit() is applied to its result.
  Value factor = code.splat(a.score ? scale : static_cast<float>(scale * scoreUnit(a)));
  PairRows rows = pairRows(a, tile);
  SmallVector<Value> scores, visible;
  for (int64_t r = 0; r < a.rows; ++r) {
    visible.push_back(a.hidden ? code.subtract(tile.visible[r], firstKey) : Value());
    scores.push_back(a.scoresOf(r));
  }
  // A mask that overwrites scores needs no products for keys hidden from all rows.
  bool isWritten = a.hidden && a.hidden.getKind() == transformer::HiddenKind::Score;
  Value end = isWritten ? mostVisible(a, tile, firstKey, count) : a.roundUp(count);
  if (a.bias) {
    emitBias(a, tile, firstKey, from, end);
  }
  if (a.isOnAmx) {
    multiplyKeys(a, firstKey, from, end);
  }
  auto group = [&](Value j, ValueRange carried, int64_t vectors) {
    SmallVector<Value> next(carried), sums = productsOf(a, rows, firstKey, j, vectors);
    for (int64_t r = 0; r < a.rows; ++r) {
      for (int64_t v = 0; v < vectors; ++v) {
        Value first = code.add(j, v * code.lanes);
        Value place = code.at(scores[r], first);
        Value score = unmaskedScores(a, sums[r * vectors + v], factor, place);
        score = a.hidden ? hiddenScores(a, score, place, first, visible[r]) : score;
        score = code.keepBelow(score, first, limits.ends[r], kHidden);
        if (!limits.begins.empty()) {
          score = code.keepFrom(score, first, limits.begins[r], kHidden);
        }
        code.storeVector(score, place);
        next[r] = code.maximum(score, next[r]);
      }
    }
    return next;
  };
  // Computes as many vectors at once as the registers hold, then half as many, and so on: the sums
  // of a single vector would be limited by latency.
  SmallVector<Value> maxima(a.rows, code.splat(kLowestScore));
  Value begin = from;
  int64_t most = llvm::bit_floor(static_cast<uint64_t>(a.vectorsOfTile()));
  most = a.pairs ? std::max<int64_t>(kMostPairs / a.rows, 1) : std::min(most, kMostKeyVectors);
  const int64_t least = a.keysTogether() / code.lanes;
  for (int64_t vectors = std::max(most, least); vectors >= least; vectors /= 2) {
    int64_t step = vectors * code.lanes;
    Value whole = code.multiply(code.divide(code.subtract(end, begin), step), step);
    Value groupsEnd = code.add(begin, whole);
    maxima = code.loop(begin, groupsEnd, step, maxima,
                       [&](Value j, ValueRange carried) { return group(j, carried, vectors); });
    begin = groupsEnd;
  }
  return isWritten ? writeScores(a, end, count, maxima) : maxima;
}

// Returns 2^x. With a mask of a finite number, most weights of hidden keys underflow f32, which is
// slow on processors, so these are set to zero directly.
static Value weightOf(AttentionTile &a, Value x) {
  VectorCode &code = a.code;
  auto exp2 = [&](Value y) {
    return math::Exp2Op::create(code.builder, code.location, y).getResult();
  };
  if (!a.hidden) {
    return exp2(x);
  }
  // Half of the smallest subnormal number rounds to zero.
  Value isZero = arith::CmpFOp::create(code.builder, code.location, arith::CmpFPredicate::OLT, x,
                                       code.splat(-150.0f));
  Value zero = code.splat(0);
  return code.select(isZero, zero, exp2(code.select(isZero, zero, x)));
}

// Stores the weights of a vector of keys from number `key` on, whose scores are at `place` of
// `row`.
static void storeWeights(AttentionTile &a, Value weights, Value row, Value place, Value key) {
  VectorCode &code = a.code;
  if (a.isPaired) {
    storePairedWeights(a, weights, row, key);
    return;
  }
  code.storeVector(a.isRounded() ? code.nearestBf16(weights) : weights, place);
}

// Does the work of exponentiate() for the keys [from, to) and adds their weights to the sums.
// `total`, unless null, is set to the sum of these weights over all rows.
static SmallVector<Value> exponentiateRange(AttentionTile &a, int64_t first, ArrayRef<Value> maxima,
                                            Value from, Value to, SmallVector<Value> sums,
                                            Value *total) {
  VectorCode &code = a.code;
  SmallVector<Value> scores;
  for (size_t r = 0; r < maxima.size(); ++r) {
    scores.push_back(a.scoresOf(first + static_cast<int64_t>(r)));
  }
  if (total) {
    sums.push_back(*total);
  }
  sums = code.loop(from, to, code.lanes, sums, [&](Value j, ValueRange carried) {
    SmallVector<Value> places, weights, next;
    for (auto [row, maximum] : llvm::zip_equal(scores, maxima)) {
      places.push_back(code.at(row, j));
      weights.push_back(weightOf(a, code.subtractFloat(code.loadVector(places.back()), maximum)));
    }
    for (size_t r = 0; r < maxima.size(); ++r) {
      storeWeights(a, weights[r], scores[r], places[r], j);
      next.push_back(code.addFloat(carried[r], weights[r]));
    }
    if (total) {
      next.push_back(carried.back());
      for (Value weight : weights) {
        next.back() = code.addFloat(next.back(), weight);
      }
    }
    return next;
  });
  if (total) {
    *total = sums.pop_back_val();
  }
  return sums;
}

SmallVector<Value> exponentiate(AttentionTile &a, int64_t first, ArrayRef<Value> maxima, Value from,
                                Value count) {
  SmallVector<Value> none(maxima.size(), a.code.splat(0));
  return exponentiateRange(a, first, maxima, from, a.roundUp(count), none, nullptr);
}

SmallVector<Value> exponentiateHidden(AttentionTile &a, int64_t first, ArrayRef<Value> maxima,
                                      Value shown, Value count, Value &hidden) {
  SmallVector<Value> sums(maxima.size(), a.code.splat(0));
  sums = exponentiateRange(a, first, maxima, a.code.integer(0), shown, sums, nullptr);
  hidden = a.code.splat(0);
  return exponentiateRange(a, first, maxima, shown, a.roundUp(count), sums, &hidden);
}

} // namespace heddle
