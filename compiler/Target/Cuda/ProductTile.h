// SPDX-License-Identifier: Apache-2.0
///
/// The parts that all block tiles of products share: the parameters of a product, the copies of
/// weight panels to shared memory, and the epilogue on sums in shared memory. The sums are computed
/// by FMA units (FmaTile.cpp), by tensor cores (TensorTile.cpp, and IntegerTile.cpp for codes), or
/// by tensor cores of Hopper (WarpgroupTile.cpp).
#ifndef HEDDLE_COMPILER_TARGET_CUDA_PRODUCTTILE_H
#define HEDDLE_COMPILER_TARGET_CUDA_PRODUCTTILE_H

#include "compiler/Target/Cuda/RowBlocks.h"
#include "compiler/Target/Cuda/TensorWords.h"
#include "compiler/Target/Emitters/Emitters.h"
#include "compiler/Target/Emitters/Windows.h"
#include "compiler/Target/Panels.h"

namespace heddle {

/// Threads of a block, for all products except those of warpgroups.
inline constexpr int64_t kProductThreads = 128;
/// Their blocks of a multiprocessor: for more, ptxas limits registers of products with few steps to
/// 128 or 168, and spills some. Those of others have no registers for more.
inline constexpr int64_t kProductBlocks = 2;

/// Rows that choose groups of weights: places of an order, in which rows of a group are adjacent.
struct ChosenRows {
  /// The rows of the result in this order, and how many there are; numbers beyond are clamped.
  mlir::Value order, count;
  /// Rows of the result for each row of the input.
  int64_t parts;
  /// The group's bias; null if there is none.
  mlir::Value bias = {};

  /// Returns the row of the result at a place.
  mlir::Value rowAt(VectorCode &code, mlir::Value place) const;
};

/// The parameters of a product, its operands, and the part of the result that a tile computes.
struct TiledProduct {
  /// The columns and steps of a group: groups have their own columns of rows and result.
  const int64_t n, k, groups;
  /// What multiplies floating-point numbers; none for products of integers.
  const std::optional<Units> units;
  /// The type of a weight.
  const mlir::Type element;
  mlir::Value rows, weights;
  int64_t rowElements;
  /// Whether rows of each group are aligned, so that four elements can be read at once from
  /// multiples of four on.
  bool hasAlignedRows;
  const KernelResult &result;
  const Epilogue &epilogue;
  /// If set, rows are places of this order, and `weights` are those of one group.
  std::optional<ChosenRows> chosen = {};
  /// If set, the contents of these windows are multiplied instead of `rows`.
  const SlideSource *windows = nullptr;
  mlir::Value firstRow = {}, endRow = {}, firstPanel = {}, endPanel = {};
  /// The columns of the result in these panels; and the columns of rows before those of the group,
  /// null if there is one group.
  mlir::Value firstColumn = {}, endColumn = {}, stepsBefore = {};

  /// Sets the columns of panels of a product with one group.
  void setColumns(VectorCode &code, mlir::Value begin, mlir::Value end);

  /// The type of quantised weights; null for other weights.
  transformer::QuantizedType codes() const {
    return mlir::dyn_cast<transformer::QuantizedType>(element);
  }
  /// The bytes of a panel of weights that FMA units multiply.
  int64_t panelBytes() const {
    return codes() ? codes().getPanelBytes(k, sharedPanelColumns, /*together=*/1)
                   : k * sharedPanelColumns * element.getIntOrFloatBitWidth() / 8;
  }

  /// Returns the last row, relative to the first, of a tile of `tileRows`; recomputed at each use.
  mlir::Value lastRow(BlockCode &block, int64_t tileRows) const;
  /// Returns row `row` of a tile, clamped to `last`, as i64; both operands are i32.
  static mlir::Value nearRow(BlockCode &block, mlir::Value row, mlir::Value last);
  /// Return the column of rows at a step of k, the address from which rows of a tile are counted,
  /// and the number of elements from there to the one at row `inTile`.
  mlir::Value columnAt(VectorCode &code, mlir::Value k) const;
  mlir::Value rowsBegin(VectorCode &code) const;
  mlir::Value elementsBefore(VectorCode &code, mlir::Value inTile) const;
};

/// Steps of a tile's weight panels in shared memory: for each step, those of all panels side by
/// side; steps are `pitch` bytes apart. A step is one step of k, or several that are stored
/// together.
struct WeightSlab {
  /// All steps of a panel, the steps of a slab, and the panels.
  int64_t steps, slabSteps, panels;
  /// Bytes of a step of one panel.
  int64_t stepBytes;
  int64_t pitch;

  int64_t bytes() const { return slabSteps * pitch; }
};

/// Calls `each` with the numbers of the thread's pieces of work, of `count` pieces of the block.
/// The numbers are recomputed here, to save registers.
void eachOwn(BlockCode &block, int64_t count, llvm::function_ref<void(mlir::Value number)> each);

/// Returns step `first` + `step`, clamped to the last one. If a slab may have steps past the end,
/// sets `valid` to the number of bytes of a copy that exist.
mlir::Value stepAt(BlockCode &block, int64_t steps, int64_t slabSteps, mlir::Value first,
                   mlir::Value step, mlir::Value &valid, int64_t bytes);

/// Starts to copy a slab of weights from step `first` on to byte `to` of shared memory. The last
/// panel is copied again in place of panels past the end; steps past the end are zero.
void copyWeights(BlockCode &block, const TiledProduct &product, const WeightSlab &slab,
                 mlir::Value to, mlir::Value first);

/// Sums of some rows of a tile, at the beginning of shared memory.
struct SumsInMemory {
  /// The first row, relative to the tile's, and the number of rows.
  int64_t first, rows;
  int64_t columns;
  /// Bytes from one row to the next.
  int64_t pitch;
};

/// The place of a sum in the result, and its address in shared memory.
struct SumPlace {
  mlir::Value row, column, address;
};

/// Applies the epilogue to `count` sums of a thread that are inside the tile's rows and columns,
/// and stores the results. If all are, it does so together: the thread waits for the epilogue's
/// operands of all of them at once.
void finishTogether(BlockCode &block, const TiledProduct &product, const KernelResult &result,
                    const Epilogue &epilogue, int64_t count,
                    llvm::function_ref<SumPlace(mlir::Value number)> placeAt);

/// Does so for all sums. Neighbouring threads take neighbouring columns, so that accesses of
/// epilogues are contiguous.
void finishSums(BlockCode &block, const TiledProduct &product, const SumsInMemory &sums);

/// Returns the offset of the stage after another one of `stages`, each of `bytes`; the first is at
/// `begin`.
mlir::Value stageAfter(BlockCode &block, mlir::Value stage, int64_t begin, int64_t bytes,
                       int64_t stages);

// --- kinds of tiles ------------------------------------------------------------------------------

/// The most elements that may share a scale if several groups of a row do: a load of a warp.
inline constexpr int64_t kMostSharedInBlocks = 128;
/// Returns whether blocks compute products of integers with such weights.
bool integersFit(transformer::QuantizedType type, int64_t k);

/// Return how blocks compute a product: on FMA units, with weights of a type, on tensor cores, on
/// tensor cores with codes, or by warpgroups with `k` steps. A tile has columns of one group.
BlockWork fmaWork(mlir::Type element, int64_t k, int64_t groups);
BlockWork tensorWork(int64_t groups);
BlockWork integerWork(transformer::QuantizedType type, int64_t k, int64_t groups);
BlockWork warpgroupWork(int64_t k);
/// Returns for which launches of a product by warpgroups a separate kernel rounds the rows first.
RoundedLaunches warpgroupRounds(int64_t n, int64_t k);

/// Emit the tile of the product's current part; `isFew` selects the smaller tile.
void emitFmaTile(BlockCode &block, const TiledProduct &product, bool isFew);
void emitTensorTile(BlockCode &block, const TiledProduct &product, bool isFew);
void emitIntegerTile(BlockCode &block, const TiledProduct &product, bool isFew);
/// Emits all tiles of a block, of the launch that `body` has as its arguments.
void emitWarpgroupTiles(BlockCode &block, const TiledProduct &product, const KernelBody &body);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_PRODUCTTILE_H
