// SPDX-License-Identifier: Apache-2.0
///
/// What a window sees where it stands, a row at a time: for kernels that store it, and for products
/// that multiply it while it is in the cache.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_WINDOWS_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_WINDOWS_H

#include "compiler/Target/Emitters/Emitters.h"

#include <optional>

namespace heddle {

/// The rows that a window slides over.
class SlideSource {
public:
  using Store = llvm::function_ref<void(mlir::Value value, mlir::Value column, int64_t valid)>;

  using StoreRow = llvm::function_ref<void(mlir::Value value, mlir::Value row, mlir::Value column,
                                           int64_t valid)>;

  /// Loads what all rows share. The input is operand 0; the weights of a depthwise sum are operand
  /// `weights`, and the state comes last.
  SlideSource(VectorCode &code, const KernelBody &body, dataflow::SlideAttr slide,
              unsigned weights);

  /// Gives all columns of a row of the result, in vectors of which `valid` lanes count.
  void emitRow(mlir::Value row, Store store) const;

private:
  /// The elements of the window that are rows of the sequence, where it stands at a row.
  struct Place {
    mlir::Value firstRow; // of the sequence
    mlir::Value across;   // rows of the input side by side
    mlir::Value down, right;
    mlir::Value firstLine, endLine, firstColumn, endColumn;
    mlir::Value start, kept; // with a state
  };

  Place stand(mlir::Value row) const;
  mlir::Value elementAt(const Place &place, mlir::Value line, mlir::Value column) const;
  mlir::Value load(mlir::Value address, int64_t valid) const;
  void emitPatches(const Place &place, Store store) const;
  void emitReduced(const Place &place, mlir::Value column, llvm::ArrayRef<int64_t> valid,
                   Store store) const;

  VectorCode &code;
  dataflow::SlideAttr slide;
  heddle::transformer::WindowAttr window;
  mlir::Value input, weights;
  int64_t stride; // elements between rows of the input
  mlir::Value from, to, sequenceOf, positions;
  mlir::Value widths; // of the input's images, where they have any
  std::optional<CacheFields> state;
};

/// Rows of a depthwise convolution over a line (Convolve.cpp): several at once, where all that they
/// see are rows of the run. The input is operand 0, and the state follows the weights.
struct ConvolvedRows {
  dataflow::ConvolveAttr computes;
  mlir::Value begin, end;
  unsigned weights = 1; // the operand
  bool rectifies = false;
};

/// Gives all columns of these rows in any order; `finish` when a row has all of them.
void emitConvolution(VectorCode &code, const KernelBody &body, const ConvolvedRows &rows,
                     SlideSource::StoreRow store,
                     llvm::function_ref<void(mlir::Value row)> finish = nullptr);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_WINDOWS_H
