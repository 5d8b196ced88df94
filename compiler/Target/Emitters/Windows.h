// SPDX-License-Identifier: Apache-2.0
///
/// Computes the contents of a window row by row: for kernels that store them, and for products that
/// multiply them while they are in the cache.
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

  /// Loads data that all rows share. The input is operand 0; the weights of a depthwise sum are
  /// operand `weights`, and the state is the last operand.
  SlideSource(VectorCode &code, const KernelBody &body, dataflow::SlideAttr slide,
              unsigned weights);

  /// Passes all columns of a row of the result to `store`, in vectors of which `valid` lanes are
  /// used.
  void emitRow(mlir::Value row, Store store) const;

  /// Returns one element of a row of the result, on targets whose vectors have one lane.
  mlir::Value element(mlir::Value row, mlir::Value column) const;

private:
  /// The elements of the window at a row that are rows of the sequence.
  struct Place {
    mlir::Value firstRow; // of the sequence
    mlir::Value across;   // rows of the input per row of the image
    mlir::Value down, right;
    mlir::Value firstLine, endLine, firstColumn, endColumn;
    mlir::Value start, kept; // if there is a state
  };

  Place stand(mlir::Value row) const;
  mlir::Value elementAt(const Place &place, mlir::Value line, mlir::Value column) const;
  mlir::Value load(mlir::Value address, int64_t valid) const;
  mlir::Value isWithin(const Place &place, mlir::Value line, mlir::Value column) const;
  void emitPatches(const Place &place, Store store) const;
  mlir::Value patchElement(const Place &place, mlir::Value column) const;
  void emitReduced(const Place &place, llvm::ArrayRef<VectorCode::Columns> group,
                   Store store) const;

  VectorCode &code;
  dataflow::SlideAttr slide;
  heddle::transformer::WindowAttr window;
  mlir::Value input, weights;
  int64_t stride; // elements between rows of the input
  mlir::Value from, to, sequenceOf, positions;
  mlir::Value widths; // of the input's images, if it has any
  std::optional<CacheFields> state;
};

/// The rows of a one-dimensional depthwise convolution (Convolve.cpp), several at once if all their
/// neighbours are rows of the run. The input is operand 0, and the state follows the weights.
struct ConvolvedRows {
  dataflow::ConvolveAttr computes;
  mlir::Value begin, end;
  unsigned weights = 1; // index of the operand
  bool rectifies = false;
};

/// Passes all columns of these rows to `store`, in any order; calls `finish` when a row is
/// complete.
void emitConvolution(VectorCode &code, const KernelBody &body, const ConvolvedRows &rows,
                     SlideSource::StoreRow store,
                     llvm::function_ref<void(mlir::Value row)> finish = nullptr);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_WINDOWS_H
