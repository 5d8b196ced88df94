// SPDX-License-Identifier: Apache-2.0
///
/// The register tile of matrix products, and how the weights lie that it reads. A tile function is
/// shared by all products of a target.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTTILE_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTTILE_H

#include "compiler/Target/Emitters/VectorCode.h"

#include <string>

namespace heddle {

/// Rows whose distance is a multiple of so many bytes share few sets of the first-level cache, and
/// weights on their way from memory push them out of it: a tile of eight rows of 1024 elements ran
/// at half of its rate.
inline constexpr int64_t kSharingBytes = 1024;

/// A distance of at least `bytes`, whole cache lines, at which rows do not share sets.
constexpr int64_t spreadBytes(int64_t bytes) {
  return bytes % kSharingBytes == 0 ? bytes + kLineBytes : bytes;
}

/// How a matrix lies in panels (Encoding.cpp), and what it is multiplied with.
struct PanelLayout {
  /// What an element is stored as, of quantised weights a code, and the bytes of a row of a panel;
  /// two rows of codes of 4 bits share bytes.
  mlir::Type element;
  int64_t rowBytes;
  /// What is multiplied: codes and bf16 that are not widened have tiles of their own
  /// (ContractIntegers.h, ContractBf16.h).
  dataflow::Arithmetic arithmetic;
  /// Steps of k that share scales: 0 for weights without scales, allSteps for one scale a column.
  int64_t group;
  static constexpr int64_t allSteps = -1;
  /// Columns of a panel, and the bytes that they have before the codes of a group.
  int64_t columns;
  int64_t headBytes;
  /// The type of quantised weights; null for others.
  transformer::QuantizedType quantized;
  /// Rows of a tile, and whether it runs on the tile registers of AMX.
  int64_t tileRows = 0;
  bool isOnAmx = false;

  /// The layout of a matrix [n, k] with elements of a type.
  static PanelLayout of(const TargetDescription &target, mlir::Type type, int64_t k,
                        dataflow::Arithmetic arithmetic);
  /// The same in f32.
  PanelLayout unpacked(VectorCode &code) const {
    return of(code.target, code.f32, 0, dataflow::Arithmetic::F32);
  }

  bool hasZeros() const { return quantized && quantized.hasZeros(); }
  bool hasMinimums() const { return quantized && quantized.getMinimums(); }
  /// Whether two rows of codes share bytes.
  bool hasHalves() const { return quantized && quantized.hasHalves(); }
  int64_t panelBytes(int64_t k) const;
  /// Bytes of a group of steps and of what is before their codes.
  int64_t groupBytes() const { return headBytes + group * rowBytes; }
  /// Steps of k that a tile does at once, and that are written out in its loop.
  int64_t together() const;
  int64_t unroll() const;
  /// Cache lines that a round of the tile's loop reads of a panel; and that it asks for, where
  /// tiles share the asking, and where `rows` rows are the only tile of their panel.
  int64_t linesRead() const;
  int64_t linesAsked() const { return linesRead() / 2; }
  int64_t linesAskedAlone(int64_t rows) const;
  /// As names of functions have it; none for f32.
  std::string suffix() const;
};

/// What columns of a panel have before the codes of a group, a vector of each for every one of
/// columns: scales in f32 and, if the layout has them, codes of zero in i32 or minimums in f32.
struct GroupHead {
  llvm::SmallVector<mlir::Value> scales, zeros, minimums;

  /// That of `vectors` vectors of columns from number `first` on.
  static GroupHead load(VectorCode &code, const PanelLayout &layout, mlir::Value head,
                        int64_t first, int64_t vectors);
};

/// Writes the panel of [n, k] at `from`, in the layout of quantised weights, to `to` in f32.
void unpackPanel(VectorCode &code, const PanelLayout &layout, int64_t k, mlir::Value from,
                 mlir::Value to);

/// How far ahead of its loads a tile asks that is alone on its panel: what memory delivers in about
/// a quarter of a microsecond.
inline constexpr int64_t kBytesAhead = 8192;

/// The arguments of a tile function, in order (callTile).
enum TileArgument : uint8_t { Rows, Stride, Weights, K, Sums, Ahead, Step };

/// Some columns of a tile and the rows that they are multiplied with, while its code is written.
struct TileColumns {
  VectorCode &code;
  const PanelLayout &layout;
  mlir::Block &entry;
  llvm::ArrayRef<mlir::Value> rows;
  /// The first one, and how many vectors of them.
  int64_t first, vectors;
  /// Cache lines that a round asks memory for.
  int64_t linesAsked;
  /// Whether the sums are added to those that are there.
  bool adds = false;

  /// What is left to say of a loop over k: the sums after one step, or after those that are done
  /// together, from step `k` on, number `inPanel` of the loop.
  using Step = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value inPanel, mlir::Value k,
                                                                 mlir::ValueRange sums)>;
  /// The sums after steps [begin, end) of k, whose number is a multiple of those done together.
  llvm::SmallVector<mlir::Value> steps(mlir::Value begin, mlir::Value end, mlir::ValueRange sums,
                                       Step step) const;
  /// Where a vector of the sums of a row is written, what sums begin with, and writing all of them.
  mlir::Value sumAt(int64_t row, int64_t vector) const;
  llvm::SmallVector<mlir::Value> begin() const;
  void store(mlir::ValueRange sums) const;
};

/// What a tile asks memory for: nothing, since a cache has the panel; its share of the panel that
/// comes next; or, as the only tile of its panel, what itself will read.
enum class TileAsks : uint8_t { Nothing, Share, Alone };

/// Which of the tile functions for a number of rows and columns: whether there is a list of where
/// rows are, what it asks for, and whether it adds to the sums that are there, as only tiles that
/// multiply f32 do.
struct TileKind {
  bool isListed;
  TileAsks asks;
  bool adds = false;
};

/// Calls the tile function for `count` rows, a number from 1 to the layout's tile, and for so many
/// columns: those of a panel, or the whole vectors that hold those of a last one. Arguments, in
/// order: rows [rows, k], or as PreparedRows has them, with `stride` elements of f32
/// between rows, or a list of where each is; weights
/// in their layout; k; sums [rows][panelColumns], which are written or added to; and memory to be
/// asked for: `ahead`, `step` bytes for every step of k.
void callTile(VectorCode &code, const PanelLayout &layout, mlir::func::FuncOp kernel,
              mlir::Value count, int64_t width, TileKind kind, mlir::ValueRange arguments);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_CONTRACTTILE_H
