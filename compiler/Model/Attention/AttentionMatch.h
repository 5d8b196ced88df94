// SPDX-License-Identifier: Apache-2.0
///
/// Finding softmax(f(scale * Q K^T) + bias + mask) V around a softmax, whatever its spelling, for
/// one V or for several that share the probabilities.
///
/// Axes are compared by what they do, never by their letters or their order: the softmax's first
/// axis is the query row, its second the head, its third the key; the axis that Q and K share and
/// the scores lack is the head size. Factors may stand anywhere between the rows and the result.
#ifndef HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONMATCH_H
#define HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONMATCH_H

#include "compiler/Model/Attention/PairScores.h"

#include <array>
#include <optional>
#include <string>

namespace heddle {

/// Queries, keys or values as attention needs them.
struct AttentionOperand {
  /// Rows [t, h * d], or a tensor whose axes `order` are [t, h, d] or, of rank 2, [t, h * d].
  mlir::Value tensor;
  llvm::SmallVector<int64_t, 3> order;
  /// Neighbouring heads of scores that have one head of this.
  int64_t share = 1;
  /// What multiplies it, a number of each row; of keys alone.
  llvm::SmallVector<mlir::Value, 1> numbers;
  bool isRows() const { return order == llvm::SmallVector<int64_t, 3>{0, 1}; }
};

/// What multiplies scores: a constant, and numbers that the compiler does not know.
struct ScoreFactor {
  double constant = 1.0;
  /// Weights of one number, or rows of one number each.
  llvm::SmallVector<mlir::Value, 1> numbers;
  /// Rows of one number for each key.
  llvm::SmallVector<mlir::Value, 1> keyNumbers;

  /// This times what an operation multiplies by, which isNumberTimes().
  ScoreFactor times(mlir::Operation *op) const;
  /// A number that the compiler does not know; null if it knows all.
  mlir::Value unknown() const {
    return !numbers.empty()     ? numbers.back()
           : keyNumbers.empty() ? mlir::Value()
                                : keyNumbers.back();
  }
  bool operator==(const ScoreFactor &other) const {
    return constant == other.constant && numbers == other.numbers && keyNumbers == other.keyNumbers;
  }
};

/// Whether an operation multiplies its first operand by one number: a constant, a weight, or a
/// number of each row.
bool isNumberTimes(mlir::Operation *op);

/// A table of biases by distance, times a factor whose numbers are weights.
struct DistanceBias {
  mlir::FlatSymbolRefAttr table;
  ScoreFactor factor;
  bool operator==(const DistanceBias &other) const {
    return table == other.table && factor == other.factor;
  }
};

/// A product of queries and keys, or a sum over pairs in its place. Scores are one, or the sum of
/// several products.
struct ScoreProduct {
  transformer::ContractOp contract;
  AttentionOperand query;
  AttentionOperand key;
  /// The size of a head.
  int64_t size = 0;
  ScoreFactor factor;
  /// How far from 1 the constants of queries and keys are, which become part of the factor.
  double spread = 1.0;
  /// Where it is a sum over pairs: their maths and weights.
  std::optional<PairScores> pairs;
};

/// One contraction of the probabilities and values, whose result is replaced.
struct WeightedSum {
  transformer::ContractOp contract;
  AttentionOperand value;
  int64_t valueSize = 0;
  /// The product of all factors on probabilities and values: it is applied to the result.
  double resultScale = 1.0;
  /// How far from 1 these factors are, all in one direction.
  double spread = 1.0;
  /// Axis i of the result of `contract` is axis `resultOrder[i]` of [t, h, d]; of [t, d] where it
  /// sums over the heads too.
  llvm::SmallVector<int64_t, 3> resultOrder;
  bool sumsHeads = false;
  /// (P x) W is P (x W): the weight by which `contract` maps the rows that the probabilities were
  /// summed with, and the axes of it that are [head, made, summed]. Null if there is none.
  transformer::WeightOp map;
  std::array<int64_t, 3> mapOrder = {0, 1, 2};
};

/// One softmax with its weighted sums, and everything needed to write them as
/// `transformer.attention`, or as `transformer.attention_weights` and `transformer.attend`.
struct AttentionMatch {
  transformer::SoftmaxOp softmax;
  /// In the order of the program; planProducts() in AttentionProducts.h says how they become one.
  llvm::SmallVector<ScoreProduct, 1> products;
  int64_t heads = 0;
  /// In the order of the program; none if nothing but results and others use the probabilities.
  llvm::SmallVector<WeightedSum> sums;
  /// Whether the probabilities are a result of the function, as they are or seen through views.
  bool isResult = false;
  /// What reads the probabilities themselves, being no sum of values: why it is none. Empty if
  /// there is no such user.
  std::string others;
  /// Factors and transposes between the probabilities and what uses them, each before those that
  /// use it.
  llvm::SmallVector<mlir::Operation *> views;
  transformer::Visibility visibility = transformer::Visibility::all();
  /// The scores of keys that a causal mask hides; null if they have no weight.
  transformer::HiddenAttr hidden;
  /// The tables of biases by distance that are added to the scores.
  llvm::SmallVector<DistanceBias, 1> biases;
  /// What is done to scores between the products and the masks; none: nothing.
  llvm::SmallVector<transformer::ScoreStep> score;

  /// The constant factor of the first product.
  double scale() const { return products.front().factor.constant; }
};

/// Scores of pairs that no softmax takes in, as those of an attention without values; on failure
/// `reason` is the first condition that did not hold.
llvm::FailureOr<AttentionMatch> matchPairScores(transformer::ContractOp contract,
                                                std::string &reason);

/// The weights [t, h, k] with which a contraction sums values over the keys, where no softmax gives
/// them: those of another normaliser, or weights that were changed after it. Null if there are
/// none.
mlir::Value changedWeights(transformer::ContractOp contract);
/// Whether these lie as kernels read them: the numbers of a row come first. Weights that were
/// turned are as many for each key as there are rows.
bool areOfRowsFirst(mlir::Value weights);

/// Such a contraction, as the one sum of an attention without products; on failure `reason` is the
/// first condition that did not hold.
llvm::FailureOr<AttentionMatch> matchWeightedSum(transformer::ContractOp contract,
                                                 std::string &reason);

/// The attention around `softmax`; on failure `reason` is the first condition that did not hold.
llvm::FailureOr<AttentionMatch> matchAttention(transformer::SoftmaxOp softmax, std::string &reason);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONMATCH_H
