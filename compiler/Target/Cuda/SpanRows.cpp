// SPDX-License-Identifier: Apache-2.0
///
/// Copies keys, values and queries to shared memory. A thread handles four adjacent numbers of each
/// of several rows: it loads them while other work is computed, then rounds and stores them. For
/// rows, neighbouring threads take neighbouring numbers. A cache stores the numbers of a key
/// sixteen positions apart, and those of neighbouring keys beside them, so there neighbouring
/// threads take neighbouring keys.
#include "compiler/Target/Cuda/AttentionSpan.h"

#include "heddle/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {

SmallVector<Value> elementsOf(VectorCode &code, Value vector) {
  SmallVector<Value> elements;
  for (int64_t i = 0; i < cast<VectorType>(vector.getType()).getNumElements(); ++i) {
    elements.push_back(vector::ExtractOp::create(code.builder, code.location, vector, i));
  }
  return elements;
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

bool hasRowsTogether(const SpanRows &rows) {
  return rows.places != nullptr && rows.places->elementStride != 1;
}

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
  if (hasRowsTogether(rows)) {
    return {code.remainder(place, shape.keys),
            code.multiply(code.divide(place, shape.keys), kFourNumbers)};
  }
  return {code.divide(place, ofRow), code.multiply(code.remainder(place, ofRow), kFourNumbers)};
}

/// Returns the address of a number of the row at a position.
static Value addressOf(VectorCode &code, const SpanRows &rows, Value position, Value number) {
  if (!rows.cache) {
    return code.at(rows.base, code.add(code.multiply(position, rows.stride), number));
  }
  Value block = rows.cache->blockAt(code, rows.blocks, position);
  return rows.places->elementAt(code, block, code.remainder(position, HEDDLE_BLOCK),
                                code.add(rows.column, number));
}

Value loadFour(BlockCode &block, const SpanRows &rows, Value position, Value number,
               bool together) {
  VectorCode &code = block.code;
  const int64_t last = rows.size - 1;
  auto four = VectorType::get({kFourNumbers}, code.f32);
  auto near = [&](Value each, int64_t most) {
    return rows.size == rows.numbers ? each : code.smaller(each, code.integer(most));
  };
  Value loaded;
  if (together) {
    Value first = near(number, last / kFourNumbers * kFourNumbers);
    loaded = block.loadFar(addressOf(code, rows, position, first), four);
  } else {
    SmallVector<Value> elements;
    for (int64_t i = 0; i < kFourNumbers; ++i) {
      Value each = near(code.add(number, i), last);
      elements.push_back(block.loadFar(addressOf(code, rows, position, each), code.f32));
    }
    loaded = vectorOf(code, elements);
  }
  if (rows.size == rows.numbers) {
    return loaded;
  }
  SmallVector<Value> elements = elementsOf(code, loaded);
  for (auto [i, element] : llvm::enumerate(elements)) {
    Value isThere = code.less(code.add(number, static_cast<int64_t>(i)), code.integer(rows.size));
    element = code.select(isThere, element, code.number(0));
  }
  return vectorOf(code, elements);
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
  Value address = addressOf(code, rows, near, column);
  SmallVector<Value> numbers;
  for (int64_t i = 0; i < count; ++i) {
    if (areAll) {
      numbers.push_back(block.loadFar(code.at(address, i * stride), code.f32));
      continue;
    }
    Value position = code.add(first, i);
    Value isThere = code.both(code.less(position, to), code.less(code.subtract(from, 1), position));
    Value distance = code.select(isThere, code.subtract(position, near), code.integer(0));
    Value loaded = block.loadFar(code.at(address, code.multiply(distance, stride)), code.f32);
    numbers.push_back(code.select(isThere, loaded, code.number(0)));
  }
  return numbers;
}

SmallVector<Value> loadSpan(BlockCode &block, const SpanShape &shape, const SpanRows &rows,
                            Value first, Value from, Value to) {
  VectorCode &code = block.code;
  auto four = VectorType::get({kFourNumbers}, code.f32);
  Value zeros =
      arith::ConstantOp::create(code.builder, code.location, code.builder.getZeroAttr(four));
  auto load = [&](bool together) {
    SmallVector<Value> loaded;
    for (int64_t i = 0; i < foursOfThread(shape, rows); ++i) {
      const Four place = fourOf(block, shape, rows, i);
      Value position = code.add(first, place.row);
      Value near = code.larger(code.smaller(position, code.subtract(to, 1)), from);
      Value numbers = loadFour(block, rows, near, place.number, together);
      loaded.push_back(code.select(code.equal(near, position), numbers, zeros));
    }
    return loaded;
  };
  return loadAligned(block, rows.areAligned, load);
}

SmallVector<Value> loadFirstSpan(BlockCode &block, const SpanShape &shape, const SpanRows &rows,
                                 Value first, Value from, Value to) {
  VectorCode &code = block.code;
  auto four = VectorType::get({kFourNumbers}, code.f32);
  return block.choose(
      code.less(from, to), [&] { return loadSpan(block, shape, rows, first, from, to); },
      [&] {
        Value zeros =
            arith::ConstantOp::create(code.builder, code.location, code.builder.getZeroAttr(four));
        return SmallVector<Value>(static_cast<size_t>(foursOfThread(shape, rows)), zeros);
      });
}

void storeSpan(BlockCode &block, const SpanShape &shape, const SpanRows &rows,
               ArrayRef<Value> loaded, int64_t to) {
  VectorCode &code = block.code;
  TensorProducts products(block, shape.units);
  const int64_t numberBytes = static_cast<int64_t>(sizeof(float)) / numbersOfWord(shape.units);
  for (auto [i, four] : llvm::enumerate(loaded)) {
    const Four place = fourOf(block, shape, rows, static_cast<int64_t>(i));
    Value at = code.add(code.multiply(place.row, shape.pitch(rows.numbers)),
                        code.multiply(place.number, numberBytes));
    block.storeWords(products.wordsOf(elementsOf(code, four)),
                     block.sharedAt(code.add(at, code.integer(to))));
  }
}

} // namespace heddle
