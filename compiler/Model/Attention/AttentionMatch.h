// SPDX-License-Identifier: Apache-2.0
///
/// Finds softmax(f(scale * Q K^T) + bias + mask) V around a softmax, in any spelling, for one V or
/// for several that share the probabilities.
///
/// Axes are identified by their role, not by letters or order. The softmax's first axis is the
/// query row, its second the head, its third the key; the axis that Q and K share and the scores
/// lack is the head size. Factors may occur anywhere between the rows and the result.
#ifndef HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONMATCH_H
#define HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONMATCH_H

#include "compiler/Model/Attention/PairScores.h"

#include <array>
#include <optional>
#include <string>

namespace heddle {

/// Queries, keys or values of an attention.
struct AttentionOperand {
  /// Rows [t, h * d], or a tensor whose axes `order` are [t, h, d] or, of rank 2, [t, h * d].
  mlir::Value tensor;
  llvm::SmallVector<int64_t, 3> order;
  /// The number of adjacent heads of scores that share one head of this operand.
  int64_t share = 1;
  /// Factors with one number per row; for keys only.
  llvm::SmallVector<mlir::Value, 1> numbers;
  bool isRows() const { return order == llvm::SmallVector<int64_t, 3>{0, 1}; }
};

/// A factor of scores: a constant, and numbers that are unknown at compile time.
struct ScoreFactor {
  double constant = 1.0;
  /// Weights of one number, or rows of one number each.
  llvm::SmallVector<mlir::Value, 1> numbers;
  /// Rows of one number for each key.
  llvm::SmallVector<mlir::Value, 1> keyNumbers;

  /// Returns this times the factor of an operation for which isNumberTimes() holds.
  ScoreFactor times(mlir::Operation *op) const;
  /// Returns a number that is unknown at compile time; null if there is none.
  mlir::Value unknown() const {
    return !numbers.empty()     ? numbers.back()
           : keyNumbers.empty() ? mlir::Value()
                                : keyNumbers.back();
  }
  bool operator==(const ScoreFactor &other) const {
    return constant == other.constant && numbers == other.numbers && keyNumbers == other.keyNumbers;
  }
};

/// Returns whether an operation multiplies its first operand by one number: a constant, a weight,
/// or a number of each row.
bool isNumberTimes(mlir::Operation *op);

/// A table of biases by distance, times a factor whose numbers are weights.
struct DistanceBias {
  mlir::FlatSymbolRefAttr table;
  ScoreFactor factor;
  bool operator==(const DistanceBias &other) const {
    return table == other.table && factor == other.factor;
  }
};

/// A product of queries and keys, or a sum over pairs instead. Scores are one of these, or a sum of
/// several products.
struct ScoreProduct {
  transformer::ContractOp contract;
  AttentionOperand query;
  AttentionOperand key;
  /// The size of a head.
  int64_t size = 0;
  ScoreFactor factor;
  /// The spread of the constants of queries and keys that are moved into the factor: how far from 1
  /// they are.
  double spread = 1.0;
  /// For a sum over pairs: their function and weights.
  std::optional<PairScores> pairs;
};

/// One contraction of the probabilities with values. Its result is replaced.
struct WeightedSum {
  transformer::ContractOp contract;
  AttentionOperand value;
  int64_t valueSize = 0;
  /// The product of all factors on probabilities and values, which is applied to the result.
  double resultScale = 1.0;
  /// The spread of these factors, assuming that none cancels another.
  double spread = 1.0;
  /// Axis i of the result of `contract` is axis `resultOrder[i]` of [t, h, d]; of [t, d] where it
  /// sums over the heads too.
  llvm::SmallVector<int64_t, 3> resultOrder;
  bool sumsHeads = false;
  /// (P x) W is P (x W): the weight by which `contract` maps the summed rows, and its axes for
  /// [head, made, summed]. Null if there is none.
  transformer::WeightOp map;
  std::array<int64_t, 3> mapOrder = {0, 1, 2};
};

/// One softmax with its weighted sums, and all data needed to write them as
/// `transformer.attention`, or as `transformer.attention_weights` and `transformer.attend`.
struct AttentionMatch {
  transformer::SoftmaxOp softmax;
  /// In program order. arrangeProducts() in AttentionProducts.h decides how they become one.
  llvm::SmallVector<ScoreProduct, 1> products;
  int64_t heads = 0;
  /// In program order; empty if only results and other users use the probabilities.
  llvm::SmallVector<WeightedSum> sums;
  /// Whether the probabilities, or views of them, are a result of the function.
  bool isResult = false;
  /// Why another user of the probabilities is not a sum of values. Empty if there is no such user.
  std::string others;
  /// Factors and transposes between the probabilities and their users, in def-before-use order.
  llvm::SmallVector<mlir::Operation *> views;
  transformer::Visibility visibility = transformer::Visibility::all();
  /// The scores of keys that a causal mask hides; null if they have no weight.
  transformer::HiddenAttr hidden;
  /// The tables of biases by distance that are added to the scores.
  llvm::SmallVector<DistanceBias, 1> biases;
  /// The function applied to scores between the products and the masks; empty for the identity.
  llvm::SmallVector<transformer::ScoreStep> score;

  /// Returns the constant factor of the first product.
  double scale() const { return products.front().factor.constant; }
};

/// Matches scores of pairs that no softmax uses, like those of an attention without values; on
/// failure `reason` is the first condition that did not hold.
llvm::FailureOr<AttentionMatch> matchPairScores(transformer::ContractOp contract,
                                                std::string &reason);

/// Returns the weights [t, h, k] with which a contraction sums values over the keys, if they do not
/// come directly from a softmax: from another normaliser, or changed after the softmax. Null if
/// there are none.
mlir::Value changedWeights(transformer::ContractOp contract);
/// Returns whether weights have the layout that kernels read, with the numbers of a row adjacent.
/// Transposed weights have as many numbers per key as there are rows.
bool areOfRowsFirst(mlir::Value weights);

/// Matches such a contraction as the one sum of an attention without products; on failure `reason`
/// is the first condition that did not hold.
llvm::FailureOr<AttentionMatch> matchWeightedSum(transformer::ContractOp contract,
                                                 std::string &reason);

/// Matches the attention around `softmax`; on failure `reason` is the first condition that did not
/// hold.
llvm::FailureOr<AttentionMatch> matchAttention(transformer::SoftmaxOp softmax, std::string &reason);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONMATCH_H
