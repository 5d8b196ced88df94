// SPDX-License-Identifier: Apache-2.0
///
/// Tiles of products on tensor cores whose operands are 32-bit words in shared memory, several
/// steps of k in each (TensorTile.cpp, IntegerTile.cpp). They share the shape of tiles, the way of
/// rows and weights to registers, the loop over slabs of k, and the way of sums to shared memory.
///
/// An instruction takes eight words of a row and of a column. Rows are f32 in memory: a thread
/// loads its elements of the next slab while the current one is multiplied, converts them to words,
/// and stores these in the layout for ldmatrix. Panels of weights are copied asynchronously, ahead
/// of their use.
///
///   rows 0, rows 1    [rows][slab] words, the 16-byte parts of a row permuted
///   stage 0           the weights of a slab
///   stage 1           ...
///   for each slab: convert and store its rows; start to load the next ones; wait for its weights;
///   barrier; start to copy a later slab into the stage that was read last; multiply
///
/// One barrier per slab is enough: rows are stored to memory that was last read one slab before the
/// previous barrier, and copies start after the barrier.
///
/// A word of a panel is an operand of a lane, so words are read as they are stored. Any assignment
/// of columns to lanes is correct: a lane takes up to four adjacent columns, and its sums belong to
/// twice as many.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_WORDTILE_H
#define HEDDLE_COMPILER_TARGET_CUDA_WORDTILE_H

#include "compiler/Target/Cuda/ProductTile.h"

#include <array>

namespace heddle {

/// Elements of a row that a thread loads at once, and words per row of a matrix of ldmatrix.
inline constexpr int64_t kTogether = kNumbersTogether, kPartWords = kSharedAlignment / kWordBytes;

/// Adjacent columns that a warp multiplies at once: lane group `g` has `width` columns from first +
/// width * g on.
struct ColumnRun {
  int64_t first, width;
};

/// The shape of a tile.
struct WordTile {
  int64_t rows, panels;
  /// Words of a row or a column per slab.
  int64_t slab;
  /// Warps that share the tile's rows, 16 rows in turn, and its columns.
  int64_t warpRows, warpColumns;

  int64_t columns() const { return panels * sharedPanelColumns; }
  int64_t columnsOfWarp() const { return columns() / warpColumns; }
  int64_t matricesOfWarp() const { return columnsOfWarp() / kMatrixColumns; }
  /// Rows of a part, which are multiplied and stored together, and the number of parts.
  int64_t partRows() const { return warpRows * kMatrixRows; }
  int64_t parts() const { return rows / partRows(); }
  /// 16-byte parts of a row of a slab.
  int64_t rowParts() const { return slab / kPartWords; }
  int64_t rowBytes() const { return slab * kWordBytes; }
  int64_t rowsBytes() const { return rows * rowBytes(); }
  /// Bytes from one line of weights, a word of each column, to the next. The padding separates the
  /// banks of the four lines that a warp reads at once.
  int64_t linePitch() const;
  int64_t stagesBegin() const { return 2 * rowsBytes(); }
  int64_t sumPitch() const;
  /// Bytes of the sums of a part, which reuse the memory of rows and stages.
  int64_t sumsBytes() const { return partRows() * sumPitch(); }
  /// The sums of a lane.
  int64_t sumsOfLane() const;

  llvm::SmallVector<ColumnRun> runs() const;
};

/// Stages of weights in shared memory, used in turn.
struct Stages {
  int64_t begin, bytes, count;
};

/// Emits the code of a tile. Subclasses convert rows to words, and multiply.
class WordTileCode {
public:
  /// `steps` is the number of steps of k in a word.
  WordTileCode(BlockCode &block, const WordTile &tile, const Stages &stages,
               const TiledProduct &product, int64_t steps);
  virtual ~WordTileCode() = default;

protected:
  using Values = llvm::SmallVector<mlir::Value>;
  /// The words of a run's columns for one instruction: two for each column.
  using Columns = llvm::SmallVector<std::array<mlir::Value, 2>>;
  /// The place of a slab: its stage, and its rows.
  struct Slab {
    mlir::Value number, stage, rows;
  };

  // --- what subclasses do with a slab
  /// Starts to copy the weights of a slab to a stage.
  virtual void copySlab(mlir::Value stage, mlir::Value number) = 0;
  /// Returns the first step of k of the thread's elements in a slab.
  virtual mlir::Value firstStep(mlir::Value number) = 0;
  /// Converts the thread's elements of all its rows to words and stores them with storeRow().
  virtual void storeRows(mlir::ValueRange loaded, const Slab &slab) = 0;
  /// Replaces the sums by those after a slab.
  virtual void multiply(const Slab &slab, llvm::MutableArrayRef<mlir::Value> sums) = 0;
  /// Runs after the first copies have started, before rows are loaded.
  virtual void prepare() {}

  /// Runs over all slabs; returns the sums, of which `sums` are the initial ones.
  Values sumsOf(int64_t slabs, Values sums);

  // --- rows
  int64_t slabSteps() const { return tile.slab * steps; }
  /// Rows between one load of a thread and its next one, and the number of loads.
  int64_t rowsOfLoad() const { return kProductThreads / (slabSteps() / kTogether); }
  int64_t loads() const { return tile.rows / rowsOfLoad(); }
  mlir::Value firstRow();
  mlir::Value loadFour(mlir::Value from, mlir::Value k);
  mlir::Value zeroBehind(mlir::Value four, mlir::Value k);
  /// Stores words of the thread's load number `load`, from word `word` of the row on.
  void storeRow(mlir::ValueRange words, int64_t load, mlir::Value word, mlir::Value rows);

  // --- products
  mlir::Value inOwnOrder(mlir::Value row, mlir::Value part);
  /// Returns the lane's words of eight words of all rows of the warp, from word `word` on: one
  /// matrix for each part.
  llvm::SmallVector<Values> loadMatrices(mlir::Value rows, int64_t word);
  /// Returns the address of the lane's columns in a stage, line `line`; and that of a run there.
  mlir::Value columnsAt(mlir::Value stage, int64_t line);
  mlir::Value runAt(const ColumnRun &run, mlir::Value columns);
  /// Returns the sums of matrix `matrix` of a part.
  llvm::MutableArrayRef<mlir::Value> sumsAt(llvm::MutableArrayRef<mlir::Value> sums, int64_t part,
                                            int64_t matrix) const;
  /// Returns the first column of a run in the warp's columns that the lane has sums of: it has
  /// those of 2 * width adjacent ones.
  mlir::Value ownColumn(const ColumnRun &run);
  /// Returns the first of the lane's rows of a part, in the tile; the other one is 8 rows below.
  mlir::Value ownSumRow(int64_t part);

  /// Stores sums in f32 to shared memory, part by part, and from there to the result. `sumsOfPart`
  /// returns those of a part.
  void finish(llvm::function_ref<Values(int64_t part)> sumsOfPart);
  /// Does the same with sums in f32 of all parts, one part after the other.
  void finish(mlir::ValueRange sums);

  BlockCode &block;
  VectorCode &code;
  const WordTile &tile;
  const Stages stages;
  const TiledProduct &product;
  const int64_t steps;
  const llvm::SmallVector<ColumnRun> runs;
  /// The first of the four elements of a slab that the thread loads, and its first row.
  mlir::Value ownFour, ownRow;
  /// The warp, its place in the tile, and the thread's place in the warp: see BlockCode.
  mlir::Value warp, warpRow, warpColumn, lane, g, t;

private:
  struct State;
  void findOwn();
  Values loadRows(mlir::Value number);
  State next(mlir::Value slab, const State &state, int64_t slabs);
  void storeSums(mlir::ValueRange sums);
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_WORDTILE_H
