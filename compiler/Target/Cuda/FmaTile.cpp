// SPDX-License-Identifier: Apache-2.0
///
/// Computes a product as tiles of the result. A block copies slabs of both operands, some steps of
/// k of all its rows and columns, to shared memory, asynchronously and ahead of their use. Every
/// thread keeps the sums of its part of the tile in registers. It uses FMA units only: f32 is f32
/// (docs/decisions/0049).
///
///   stage 0   [slab][rows + 4] elements of rows, transposed by the copy, [slab][columns] weights
///   stage 1   ...
///   for each slab: wait for its copies; barrier; start to copy a later slab into the stage that
///   was read last; multiply
///
/// One barrier per slab is enough: after it, the slab is complete, and no thread reads the stage
/// that is filled next.
///
/// Quantised weights arrive one slab earlier, and are dequantised while the slab before is
/// multiplied (docs/decisions/0074):
///
///   weights 0, weights 1   [slab][columns] in f32
///   for each slab: wait for the copies of the next one; barrier; start to copy a later slab;
///   dequantise the next slab; multiply
#include "compiler/Target/Cuda/CodeSlab.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

/// Threads of a block, 8 along columns and 16 along rows: a warp reads 32 columns and 4 runs of
/// rows at a time, and each bank of shared memory once.
static constexpr int64_t kColumnLanes = 8, kRowLanes = kProductThreads / kColumnLanes;
/// Padding of the rows of a slab, so that stores of neighbouring steps use different banks, and
/// reads of 4 rows are aligned to 16 bytes.
static constexpr int64_t kPadding = 4;
/// The unroll factor of the inner loop over k.
static constexpr int64_t kUnroll = 4;

namespace {
/// The shape of a tile.
struct Tile {
  int64_t rows, panels;
  /// Steps of k per slab, and the number of slabs in shared memory.
  int64_t slab, stages;
  /// Adjacent rows, and adjacent columns, that a thread reads at once.
  int64_t rowRun, columnRun;

  int64_t columns() const { return panels * sharedPanelColumns; }
  int64_t threadRows() const { return rows / kRowLanes; }
  int64_t threadColumns() const { return columns() / kColumnLanes; }
  /// Rows of a part, of which each thread has one run, and the number of parts.
  int64_t partRows() const { return kRowLanes * rowRun; }
  int64_t rowParts() const { return threadRows() / rowRun; }
  int64_t columnParts() const { return threadColumns() / columnRun; }
  /// Bytes of the rows of a slab, which come first in a stage.
  int64_t slabRowBytes() const { return slab * (rows + kPadding) * kFloatBytes; }
};

/// The weights of a slab in shared memory.
struct SlabWeights {
  /// The type of those that are multiplied, and the bytes of a slab as it is copied.
  Type element;
  int64_t copiedBytes;
  /// If weights are quantised: how they become f32.
  std::optional<CodeSlab> codes;

  SlabWeights(const Tile &tile, Type stored, int64_t k);

  int64_t elementBytes() const { return element.getIntOrFloatBitWidth() / 8; }
  int64_t stageBytes(const Tile &tile) const { return tile.slabRowBytes() + copiedBytes; }
  /// Dequantised slabs follow the stages.
  int64_t stagesBytes(const Tile &tile) const { return tile.stages * stageBytes(tile); }
  /// Bytes of all; the memory is reused for the sums of a part.
  int64_t bytes(const Tile &tile) const {
    return std::max(stagesBytes(tile) + (codes ? 2 * codes->bytes() : 0),
                    tile.partRows() * tile.columns() * kFloatBytes);
  }
};

/// A tile whose code is being emitted.
class TileCode {
public:
  TileCode(BlockCode &block, const Tile &tile, const TiledProduct &product)
      : block(block), code(block.code), tile(tile), product(product),
        weights(tile, product.element, product.k),
        columnLane(code.remainder(block.thread, kColumnLanes)),
        rowLane(code.divide(block.thread, kColumnLanes)) {}

  void emit();

private:
  int64_t slabs() const { return llvm::divideCeilSigned(product.k, tile.slab); }
  int64_t stageBytes() const { return weights.stageBytes(tile); }
  Value stageAfter(Value stage) {
    return heddle::stageAfter(block, stage, /*begin=*/0, stageBytes(), tile.stages);
  }
  void storeWindow(Value row, Value column, Value valid, Value place);
  void copyRows(Value stage, Value first);
  void copySlab(Value stage, Value number);
  Value dequantisedAt(Value number);
  void dequantise(Value stage, Value number);
  SmallVector<Value> multiply(Value stage, Value slab, ValueRange sums);
  SmallVector<Value> sums();
  void storePart(ValueRange sums, int64_t part);

  BlockCode &block;
  VectorCode &code;
  const Tile &tile;
  const TiledProduct &product;
  const SlabWeights weights;
  Value columnLane, rowLane;
};
} // namespace

/// The tile for many rows: 96 sums per thread; 8 or 12 FMAs use each element that is read from
/// shared memory. Three stages of 14,592 bytes are less than the 48 KB that every GPU provides by
/// default.
static constexpr Tile kMany = {128, 2, 16, 3, 4, 4};
/// The same for groups of columns, each of which begins with a panel: 48 sums per thread.
static constexpr Tile kManyOfGroup = {128, 1, 16, 3, 4, 2};
/// The tile for few rows, whose time is that of reading weights: longer slabs, four of them in
/// flight.
static constexpr Tile kFew = {16, 1, 32, 5, 1, 2};
/// Stages of quantised weights for few rows: slabs of codes are smaller, unless many groups have a
/// head in them. The most that fit in the memory that every GPU provides are used.
static constexpr int64_t kFewestStages = 3, kMostStages = 7, kUsualBytes = int64_t(48) * 1024;
/// Below half a tile of rows, the larger tile gives too few tiles to fill the multiprocessors.
static constexpr int64_t kFewRows = kMany.rows / 2;

SlabWeights::SlabWeights(const Tile &tile, Type stored, int64_t k) : element(stored) {
  if (auto type = dyn_cast<transformer::QuantizedType>(stored)) {
    codes.emplace(type, k, tile.slab, tile.panels);
    element = Float32Type::get(stored.getContext());
  }
  copiedBytes = codes ? codes->copiedBytes() : tile.slab * tile.columns() * elementBytes();
}

static Tile tileFor(Type element, int64_t k, int64_t groups, bool isFew) {
  if (!isFew) {
    return groups == 1 ? kMany : kManyOfGroup;
  }
  Tile tile = kFew;
  const SlabWeights weights(tile, element, k);
  if (weights.codes) {
    const int64_t fitting = (kUsualBytes - 2 * weights.codes->bytes()) / weights.stageBytes(tile);
    tile.stages = std::clamp(fitting, kFewestStages, kMostStages);
  }
  return tile;
}

BlockWork fmaWork(Type element, int64_t k, int64_t groups) {
  const Tile many = tileFor(element, k, groups, /*isFew=*/false),
             few = tileFor(element, k, groups, /*isFew=*/true);
  return {
      kProductThreads,
      std::max(SlabWeights(many, element, k).bytes(many), SlabWeights(few, element, k).bytes(few)),
      {many.rows, many.panels},
      {few.rows, few.panels},
      kFewRows,
      kProductBlocks};
}

// --- copies ------------------------------------------------------------------------------------

/// Computes a column of a window's contents, which is zero past the end, and stores it.
void TileCode::storeWindow(Value row, Value column, Value valid, Value place) {
  // The place of the window is recomputed for every slab, to save registers.
  Value kept = arith::ExtUIOp::create(code.builder, code.location, code.i64, block.keptHere(row));
  Value element = product.windows->element(kept, column);
  if (valid) {
    Value zero = arith::ConstantIntOp::create(code.builder, code.location, code.i32, 0);
    Value isThere =
        arith::CmpIOp::create(code.builder, code.location, arith::CmpIPredicate::ne, valid, zero);
    element = code.select(isThere, element, code.number(0));
  }
  block.store(element, place);
}

/// Copies the elements of all rows at the steps of a slab, transposed, or computes them if they are
/// contents of windows. Rows past the end repeat the last one; their results are not used.
void TileCode::copyRows(Value stage, Value first) {
  // Much follows from the place of a thread among windows. It is recomputed, so that it takes no
  // registers while a slab is multiplied.
  Value thread = product.windows ? block.indexKeptHere(block.thread) : block.thread;
  Value step = code.remainder(thread, tile.slab), valid;
  Value k = stepAt(block, product.k, tile.slab, first, step, valid, kFloatBytes);
  Value row = code.divide(thread, tile.slab);
  Value lastRow = product.lastRow(block, tile.rows);
  Value narrow = arith::TruncIOp::create(code.builder, code.location, code.i32, row);
  Value column = product.columnAt(code, k);
  Value from = code.at(product.rowsBegin(code), column);
  Value to = code.add(code.multiply(step, tile.rows + kPadding), row);
  for (int64_t begin = 0; begin < tile.rows; begin += kProductThreads / tile.slab) {
    Value offset = arith::ConstantIntOp::create(code.builder, code.location, code.i32, begin);
    Value inTile = TiledProduct::nearRow(block, code.add(narrow, offset), lastRow);
    Value place = block.sharedAt(code.add(stage, code.multiply(code.add(to, begin), kFloatBytes)));
    if (product.windows) {
      storeWindow(code.add(product.firstRow, inTile), column, valid, place);
    } else {
      block.copy(place, code.at(from, product.elementsBefore(code, inTile)), kFloatBytes, valid);
    }
  }
}

/// Starts to copy a slab.
void TileCode::copySlab(Value stage, Value number) {
  Value first = code.multiply(number, tile.slab), to = code.add(stage, tile.slabRowBytes());
  copyRows(stage, first);
  if (weights.codes) {
    weights.codes->copy(block, product, to, first);
    return;
  }
  const WeightSlab slab = {product.k, tile.slab, tile.panels,
                           sharedPanelColumns * weights.elementBytes(),
                           tile.columns() * weights.elementBytes()};
  copyWeights(block, product, slab, to, first);
}

/// Returns the place of a slab's dequantised weights: one of two in turn.
Value TileCode::dequantisedAt(Value number) {
  Value place = code.multiply(code.remainder(number, 2), weights.codes->bytes());
  return code.add(place, weights.stagesBytes(tile));
}

void TileCode::dequantise(Value stage, Value number) {
  weights.codes->dequantise(block, code.add(stage, tile.slabRowBytes()), dequantisedAt(number),
                            code.multiply(number, tile.slab));
}

// --- sums --------------------------------------------------------------------------------------

/// Returns the thread's sums after the steps of a slab; the sum of its row r and column c is number
/// r * threadColumns + c.
SmallVector<Value> TileCode::multiply(Value stage, Value slab, ValueRange sums) {
  const int64_t elementBytes = weights.elementBytes();
  Value ownRows = code.multiply(rowLane, tile.rowRun * kFloatBytes);
  Value ownColumns = code.multiply(columnLane, tile.columnRun * elementBytes);
  Value rows = code.add(stage, ownRows);
  Value columns = weights.codes ? dequantisedAt(slab) : code.add(stage, tile.slabRowBytes());
  columns = code.add(columns, ownColumns);
  return code.loop(
      code.integer(0), code.integer(tile.slab), kUnroll, sums,
      [&](Value first, ValueRange carried) {
        SmallVector<Value> next(carried);
        for (int64_t u = 0; u < kUnroll; ++u) {
          Value k = code.add(first, u);
          Value rowsAt = code.add(rows, code.multiply(k, (tile.rows + kPadding) * kFloatBytes));
          Value columnsAt = code.add(columns, code.multiply(k, tile.columns() * elementBytes));
          SmallVector<Value> factors, loaded;
          for (int64_t part = 0; part < tile.rowParts(); ++part) {
            Value at = code.add(rowsAt, part * tile.partRows() * kFloatBytes);
            llvm::append_range(factors, block.load(block.sharedAt(at), tile.rowRun, code.f32));
          }
          for (int64_t part = 0; part < tile.columnParts(); ++part) {
            const int64_t before = part * kColumnLanes * tile.columnRun;
            Value at = code.add(columnsAt, before * elementBytes);
            llvm::append_range(loaded,
                               block.load(block.sharedAt(at), tile.columnRun, weights.element));
          }
          for (size_t i = 0; i < next.size(); ++i) {
            next[i] = code.fma(factors[i / loaded.size()], loaded[i % loaded.size()], next[i]);
          }
        }
        return next;
      });
}

/// Returns the sums over all of k.
SmallVector<Value> TileCode::sums() {
  const int64_t ahead = tile.stages - 1;
  for (int64_t slab = 0; slab < ahead; ++slab) {
    if (slab < slabs()) {
      copySlab(code.integer(slab * stageBytes()), code.integer(slab));
    }
    block.commit();
  }
  if (weights.codes) {
    block.await(ahead - 1);
    block.barrier();
    dequantise(code.integer(0), code.integer(0));
  }
  // Carries the offsets of the stages to read and to fill, then the sums.
  SmallVector<Value> initial = {code.integer(0), code.integer(ahead * stageBytes())};
  initial.append(tile.threadRows() * tile.threadColumns(), code.number(0));
  auto last = code.loop(
      code.integer(0), code.integer(slabs()), 1, initial, [&](Value slab, ValueRange carried) {
        Value read = carried[0], written = carried[1];
        block.await(weights.codes ? ahead - 2 : ahead - 1);
        block.barrier();
        Value later = code.add(slab, ahead);
        code.when(code.less(later, code.integer(slabs())), [&] { copySlab(written, later); });
        // Commits empty groups too, so that the number of groups in flight is constant.
        block.commit();
        if (weights.codes) {
          Value next = code.add(slab, 1);
          code.when(code.less(next, code.integer(slabs())),
                    [&] { dequantise(stageAfter(read), next); });
        }
        SmallVector<Value> results = {stageAfter(read), stageAfter(written)};
        llvm::append_range(results, multiply(read, slab, carried.drop_front(2)));
        return results;
      });
  return SmallVector<Value>(llvm::drop_begin(last, 2));
}

// --- the result --------------------------------------------------------------------------------

/// Stores the sums of a part of the rows to shared memory, and from there to the result.
void TileCode::storePart(ValueRange sums, int64_t part) {
  block.barrier();
  for (int64_t r = 0; r < tile.rowRun; ++r) {
    Value row = code.add(code.multiply(rowLane, tile.rowRun), r);
    for (int64_t c = 0; c < tile.columnParts(); ++c) {
      Value column =
          code.add(code.multiply(columnLane, tile.columnRun), c * kColumnLanes * tile.columnRun);
      Value place = code.add(code.multiply(row, tile.columns()), column);
      const int64_t first = (part * tile.rowRun + r) * tile.threadColumns() + c * tile.columnRun;
      block.store(sums.slice(first, tile.columnRun),
                  block.sharedAt(code.multiply(place, kFloatBytes)));
    }
  }
  block.barrier();
  finishSums(
      block, product,
      {part * tile.partRows(), tile.partRows(), tile.columns(), tile.columns() * kFloatBytes});
}

void TileCode::emit() {
  // Other threads may still read the sums of the previous tile.
  block.barrier();
  SmallVector<Value> all = sums();
  for (int64_t part = 0; part < tile.rowParts(); ++part) {
    storePart(all, part);
  }
}

void emitFmaTile(BlockCode &block, const TiledProduct &product, bool isFew) {
  const Tile tile = tileFor(product.element, product.k, product.groups, isFew);
  TileCode(block, tile, product).emit();
}

} // namespace heddle
