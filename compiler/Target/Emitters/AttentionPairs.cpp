// SPDX-License-Identifier: Apache-2.0
///
/// Factors of attention as pairs of bf16, for targets that have instructions for them. For each
/// pair of elements, 16 keys are contiguous, [keys / 16][pairs][16]; for each pair of keys, 16
/// columns of values are, [keys / 32][columns / 16][16][16]. An AMX register or a vector reads
/// contiguous memory, so its rows do not share cache sets, whatever the number of keys.
///
/// The last element of a head and the last value are followed by zeros, up to a multiple of 32.
#include "compiler/Target/Emitters/AttentionPairs.h"

#include "compiler/Target/Emitters/ContractBf16.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace heddle {

int64_t stepsOf(const AttentionTile &a) { return a.scratchOfKey() / kRowWords; }

Value keysAt(const AttentionTile &a, Value key) {
  VectorCode &code = a.code;
  Value number = a.firstTransposed ? code.subtract(key, a.firstTransposed) : key;
  return code.at(a.keysTransposed, code.multiply(number, a.scratchOfKey()));
}

Value valuesAt(const AttentionTile &a, Value key) {
  VectorCode &code = a.code;
  Value number = a.firstTransposed ? code.subtract(key, a.firstTransposed) : key;
  Value block = code.divide(number, kAmxBf16Steps);
  return code.at(a.roundedValues, code.multiply(block, a.valueVectors() * kWords));
}

// --- rounding --------------------------------------------------------------------------------

static Value as(VectorCode &code, Type type, Value value) {
  return LLVM::BitcastOp::create(code.builder, code.location, type, value);
}

// Returns two vectors of f32, concatenated and rounded to bf16.
static Value narrowed(VectorCode &code, Value first, Value second) {
  auto halves = VectorType::get({2 * code.lanes}, code.builder.getBF16Type());
  return LLVM::CallIntrinsicOp::create(
             code.builder, code.location, halves,
             code.builder.getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512"), {second, first})
      .getResults();
}

// Returns the elements of a row from `column` on as pairs of neighbours, with zeros from `size` on.
static Value pairsOfRow(VectorCode &code, Value row, int64_t column, int64_t size) {
  SmallVector<Value> numbers;
  for (int64_t first : {column, column + code.lanes}) {
    const int64_t valid = std::clamp<int64_t>(size - first, 0, code.lanes);
    numbers.push_back(valid > 0 ? code.loadVector(code.at(row, first), valid) : code.splat(0));
  }
  return as(code, code.vector, narrowed(code, numbers[0], numbers[1]));
}

// Interleaves the elements of two rows as pairs.
static Value pairsOfRows(VectorCode &code, Value first, Value second) {
  auto halves = VectorType::get({2 * code.lanes}, code.builder.getI16Type());
  SmallVector<int32_t> order;
  for (int32_t lane = 0; lane < code.lanes; ++lane) {
    order.append({lane, lane + static_cast<int32_t>(code.lanes)});
  }
  Value both = as(code, halves, narrowed(code, first, second));
  Value pairs = LLVM::ShuffleVectorOp::create(code.builder, code.location, both, both, order);
  return as(code, code.vector, pairs);
}

void pairKeys(AttentionTile &a) {
  VectorCode &code = a.code;
  Value keys = code.at(a.key, code.multiply(a.keyHead(), a.keySize));
  Value lastRow = code.add(a.firstKey, code.subtract(a.keyCount, code.integer(1)));
  Value firstRow = a.firstScratchRow();
  code.loop(code.integer(0), a.pitch, code.lanes, [&](Value j) {
    SmallVector<Value> rows;
    for (int64_t lane = 0; lane < code.lanes; ++lane) {
      Value row = code.smaller(code.add(code.add(firstRow, j), lane), lastRow);
      rows.push_back(code.at(keys, code.multiply(row, a.keyStride)));
    }
    Value to = code.at(a.keysTransposed, code.multiply(j, a.scratchOfKey()));
    for (int64_t step = 0; step < stepsOf(a); ++step) {
      SmallVector<Value> square;
      for (Value row : rows) {
        square.push_back(pairsOfRow(code, row, step * kAmxBf16Steps, a.keySize));
      }
      for (auto [line, pairs] : llvm::enumerate(code.transposeSquare(square))) {
        int64_t place = step * kWords + static_cast<int64_t>(line) * kRowWords;
        code.storeVector(pairs, code.at(to, place));
      }
    }
  });
}

void pairValues(AttentionTile &a) {
  VectorCode &code = a.code;
  Value values = code.at(a.value, code.multiply(a.valueHead(), a.valueSize));
  Value lastRow = code.add(a.firstKey, code.subtract(a.keyCount, code.integer(1)));
  Value firstRow = a.firstScratchRow();
  code.loop(code.integer(0), a.pitch, 2, [&](Value j) {
    SmallVector<Value, 2> rows, areKeys;
    for (int64_t number : {0, 1}) {
      Value row = code.add(code.add(firstRow, j), number);
      areKeys.push_back(code.less(row, code.add(lastRow, 1)));
      rows.push_back(code.at(values, code.multiply(code.smaller(row, lastRow), a.valueStride)));
    }
    Value block = code.multiply(code.divide(j, kAmxBf16Steps), a.valueVectors() * kWords);
    Value line = code.multiply(code.divide(code.remainder(j, kAmxBf16Steps), 2), kRowWords);
    Value to = code.at(a.roundedValues, code.add(block, line));
    for (int64_t v = 0; v < a.valueVectors(); ++v) {
      SmallVector<Value, 2> numbers;
      for (auto [row, isKey] : llvm::zip_equal(rows, areKeys)) {
        Value loaded =
            code.loadVector(code.at(row, v * code.lanes), code.validLanes(v, a.valueSize));
        numbers.push_back(code.select(isKey, loaded, code.splat(0)));
      }
      code.storeVector(pairsOfRows(code, numbers[0], numbers[1]), code.at(to, v * kWords));
    }
  });
}

void pairQueries(AttentionTile &a, ArrayRef<Value> queries) {
  VectorCode &code = a.code;
  for (auto [number, query] : llvm::enumerate(queries)) {
    const auto row = static_cast<int64_t>(number);
    for (int64_t step = 0; step < stepsOf(a); ++step) {
      int64_t place =
          a.isOnAmx ? step * kWords + row * kRowWords : (row * stepsOf(a) + step) * kRowWords;
      code.storeVector(pairsOfRow(code, query, step * kAmxBf16Steps, a.keySize),
                       code.at(a.roundedQueries, place));
    }
  }
}

void storePairedWeights(AttentionTile &a, Value weights, Value row, Value key) {
  VectorCode &code = a.code;
  auto halves = VectorType::get({code.lanes}, code.builder.getBF16Type());
  Value narrow = LLVM::CallIntrinsicOp::create(
                     code.builder, code.location, halves,
                     code.builder.getStringAttr("llvm.x86.avx512bf16.cvtneps2bf16.512"), {weights})
                     .getResults();
  Value place = code.storedAt(row, key, code.builder.getBF16Type());
  LLVM::StoreOp::create(code.builder, code.location, narrow, place, sizeof(uint16_t));
}

// --- dot products ----------------------------------------------------------------------------

SmallVector<Value> dotKeys(AttentionTile &a, Value key, int64_t vectors) {
  VectorCode &code = a.code;
  const int64_t pairs = static_cast<int64_t>(llvm::divideCeil(a.keySize, 2));
  const int64_t unroll = pairs % 4 == 0 ? 4 : 1;
  Value keys = keysAt(a, key);
  SmallVector<Value> sums(a.rows * vectors, code.splat(0));
  return code.loop(
      code.integer(0), code.integer(pairs), unroll, sums, [&](Value first, ValueRange carried) {
        SmallVector<Value> next(carried);
        for (int64_t u = 0; u < unroll; ++u) {
          Value pair = code.add(first, u);
          SmallVector<Value> loaded;
          for (int64_t v = 0; v < vectors; ++v) {
            Value line = code.at(keys, v * kRowWords * a.scratchOfKey());
            loaded.push_back(code.loadVector(code.at(line, code.multiply(pair, kRowWords))));
          }
          for (int64_t r = 0; r < a.rows; ++r) {
            Value row = code.at(a.roundedQueries, r * stepsOf(a) * kRowWords);
            Value query = broadcastBf16Pair(code, code.at(row, pair));
            for (int64_t v = 0; v < vectors; ++v) {
              Value &sum = next[r * vectors + v];
              sum = addBf16Products(code, sum, query, loaded[v]);
            }
          }
        }
        return next;
      });
}

SmallVector<Value> dotValues(AttentionTile &a, ValueGroup group, Value firstKey, Value from,
                             Value end, ArrayRef<Value> sums) {
  VectorCode &code = a.code;
  Value to = code.multiply(code.divideUp(end, 2), 2);
  return code.loop(from, to, 2, sums, [&](Value j, ValueRange carried) {
    SmallVector<Value> next(carried), loaded;
    Value key = code.add(firstKey, j);
    Value pair = code.divide(code.remainder(key, kAmxBf16Steps), 2);
    Value line = code.at(valuesAt(a, key), code.multiply(pair, kRowWords));
    for (int64_t v = 0; v < group.count; ++v) {
      loaded.push_back(code.loadVector(code.at(line, (group.first + v) * kWords)));
    }
    for (int64_t r = 0; r < a.rows; ++r) {
      Value place = code.storedAt(a.scoresOf(r), j, code.builder.getBF16Type());
      Value weights = broadcastBf16Pair(code, place);
      for (int64_t v = 0; v < group.count; ++v) {
        Value &sum = next[r * group.count + v];
        sum = addBf16Products(code, sum, weights, loaded[v]);
      }
    }
    return next;
  });
}

} // namespace heddle
