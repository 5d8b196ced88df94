// SPDX-License-Identifier: Apache-2.0
///
/// Finding softmax(scale * Q K^T + bias + mask) V around a softmax, whatever its spelling.
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
  /// Rows [t, h * d], or a tensor of rank 3 whose axes `order` are [t, h, d].
  mlir::Value tensor;
  std::array<int64_t, 3> order = {0, 1, 2};
  bool isRows() const {
    return llvm::cast<mlir::RankedTensorType>(tensor.getType()).getRank() == 2;
  }
};

/// One attention, and everything needed to write it as `transformer.attention`.
struct AttentionMatch {
  transformer::SoftmaxOp softmax;
  transformer::ContractOp scores;
  /// The contraction of probabilities and values, whose result is replaced. The probabilities may
  /// be a result of the function as well: what computes them then stays beside.
  transformer::ContractOp weighted;
  AttentionOperand query;
  AttentionOperand key;
  AttentionOperand value;
  int64_t heads = 0;
  int64_t keySize = 0;
  int64_t valueSize = 0;
  /// The product of all factors on queries, keys and scores.
  double scale = 1.0;
  /// The product of all factors on probabilities and values: it is applied to the result.
  double resultScale = 1.0;
  transformer::Visibility visibility = transformer::Visibility::All;
  /// The table of biases by distance; null if there is none.
  mlir::FlatSymbolRefAttr bias;
  /// Axis i of the result of `weighted` is axis `resultOrder[i]` of [t, h, d].
  std::array<int64_t, 3> resultOrder = {0, 1, 2};
};

/// The attention around `softmax`; on failure `reason` is the first condition that did not hold.
llvm::FailureOr<AttentionMatch> matchAttention(transformer::SoftmaxOp softmax, std::string &reason);

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_ATTENTIONMATCH_H
