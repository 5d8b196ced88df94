// SPDX-License-Identifier: Apache-2.0
///
/// Sums of values with weights that another kernel has computed, by blocks (docs/decisions/0058).
#ifndef HEDDLE_COMPILER_TARGET_CUDA_SPANVALUES_H
#define HEDDLE_COMPILER_TARGET_CUDA_SPANVALUES_H

#include "compiler/Target/Cuda/AttentionSpan.h"

namespace heddle {

/// Emits the code of a tile of rows of weights.
class SpanValues {
public:
  SpanValues(BlockCode &block, AttentionTile &a, const SpanShape &shape);

  /// Stores the sums of the rows from number `query` on, before `last`. Weights of keys that a row
  /// does not see are not read.
  void emitTile(mlir::Value query, mlir::Value last);

private:
  using Values = llvm::SmallVector<mlir::Value>;
  mlir::Value weightsOf(const LaneRow &row, mlir::Value first);
  Values next(mlir::Value first, mlir::ValueRange carried, const SpanRows &values);

  BlockCode &block;
  VectorCode &code;
  AttentionTile &a;
  const SpanShape &shape;
  const SpanThread thread;
  const std::unique_ptr<SpanProducts> products;
  QueryTile tile;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_SPANVALUES_H
