// SPDX-License-Identifier: Apache-2.0
///
/// Finds scores that are not products: v . f(q + k) of additive attention, a contraction of an
/// element-wise function of every pair of a row and a key. Attention sums them column by column;
/// outside attention they become `transformer.attention_weights` without a softmax. In both cases
/// pairs are never in memory.
#ifndef HEDDLE_COMPILER_MODEL_ATTENTION_PAIRSCORES_H
#define HEDDLE_COMPILER_MODEL_ATTENTION_PAIRSCORES_H

#include "compiler/Parameters/DerivedParameters.h"
#include "dialects/Transformer/Transformer.h"

#include <string>

namespace heddle {

/// A contraction of pairs with weights.
struct PairScores {
  // Mutable because accessors of operation handles are not const.
  mutable transformer::PairSumOp sum;
  /// f; its s0 is an element of `sum`.
  llvm::SmallVector<transformer::ScoreStep> steps;
  /// Convolutions over numbers of keys that are added to `sum` before f.
  llvm::SmallVector<transformer::ConvolveKeysOp, 2> locations;
  /// Weights of one number for each column, also added before f.
  llvm::SmallVector<mlir::Value, 1> biases;
  /// v, and its axes for head and column; only for column if all heads share it.
  transformer::WeightOp weights;
  llvm::SmallVector<int64_t, 2> order;

  int64_t width() const;
  /// Returns the rows of queries with biases added.
  mlir::Value queries(mlir::OpBuilder &builder, mlir::Location location) const;
  transformer::ScoreAttr maths() const;
};

/// Locations added to a row and a key, in the form that attention takes.
struct PairLocations {
  llvm::SmallVector<mlir::Value> locations;
  mlir::DenseI64ArrayAttr taps;
  mlir::FlatSymbolRefAttr filters, weights;
};

/// Returns whether a contraction computes scores from sums of each row and key.
bool sumsPairs(transformer::ContractOp contract);

/// Matches a contraction for which sumsPairs() holds; on failure `reason` is the first condition
/// that did not.
llvm::FailureOr<PairScores> matchPairs(transformer::ContractOp contract, std::string &reason);

/// Derives the parameter [heads, width] that multiplies pairs, times weights of one number.
mlir::FlatSymbolRefAttr derivePairWeights(DerivedParameters &parameters, mlir::Location location,
                                          const PairScores &pairs, int64_t heads,
                                          llvm::ArrayRef<mlir::Value> numbers);

/// Derives the parameters of the convolutions as the matrices that attention takes. A convolution
/// composed of filters and a linear map is separated again if that takes fewer multiplications.
PairLocations deriveLocations(DerivedParameters &parameters, mlir::Location location,
                              const PairScores &pairs);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_ATTENTION_PAIRSCORES_H
