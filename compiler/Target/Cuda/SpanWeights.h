// SPDX-License-Identifier: Apache-2.0
///
/// The weights of attention, or its scores, as a block computes and stores them
/// (docs/decisions/0058).
#ifndef HEDDLE_COMPILER_TARGET_CUDA_SPANWEIGHTS_H
#define HEDDLE_COMPILER_TARGET_CUDA_SPANWEIGHTS_H

#include "compiler/Target/Cuda/AttentionSpan.h"

namespace heddle {

/// Emits the code of a tile of queries. It goes over the keys twice, and computes the scores each
/// time: a row's weights can be stored when its maximum and its sum are known, and its scores are
/// in registers only for the current span. Scores without a softmax are stored in one pass.
class SpanWeights {
public:
  SpanWeights(BlockCode &block, AttentionTile &a, const SpanShape &shape, float scale);

  /// Stores result[row][head][key] for the queries from number `query` on, before `last`, and all
  /// keys of their sequence. The weight of a key that the row does not see is zero.
  void emitTile(mlir::Value query, mlir::Value last);

private:
  using Values = llvm::SmallVector<mlir::Value>;
  /// Returns what is carried after a span, given its scores: a vector for each of the lane's rows.
  using Span = llvm::function_ref<Values(mlir::Value first, Values scores, mlir::ValueRange)>;
  Values overSpans(mlir::ValueRange carried, Span span);
  SoftmaxState sumUp();
  mlir::Value weigh(mlir::Value scores, mlir::Value maximum, mlir::Value inverseSum);
  void storeRow(size_t row,
                llvm::function_ref<void(const SpanThread &here, mlir::Value place)> store);
  void storeSpan(size_t row, mlir::Value weights, mlir::Value first);
  void storeUnseen();

  BlockCode &block;
  VectorCode &code;
  AttentionTile &a;
  const SpanShape &shape;
  const float scale;
  const SpanThread thread;
  const std::unique_ptr<SpanProducts> products;
  QueryTile tile;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_SPANWEIGHTS_H
