// SPDX-License-Identifier: Apache-2.0
///
/// Finding softmax(scale * Q K^T + bias + mask) V around a softmax, whatever its spelling, for one
/// V or for several that share the probabilities.
///
/// Axes are compared by what they do, never by their letters or their order: the softmax's first
/// axis is the query row, its second the head, its third the key; the axis that Q and K share and
/// the scores lack is the head size. Factors may stand anywhere between the rows and the result.
#ifndef HEDDLE_COMPILER_TRANSFORMS_ATTENTIONMATCH_H
#define HEDDLE_COMPILER_TRANSFORMS_ATTENTIONMATCH_H

#include "dialects/Transformer/Transformer.h"

#include <array>
#include <string>

namespace heddle {

/// Queries, keys or values as attention needs them.
struct AttentionOperand {
  /// Rows [t, h * d], or a tensor whose axes `order` are [t, h, d] or, of rank 2, [t, h * d].
  mlir::Value tensor;
  llvm::SmallVector<int64_t, 3> order;
  /// Neighbouring heads of scores that have one head of this.
  int64_t share = 1;
  bool isRows() const { return order == llvm::SmallVector<int64_t, 3>{0, 1}; }
};

/// One contraction of the probabilities and values, whose result is replaced.
struct WeightedSum {
  transformer::ContractOp contract;
  AttentionOperand value;
  int64_t valueSize = 0;
  /// The product of all factors on probabilities and values: it is applied to the result.
  double resultScale = 1.0;
  /// Axis i of the result of `contract` is axis `resultOrder[i]` of [t, h, d].
  std::array<int64_t, 3> resultOrder = {0, 1, 2};
};

/// One softmax with its weighted sums, and everything needed to write them as
/// `transformer.attention`, or as `transformer.attention_weights` and `transformer.attend`.
struct AttentionMatch {
  transformer::SoftmaxOp softmax;
  transformer::ContractOp scores;
  AttentionOperand query;
  AttentionOperand key;
  int64_t heads = 0;
  int64_t keySize = 0;
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
  /// The product of all factors on queries, keys and scores.
  double scale = 1.0;
  transformer::Visibility visibility = transformer::Visibility::All;
  /// The scores of keys that a causal mask hides; null if they have no weight.
  transformer::HiddenAttr hidden;
  /// The table of biases by distance; null if there is none.
  mlir::FlatSymbolRefAttr bias;
};

/// The attention around `softmax`; on failure `reason` is the first condition that did not hold.
llvm::FailureOr<AttentionMatch> matchAttention(transformer::SoftmaxOp softmax, std::string &reason);

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_ATTENTIONMATCH_H
