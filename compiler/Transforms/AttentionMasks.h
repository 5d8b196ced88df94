// SPDX-License-Identifier: Apache-2.0
///
/// The masks on the way from scores to their softmax, selected or added: which keys they leave.
#ifndef HEDDLE_COMPILER_TRANSFORMS_ATTENTIONMASKS_H
#define HEDDLE_COMPILER_TRANSFORMS_ATTENTIONMASKS_H

#include "dialects/Transformer/Transformer.h"

#include <string>

namespace heddle {

/// A number as reasons print it: six digits, no trailing zeros.
std::string printNumber(double number);

/// Collects masks from the softmax backwards. A function that fails sets the reason.
class AttentionMasks {
public:
  explicit AttentionMasks(std::string &reason) : reason(reason) {}

  /// Scores where the mask is true. `after` is the product of the factors between this selection
  /// and the softmax: it must leave the hidden value hidden.
  llvm::LogicalResult addSelection(transformer::SelectOp select, double after);

  /// What is added to the scores: mask biases, their sums and multiples.
  llvm::LogicalResult addBias(mlir::Value bias, double after);

  /// Fails unless every mask is one of these queries and keys.
  llvm::LogicalResult checkSegments(mlir::ValueRange segments);

  /// The keys that all masks leave: `causal` if one of them is.
  transformer::Visibility getVisibility() const { return visibility; }

private:
  llvm::LogicalResult decline(const llvm::Twine &text);
  llvm::LogicalResult addMask(mlir::Value mask, double hidden, double after);

  llvm::SmallVector<transformer::MaskOp> masks;
  transformer::Visibility visibility = transformer::Visibility::All;
  std::string &reason;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_ATTENTIONMASKS_H
