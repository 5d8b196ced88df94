// SPDX-License-Identifier: Apache-2.0
///
/// Quantised weights that are multiplied in f32 by FMA units. A block copies a slab of codes and
/// the factors of their groups to shared memory, asynchronously and ahead of its use, and
/// dequantises it there once for all rows of a tile (docs/decisions/0074).
#ifndef HEDDLE_COMPILER_TARGET_CUDA_CODESLAB_H
#define HEDDLE_COMPILER_TARGET_CUDA_CODESLAB_H

#include "compiler/Target/Cuda/ProductTile.h"

namespace heddle {

/// Steps of weight panels [n, k] in shared memory:
///   copied:       [lines][panels][columns] codes, then [groups][panels] heads; a line is a step of
///                 k, or two with codes of 4 bits, and a head has the factors of a group's columns
///   dequantised:  [steps][panels][columns] numbers in f32
class CodeSlab {
public:
  CodeSlab(transformer::QuantizedType type, int64_t k, int64_t steps, int64_t panels)
      : type(type), k(k), steps(steps), panels(panels) {}

  /// Return the bytes of a slab as it is copied, and dequantised.
  int64_t copiedBytes() const { return codesBytes() + groups() * panels * headBytes(); }
  int64_t bytes() const { return steps * pitch(); }

  /// Starts to copy the slab that begins with step `first` to byte `to` of shared memory. The last
  /// panel is copied again in place of panels past the end; steps past the end are arbitrary.
  void copy(BlockCode &block, const TiledProduct &product, mlir::Value to, mlir::Value first) const;
  /// Dequantises the slab at byte `from`, which all threads see, to byte `to`. Weights of steps
  /// past the end are zero.
  void dequantise(BlockCode &block, mlir::Value from, mlir::Value to, mlir::Value first) const;

private:
  int64_t shared() const { return type.getGroupOf(k); }
  int64_t scales() const { return type.getScalesOf(k); }
  int64_t stepsOfLine() const { return type.getRowsTogether(/*together=*/1); }
  int64_t lines() const { return steps / stepsOfLine(); }
  int64_t codesBytes() const { return lines() * panels * sharedPanelColumns; }
  int64_t headBytes() const { return type.getHeadBytes(sharedPanelColumns, /*together=*/1); }
  /// Bytes from one group of a panel to the next.
  int64_t groupBytes() const { return headBytes() + shared() / stepsOfLine() * sharedPanelColumns; }
  int64_t pitch() const { return panels * sharedPanelColumns * int64_t(sizeof(float)); }
  int64_t groups() const;
  mlir::Value groupInSlab(VectorCode &code, mlir::Value first, mlir::Value step) const;
  mlir::Value groupAt(VectorCode &code, mlir::Value step) const;
  mlir::Value panelAt(VectorCode &code, const TiledProduct &product, mlir::Value panel) const;
  void copyCodes(BlockCode &block, const TiledProduct &product, mlir::Value to,
                 mlir::Value first) const;
  void copyHeads(BlockCode &block, const TiledProduct &product, mlir::Value to,
                 mlir::Value first) const;
  llvm::SmallVector<mlir::Value> halvesAt(BlockCode &block, mlir::Value codes, mlir::Value zeros,
                                          mlir::Value column) const;
  llvm::SmallVector<mlir::Value> numbersAt(BlockCode &block, mlir::Value codes, mlir::Value head,
                                           mlir::Value column) const;

  const transformer::QuantizedType type;
  const int64_t k, steps, panels;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_CODESLAB_H
