// SPDX-License-Identifier: Apache-2.0
///
/// Rounds queries, keys and values and stores them where descriptors of warpgroups expect them. A
/// thread stores 16 bytes at once: eight numbers of a row of queries or keys, or one number of
/// eight values, so that values are transposed on the way. Neighbouring threads load neighbouring
/// numbers of memory, and store to different banks.
#include "compiler/Target/Cuda/WarpgroupAttention.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

int64_t WarpgroupSpans::chunkNumbers() const {
  // The widths of swizzled rows: 32, 64 and 128 bytes.
  const int64_t numbers = shape.keyNumbers();
  return numbers <= 16 ? 16 : numbers <= 32 ? 32 : 64;
}

/// Returns part `i` of the thread, of some rows of queries or keys: neighbouring threads have
/// neighbouring parts, or neighbouring rows. It is recomputed from the thread index at each use, so
/// that it occupies no register.
SpanWriter::Part SpanWriter::partAt(int64_t i, int64_t rows, bool areTogether) {
  const int64_t parts = shape.keyNumbers() / kCoreSteps;
  Value thread =
      arith::ExtUIOp::create(code.builder, code.location, code.i64, block.keptHere(inWarpgroup));
  Value number = code.add(thread, i * kWarpgroupThreads);
  if (areTogether) {
    return {code.remainder(number, rows), code.divide(number, rows)};
  }
  return {code.divide(number, parts), code.remainder(number, parts)};
}

/// Returns the byte of a part in a matrix [chunks][rows][rowBytes].
Value SpanWriter::placeIn(const Part &part, int64_t rows, int64_t rowBytes) {
  const int64_t parts = rowBytes / kCoreRowBytes;
  Value chunk = code.multiply(code.divide(part.part, parts), rows * rowBytes);
  Value inRow = warpgroups.permuted(part.row, code.remainder(part.part, parts), rowBytes);
  return code.add(chunk,
                  code.add(code.multiply(part.row, rowBytes), code.multiply(inRow, kCoreRowBytes)));
}

SmallVector<Value> SpanWriter::loadPart(const SpanRows &rows, Value position, Value part,
                                        bool together) {
  SmallVector<Value> loaded;
  for (int64_t i = 0; i < kCoreSteps; i += kFourNumbers) {
    Value number = code.add(code.multiply(part, kCoreSteps), i);
    llvm::append_range(loaded, apart(code, loadFour(block, rows, position, number, together)));
  }
  return loaded;
}

/// Stores a part of a row of queries or keys.
void SpanWriter::storePart(const SpanRows &rows, ValueRange loaded, Value place) {
  const size_t half = loaded.size() / 2;
  SmallVector<Value> words = wordsOfFour(block, Units::Bf16, rows, loaded.take_front(half));
  llvm::append_range(words, wordsOfFour(block, Units::Bf16, rows, loaded.drop_front(half)));
  block.storeWords(words, block.sharedAt(place));
}

void SpanWriter::storeQueries(const QueryTile &tile, const AttentionTile &a, Value first) {
  SpanRows rows;
  rows.size = a.keySize;
  rows.numbers = shape.keyNumbers();
  rows.areAligned = tile.areAligned(a.query, a.queryStride, a.keySize);
  const SmallVector<Value> loaded = loadAligned(block, rows.areAligned, [&](bool together) {
    SmallVector<Value> numbers;
    for (int64_t i = 0; i < partsOf(kWarpgroupRows); ++i) {
      const Part part = partAt(i, kWarpgroupRows, /*areTogether=*/false);
      rows.base = tile.addressOf(tile.placeAt(code.add(first, part.row)));
      llvm::append_range(numbers, loadPart(rows, code.integer(0), part.part, together));
    }
    return numbers;
  });
  for (int64_t i = 0; i < partsOf(kWarpgroupRows); ++i) {
    Part part = partAt(i, kWarpgroupRows, /*areTogether=*/false);
    part.row = code.add(part.row, first);
    storePart(rows, ValueRange(loaded).slice(static_cast<size_t>(i * kCoreSteps), kCoreSteps),
              placeIn(part, shape.rows(), spans.chunkBytes()));
  }
}

/// Calls `use` with the numbers of the parts of a batch, of keys or of values.
void SpanWriter::forParts(int64_t batch, llvm::function_ref<void(int64_t i)> use) const {
  const bool areKeys = batch < keyBatches();
  const int64_t most = areKeys ? keyBatch : valueBatch;
  const int64_t first = (areKeys ? batch : batch - keyBatches()) * most;
  const int64_t parts = areKeys ? partsOf(shape.keys) : valueParts();
  for (int64_t i = first; i < std::min(first + most, parts); ++i) {
    use(i);
  }
}

SmallVector<Value> SpanWriter::load(const QueryTile &tile, const SpanRows &keys,
                                    const SpanRows &values, Value first, int64_t batch) {
  if (batch >= keyBatches()) {
    const auto loadWithin = [&](Value from, Value to) {
      SmallVector<Value> numbers;
      forParts(batch, [&](int64_t i) {
        const Part part = partAt(i, shape.valueNumbers(), /*areTogether=*/true);
        Value position = code.add(first, code.multiply(part.part, kCoreSteps));
        llvm::append_range(numbers,
                           loadColumn(block, values, position, part.row, kCoreSteps, from, to));
        block.separateLoads();
      });
      return numbers;
    };
    // Spans in the middle of a sequence need no checks.
    Value areAll = code.both(code.less(code.subtract(tile.from, 1), first),
                             code.less(code.add(first, shape.keys - 1), tile.to));
    return block.choose(
        areAll, [&] { return loadWithin({}, {}); }, [&] { return loadWithin(tile.from, tile.to); });
  }
  return loadAligned(block, keys.areAligned, [&](bool together) {
    SmallVector<Value> numbers;
    forParts(batch, [&](int64_t i) {
      const Part part = partAt(i, shape.keys, keys.areTogether());
      Value position = code.add(first, part.row);
      Value near = code.larger(code.smaller(position, code.subtract(tile.to, 1)), tile.from);
      llvm::append_range(numbers, loadPart(keys, near, part.part, together));
      block.separateLoads();
    });
    return numbers;
  });
}

SmallVector<Value> SpanWriter::zeros(const SpanRows &keys) {
  SmallVector<Value> all;
  forParts(/*batch=*/0, [&](int64_t) {
    for (int64_t i = 0; i < kCoreSteps; i += kFourNumbers) {
      llvm::append_range(all, apart(code, zeroFour(block, keys)));
    }
  });
  return all;
}

void SpanWriter::store(const SpanRows &keys, const SpanRows &values, ValueRange loaded,
                       int64_t batch, Value stage) {
  size_t parts = 0, stored = 0;
  forParts(batch, [&](int64_t) { ++parts; });
  const size_t ofPart = loaded.size() / parts;
  forParts(batch, [&](int64_t i) {
    const ValueRange own = loaded.slice(stored, ofPart);
    stored += ofPart;
    if (batch < keyBatches()) {
      const Part part = partAt(i, shape.keys, keys.areTogether());
      storePart(keys, own, code.add(stage, placeIn(part, shape.keys, spans.chunkBytes())));
      return;
    }
    const Part part = partAt(i, shape.valueNumbers(), /*areTogether=*/true);
    Value place =
        code.add(placeIn(part, shape.valueNumbers(), spans.valueBytes()), spans.keysBytes());
    block.storeWords(wordsOfColumn(block, values, own), block.sharedAt(code.add(stage, place)));
  });
}

} // namespace heddle
