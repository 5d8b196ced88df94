// SPDX-License-Identifier: Apache-2.0
///
/// Computes a product of bf16 or tf32 as tiles whose sums are computed by tensor cores
/// (docs/decisions/0054, 0056). Shared memory contains 32-bit words, each of two steps of k in bf16
/// or one in tf32; an instruction takes eight of them. Panels of weights are copied there
/// asynchronously, ahead of their use. Rows are f32 in memory: a thread loads its elements of the
/// next slab while the current one is multiplied, rounds them, and stores them in the layout for
/// ldmatrix.
///
///   rows 0, rows 1    [rows][slab] words, the 16-byte parts of a row permuted
///   stage 0           [slab][columns] words of weights, as in their panels
///   stage 1           ...
///   for each slab: round and store its rows; start to load the next ones; wait for its weights;
///   barrier; start to copy a later slab into the stage that was read last; multiply
///
/// One barrier per slab is enough: rows are stored to memory that was last read one slab before the
/// previous barrier, and copies start after the barrier.
///
/// A word of a panel is an operand of a lane, so words are read as they are stored; words of tf32
/// are rounded after they are read. Any assignment of columns to lanes is correct: a lane takes up
/// to four adjacent columns, and its sums belong to twice as many.
///
/// With tf32x3, rows in shared memory keep all their bits, and numbers are split after they have
/// been read (TensorWords.cpp).
#include "compiler/Target/Cuda/ProductTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace heddle {

static constexpr int64_t kFloatBytes = sizeof(float), kWordBytes = sizeof(uint32_t);
/// Elements that a thread loads at once, and words per row of a matrix of ldmatrix.
static constexpr int64_t kTogether = 4, kPartWords = kSharedAlignment / kWordBytes;
/// Bytes of all banks of shared memory, one word each.
static constexpr int64_t kBankBytes = 128;
/// Padding between steps of weights, so that the four steps that a warp reads at once use different
/// banks, and between rows of sums.
static constexpr int64_t kStepPadding = 32, kSumPadding = 16;

namespace {
/// Adjacent columns that a warp multiplies at once: lane group `g` has `width` columns from first +
/// width * g on.
struct Run {
  int64_t first, width;
};

/// The shape of a tile.
struct Tile {
  int64_t rows, panels;
  /// Words of a row or a column per slab, and the number of slabs of weights in shared memory.
  int64_t slab, stages;
  /// Warps that share the tile's rows, 16 rows in turn, and its columns.
  int64_t warpRows, warpColumns;

  int64_t columns() const { return panels * sharedPanelColumns; }
  int64_t columnsOfWarp() const { return columns() / warpColumns; }
  /// Rows of a part, which are multiplied and stored together, and the number of parts.
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
  /// Bytes for rows and stages, whose memory is reused for the sums of a part.
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

/// The values that are carried from slab to slab.
struct State {
  /// The stages to read and to fill next, and the place of rows.
  Value read, written, rows;
  /// The row elements in flight, in f32.
  SmallVector<Value> loaded;
  SmallVector<Value> sums;
};

/// A tile whose code is being emitted.
class TileCode {
public:
  TileCode(BlockCode &block, const Tile &tile, const Product &product);
  void emit();

private:
  /// Steps of k per word, and per slab.
  int64_t stepsOfWord() const { return numbersOfWord(product.units); }
  int64_t slabSteps() const { return tile.slab * stepsOfWord(); }
  int64_t slabs() const { return llvm::divideCeilSigned(product.k(), slabSteps()); }
  /// Rows between one load of a thread and its next one, and the number of loads.
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
  /// The first of the four elements of a row that the thread loads, and its first row.
  Value ownFour, ownRow;
  /// The warp, its place in the tile, and the thread's place in the warp: see BlockCode.
  Value warp, warpRow, warpColumn, lane, g, t;
};
} // namespace

/// The tile for many rows: four warps with 64 x 48 sums each, so that two warps read each word of
/// either operand from shared memory. Rows and four stages of weights take 43,008 bytes.
static constexpr Tile kMany = {128, 2, 16, 4, 2, 2};
/// The tile for few rows, whose time is that of reading weights: longer slabs, four of them in
/// flight. Three warps have 16 columns each; the fourth only loads its part of the operands.
static constexpr Tile kFew = {16, 1, 32, 5, 1, 3};
/// As for FMA units: below half a tile of rows, the larger tile gives too few tiles.
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
  // A surplus warp repeats the work of the last one.
  warpColumn = code.smaller(code.divide(warp, tile.warpRows), code.integer(tile.warpColumns - 1));
}

// --- rows ----------------------------------------------------------------------------------------

/// Returns the place of part `part` of a row among the row's parts. ldmatrix reads the same part of
/// eight consecutive rows at once, which must be in different banks: rows that together cover all
/// banks keep their order, and the next such group has another.
Value TileCode::inOwnOrder(Value row, Value part) {
  const int64_t together = kBankBytes / tile.rowBytes();
  Value order = code.remainder(code.divide(row, together), tile.rowParts());
  return arith::XOrIOp::create(code.builder, code.location, part, order);
}

/// Loads four elements of a row from step `k` on, clamped to the last one. Elements past the end
/// are arbitrary.
Value TileCode::loadFour(Value from, Value k) {
  auto four = VectorType::get({kTogether}, code.f32);
  const int64_t last = product.k() - 1;
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

/// Sets elements past the last step of k to zero.
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

/// Returns the words of four elements for shared memory.
SmallVector<Value> TileCode::wordsOf(Value four) {
  SmallVector<Value> elements;
  for (int64_t i = 0; i < kTogether; ++i) {
    elements.push_back(vector::ExtractOp::create(code.builder, code.location, four, i));
  }
  return products.wordsOf(elements);
}

/// Stores loaded elements to shared memory.
void TileCode::storeRows(ValueRange loaded, Value number, Value to) {
  const int64_t partSteps = kPartWords * stepsOfWord();
  Value k = code.add(code.multiply(number, slabSteps()), ownFour);
  Value part = inOwnOrder(ownRow, code.divide(ownFour, partSteps));
  Value inPart = code.multiply(code.remainder(ownFour, partSteps), kWordBytes / stepsOfWord());
  Value place = code.add(code.multiply(ownRow, tile.rowBytes()),
                         code.add(code.multiply(part, kSharedAlignment), inPart));
  Value begin = code.add(to, place);
  for (auto [i, four] : llvm::enumerate(loaded)) {
    // Rows at this distance have the same order of parts.
    const int64_t before = static_cast<int64_t>(i) * rowsOfLoad() * tile.rowBytes();
    block.storeWords(wordsOf(zeroBehind(four, k)), block.sharedAt(code.add(begin, before)));
  }
}

/// Starts to copy the weights of a slab.
void TileCode::copySlab(Value stage, Value number) {
  copyWeights(block, product, weights, stage, code.multiply(number, weights.slabSteps));
}

// --- sums ----------------------------------------------------------------------------------------

/// Multiplies the columns of a run by one instruction's words of all rows of the warp, one matrix
/// of them for each part. `weights` is the address of the lane's first word.
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

/// Adds a slab to the warp's sums: those of part p and matrix m of its columns begin at number (p *
/// matrices + m) * 4.
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

/// Computes a slab, and starts the loads and copies of later ones.
State TileCode::next(Value slab, const State &state) {
  const int64_t ahead = tile.stages - 1;
  storeRows(state.loaded, slab, state.rows);
  State result;
  // After the last slab, this reloads it; the result is not used.
  result.loaded = loadRows(code.smaller(code.add(slab, 1), code.integer(slabs() - 1)));
  block.await(ahead - 1);
  block.barrier();
  Value later = code.add(slab, ahead);
  code.when(code.less(later, code.integer(slabs())), [&] { copySlab(state.written, later); });
  // Commits empty groups too, so that the number of groups in flight is constant.
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

/// Returns the sums over all of k.
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

/// Stores the sums of a part of the rows to shared memory. The lane's sums of a run belong to
/// adjacent columns: column 2 t of each of its matrices, then 2 t + 1.
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
  // Other threads may still read the sums of the previous tile.
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
