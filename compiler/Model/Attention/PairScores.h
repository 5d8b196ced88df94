// SPDX-License-Identifier: Apache-2.0
///
/// Finding scores that are no products: v . f(q + k) of additive attention, a contraction of
/// element-wise maths of every pair of a row and a key. Attention sums them column by column; by
/// themselves they are `transformer.attention_weights` without a softmax. In both no pair is ever
/// in memory.
#ifndef HEDDLE_COMPILER_MODEL_ATTENTION_PAIRSCORES_H
#define HEDDLE_COMPILER_MODEL_ATTENTION_PAIRSCORES_H

#include "compiler/Parameters/DerivedParameters.h"
#include "dialects/Transformer/Transformer.h"

#include <string>

namespace heddle {

/// A contraction of pairs with weights.
struct PairScores {
  // Operations are handles whose accessors are not const.
  mutable transformer::PairSumOp sum;
  /// f, whose s0 is an element of `sum`.
  llvm::SmallVector<transformer::ScoreStep> steps;
  /// Convolutions over numbers of keys that are added to `sum` before f.
  llvm::SmallVector<transformer::ConvolveKeysOp, 2> locations;
  /// Weights of one number for each column, likewise.
  llvm::SmallVector<mlir::Value, 1> biases;
  /// v, and the axes of its parameter that are head and column; column alone where all heads have
  /// the same.
  transformer::WeightOp weights;
  llvm::SmallVector<int64_t, 2> order;

  int64_t width() const;
  /// The rows of queries, biases added.
  mlir::Value queries(mlir::OpBuilder &builder, mlir::Location location) const;
  transformer::ScoreAttr maths() const;
};

/// Locations beside a row and a key, as attention has it.
struct PairLocations {
  llvm::SmallVector<mlir::Value> locations;
  mlir::DenseI64ArrayAttr taps;
  mlir::FlatSymbolRefAttr filters, weights;
};

/// Whether a contraction makes scores of what is made of sums of each row and key.
bool sumsPairs(transformer::ContractOp contract);

/// A contraction of which sumsPairs() holds; on failure `reason` is the first condition that did
/// not.
llvm::FailureOr<PairScores> matchPairs(transformer::ContractOp contract, std::string &reason);

/// The parameter [heads, width] by which pairs are multiplied, times weights of one number.
mlir::FlatSymbolRefAttr derivePairWeights(DerivedParameters &parameters, mlir::Location location,
                                          const PairScores &pairs, int64_t heads,
                                          llvm::ArrayRef<mlir::Value> numbers);

/// The parameters of the convolutions, as the matrices that attention takes: where a convolution is
/// some filters and a linear map after them, it is both again if that takes fewer products.
PairLocations deriveLocations(DerivedParameters &parameters, mlir::Location location,
                              const PairScores &pairs);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_ATTENTION_PAIRSCORES_H
