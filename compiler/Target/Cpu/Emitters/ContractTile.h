// SPDX-License-Identifier: Apache-2.0
///
/// The register tile of matrix products, and how the weights lie that it reads. A tile function is
/// shared by all products of a target.
#ifndef HEDDLE_COMPILER_TARGET_CPU_EMITTERS_CONTRACTTILE_H
#define HEDDLE_COMPILER_TARGET_CPU_EMITTERS_CONTRACTTILE_H

#include "compiler/Target/Cpu/Emitters/VectorCode.h"

#include <string>

namespace heddle {

/// How a matrix lies in panels (Encoding.cpp).
struct PanelLayout {
  /// What an element is stored as, and the bytes of a row of a panel.
  mlir::Type element;
  int64_t rowBytes;
  /// Steps of k that share scales: 0 for weights without scales, allSteps for one scale a column.
  int64_t group;
  static constexpr int64_t allSteps = -1;
  /// Bytes of the scales before those of a group.
  int64_t scaleBytes;

  /// The layout of a matrix [n, k] with elements of a type.
  static PanelLayout of(const VectorCode &code, mlir::Type type, int64_t k);
  /// The same in f32.
  PanelLayout unpacked(VectorCode &code) const { return of(code, code.f32, 0); }

  int64_t panelBytes(int64_t k) const;
  /// Cache lines that a step of the tile's loop reads of a panel, and that it asks for.
  int64_t linesRead() const;
  int64_t linesAsked() const { return linesRead() / 2; }
  /// As names of functions have it; none for f32.
  std::string suffix() const;
};

/// Writes the panel of [n, k] at `from`, in the layout of quantised weights, to `to` in f32.
void unpackPanel(VectorCode &code, const PanelLayout &layout, int64_t k, mlir::Value from,
                 mlir::Value to);

/// Steps of k written out in the tile's loop.
inline constexpr int64_t kTileUnroll = 4;

/// Which of the tile functions for a number of rows and columns: whether there is a list of where
/// rows are, and whether it asks for memory.
struct TileKind {
  bool isListed, asks;
};

/// Calls the tile function for `count` rows, a number from 1 to the target's tile, and for so many
/// columns: those of a panel, or the whole vectors that hold those of a last one. Arguments, in
/// order: rows [rows, k] with `stride` elements between rows, or a list of where each is; weights
/// in their layout; k; sums [rows][panelColumns], which are written; and memory to be asked for:
/// `ahead`, `step` bytes for every step of k.
void callTile(VectorCode &code, const PanelLayout &layout, mlir::func::FuncOp kernel,
              mlir::Value count, int64_t width, TileKind kind, mlir::ValueRange arguments);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CPU_EMITTERS_CONTRACTTILE_H
