// SPDX-License-Identifier: Apache-2.0
///
/// Copies keys, values and queries to shared memory. A thread handles four adjacent numbers of each
/// of several rows: it loads them while other work is computed, then widens, rounds and stores
/// them. For rows, neighbouring threads take neighbouring numbers. A cache stores the numbers of a
/// key sixteen positions apart, and those of neighbouring keys beside them, so there neighbouring
/// threads take neighbouring keys.
#include "compiler/Target/Cuda/AttentionSpan.h"

#include "heddle/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {

SmallVector<Value> apart(VectorCode &code, ValueRange values) {
  SmallVector<Value> all;
  for (Value each : values) {
    if (isa<VectorType>(each.getType())) {
      llvm::append_range(all, elementsOf(code, each));
    } else {
      all.push_back(each);
    }
  }
  return all;
}

Value vectorOf(VectorCode &code, ValueRange elements) {
  auto type = VectorType::get({static_cast<int64_t>(elements.size())}, elements.front().getType());
  return vector::FromElementsOp::create(code.builder, code.location, type, elements);
}

SpanThread SpanThread::load(BlockCode &block) {
  VectorCode &code = block.code;
  Value lane = code.remainder(block.thread, kWarpLanes);
  return {code.divide(block.thread, kWarpLanes), lane, code.divide(lane, kLanesOfRow),
          code.remainder(lane, kLanesOfRow)};
}

namespace {
/// The place of four adjacent numbers of a span: the row, and the first number.
struct Four {
  Value row, number;
};
} // namespace

/// Returns the number of fours of a span per thread.
static int64_t foursOfThread(const SpanShape &shape, const SpanRows &rows) {
  const int64_t all = shape.keys * rows.numbers / kFourNumbers;
  assert(all % shape.threads() == 0 && "sizes are padded so that all threads have as many");
  return all / shape.threads();
}

/// Returns the place of the thread's four number `i`. It is recomputed from the thread index at
/// each use, so that it occupies no register.
static Four fourOf(BlockCode &block, const SpanShape &shape, const SpanRows &rows, int64_t i) {
  VectorCode &code = block.code;
  const int64_t ofRow = rows.numbers / kFourNumbers;
  Value thread =
      arith::ExtUIOp::create(code.builder, code.location, code.i64, block.keptHere(block.thread));
  Value place = code.add(thread, i * shape.threads());
  if (rows.areTogether()) {
    return {code.remainder(place, shape.keys),
            code.multiply(code.divide(place, shape.keys), kFourNumbers)};
  }
  return {code.divide(place, ofRow), code.multiply(code.remainder(place, ofRow), kFourNumbers)};
}

// --- numbers as memory stores them ---------------------------------------------------------------

/// Returns the type in which a number is loaded: integers for all but f32.
static Type loadedType(VectorCode &code, const SpanRows &rows) {
  Type element = rows.element(code);
  return element.isF32() ? element : code.builder.getIntegerType(element.getIntOrFloatBitWidth());
}

/// Returns whether four numbers are loaded as a vector. Single narrow numbers would have to be
/// joined right after their loads.
static bool areVectors(VectorCode &code, const SpanRows &rows) {
  return rows.element(code).isF32() || rows.areAligned;
}

SmallVector<Value> zeroFour(BlockCode &block, const SpanRows &rows) {
  VectorCode &code = block.code;
  Type one = loadedType(code, rows);
  SmallVector<Value> zeros;
  if (areVectors(code, rows)) {
    zeros = {block.zero(VectorType::get({kFourNumbers}, one))};
  } else {
    zeros.assign(static_cast<size_t>(kFourNumbers), block.zero(one));
  }
  if (rows.hasScales()) {
    zeros.push_back(code.number(0));
  }
  return zeros;
}

/// Returns words of single numbers that are loaded; codes have `scales`, one for each or one for
/// all.
static SmallVector<Value> wordsOf(BlockCode &block, Units units, const SpanRows &rows,
                                  ValueRange loaded, ValueRange scales) {
  VectorCode &code = block.code;
  Type element = rows.element(code);
  SmallVector<Value> results;
  if (units == Units::Bf16 && element.isBF16()) {
    for (size_t i = 0; i < loaded.size(); i += 2) {
      Value pair = vectorOf(code, loaded.slice(i, 2));
      results.push_back(LLVM::BitcastOp::create(code.builder, code.location, code.i32, pair));
    }
    return results;
  }
  for (auto [i, each] : llvm::enumerate(loaded)) {
    Value number = element.isF32() ? each : code.widenStored(each, element);
    if (!scales.empty()) {
      number = code.multiplyFloat(number, scales[scales.size() == 1 ? 0 : i]);
    }
    results.push_back(number);
  }
  return TensorProducts(block, units).wordsOf(results);
}

SmallVector<Value> wordsOfFour(BlockCode &block, Units units, const SpanRows &rows,
                               ValueRange loaded) {
  const ValueRange scales = loaded.take_back(rows.hasScales() ? 1 : 0);
  return wordsOf(block, units, rows, apart(block.code, loaded.drop_back(scales.size())), scales);
}

SmallVector<Value> wordsOfColumn(BlockCode &block, const SpanRows &rows, ValueRange loaded) {
  const size_t count = rows.hasScales() ? loaded.size() / 2 : loaded.size();
  return wordsOf(block, Units::Bf16, rows, loaded.take_front(count), loaded.drop_front(count));
}

// --- loads ---------------------------------------------------------------------------------------

/// Returns the address of a number of the row at a position.
static Value addressOf(VectorCode &code, const SpanRows &rows, Value position, Value number) {
  if (!rows.cache) {
    return code.at(rows.base, code.add(code.multiply(position, rows.stride), number));
  }
  Value block = rows.cache->blockAt(code, rows.blocks, position);
  return rows.places->elementAt(code, block, code.remainder(position, HEDDLE_BLOCK),
                                code.add(rows.column, number));
}

/// Returns the address of the scale of a code of the row at a position.
static Value scaleAddressOf(VectorCode &code, const SpanRows &rows, Value position, Value number) {
  Value block = rows.cache->blockAt(code, rows.blocks, position);
  return rows.places->scaleAt(code, block, code.remainder(position, HEDDLE_BLOCK),
                              code.add(rows.column, number));
}

SmallVector<Value> loadFour(BlockCode &block, const SpanRows &rows, Value position, Value number,
                            bool together) {
  VectorCode &code = block.code;
  const int64_t last = rows.size - 1;
  Type one = loadedType(code, rows);
  auto near = [&](Value each, int64_t most) {
    return rows.size == rows.numbers ? each : code.smaller(each, code.integer(most));
  };
  SmallVector<Value> loaded;
  if (together) {
    Value first = near(number, last / kFourNumbers * kFourNumbers);
    loaded = {block.loadFar(addressOf(code, rows, position, first),
                            VectorType::get({kFourNumbers}, one))};
  } else {
    for (int64_t i = 0; i < kFourNumbers; ++i) {
      Value each = near(code.add(number, i), last);
      loaded.push_back(block.loadFar(addressOf(code, rows, position, each), one));
    }
  }
  if (rows.size != rows.numbers) {
    loaded = apart(code, loaded);
    for (auto [i, element] : llvm::enumerate(loaded)) {
      Value isThere = code.less(code.add(number, static_cast<int64_t>(i)), code.integer(rows.size));
      element = code.select(isThere, element, block.zero(one));
    }
  }
  if (areVectors(code, rows) && loaded.size() > 1) {
    loaded = {vectorOf(code, loaded)};
  }
  if (rows.hasScales()) {
    Value scale = scaleAddressOf(code, rows, position, near(number, last));
    loaded.push_back(block.loadFar(scale, code.f32));
  }
  return loaded;
}

SmallVector<Value> loadAligned(BlockCode &block, Value areAligned,
                               llvm::function_ref<SmallVector<Value>(bool)> load) {
  if (!areAligned) {
    return load(/*together=*/false);
  }
  return block.choose(
      areAligned, [&] { return load(/*together=*/true); },
      [&] { return load(/*together=*/false); });
}

SmallVector<Value> loadColumn(BlockCode &block, const SpanRows &rows, Value first, Value number,
                              int64_t count, Value from, Value to) {
  assert(HEDDLE_BLOCK % count == 0 && "the rows are in one block of a cache");
  VectorCode &code = block.code;
  Value column =
      rows.size == rows.numbers ? number : code.smaller(number, code.integer(rows.size - 1));
  const int64_t stride = rows.cache ? rows.places->positionStride : rows.stride;
  const bool areAll = !from;
  // If any of the rows is there, so is the one near the first.
  Value near = areAll ? first : code.larger(code.smaller(first, code.subtract(to, 1)), from);
  SmallVector<Value> loaded;
  // Loads one of each row, given the address of that of the row near the first, and the distance to
  // the next one in elements.
  auto load = [&](Value address, int64_t pitch, Type element, Type type) {
    for (int64_t i = 0; i < count; ++i) {
      if (areAll) {
        Value place = code.storedAt(address, code.integer(i * pitch), element);
        loaded.push_back(block.loadFar(place, type));
        continue;
      }
      Value position = code.add(first, i);
      Value isThere =
          code.both(code.less(position, to), code.less(code.subtract(from, 1), position));
      Value distance = code.select(isThere, code.subtract(position, near), code.integer(0));
      Value place = code.storedAt(address, code.multiply(distance, pitch), element);
      loaded.push_back(code.select(isThere, block.loadFar(place, type), block.zero(type)));
    }
  };
  load(addressOf(code, rows, near, column), stride, rows.element(code), loadedType(code, rows));
  if (rows.hasScales()) {
    load(scaleAddressOf(code, rows, near, column), rows.places->positionScales, code.f32, code.f32);
  }
  return loaded;
}

SmallVector<Value> loadSpan(BlockCode &block, const SpanShape &shape, const SpanRows &rows,
                            Value first, Value from, Value to) {
  VectorCode &code = block.code;
  const SmallVector<Value> zeros = zeroFour(block, rows);
  auto load = [&](bool together) {
    SmallVector<Value> loaded;
    for (int64_t i = 0; i < foursOfThread(shape, rows); ++i) {
      const Four place = fourOf(block, shape, rows, i);
      Value position = code.add(first, place.row);
      Value near = code.larger(code.smaller(position, code.subtract(to, 1)), from);
      const SmallVector<Value> four = loadFour(block, rows, near, place.number, together);
      Value isThere = code.equal(near, position);
      for (auto [value, zero] : llvm::zip_equal(four, zeros)) {
        loaded.push_back(code.select(isThere, value, zero));
      }
    }
    return loaded;
  };
  return loadAligned(block, rows.areAligned, load);
}

SmallVector<Value> loadFirstSpan(BlockCode &block, const SpanShape &shape, const SpanRows &rows,
                                 Value first, Value from, Value to) {
  return block.choose(
      block.code.less(from, to), [&] { return loadSpan(block, shape, rows, first, from, to); },
      [&] {
        SmallVector<Value> zeros;
        for (int64_t i = 0; i < foursOfThread(shape, rows); ++i) {
          llvm::append_range(zeros, zeroFour(block, rows));
        }
        return zeros;
      });
}

void storeSpan(BlockCode &block, const SpanShape &shape, const SpanRows &rows,
               ArrayRef<Value> loaded, int64_t to) {
  VectorCode &code = block.code;
  const int64_t numberBytes = static_cast<int64_t>(sizeof(float)) / numbersOfWord(shape.units);
  const auto fours = static_cast<size_t>(foursOfThread(shape, rows));
  const size_t ofFour = loaded.size() / fours;
  for (size_t i = 0; i < fours; ++i) {
    const Four place = fourOf(block, shape, rows, static_cast<int64_t>(i));
    Value at = code.add(code.multiply(place.row, shape.pitch(rows.numbers)),
                        code.multiply(place.number, numberBytes));
    block.storeWords(wordsOfFour(block, shape.units, rows, loaded.slice(i * ofFour, ofFour)),
                     block.sharedAt(code.add(at, code.integer(to))));
  }
}

} // namespace heddle
