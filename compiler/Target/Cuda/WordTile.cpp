// SPDX-License-Identifier: Apache-2.0
///
/// Implements what tiles of words share. The order of operations matters: ptxas keeps all values in
/// registers only because addresses are recomputed where they are used.
#include "compiler/Target/Cuda/WordTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {

/// Padding between lines of weights, so that the four lines that a warp reads at once use different
/// banks, and between rows of sums.
static constexpr int64_t kLinePadding = 32, kSumPadding = 16;
/// The sums of a lane in a matrix of one instruction.
static constexpr int64_t kSumsOfMatrix = kMatrixRows * kMatrixColumns / kWarpLanes;

// --- the shape -----------------------------------------------------------------------------------

int64_t WordTile::linePitch() const { return columns() * kWordBytes + kLinePadding; }
int64_t WordTile::sumPitch() const { return columns() * kFloatBytes + kSumPadding; }
int64_t WordTile::sumsOfLane() const { return parts() * matricesOfWarp() * kSumsOfMatrix; }

SmallVector<ColumnRun> WordTile::runs() const {
  SmallVector<ColumnRun> all;
  for (int64_t first = 0; first < columnsOfWarp();) {
    const int64_t matrices = (columnsOfWarp() - first) / kMatrixColumns;
    const int64_t width = matrices >= 4 ? 4 : matrices >= 2 ? 2 : 1;
    all.push_back({first, width});
    first += width * kMatrixColumns;
  }
  return all;
}

WordTileCode::WordTileCode(BlockCode &block, const WordTile &tile, const Stages &stages,
                           const TiledProduct &product, int64_t steps)
    : block(block), code(block.code), tile(tile), stages(stages), product(product), steps(steps),
      runs(tile.runs()), warp(code.divide(block.thread, kWarpLanes)),
      warpRow(code.remainder(warp, tile.warpRows)), lane(code.remainder(block.thread, kWarpLanes)),
      g(code.divide(lane, kLanesOfRow)), t(code.remainder(lane, kLanesOfRow)) {
  assert(tile.linePitch() % kBankBytes % (2 * kLinePadding) == kLinePadding &&
         "four lines are in banks of their own");
  // A surplus warp repeats the work of the last one.
  warpColumn = code.smaller(code.divide(warp, tile.warpRows), code.integer(tile.warpColumns - 1));
  findOwn();
}

/// Computes the place of the thread's elements, here: what follows from it then takes no registers
/// while slabs are multiplied.
void WordTileCode::findOwn() {
  Value thread =
      arith::ExtUIOp::create(code.builder, code.location, code.i64, block.keptHere(block.thread));
  const int64_t ofRow = slabSteps() / kTogether;
  ownFour = code.multiply(code.remainder(thread, ofRow), kTogether);
  ownRow = code.divide(thread, ofRow);
}

// --- rows ----------------------------------------------------------------------------------------

/// Returns the place of part `part` of a row among the row's parts. ldmatrix reads the same part of
/// eight consecutive rows at once, which must be in different banks: rows that together cover all
/// banks keep their order, and the next such group has another.
Value WordTileCode::inOwnOrder(Value row, Value part) {
  const int64_t together = kBankBytes / tile.rowBytes();
  Value order = code.remainder(code.divide(row, together), tile.rowParts());
  return arith::XOrIOp::create(code.builder, code.location, part, order);
}

/// Returns the address of the group's columns of the tile's first row.
Value WordTileCode::firstRow() {
  Value first = code.multiply(product.firstRow, product.rowElements);
  return code.at(product.rows, product.columnAt(code, first));
}

/// Loads four elements of a row from step `k` on, clamped to the last one. Elements past the end
/// are arbitrary.
Value WordTileCode::loadFour(Value from, Value k) {
  auto four = VectorType::get({kTogether}, code.f32);
  const int64_t last = product.k - 1;
  if (product.hasAlignedRows) {
    // A row has whole fours; the last one may be partly past k.
    Value near = code.smaller(k, code.integer(last / kTogether * kTogether));
    return block.loadFar(code.at(from, near), four);
  }
  SmallVector<Value> elements;
  for (int64_t i = 0; i < kTogether; ++i) {
    Value near = code.smaller(code.add(k, i), code.integer(last));
    elements.push_back(block.loadFar(code.at(from, near), code.f32));
  }
  return vector::FromElementsOp::create(code.builder, code.location, four, elements);
}

/// Starts to load the thread's elements of a slab. Rows past the end repeat the last one; their
/// results are not used.
SmallVector<Value> WordTileCode::loadRows(Value number) {
  Value k = firstStep(number);
  Value first = firstRow();
  Value lastRow = product.lastRow(block, tile.rows);
  Value row = arith::TruncIOp::create(code.builder, code.location, code.i32, ownRow);
  SmallVector<Value> loaded;
  for (int64_t begin = 0; begin < tile.rows; begin += rowsOfLoad()) {
    Value offset = arith::ConstantIntOp::create(code.builder, code.location, code.i32, begin);
    Value inTile = TiledProduct::nearRow(block, code.add(row, offset), lastRow);
    loaded.push_back(loadFour(code.at(first, code.multiply(inTile, product.rowElements)), k));
    if (!product.hasAlignedRows) {
      block.separateLoads();
    }
  }
  return loaded;
}

/// Sets elements past the last step of k to zero.
Value WordTileCode::zeroBehind(Value four, Value k) {
  SmallVector<Value> elements;
  for (int64_t i = 0; i < kTogether; ++i) {
    Value element = vector::ExtractOp::create(code.builder, code.location, four, i);
    Value isThere = code.less(code.add(k, i), code.integer(product.k));
    elements.push_back(code.select(isThere, element, code.number(0)));
  }
  return vector::FromElementsOp::create(code.builder, code.location, four.getType(), elements);
}

void WordTileCode::storeRow(ValueRange words, int64_t load, Value word, Value rows) {
  // Rows at some distances have the same order of parts.
  const int64_t before = load * rowsOfLoad();
  const bool isAlike = before * tile.rowBytes() % (tile.rowParts() * kBankBytes) == 0;
  Value part =
      inOwnOrder(isAlike ? ownRow : code.add(ownRow, before), code.divide(word, kPartWords));
  Value inPart = code.multiply(code.remainder(word, kPartWords), kWordBytes);
  Value place = code.add(code.multiply(ownRow, tile.rowBytes()),
                         code.add(code.multiply(part, kSharedAlignment), inPart));
  block.storeWords(words,
                   block.sharedAt(code.add(code.add(rows, place), before * tile.rowBytes())));
}

// --- products ------------------------------------------------------------------------------------

SmallVector<SmallVector<Value>> WordTileCode::loadMatrices(Value rows, int64_t word) {
  Value laneRow = code.remainder(lane, kMatrixRows), half = code.divide(lane, kMatrixRows);
  Value row = code.add(code.multiply(warpRow, kMatrixRows), laneRow);
  Value rowAt = code.add(rows, code.multiply(row, tile.rowBytes()));
  Value part = inOwnOrder(laneRow, code.add(half, word / kPartWords));
  Value at = code.add(rowAt, code.multiply(part, kSharedAlignment));
  SmallVector<SmallVector<Value>> matrices;
  for (int64_t i = 0; i < tile.parts(); ++i) {
    const int64_t before = i * tile.partRows() * tile.rowBytes();
    matrices.push_back(block.loadMatrix(block.sharedAt(code.add(at, before))));
  }
  return matrices;
}

Value WordTileCode::columnsAt(Value stage, int64_t line) {
  Value warpFirst = code.multiply(warpColumn, tile.columnsOfWarp() * kWordBytes);
  Value first = code.add(code.add(stage, warpFirst), code.multiply(t, tile.linePitch()));
  return code.add(first, line * tile.linePitch());
}

Value WordTileCode::runAt(const ColumnRun &run, Value columns) {
  return code.add(columns,
                  code.multiply(code.add(code.multiply(g, run.width), run.first), kWordBytes));
}

MutableArrayRef<Value> WordTileCode::sumsAt(MutableArrayRef<Value> sums, int64_t part,
                                            int64_t matrix) const {
  const int64_t number = part * tile.matricesOfWarp() + matrix;
  return sums.slice(static_cast<size_t>(number * kSumsOfMatrix), kSumsOfMatrix);
}

Value WordTileCode::ownColumn(const ColumnRun &run) {
  return code.add(code.multiply(t, 2 * run.width), run.first);
}

Value WordTileCode::ownSumRow(int64_t part) {
  Value row = code.add(code.multiply(warpRow, kMatrixRows), g);
  return code.add(row, part * tile.partRows());
}

// --- slabs ---------------------------------------------------------------------------------------

/// The values that are carried from slab to slab.
struct WordTileCode::State {
  /// The stages to read and to fill next, and the place of rows.
  Value read, written, rows;
  /// The row elements in flight, in f32.
  Values loaded;
  Values sums;
};

/// Computes a slab, and starts the loads and copies of later ones.
WordTileCode::State WordTileCode::next(Value slab, const State &state, int64_t slabs) {
  const int64_t ahead = stages.count - 1;
  const Slab current = {slab, state.read, state.rows};
  findOwn();
  storeRows(state.loaded, current);
  State result;
  // After the last slab, this reloads it; the result is not used.
  result.loaded = loadRows(code.smaller(code.add(slab, 1), code.integer(slabs - 1)));
  block.await(ahead - 1);
  block.barrier();
  Value later = code.add(slab, ahead);
  code.when(code.less(later, code.integer(slabs)), [&] { copySlab(state.written, later); });
  // Commits empty groups too, so that the number of groups in flight is constant.
  block.commit();
  auto after = [&](Value stage) {
    return stageAfter(block, stage, stages.begin, stages.bytes, stages.count);
  };
  result.read = after(state.read);
  result.written = after(state.written);
  result.rows = code.subtract(code.integer(tile.rowsBytes()), state.rows);
  result.sums = state.sums;
  multiply(current, result.sums);
  return result;
}

SmallVector<Value> WordTileCode::sumsOf(int64_t slabs, SmallVector<Value> sums) {
  // Other threads may still read the sums of the previous tile.
  block.barrier();
  const int64_t ahead = stages.count - 1;
  for (int64_t slab = 0; slab < ahead; ++slab) {
    if (slab < slabs) {
      copySlab(code.integer(stages.begin + slab * stages.bytes), code.integer(slab));
    }
    block.commit();
  }
  prepare();
  findOwn();
  SmallVector<Value> initial = {code.integer(stages.begin),
                                code.integer(stages.begin + ahead * stages.bytes), code.integer(0)};
  llvm::append_range(initial, loadRows(code.integer(0)));
  const auto count = static_cast<size_t>(loads());
  llvm::append_range(initial, sums);
  auto last = code.loop(
      code.integer(0), code.integer(slabs), 1, initial, [&](Value slab, ValueRange carried) {
        const State state = {carried[0], carried[1], carried[2], Values(carried.slice(3, count)),
                             Values(carried.drop_front(3 + count))};
        const State after = next(slab, state, slabs);
        SmallVector<Value> results = {after.read, after.written, after.rows};
        llvm::append_range(results, after.loaded);
        llvm::append_range(results, after.sums);
        return results;
      });
  return SmallVector<Value>(llvm::drop_begin(last, 3 + count));
}

// --- the result ----------------------------------------------------------------------------------

/// Stores the sums of a part of the rows to shared memory. The lane's sums of a run belong to
/// adjacent columns: column 2 t of each of its matrices, then 2 t + 1.
void WordTileCode::storeSums(ValueRange sums) {
  for (const int64_t half : {0, 1}) {
    Value row = code.add(ownSumRow(/*part=*/0), half * kMatrixRows / 2);
    Value rowAt = code.multiply(row, tile.sumPitch());
    for (const ColumnRun &run : runs) {
      Value column = code.add(code.multiply(warpColumn, tile.columnsOfWarp()), ownColumn(run));
      SmallVector<Value> values;
      for (const int64_t second : {0, 1}) {
        for (int64_t j = 0; j < run.width; ++j) {
          const int64_t matrix = run.first / kMatrixColumns + j;
          values.push_back(sums[matrix * kSumsOfMatrix + half * 2 + second]);
        }
      }
      for (size_t i = 0; i < values.size(); i += kTogether) {
        Value at = code.multiply(code.add(column, static_cast<int64_t>(i)), kFloatBytes);
        block.store(ValueRange(values).slice(i, std::min<size_t>(kTogether, values.size() - i)),
                    block.sharedAt(code.add(rowAt, at)));
      }
    }
  }
}

void WordTileCode::finish(llvm::function_ref<SmallVector<Value>(int64_t part)> sumsOfPart) {
  for (int64_t part = 0; part < tile.parts(); ++part) {
    const SmallVector<Value> sums = sumsOfPart(part);
    block.barrier();
    code.when(code.less(warp, code.integer(tile.warpRows * tile.warpColumns)),
              [&] { storeSums(sums); });
    block.barrier();
    finishSums(block, product,
               {part * tile.partRows(), tile.partRows(), tile.columns(), tile.sumPitch()});
  }
}

void WordTileCode::finish(ValueRange sums) {
  const size_t ofPart = sums.size() / static_cast<size_t>(tile.parts());
  finish([&](int64_t part) {
    return SmallVector<Value>(sums.slice(static_cast<size_t>(part) * ofPart, ofPart));
  });
}

} // namespace heddle
