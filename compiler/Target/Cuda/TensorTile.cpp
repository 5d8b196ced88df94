// SPDX-License-Identifier: Apache-2.0
///
/// Computes a product of bf16 or tf32 as tiles whose sums are computed by tensor cores
/// (docs/decisions/0054, 0056). A word is two steps of k in bf16 or one in tf32 (WordTile.h). Rows
/// are rounded on their way to shared memory; words of weights in tf32 are rounded after they are
/// read.
///
/// With tf32x3, rows in shared memory keep all their bits, and numbers are split after they have
/// been read (TensorWords.cpp).
#include "compiler/Target/Cuda/WordTile.h"

using namespace mlir;

namespace heddle {

namespace {
/// The shape of a tile, and the number of slabs of weights in shared memory.
struct Tile {
  WordTile words;
  int64_t stages;

  int64_t stageBytes() const { return words.slab * words.linePitch(); }
  int64_t bytes() const {
    return std::max(words.stagesBegin() + stages * stageBytes(), words.sumsBytes());
  }
};

/// A tile whose code is being emitted.
class TileCode final : public WordTileCode {
public:
  TileCode(BlockCode &block, const Tile &tile, const TiledProduct &product)
      : WordTileCode(block, tile.words, {tile.words.stagesBegin(), tile.stageBytes(), tile.stages},
                     product, numbersOfWord(*product.units)),
        products(block, *product.units),
        weights{llvm::divideCeilSigned(product.k, steps), tile.words.slab, tile.words.panels,
                sharedPanelColumns * kWordBytes, tile.words.linePitch()} {}

  void emit();

private:
  void copySlab(Value stage, Value number) override {
    copyWeights(block, product, weights, stage, code.multiply(number, weights.slabSteps));
  }
  Value firstStep(Value number) override {
    return code.add(code.multiply(number, slabSteps()), ownFour);
  }
  void storeRows(ValueRange loaded, const Slab &slab) override;
  void multiply(const Slab &slab, MutableArrayRef<Value> sums) override;
  void multiplyRun(const ColumnRun &run, ArrayRef<Words> rows, Value columns,
                   MutableArrayRef<Value> sums);

  TensorProducts products;
  const WeightSlab weights;
};
} // namespace

/// The tile for many rows: four warps with 64 x 48 sums each, so that two warps read each word of
/// either operand from shared memory. Rows and four stages of weights take 43,008 bytes.
static constexpr Tile kMany = {{128, 2, 16, 2, 2}, 4};
/// The same for groups of columns, each of which begins with a panel: 64 x 24 sums.
static constexpr Tile kManyOfGroup = {{128, 1, 16, 2, 2}, 4};
/// The tile for few rows, whose time is that of reading weights: longer slabs, four of them in
/// flight. Three warps have 16 columns each; the fourth only loads its part of the operands.
static constexpr Tile kFew = {{16, 1, 32, 1, 3}, 5};
/// As for FMA units: below half a tile of rows, the larger tile gives too few tiles.
static constexpr int64_t kFewRows = kMany.words.rows / 2;

static constexpr const Tile &tileFor(int64_t groups, bool isFew) {
  return isFew ? kFew : groups == 1 ? kMany : kManyOfGroup;
}

BlockWork tensorWork(int64_t groups) {
  const Tile &many = tileFor(groups, /*isFew=*/false);
  return {kProductThreads,
          std::max(many.bytes(), kFew.bytes()),
          {many.words.rows, many.words.panels},
          {kFew.words.rows, kFew.words.panels},
          kFewRows,
          kProductBlocks};
}

void TileCode::storeRows(ValueRange loaded, const Slab &slab) {
  Value k = firstStep(slab.number), word = code.divide(ownFour, steps);
  for (auto [load, four] : llvm::enumerate(loaded)) {
    Value there = product.k % slabSteps() == 0 ? four : zeroBehind(four, k);
    storeRow(products.wordsOf(elementsOf(code, there)), static_cast<int64_t>(load), word,
             slab.rows);
  }
}

/// Multiplies the columns of a run by one instruction's words of all rows of the warp, one matrix
/// of them for each part. `columns` is the address of the lane's columns.
void TileCode::multiplyRun(const ColumnRun &run, ArrayRef<Words> rows, Value columns,
                           MutableArrayRef<Value> sums) {
  Value first = runAt(run, columns);
  SmallVector<Value> words[2];
  for (int64_t half : {0, 1}) {
    const int64_t before = half * kMatrixWords / 2 * tile.linePitch();
    words[half] = block.loadWords(block.sharedAt(code.add(first, before)), run.width);
  }
  for (int64_t j = 0; j < run.width; ++j) {
    const Words column = products.rounded({words[0][j], words[1][j]}, /*areRounded=*/false);
    for (auto [part, matrix] : llvm::enumerate(rows)) {
      auto own = sumsAt(sums, static_cast<int64_t>(part), run.first / kMatrixColumns + j);
      llvm::copy(products.add(matrix, column, own), own.begin());
    }
  }
}

void TileCode::multiply(const Slab &slab, MutableArrayRef<Value> sums) {
  for (int64_t word = 0; word < tile.slab; word += kMatrixWords) {
    SmallVector<Words> rows;
    for (const SmallVector<Value> &matrix : loadMatrices(slab.rows, word)) {
      rows.push_back(products.rounded(matrix, /*areRounded=*/true));
    }
    for (const ColumnRun &run : runs) {
      multiplyRun(run, rows, columnsAt(slab.stage, word), sums);
    }
  }
}

void TileCode::emit() {
  const auto slabs = llvm::divideCeilSigned(product.k, slabSteps());
  const SmallVector<Value> initial(static_cast<size_t>(tile.sumsOfLane()), code.number(0));
  finish(sumsOf(slabs, initial));
}

void emitTensorTile(BlockCode &block, const TiledProduct &product, bool isFew) {
  TileCode(block, tileFor(product.groups, isFew), product).emit();
}

} // namespace heddle
