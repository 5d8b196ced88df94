// SPDX-License-Identifier: Apache-2.0
///
/// What the tiles of all products of blocks have in common: the numbers of a product, how the
/// panels of its weights come to shared memory, and how sums leave it through the epilogue. What
/// computes the sums differs: FMA units (FmaTile.cpp), tensor cores (TensorTile.cpp).
#ifndef HEDDLE_COMPILER_TARGET_CUDA_PRODUCTTILE_H
#define HEDDLE_COMPILER_TARGET_CUDA_PRODUCTTILE_H

#include "compiler/Target/Cuda/TensorWords.h"
#include "compiler/Target/Emitters/Emitters.h"
#include "compiler/Target/Panels.h"

namespace heddle {

/// Threads of a block of every product.
inline constexpr int64_t kProductThreads = 128;

/// The numbers of a product, what it reads, and the part of the result that is computed.
struct Product {
  const dataflow::ContractAttr computes;
  const Units units;
  /// The type of a weight.
  const mlir::Type element;
  mlir::Value rows, weights;
  int64_t rowElements;
  /// Whether rows may be read four elements at a time from multiples of four on.
  bool hasAlignedRows;
  const KernelResult &result;
  const Epilogue &epilogue;
  mlir::Value firstRow = {}, endRow = {}, firstPanel = {}, endPanel = {};

  int64_t k() const { return computes.getK(); }
  int64_t elementBytes() const { return element.getIntOrFloatBitWidth() / 8; }

  /// The last row, counted from the first, of a tile of so many rows; computed where it is used.
  mlir::Value lastRow(BlockCode &block, int64_t tileRows) const;
  /// Row `row` of a tile whose last one is `last`, both i32: never beyond it. As i64.
  static mlir::Value nearRow(BlockCode &block, mlir::Value row, mlir::Value last);
};

/// Steps of the panels of a tile's weights as they lie in shared memory: those of all panels of a
/// step side by side, steps `pitch` bytes apart. A step is one of k, or several that lie together.
struct WeightSlab {
  /// All steps that a panel has, those of a slab, and the panels.
  int64_t steps, slabSteps, panels;
  /// Bytes of a step of one panel.
  int64_t stepBytes;
  int64_t pitch;

  int64_t bytes() const { return slabSteps * pitch; }
};

/// Step `first` + `step`, at most the last one; with the bytes of a copy that are there if a slab
/// may have steps beyond it.
mlir::Value stepAt(BlockCode &block, int64_t steps, int64_t slabSteps, mlir::Value first,
                   mlir::Value step, mlir::Value &valid, int64_t bytes);

/// Begins to copy a slab of weights from step `first` on to byte `to` of shared memory. Beyond the
/// last panel it is copied again; beyond the last step all is zero.
void copyWeights(BlockCode &block, const Product &product, const WeightSlab &slab, mlir::Value to,
                 mlir::Value first);

/// Sums of some rows of a tile in shared memory, from its beginning on.
struct SumsInMemory {
  /// The first row, counted from that of the tile, and how many there are.
  int64_t first, rows;
  int64_t columns;
  /// Bytes from a row to the next.
  int64_t pitch;
};

/// Takes them through the epilogue to the result. Neighbouring threads have neighbouring columns:
/// what epilogues read and write is side by side, and their code is there once.
void finishSums(BlockCode &block, const Product &product, const SumsInMemory &sums);

/// The place of a stage after another one of `stages`, each of `bytes`, which begin at `begin`.
mlir::Value stageAfter(BlockCode &block, mlir::Value stage, int64_t begin, int64_t bytes,
                       int64_t stages);

// --- kinds of tiles ------------------------------------------------------------------------------

/// How blocks do a product on FMA units, weights being of a type, and on tensor cores.
BlockWork fmaWork(mlir::Type element);
BlockWork tensorWork();

/// Code for the tile whose part is said; `isFew`: the smaller one.
void emitFmaTile(BlockCode &block, const Product &product, bool isFew);
void emitTensorTile(BlockCode &block, const Product &product, bool isFew);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_PRODUCTTILE_H
