// SPDX-License-Identifier: Apache-2.0
///
/// A product of bf16 or tf32 as tiles whose sums tensor cores add up (docs/decisions/0054, 0055).
/// All that is in shared memory are words of 32 bits, two steps of k in bf16 or one in tf32, of
/// which an instruction takes eight. Panels of weights come there by copies that run ahead. Rows
/// are f32 in memory: a thread loads its elements of the next slab while this one is multiplied,
/// rounds them, and writes them where ldmatrix reads them.
///
///   rows 0, rows 1    [rows][slab] words, the 16-byte parts of a row in an order of its own
///   stage 0           [slab][columns] words of weights, as in their panels
///   stage 1           ...
///   for each slab: round and write its rows; begin to load the next ones; wait for its weights;
///   barrier; begin to copy a later slab into the stage that was read last; multiply
///
/// One barrier a slab is enough: rows are written to the memory that was read a slab before the
/// last barrier, copies begin after it.
///
/// A word of a panel is what a lane gives the instruction, so that words are read as they lie, and
/// those of tf32 rounded then. Which columns a lane multiplies is free: it takes up to four side by
/// side, and its sums are then of twice as many.
///
/// With tf32x3 rows keep all their bits in shared memory, and numbers are split when they have been
/// read from there (TensorWords.cpp).
#include "compiler/Target/Cuda/ProductTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {

static constexpr int64_t kFloatBytes = sizeof(float), kWordBytes = sizeof(uint32_t);
/// Elements that a thread loads at once, and words of what ldmatrix reads at once.
static constexpr int64_t kTogether = 4, kPartWords = kSharedAlignment / kWordBytes;
/// Bytes of all banks of shared memory, one word each.
static constexpr int64_t kBankBytes = 128;
/// Between steps of weights, for the four of them that a warp reads at once to be in banks of their
/// own, and between rows of sums.
static constexpr int64_t kStepPadding = 32, kSumPadding = 16;

namespace {
/// Columns side by side that a warp multiplies at once: the lane's `g` has columns
/// first + width * g on.
struct Run {
  int64_t first, width;
};

/// The shape of a tile.
struct Tile {
  int64_t rows, panels;
  /// Words of a row or a column of a slab, and how many slabs of weights there is room for.
  int64_t slab, stages;
  /// Warps that divide its rows among them, 16 in turn, and its columns.
  int64_t warpRows, warpColumns;

  int64_t columns() const { return panels * sharedPanelColumns; }
  int64_t columnsOfWarp() const { return columns() / warpColumns; }
  /// Parts of the rows that are multiplied, and leave, together.
  int64_t partRows() const { return warpRows * kMatrixRows; }
  int64_t parts() const { return rows / partRows(); }
  /// 16-byte parts of a row of a slab.
  int64_t rowParts() const { return slab / kPartWords; }
  int64_t rowBytes() const { return slab * kWordBytes; }
  int64_t rowsBytes() const { return rows * rowBytes(); }
  int64_t stepPitch() const { return columns() * kWordBytes + kStepPadding; }
  int64_t stageBytes() const { return slab * stepPitch(); }
  int64_t stagesBegin() const { return 2 * rowsBytes(); }
  int64_t sumPitch() const { return columns() * kFloatBytes + kSumPadding; }
  /// Rows and stages, and afterwards the sums of a part.
  int64_t bytes() const {
    return std::max(stagesBegin() + stages * stageBytes(), partRows() * sumPitch());
  }

  SmallVector<Run> runs() const {
    SmallVector<Run> all;
    for (int64_t first = 0; first < columnsOfWarp();) {
      const int64_t matrices = (columnsOfWarp() - first) / kMatrixColumns;
      const int64_t width = matrices >= 4 ? 4 : matrices >= 2 ? 2 : 1;
      all.push_back({first, width});
      first += width * kMatrixColumns;
    }
    return all;
  }
};

/// What goes from slab to slab.
struct State {
  /// Where weights are read and written next, and rows.
  Value read, written, rows;
  /// The elements of rows that are on their way, in f32.
  SmallVector<Value> loaded;
  SmallVector<Value> sums;
};

/// A tile while its code is written.
class TileCode {
public:
  TileCode(BlockCode &block, const Tile &tile, const Product &product);
  void emit();

private:
  /// Steps of k of a word, and of a slab.
  int64_t stepsOfWord() const { return numbersOfWord(product.units); }
  int64_t slabSteps() const { return tile.slab * stepsOfWord(); }
  int64_t slabs() const { return llvm::divideCeilSigned(product.k(), slabSteps()); }
  /// A thread loads so many times, each time of a row so much further on.
  int64_t rowsOfLoad() const { return kProductThreads / (slabSteps() / kTogether); }
  int64_t loads() const { return tile.rows / rowsOfLoad(); }
  Value inOwnOrder(Value row, Value part);
  Value loadFour(Value from, Value k);
  SmallVector<Value> loadRows(Value number);
  Value zeroBehind(Value four, Value k);
  SmallVector<Value> wordsOf(Value four);
  void storeRows(ValueRange loaded, Value number, Value to);
  void copySlab(Value stage, Value number);
  void multiplyRun(const Run &run, ArrayRef<Words> rows, Value weights,
                   MutableArrayRef<Value> sums);
  void multiply(const State &state, MutableArrayRef<Value> sums);
  State next(Value slab, const State &state);
  SmallVector<Value> sums();
  void storeSums(ValueRange sums);

  BlockCode &block;
  VectorCode &code;
  const Tile &tile;
  const Product &product;
  TensorProducts products;
  const WeightSlab weights;
  const SmallVector<Run> runs;
  /// The four elements of a row that the thread loads, and the first row.
  Value ownFour, ownRow;
  /// Its warp's place in the tile, and its own in the warp: see BlockCode.
  Value warp, warpRow, warpColumn, lane, g, t;
};
} // namespace

/// Tiles for many rows: four warps with 64 x 48 sums each, so that a word of either operand is read
/// from shared memory by two of them. Rows and four stages of weights take 43,008 bytes.
static constexpr Tile kMany = {128, 2, 16, 4, 2, 2};
/// And for few, whose time is that of the weights: longer slabs, of which four are on their way.
/// Three warps have 16 columns each; the fourth brings its part of the operands.
static constexpr Tile kFew = {16, 1, 32, 5, 1, 3};
/// As for FMA units: below half a tile of rows there are too few tiles of the first kind.
static constexpr int64_t kFewRows = kMany.rows / 2;

BlockWork tensorWork() {
  return {kProductThreads,
          std::max(kMany.bytes(), kFew.bytes()),
          {kMany.rows, kMany.panels},
          {kFew.rows, kFew.panels},
          kFewRows};
}

TileCode::TileCode(BlockCode &block, const Tile &tile, const Product &product)
    : block(block), code(block.code), tile(tile), product(product), products(block, product.units),
      weights{llvm::divideCeilSigned(product.k(), stepsOfWord()), tile.slab, tile.panels,
              sharedPanelColumns * kWordBytes, tile.stepPitch()},
      runs(tile.runs()),
      ownFour(code.multiply(code.remainder(block.thread, slabSteps() / kTogether), kTogether)),
      ownRow(code.divide(block.thread, slabSteps() / kTogether)),
      warp(code.divide(block.thread, kWarpLanes)), warpRow(code.remainder(warp, tile.warpRows)),
      lane(code.remainder(block.thread, kWarpLanes)), g(code.divide(lane, kLanesOfRow)),
      t(code.remainder(lane, kLanesOfRow)) {
  assert(tile.stepPitch() % kBankBytes % (2 * kStepPadding) == kStepPadding &&
         "four steps are in banks of their own");
  // A warp too many repeats the work of the last one.
  warpColumn = code.smaller(code.divide(warp, tile.warpRows), code.integer(tile.warpColumns - 1));
}

// --- rows ----------------------------------------------------------------------------------------

/// Where part `part` of a row is among the parts of that row. Of eight rows one after the other,
/// which ldmatrix reads at once, the same part is in other banks each: rows that lie in banks of
/// their own keep their order, the next ones have another.
Value TileCode::inOwnOrder(Value row, Value part) {
  const int64_t together = kBankBytes / tile.rowBytes();
  Value order = code.remainder(code.divide(row, together), tile.rowParts());
  return arith::XOrIOp::create(code.builder, code.location, part, order);
}

/// Four elements of a row from step `k` on, at most up to the last one. Those beyond it are
/// anything.
Value TileCode::loadFour(Value from, Value k) {
  auto four = VectorType::get({kTogether}, code.f32);
  const int64_t last = product.k() - 1;
  if (product.hasAlignedRows) {
    // A row has whole fours, of which the last may be partly beyond k.
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

/// Begins to load the thread's elements of a slab. Beyond the last row it is loaded again: nobody
/// reads what comes of it.
SmallVector<Value> TileCode::loadRows(Value number) {
  Value k = code.add(code.multiply(number, slabSteps()), ownFour);
  Value first = code.at(product.rows, code.multiply(product.firstRow, product.rowElements));
  Value lastRow = product.lastRow(block, tile.rows);
  Value row = arith::TruncIOp::create(code.builder, code.location, code.i32, ownRow);
  SmallVector<Value> loaded;
  for (int64_t begin = 0; begin < tile.rows; begin += rowsOfLoad()) {
    Value offset = arith::ConstantIntOp::create(code.builder, code.location, code.i32, begin);
    Value inTile = Product::nearRow(block, code.add(row, offset), lastRow);
    loaded.push_back(loadFour(code.at(first, code.multiply(inTile, product.rowElements)), k));
  }
  return loaded;
}

/// Elements with zero for those beyond the last step of k.
Value TileCode::zeroBehind(Value four, Value k) {
  if (product.k() % slabSteps() == 0) {
    return four;
  }
  SmallVector<Value> elements;
  for (int64_t i = 0; i < kTogether; ++i) {
    Value element = vector::ExtractOp::create(code.builder, code.location, four, i);
    Value isThere = code.less(code.add(k, i), code.integer(product.k()));
    elements.push_back(code.select(isThere, element, code.number(0)));
  }
  return vector::FromElementsOp::create(code.builder, code.location, four.getType(), elements);
}

/// The words of four elements in shared memory.
SmallVector<Value> TileCode::wordsOf(Value four) {
  SmallVector<Value> elements;
  for (int64_t i = 0; i < kTogether; ++i) {
    elements.push_back(vector::ExtractOp::create(code.builder, code.location, four, i));
  }
  return products.wordsOf(elements);
}

/// Writes what was loaded to shared memory.
void TileCode::storeRows(ValueRange loaded, Value number, Value to) {
  const int64_t partSteps = kPartWords * stepsOfWord();
  Value k = code.add(code.multiply(number, slabSteps()), ownFour);
  Value part = inOwnOrder(ownRow, code.divide(ownFour, partSteps));
  Value inPart = code.multiply(code.remainder(ownFour, partSteps), kWordBytes / stepsOfWord());
  Value place = code.add(code.multiply(ownRow, tile.rowBytes()),
                         code.add(code.multiply(part, kSharedAlignment), inPart));
  Value begin = code.add(to, place);
  for (auto [i, four] : llvm::enumerate(loaded)) {
    // Rows so far apart have the same order of parts.
    const int64_t before = static_cast<int64_t>(i) * rowsOfLoad() * tile.rowBytes();
    block.storeWords(wordsOf(zeroBehind(four, k)), block.sharedAt(code.add(begin, before)));
  }
}

/// Asks for the weights of a slab.
void TileCode::copySlab(Value stage, Value number) {
  copyWeights(block, product, weights, stage, code.multiply(number, weights.slabSteps));
}

// --- sums ----------------------------------------------------------------------------------------

/// The columns of a run times the words of an instruction of all rows of the warp, a matrix of them
/// for each part. `weights` is where the lane's first word is.
void TileCode::multiplyRun(const Run &run, ArrayRef<Words> rows, Value weights,
                           MutableArrayRef<Value> sums) {
  constexpr int64_t sumsOfLane = kMatrixRows * kMatrixColumns / kWarpLanes;
  const int64_t matrices = tile.columnsOfWarp() / kMatrixColumns;
  Value first = code.add(
      weights, code.multiply(code.add(code.multiply(g, run.width), run.first), kWordBytes));
  SmallVector<Value> words[2];
  for (int64_t half : {0, 1}) {
    const int64_t before = half * kMatrixWords / 2 * tile.stepPitch();
    words[half] = block.loadWords(block.sharedAt(code.add(first, before)), run.width);
  }
  for (int64_t j = 0; j < run.width; ++j) {
    const Words columns = products.rounded({words[0][j], words[1][j]}, /*areRounded=*/false);
    for (auto [part, matrix] : llvm::enumerate(rows)) {
      const auto number = static_cast<int64_t>(part) * matrices + run.first / kMatrixColumns + j;
      auto own = sums.slice(static_cast<size_t>(number * sumsOfLane), sumsOfLane);
      llvm::copy(products.add(matrix, columns, own), own.begin());
    }
  }
}

/// Adds a slab to the warp's sums: those of part p and matrix m of its columns are number
/// (p * matrices + m) * 4 on.
void TileCode::multiply(const State &state, MutableArrayRef<Value> sums) {
  Value laneRow = code.remainder(lane, kMatrixRows), half = code.divide(lane, kMatrixRows);
  Value row = code.add(code.multiply(warpRow, kMatrixRows), laneRow);
  Value rowAt = code.add(state.rows, code.multiply(row, tile.rowBytes()));
  Value warpFirst = code.multiply(warpColumn, tile.columnsOfWarp() * kWordBytes);
  Value weights = code.add(code.add(state.read, warpFirst), code.multiply(t, tile.stepPitch()));
  for (int64_t word = 0; word < tile.slab; word += kMatrixWords) {
    Value part = inOwnOrder(laneRow, code.add(half, word / kPartWords));
    Value at = code.add(rowAt, code.multiply(part, kSharedAlignment));
    SmallVector<Words> rows;
    for (int64_t i = 0; i < tile.parts(); ++i) {
      const int64_t before = i * tile.partRows() * tile.rowBytes();
      rows.push_back(products.rounded(block.loadMatrix(block.sharedAt(code.add(at, before))),
                                      /*areRounded=*/true));
    }
    for (const Run &run : runs) {
      multiplyRun(run, rows, code.add(weights, word * tile.stepPitch()), sums);
    }
  }
}

/// A slab, and what is begun for later ones.
State TileCode::next(Value slab, const State &state) {
  const int64_t ahead = tile.stages - 1;
  storeRows(state.loaded, slab, state.rows);
  State result;
  // Behind the last slab it is loaded again, for nothing.
  result.loaded = loadRows(code.smaller(code.add(slab, 1), code.integer(slabs() - 1)));
  block.await(ahead - 1);
  block.barrier();
  Value later = code.add(slab, ahead);
  code.when(code.less(later, code.integer(slabs())), [&] { copySlab(state.written, later); });
  // Empty groups too, for the number of those that may be running to be the same.
  block.commit();
  auto after = [&](Value stage) {
    return stageAfter(block, stage, tile.stagesBegin(), tile.stageBytes(), tile.stages);
  };
  result.read = after(state.read);
  result.written = after(state.written);
  result.rows = code.subtract(code.integer(tile.rowsBytes()), state.rows);
  result.sums = state.sums;
  multiply(state, result.sums);
  return result;
}

/// The sums over all of k.
SmallVector<Value> TileCode::sums() {
  const int64_t ahead = tile.stages - 1;
  for (int64_t slab = 0; slab < ahead; ++slab) {
    if (slab < slabs()) {
      copySlab(code.integer(tile.stagesBegin() + slab * tile.stageBytes()), code.integer(slab));
    }
    block.commit();
  }
  SmallVector<Value> initial = {code.integer(tile.stagesBegin()),
                                code.integer(tile.stagesBegin() + ahead * tile.stageBytes()),
                                code.integer(0)};
  llvm::append_range(initial, loadRows(code.integer(0)));
  const auto count = static_cast<size_t>(loads());
  initial.append(static_cast<size_t>(tile.rows * tile.columnsOfWarp() / tile.warpRows / kWarpLanes),
                 code.number(0));
  auto last = code.loop(code.integer(0), code.integer(slabs()), 1, initial,
                        [&](Value slab, ValueRange carried) {
                          const State state = {carried[0], carried[1], carried[2],
                                               SmallVector<Value>(carried.slice(3, count)),
                                               SmallVector<Value>(carried.drop_front(3 + count))};
                          const State after = next(slab, state);
                          SmallVector<Value> results = {after.read, after.written, after.rows};
                          llvm::append_range(results, after.loaded);
                          llvm::append_range(results, after.sums);
                          return results;
                        });
  return SmallVector<Value>(llvm::drop_begin(last, 3 + count));
}

// --- the result ----------------------------------------------------------------------------------

/// Brings the sums of a part of the rows to shared memory. The lane's sums of a run are of columns
/// side by side: column 2 t of each of its matrices, then 2 t + 1.
void TileCode::storeSums(ValueRange sums) {
  for (const int64_t half : {0, 1}) {
    Value row = code.add(code.multiply(warpRow, kMatrixRows), code.add(g, half * kMatrixRows / 2));
    Value rowAt = code.multiply(row, tile.sumPitch());
    for (const Run &run : runs) {
      Value inWarp = code.add(code.multiply(t, 2 * run.width), run.first);
      Value column = code.add(code.multiply(warpColumn, tile.columnsOfWarp()), inWarp);
      SmallVector<Value> values;
      for (const int64_t second : {0, 1}) {
        for (int64_t j = 0; j < run.width; ++j) {
          const int64_t matrix = run.first / kMatrixColumns + j;
          values.push_back(sums[matrix * 4 + half * 2 + second]);
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

void TileCode::emit() {
  // The sums of the tile before may still be read.
  block.barrier();
  const SmallVector<Value> all = sums();
  const size_t ofPart = all.size() / static_cast<size_t>(tile.parts());
  for (int64_t part = 0; part < tile.parts(); ++part) {
    block.barrier();
    code.when(code.less(warp, code.integer(tile.warpRows * tile.warpColumns)), [&] {
      storeSums(ValueRange(all).slice(static_cast<size_t>(part) * ofPart, ofPart));
    });
    block.barrier();
    finishSums(block, product,
               {part * tile.partRows(), tile.partRows(), tile.columns(), tile.sumPitch()});
  }
}

void emitTensorTile(BlockCode &block, const Product &product, bool isFew) {
  TileCode(block, isFew ? kFew : kMany, product).emit();
}

} // namespace heddle
