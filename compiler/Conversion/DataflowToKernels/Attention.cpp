// SPDX-License-Identifier: Apache-2.0
///
/// softmax(scale * Q K^T) V, one sequence and head at a time, with scores that never leave the
/// first-level cache.
///
/// The keys of a sequence are transposed once into scratch, [head size][keys], so that a vector of
/// scores is a sum of products over the head size, lane by lane. A tile of queries walks the keys
/// in blocks of kKeyBlock in the order of their positions, with an online softmax: running maximum,
/// running sum, running product with V (Milakov & Gimelshein 2018). The blocks are fixed, so a
/// row's bits depend on nothing but its own sequence.
///
/// Over a cache (heddle/Abi.h) the keys lie transposed already, in blocks of positions; all else is
/// the same. A key that a row does not see adds zero to the row's sum of weights and is left out of
/// its product with V, so a row is the same to the bit computed alone, after a prefix in the cache,
/// or with its prefix.
#include "compiler/Conversion/DataflowToKernels/Emitters.h"

#include "heddle/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace heddle {

// Keys a tile of queries takes at once: 8 rows of scores are 8 KiB.
static constexpr int64_t kKeyBlock = 256;
// Vectors of scores in a register tile.
static constexpr int64_t kScoreVectors = 2;
// Rows whose exponentials are computed side by side, so that their latencies overlap.
static constexpr int64_t kRowsTogether = 4;
// The most lanes and tile rows of any target, for the size of scratch. A tile has no more rows than
// the least lanes, so that numbers of its rows fit one vector.
static constexpr int64_t kMostLanes = 16;
static constexpr int64_t kMostRows = 8;
// Queries of a small tile over a cache: the beams of a sentence.
static constexpr int64_t kFewRows = 4;
// Vectors of numbers of the rows in scratch.
static constexpr int64_t kNumbers = 5;
static constexpr float kLowest = std::numeric_limits<float>::lowest();
// The score of a hidden key. Its weight is zero, as the maximum of a row is never below kLowest.
static constexpr float kHidden = -std::numeric_limits<float>::infinity();

namespace {
/// Places in the scratch of one call, in f32 elements, and the state of a tile of queries.
struct Attention {
  VectorCode &code;
  dataflow::AttentionAttr computes;
  int64_t rows;         // queries of a tile
  int64_t valueVectors; // vectors of one row of V
  int64_t queryStride = 0, keyStride = 0, valueStride = 0, resultStride = 0;
  // Keys and values are rows, or caches.
  Value result = {}, query = {}, key = {}, value = {};
  CacheFields keyCache = {}, valueCache = {};
  bool isCached = false;
  Value bias = {};         // [heads][2 * biasDistance + 1], null: none
  Value positions = {};    // [tokens], of a cache
  Value scores = {};       // [rows][kKeyBlock]
  Value accumulators = {}; // [rows][valueVectors * lanes]
  // Numbers of the rows, [kMostLanes] each: the running maximum and sum, what the block at hand
  // gives to them, and the factor that brings older products to the new maximum.
  Value maxima = {}, sums = {}, blockMaxima = {}, blockSums = {}, corrections = {};
  Value keysTransposed = {}; // [keySize][pitch]
  // Of the sequence and head at hand:
  Value firstRow = {}; // of the sequence
  Value keyCount = {};
  Value pitch = {};       // elements from one line of transposed keys to the next
  Value keyBlocks = {};   // of a cache: the list of its blocks
  Value valueBlocks = {}; // of a cache
  Value head = {};

  /// The position of a query in its sequence.
  Value positionOf(Value row) const {
    return isCached ? code.loadIndex(positions, row) : code.subtract(row, firstRow);
  }
};
} // namespace

// The transposed keys from number `position` of the sequence on, a multiple of the lanes.
static Value keysFrom(Attention &a, Value position) {
  VectorCode &code = a.code;
  if (!a.isCached) {
    return code.at(a.keysTransposed, position);
  }
  Value block = a.keyCache.blockAt(code, a.keyBlocks, position);
  Value head = code.at(block, code.multiply(a.head, a.computes.getKeySize() * HEDDLE_BLOCK));
  return code.at(head, code.remainder(position, HEDDLE_BLOCK));
}

// Whole vectors that cover the keys.
static Value roundUpKeys(Attention &a, Value keys) {
  return a.code.multiply(a.code.divideUp(keys, a.code.lanes), a.code.lanes);
}

// keysTransposed[d][j] = K[firstRow + j][head * keySize + d]. Rows past the last repeat it: their
// scores are masked.
static void transposeKeys(Attention &a) {
  VectorCode &code = a.code;
  int64_t size = a.computes.getKeySize();
  Value keys = code.at(a.key, code.multiply(a.head, size));
  Value lastRow = code.add(a.firstRow, code.subtract(a.keyCount, code.integer(1)));
  code.loop(code.integer(0), a.pitch, code.lanes, [&](Value j) {
    SmallVector<Value> rows;
    for (int64_t lane = 0; lane < code.lanes; ++lane) {
      Value row = code.smaller(code.add(code.add(a.firstRow, j), lane), lastRow);
      rows.push_back(code.at(keys, code.multiply(row, a.keyStride)));
    }
    for (int64_t d = 0; d < size; d += code.lanes) {
      int64_t valid = std::min(code.lanes, size - d);
      SmallVector<Value> square;
      for (Value row : rows) {
        square.push_back(code.loadVector(code.at(row, d), valid));
      }
      square = code.transposeSquare(square);
      for (int64_t i = 0; i < valid; ++i) {
        Value place = code.add(code.multiply(a.pitch, d + i), j);
        code.storeVector(square[i], code.at(a.keysTransposed, place));
      }
    }
  });
}

// Products of one register tile: rows of queries times vectors of keys, each of which begins where
// `keys` says.
static SmallVector<Value> scoreTile(Attention &a, ArrayRef<Value> queries, ArrayRef<Value> keys) {
  VectorCode &code = a.code;
  auto vectors = static_cast<int64_t>(keys.size());
  int64_t size = a.computes.getKeySize(), unroll = size % 4 == 0 ? 4 : 1;
  SmallVector<Value> sums(a.rows * vectors, code.splat(0));
  return code.loop(code.integer(0), code.integer(size), unroll, sums,
                   [&](Value first, ValueRange carried) {
                     SmallVector<Value> next(carried);
                     for (int64_t u = 0; u < unroll; ++u) {
                       Value d = code.add(first, u), line = code.multiply(d, a.pitch);
                       SmallVector<Value> loaded;
                       for (Value start : keys) {
                         loaded.push_back(code.loadVector(code.at(start, line)));
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
}

// scores[r][j] = log2(e) * bias[head][j - position of row r], for `count` keys from firstKey on.
static void emitBias(Attention &a, ArrayRef<Value> rows, Value firstKey, Value count) {
  VectorCode &code = a.code;
  int64_t distance = a.computes.getBiasDistance(), width = 2 * distance + 1;
  Value table = code.at(a.bias, code.multiply(a.head, width));
  for (int64_t r = 0; r < a.rows; ++r) {
    // Distances are shifted so that none is negative.
    Value first = code.add(code.subtract(firstKey, a.positionOf(rows[r])), distance);
    code.loop(code.integer(0), count, 1, [&](Value j) {
      Value index = code.larger(code.add(first, j), code.integer(0));
      index = code.smaller(index, code.integer(width - 1));
      Value bias = code.loadScalar(code.at(table, index));
      Value scaled = code.multiplyFloat(bias, code.number(static_cast<float>(M_LOG2E)));
      code.storeScalar(scaled, code.at(a.scores, code.add(j, r * kKeyBlock)));
    });
  }
}

// scores[r][j] = scale * log2(e) * (Q[r] . K[j]), plus what is there if there is a bias, for the
// `count` keys from firstKey on, lowest
// where row r does not see key j: it sees `limits[r]` keys of this block. Returns the maximum of
// each row, lane by lane.
static SmallVector<Value> emitScores(Attention &a, ArrayRef<Value> queries, Value firstKey,
                                     Value count, ArrayRef<Value> limits) {
  VectorCode &code = a.code;
  float scale = a.computes.getScale().getValue().convertToFloat();
  Value factor = code.splat(static_cast<float>(scale * M_LOG2E));
  auto tile = [&](Value j, ValueRange carried, int64_t vectors) {
    SmallVector<Value> keys, next(carried);
    for (int64_t v = 0; v < vectors; ++v) {
      keys.push_back(keysFrom(a, code.add(code.add(firstKey, j), v * code.lanes)));
    }
    SmallVector<Value> sums = scoreTile(a, queries, keys);
    for (int64_t r = 0; r < a.rows; ++r) {
      for (int64_t v = 0; v < vectors; ++v) {
        Value first = code.add(j, v * code.lanes);
        Value place = code.at(a.scores, code.add(first, r * kKeyBlock));
        Value product = sums[r * vectors + v];
        Value score = a.bias ? code.fma(product, factor, code.loadVector(place))
                             : code.multiplyFloat(product, factor);
        score = code.keepBelow(score, first, limits[r], kHidden);
        code.storeVector(score, place);
        next[r] = code.maximum(score, next[r]);
      }
    }
    return next;
  };
  // Tiles of kScoreVectors vectors, then what is left one by one.
  int64_t step = kScoreVectors * code.lanes;
  Value end = roundUpKeys(a, count), whole = code.multiply(code.divide(end, step), step);
  SmallVector<Value> maxima(a.rows, code.splat(kLowest));
  maxima = code.loop(code.integer(0), whole, step, maxima,
                     [&](Value j, ValueRange carried) { return tile(j, carried, kScoreVectors); });
  return code.loop(whole, end, code.lanes, maxima,
                   [&](Value j, ValueRange carried) { return tile(j, carried, 1); });
}

// scores[r][j] = 2^(scores[r][j] - maxima[r]), for kRowsTogether rows from `first` on; the sums of
// the rows go to blockSums. A hidden key's score is lowest, so its weight is zero.
static void emitWeights(Attention &a, int64_t first, int64_t rows, Value count) {
  VectorCode &code = a.code;
  SmallVector<Value> maxima, sums(rows, code.splat(0));
  for (int64_t r = first; r < first + rows; ++r) {
    maxima.push_back(code.broadcast(code.loadScalar(code.at(a.maxima, r))));
  }
  sums = code.loop(
      code.integer(0), roundUpKeys(a, count), code.lanes, sums, [&](Value j, ValueRange carried) {
        SmallVector<Value> places, weights, next;
        for (int64_t r = 0; r < rows; ++r) {
          places.push_back(code.at(a.scores, code.add(j, (first + r) * kKeyBlock)));
          Value shifted = code.subtractFloat(code.loadVector(places[r]), maxima[r]);
          weights.push_back(math::Exp2Op::create(code.builder, code.location, shifted));
        }
        for (int64_t r = 0; r < rows; ++r) {
          code.storeVector(weights[r], places[r]);
          next.push_back(code.addFloat(carried[r], weights[r]));
        }
        return next;
      });
  for (int64_t r = 0; r < rows; ++r) {
    code.storeScalar(code.sumOfLanes(sums[r]), code.at(a.blockSums, first + r));
  }
}

// The online softmax of one block: brings running maxima and sums up to date and turns scores into
// weights relative to the maxima. What concerns single numbers of a row is done for all rows of the
// tile at once, a row a lane.
static void emitSoftmax(Attention &a, ArrayRef<Value> blockMaxima, Value count) {
  VectorCode &code = a.code;
  for (int64_t r = 0; r < a.rows; ++r) {
    code.storeScalar(code.maximumOfLanes(blockMaxima[r]), code.at(a.blockMaxima, r));
  }
  Value before = code.loadVector(a.maxima);
  Value maxima = code.maximum(code.loadVector(a.blockMaxima), before);
  Value correction =
      math::Exp2Op::create(code.builder, code.location, code.subtractFloat(before, maxima));
  code.storeVector(maxima, a.maxima);
  code.storeVector(correction, a.corrections);
  for (int64_t first = 0; first < a.rows; first += kRowsTogether) {
    emitWeights(a, first, std::min(kRowsTogether, a.rows - first), count);
  }
  Value sums = code.fma(code.loadVector(a.sums), correction, code.loadVector(a.blockSums));
  code.storeVector(sums, a.sums);
}

// Calls `key(j, line, carried)` for the keys firstKey + j, `from` <= j < `to`; `line` is the row of
// V of the head at hand.
static SmallVector<Value>
overValues(Attention &a, Value firstKey, Value from, Value to, SmallVector<Value> carried,
           function_ref<SmallVector<Value>(Value j, Value line, ValueRange carried)> key) {
  VectorCode &code = a.code;
  Value column = code.multiply(a.head, a.computes.getValueSize());
  if (!a.isCached) {
    Value values = code.at(code.at(a.value, column),
                           code.multiply(code.add(a.firstRow, firstKey), a.valueStride));
    auto lineOf = [&](Value j) { return code.at(values, code.multiply(j, a.valueStride)); };
    Value pairs = code.multiply(code.divide(code.subtract(to, from), 2), 2);
    Value end = code.add(from, pairs);
    carried = code.loop(from, end, 2, carried, [&](Value j, ValueRange sums) {
      Value second = code.add(j, 1);
      return key(second, lineOf(second), key(j, lineOf(j), sums));
    });
    return code.loop(end, to, 1, carried,
                     [&](Value j, ValueRange sums) { return key(j, lineOf(j), sums); });
  }
  Value firstBlock = code.multiply(code.divide(from, HEDDLE_BLOCK), HEDDLE_BLOCK);
  return code.loop(firstBlock, to, HEDDLE_BLOCK, carried, [&](Value first, ValueRange outer) {
    Value block = a.valueCache.blockAt(code, a.valueBlocks, code.add(firstKey, first));
    Value values = code.at(block, column);
    Value begin = code.larger(code.subtract(from, first), code.integer(0));
    Value end = code.smaller(code.subtract(to, first), code.integer(HEDDLE_BLOCK));
    return code.loop(begin, end, 1, outer, [&](Value j, ValueRange sums) {
      return key(code.add(first, j), code.at(values, code.multiply(j, a.valueStride)), sums);
    });
  });
}

// accumulators[r][:] = accumulators[r][:] * correction[r] + sum over j of weight[r][j] V[j][:], for
// as many vectors of V as fit the registers at a time. Row r has the keys below `limits[r]`, which
// do not fall from row to row: those that all rows have come first.
static void emitValues(Attention &a, Value firstKey, Value count, ArrayRef<Value> limits) {
  VectorCode &code = a.code;
  int64_t size = a.computes.getValueSize(), pitch = a.valueVectors * code.lanes;
  int64_t group = std::min(a.valueVectors, kScoreVectors);
  for (int64_t v0 = 0; v0 < a.valueVectors; v0 += group) {
    int64_t vectors = std::min(group, a.valueVectors - v0);
    SmallVector<Value> sums;
    for (int64_t r = 0; r < a.rows; ++r) {
      Value correction = code.broadcast(code.loadScalar(code.at(a.corrections, r)));
      for (int64_t v = 0; v < vectors; ++v) {
        Value place = code.at(a.accumulators, r * pitch + (v0 + v) * code.lanes);
        sums.push_back(code.multiplyFloat(code.loadVector(place), correction));
      }
    }
    auto key = [&](Value j, Value line, ValueRange carried, bool isHiddenFromSome) {
      Value weights = code.at(a.scores, j);
      SmallVector<Value> next(carried), loaded;
      for (int64_t v = 0; v < vectors; ++v) {
        loaded.push_back(
            code.loadVector(code.at(line, (v0 + v) * code.lanes), code.validLanes(v0 + v, size)));
      }
      for (int64_t r = 0; r < a.rows; ++r) {
        Value weight = code.broadcast(code.loadScalar(code.at(weights, r * kKeyBlock)));
        for (int64_t v = 0; v < vectors; ++v) {
          Value &sum = next[r * vectors + v];
          Value with = code.fma(weight, loaded[v], sum);
          // No product with zero: V may be infinite.
          sum = isHiddenFromSome ? code.select(code.less(j, limits[r]), with, sum) : with;
        }
      }
      return next;
    };
    Value none = code.integer(0);
    Value shared = a.computes.getCausal() ? code.larger(limits.front(), none) : count;
    sums =
        overValues(a, firstKey, none, shared, sums, [&](Value j, Value line, ValueRange carried) {
          return key(j, line, carried, false);
        });
    if (a.computes.getCausal()) {
      sums = overValues(
          a, firstKey, shared, count, sums,
          [&](Value j, Value line, ValueRange carried) { return key(j, line, carried, true); });
    }
    for (int64_t r = 0; r < a.rows; ++r) {
      for (int64_t v = 0; v < vectors; ++v) {
        Value place = code.at(a.accumulators, r * pitch + (v0 + v) * code.lanes);
        code.storeVector(sums[r * vectors + v], place);
      }
    }
  }
}

static void resetTile(Attention &a) {
  VectorCode &code = a.code;
  code.storeVector(code.splat(kLowest), a.maxima);
  code.storeVector(code.splat(0), a.sums);
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t v = 0; v < a.valueVectors; ++v) {
      code.storeVector(code.splat(0),
                       code.at(a.accumulators, (r * a.valueVectors + v) * code.lanes));
    }
  }
}

// result[row][head] = accumulators / sum.
static void storeTile(Attention &a, Value row, Value count) {
  VectorCode &code = a.code;
  int64_t size = a.computes.getValueSize();
  Value result = code.at(a.result, code.multiply(a.head, size));
  code.loop(code.integer(0), count, 1, [&](Value r) {
    Value sum = code.loadScalar(code.at(a.sums, r));
    Value factor = code.broadcast(code.divideFloat(code.number(1.0f), sum));
    Value from = code.at(a.accumulators, code.multiply(r, a.valueVectors * code.lanes));
    Value to = code.at(result, code.multiply(code.add(row, r), a.resultStride));
    for (int64_t v = 0; v < a.valueVectors; ++v) {
      Value x = code.multiplyFloat(code.loadVector(code.at(from, v * code.lanes)), factor);
      code.storeVector(x, code.at(to, v * code.lanes), code.validLanes(v, size));
    }
  });
}

// One tile of queries from `row` on, `last` being past the last query wanted. Rows of the tile past
// it repeat the last one and are not stored.
static void emitTile(Attention &a, Value row, Value last) {
  VectorCode &code = a.code;
  Value lastRow = code.subtract(last, code.integer(1));
  Value queryHead = code.at(a.query, code.multiply(a.head, a.computes.getKeySize()));
  SmallVector<Value> rows, queries;
  for (int64_t r = 0; r < a.rows; ++r) {
    rows.push_back(code.smaller(code.add(row, r), lastRow));
    queries.push_back(code.at(queryHead, code.multiply(rows[r], a.queryStride)));
  }
  resetTile(a);
  Value seen = a.keyCount; // keys that any query of the tile sees
  SmallVector<Value> visible;
  for (int64_t r = 0; a.computes.getCausal() && r < a.rows; ++r) {
    visible.push_back(code.add(a.positionOf(rows[r]), 1));
    seen = code.smaller(visible.back(), a.keyCount);
  }
  code.loop(code.integer(0), seen, kKeyBlock, [&](Value firstKey) {
    Value count = code.smaller(code.subtract(seen, firstKey), code.integer(kKeyBlock));
    SmallVector<Value> limits(a.rows, count);
    for (int64_t r = 0; a.computes.getCausal() && r < a.rows; ++r) {
      limits[r] = code.smaller(count, code.subtract(visible[r], firstKey));
    }
    if (a.bias) {
      emitBias(a, rows, firstKey, roundUpKeys(a, count));
    }
    emitSoftmax(a, emitScores(a, queries, firstKey, count, limits), count);
    emitValues(a, firstKey, count, limits);
  });
  storeTile(a, row, code.smaller(code.subtract(last, row), code.integer(a.rows)));
}

// The tiles of the queries [row, last) of one sequence and head. Over a cache, where a step has one
// query of a hypothesis or a few of a sentence, a tile is no larger than they need.
static void emitTiles(Attention &a, Value row, Value last) {
  VectorCode &code = a.code;
  int64_t most = a.rows;
  auto tilesOf = [&](int64_t rows) {
    a.rows = rows;
    code.loop(row, last, rows, [&](Value first) { emitTile(a, first, last); });
    a.rows = most;
  };
  if (!a.isCached) {
    tilesOf(most);
    return;
  }
  Value count = code.subtract(last, row);
  code.when(
      code.less(count, code.integer(2)), [&] { tilesOf(1); },
      [&] {
        code.when(
            code.less(count, code.integer(kFewRows + 1)), [&] { tilesOf(kFewRows); },
            [&] { tilesOf(most); });
      });
}

// Takes up the sequence whose rows see the same keys as `row`, and returns where its rows end.
static Value enterSequence(Attention &a, const KernelArguments &arguments, Value row) {
  VectorCode &code = a.code;
  Value offsets = a.isCached ? a.keyCache.offsets : arguments.offsets(code);
  Value sequenceOf = a.isCached ? a.keyCache.segmentOf : arguments.sequenceOf(code);
  Value sequence = code.loadIndex(sequenceOf, row);
  a.firstRow = code.loadIndex(offsets, sequence);
  Value end = code.loadIndex(offsets, code.add(sequence, 1));
  if (a.isCached) {
    a.keyCount = code.loadIndex(a.keyCache.lengths, sequence);
    a.pitch = code.integer(HEDDLE_BLOCK);
    a.keyBlocks = a.keyCache.blocksOf(code, sequence);
    a.valueBlocks = a.valueCache.blocksOf(code, sequence);
  } else {
    a.keyCount = code.subtract(end, a.firstRow);
    a.pitch = roundUpKeys(a, a.keyCount);
  }
  return end;
}

static Attention prepare(VectorCode &code, const KernelBody &body,
                         dataflow::AttentionAttr computes) {
  const KernelArguments &arguments = body.arguments;
  int64_t rows = code.target.tileRows;
  assert(rows <= kMostRows && rows <= code.lanes && code.lanes <= kMostLanes &&
         "scratch is sized for every target");
  int64_t valueVectors = llvm::divideCeil(computes.getValueSize(), code.lanes);
  Value scratch = arguments.scratch(code);
  int64_t accumulators = rows * kKeyBlock;
  int64_t numbers = accumulators + rows * valueVectors * code.lanes;
  auto numbersAt = [&](int64_t index) { return code.at(scratch, numbers + index * kMostLanes); };
  Attention attention{code, computes, rows, valueVectors};
  attention.queryStride = body.kernel.getOperandBuffer(0).getRowElements();
  attention.resultStride = body.kernel.getResultBuffer().getRowElements();
  attention.result = arguments.operand(code, 0);
  attention.query = arguments.operand(code, 1);
  attention.isCached = isa<dataflow::CacheType>(body.kernel.getKernelType().getInput(1));
  if (attention.isCached) {
    attention.keyCache = CacheFields::load(code, arguments.operand(code, 2));
    attention.valueCache = CacheFields::load(code, arguments.operand(code, 3));
    attention.positions = arguments.positions(code);
    attention.valueStride = computes.getHeads() * computes.getValueSize();
  } else {
    attention.key = arguments.operand(code, 2);
    attention.value = arguments.operand(code, 3);
    attention.keyStride = body.kernel.getOperandBuffer(1).getRowElements();
    attention.valueStride = body.kernel.getOperandBuffer(2).getRowElements();
  }
  if (computes.getBiasDistance() > 0) {
    attention.bias = arguments.operand(code, 4);
  }
  attention.scores = scratch;
  attention.accumulators = code.at(scratch, accumulators);
  attention.maxima = numbersAt(0);
  attention.sums = numbersAt(1);
  attention.blockMaxima = numbersAt(2);
  attention.blockSums = numbersAt(3);
  attention.corrections = numbersAt(4);
  attention.keysTransposed = numbersAt(kNumbers);
  return attention;
}

KernelScratch attentionScratch(dataflow::AttentionAttr computes) {
  uint64_t valueLanes = llvm::alignTo(computes.getValueSize(), kMostLanes);
  uint64_t fixed = kMostRows * (kKeyBlock + valueLanes) + kNumbers * kMostLanes +
                   computes.getKeySize() * kMostLanes;
  return {fixed * 4, static_cast<uint64_t>(computes.getKeySize()) * 4};
}

void emitAttention(VectorCode &code, const KernelBody &body, dataflow::AttentionAttr computes) {
  const KernelArguments &arguments = body.arguments;
  Attention attention = prepare(code, body, computes);
  // Rows [rowBegin, rowEnd) sequence by sequence; a division of the rows may cut one.
  code.walk(arguments.rowBegin, arguments.rowEnd, [&](Value row) {
    Value last = code.smaller(enterSequence(attention, arguments, row), arguments.rowEnd);
    code.loop(arguments.columnBegin, arguments.columnEnd, 1, [&](Value head) {
      attention.head = head;
      if (!attention.isCached) {
        transposeKeys(attention);
      }
      emitTiles(attention, row, last);
    });
    return last;
  });
}

} // namespace heddle
