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
#include "compiler/Target/Cuda/ProductTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

/// Threads of a block, 8 along columns and 16 along rows: a warp reads 32 columns and 4 runs of
/// rows at a time, and each bank of shared memory once.
static constexpr int64_t kColumnLanes = 8, kRowLanes = kProductThreads / kColumnLanes;
/// Padding of the rows of a slab, so that stores of neighbouring steps use different banks, and
/// reads of 4 rows are aligned to 16 bytes.
static constexpr int64_t kPadding = 4;
static constexpr int64_t kFloatBytes = sizeof(float);
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
  /// Bytes of the rows of a slab, which come first in a stage, and of the whole stage.
  int64_t slabRowBytes() const { return slab * (rows + kPadding) * kFloatBytes; }
  int64_t stageBytes(int64_t elementBytes) const {
    return slabRowBytes() + slab * columns() * elementBytes;
  }
  /// Bytes for the stages, whose memory is reused for the sums of a part.
  int64_t bytes(int64_t elementBytes) const {
    return std::max(stages * stageBytes(elementBytes), partRows() * columns() * kFloatBytes);
  }
};

/// A tile whose code is being emitted.
class TileCode {
public:
  TileCode(BlockCode &block, const Tile &tile, const TiledProduct &product)
      : block(block), code(block.code), tile(tile), product(product),
        weights{product.k, tile.slab, tile.panels, sharedPanelColumns * product.elementBytes(),
                tile.columns() * product.elementBytes()},
        columnLane(code.remainder(block.thread, kColumnLanes)),
        rowLane(code.divide(block.thread, kColumnLanes)) {}

  void emit();

private:
  int64_t slabs() const { return llvm::divideCeilSigned(product.k, tile.slab); }
  int64_t stageBytes() const { return tile.stageBytes(product.elementBytes()); }
  void storeWindow(Value row, Value column, Value valid, Value place);
  void copyRows(Value stage, Value first);
  void copySlab(Value stage, Value number);
  SmallVector<Value> multiply(Value stage, ValueRange sums);
  SmallVector<Value> sums();
  void storePart(ValueRange sums, int64_t part);

  BlockCode &block;
  VectorCode &code;
  const Tile &tile;
  const TiledProduct &product;
  const WeightSlab weights;
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
/// Below half a tile of rows, the larger tile gives too few tiles to fill the multiprocessors.
static constexpr int64_t kFewRows = kMany.rows / 2;

static const Tile &tileFor(int64_t groups, bool isFew) {
  return isFew ? kFew : groups == 1 ? kMany : kManyOfGroup;
}

BlockWork fmaWork(Type element, int64_t groups) {
  const int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  const Tile &many = tileFor(groups, /*isFew=*/false);
  return {kProductThreads,
          std::max(many.bytes(bytes), kFew.bytes(bytes)),
          {many.rows, many.panels},
          {kFew.rows, kFew.panels},
          kFewRows};
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
  Value step = code.remainder(block.thread, tile.slab), valid;
  Value k = stepAt(block, product.k, tile.slab, first, step, valid, kFloatBytes);
  Value row = code.divide(block.thread, tile.slab);
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
  Value first = code.multiply(number, tile.slab);
  copyRows(stage, first);
  copyWeights(block, product, weights, code.add(stage, tile.slabRowBytes()), first);
}

// --- sums --------------------------------------------------------------------------------------

/// Returns the thread's sums after the steps of a slab; the sum of its row r and column c is number
/// r * threadColumns + c.
SmallVector<Value> TileCode::multiply(Value stage, ValueRange sums) {
  Value ownRows = code.multiply(rowLane, tile.rowRun * kFloatBytes);
  Value ownColumns = code.multiply(columnLane, tile.columnRun * product.elementBytes());
  Value rows = code.add(stage, ownRows);
  Value columns = code.add(code.add(stage, tile.slabRowBytes()), ownColumns);
  return code.loop(
      code.integer(0), code.integer(tile.slab), kUnroll, sums,
      [&](Value first, ValueRange carried) {
        SmallVector<Value> next(carried);
        for (int64_t u = 0; u < kUnroll; ++u) {
          Value k = code.add(first, u);
          Value rowsAt = code.add(rows, code.multiply(k, (tile.rows + kPadding) * kFloatBytes));
          Value columnsAt =
              code.add(columns, code.multiply(k, tile.columns() * product.elementBytes()));
          SmallVector<Value> factors, weights;
          for (int64_t part = 0; part < tile.rowParts(); ++part) {
            Value at = code.add(rowsAt, part * tile.partRows() * kFloatBytes);
            llvm::append_range(factors, block.load(block.sharedAt(at), tile.rowRun, code.f32));
          }
          for (int64_t part = 0; part < tile.columnParts(); ++part) {
            const int64_t before = part * kColumnLanes * tile.columnRun;
            Value at = code.add(columnsAt, before * product.elementBytes());
            llvm::append_range(weights,
                               block.load(block.sharedAt(at), tile.columnRun, product.element));
          }
          for (size_t i = 0; i < next.size(); ++i) {
            next[i] = code.fma(factors[i / weights.size()], weights[i % weights.size()], next[i]);
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
  // Carries the offsets of the stages to read and to fill, then the sums.
  SmallVector<Value> initial = {code.integer(0), code.integer(ahead * stageBytes())};
  initial.append(tile.threadRows() * tile.threadColumns(), code.number(0));
  auto after = [&](Value stage) {
    return stageAfter(block, stage, /*begin=*/0, stageBytes(), tile.stages);
  };
  auto last = code.loop(
      code.integer(0), code.integer(slabs()), 1, initial, [&](Value slab, ValueRange carried) {
        Value read = carried[0], written = carried[1];
        block.await(ahead - 1);
        block.barrier();
        Value next = code.add(slab, ahead);
        code.when(code.less(next, code.integer(slabs())), [&] { copySlab(written, next); });
        // Commits empty groups too, so that the number of groups in flight is constant.
        block.commit();
        SmallVector<Value> results = {after(read), after(written)};
        llvm::append_range(results, multiply(read, carried.drop_front(2)));
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
  TileCode(block, tileFor(product.groups, isFew), product).emit();
}

} // namespace heddle
