// SPDX-License-Identifier: Apache-2.0
///
/// The register tile of matrix products, and the layout of the weights that it reads. All products
/// of a target share the tile functions.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTTILE_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTTILE_H

#include "compiler/Target/Emitters/VectorCode.h"

#include <string>

namespace heddle {

/// Rows at a distance that is a multiple of this many bytes share a few sets of the first-level
/// cache, and weights that arrive from memory evict them: a tile of eight rows of 1024 elements ran
/// at half of its rate.
inline constexpr int64_t kSharingBytes = 1024;

/// Returns a distance of at least `bytes`, in whole cache lines, at which rows do not share sets.
constexpr int64_t spreadBytes(int64_t bytes) {
  return bytes % kSharingBytes == 0 ? bytes + kLineBytes : bytes;
}

/// The layout of a matrix in panels (Encoding.cpp), and the arithmetic of its product.
struct PanelLayout {
  /// The storage type of an element, a code if weights are quantised; and the bytes of a row of a
  /// panel. Two rows of 4-bit codes share bytes.
  mlir::Type element;
  int64_t rowBytes;
  /// The type of the factors. Codes, and bf16 that is not widened, have tiles of their own
  /// (ContractIntegers.h, ContractBf16.h).
  dataflow::Arithmetic arithmetic;
  /// Steps of k that share scales: 0 for weights without scales, allSteps for one scale per column.
  int64_t group;
  static constexpr int64_t allSteps = -1;
  /// Columns of a panel, and the bytes of their factors before the codes of a group.
  int64_t columns;
  int64_t headBytes;
  /// The type of quantised weights; null for other weights.
  transformer::QuantizedType quantized;
  /// Rows of a tile, and whether it runs on the tile registers of AMX.
  int64_t tileRows = 0;
  bool isOnAmx = false;

  /// Returns the layout of a matrix [n, k] with elements of a type.
  static PanelLayout of(const TargetDescription &target, mlir::Type type, int64_t k,
                        dataflow::Arithmetic arithmetic);
  /// Returns the same layout in f32.
  PanelLayout unpacked(VectorCode &code) const {
    return of(code.target, code.f32, 0, dataflow::Arithmetic::F32);
  }

  bool hasZeros() const { return quantized && quantized.hasZeros(); }
  bool hasMinimums() const { return quantized && quantized.getMinimums(); }
  /// Whether two rows of codes share bytes.
  bool hasHalves() const { return quantized && quantized.hasHalves(); }
  int64_t panelBytes(int64_t k) const;
  /// Returns the bytes of a group of steps, including the factors before its codes.
  int64_t groupBytes() const { return headBytes + group * rowBytes; }
  /// Return the steps of k that a tile computes at once, and those in the unrolled body of its
  /// loop.
  int64_t together() const;
  int64_t unroll() const;
  /// Return the cache lines of a panel that one iteration of the tile's loop reads; those that it
  /// prefetches if tiles share the prefetching; and those if the panel's only tile has `rows` rows.
  int64_t linesRead() const;
  int64_t linesAsked() const { return linesRead() / 2; }
  int64_t linesAskedAlone(int64_t rows) const;
  /// Returns the suffix of function names; empty for f32.
  std::string suffix() const;
};

/// The factors of columns before the codes of a group, as one vector per vector of columns: scales
/// in f32 and, if the layout has them, codes of zero in i32 or minimums in f32.
struct GroupHead {
  llvm::SmallVector<mlir::Value> scales, zeros, minimums;

  /// Loads the factors of `vectors` vectors of columns from number `first` on.
  static GroupHead load(VectorCode &code, const PanelLayout &layout, mlir::Value head,
                        int64_t first, int64_t vectors);
};

/// Dequantises the panel of [n, k] at `from` to f32, and writes it to `to`.
void unpackPanel(VectorCode &code, const PanelLayout &layout, int64_t k, mlir::Value from,
                 mlir::Value to);

/// How far ahead of its loads a tile that is alone on its panel prefetches: the bytes that memory
/// delivers in about a quarter of a microsecond.
inline constexpr int64_t kBytesAhead = 8192;

/// The arguments of a tile function, in order (callTile).
enum TileArgument : uint8_t { Rows, Stride, Weights, K, Sums, Ahead, Step };

/// Some columns of a tile and the rows that they are multiplied with, while their code is emitted.
struct TileColumns {
  VectorCode &code;
  const PanelLayout &layout;
  mlir::Block &entry;
  llvm::ArrayRef<mlir::Value> rows;
  /// The first column, and the number of vectors of columns.
  int64_t first, vectors;
  /// Cache lines that an iteration prefetches.
  int64_t linesAsked;
  /// Whether the sums are added to those already in memory.
  bool adds = false;

  /// The body of a loop over k. Returns the sums after one step, or after the steps that are
  /// computed together, from step `k` on, which is number `inPanel` of the loop.
  using Step = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value inPanel, mlir::Value k,
                                                                 mlir::ValueRange sums)>;
  /// Returns the sums after steps [begin, end) of k, a multiple of the steps that are computed
  /// together.
  llvm::SmallVector<mlir::Value> steps(mlir::Value begin, mlir::Value end, mlir::ValueRange sums,
                                       Step step) const;
  /// Return the address of a vector of a row's sums, and the initial sums; store() stores all sums.
  mlir::Value sumAt(int64_t row, int64_t vector) const;
  llvm::SmallVector<mlir::Value> begin() const;
  void store(mlir::ValueRange sums) const;
};

/// What a tile prefetches: nothing, because a cache has the panel; its share of the next panel; or
/// its own panel, if it is the panel's only tile.
enum class TileAsks : uint8_t { Nothing, Share, Alone };

/// Selects a tile function for a number of rows and columns: whether rows are given as a list of
/// addresses, what it prefetches, and whether it adds to the sums in memory, which only tiles that
/// multiply f32 do.
struct TileKind {
  bool isListed;
  TileAsks asks;
  bool adds = false;
};

/// Calls the tile function for `count` rows, from 1 to the layout's tile, and for `width` columns:
/// those of a panel, or of the last one in whole vectors. Arguments, in order: rows [rows, k], or
/// in the layout of PreparedRows, and the `stride` between them in elements of f32, or a list of
/// their addresses; weights in their layout; k; sums [rows][panelColumns], which are written or
/// added to; and the memory to prefetch: address `ahead`, and `step` bytes for every step of k.
void callTile(VectorCode &code, const PanelLayout &layout, mlir::func::FuncOp kernel,
              mlir::Value count, int64_t width, TileKind kind, mlir::ValueRange arguments);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTTILE_H
