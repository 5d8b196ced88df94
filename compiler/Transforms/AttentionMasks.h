// SPDX-License-Identifier: Apache-2.0
///
/// What is done to scores on the way to their softmax, selected or added: masks, which leave some
/// keys, and a bias by distance.
#ifndef HEDDLE_COMPILER_TRANSFORMS_ATTENTIONMASKS_H
#define HEDDLE_COMPILER_TRANSFORMS_ATTENTIONMASKS_H

#include "dialects/Transformer/Transformer.h"

#include <string>

namespace heddle {

/// Whether segments are of the same rows: one value, or histories of the same rows, of which a
/// program may have several.
bool areSameSegments(mlir::Value left, mlir::Value right);

/// A number as reasons print it: six digits, no trailing zeros.
std::string printNumber(double number);

/// Collects masks and the bias from the softmax backwards. A function that fails sets the reason.
class AttentionMasks {
public:
  explicit AttentionMasks(std::string &reason) : reason(reason) {}

  /// Scores where the mask is true. `after` is the product of the factors between this selection
  /// and the softmax: it must leave the hidden value hidden.
  llvm::LogicalResult addSelection(transformer::SelectOp select, double after);

  /// What is added to the scores: mask biases, biases by distance, their sums and multiples.
  llvm::LogicalResult addBias(mlir::Value added, double after);

  /// Fails unless every mask and the bias are of these queries and keys.
  llvm::LogicalResult checkSegments(mlir::ValueRange segments);

  /// The keys that all masks leave: `causal` if one of them is.
  transformer::Visibility getVisibility() const { return visibility; }

  /// The table of the bias by distance; null if there is none.
  mlir::FlatSymbolRefAttr getBias() { return bias ? bias.getTableAttr() : nullptr; }

private:
  llvm::LogicalResult decline(const llvm::Twine &text);
  llvm::LogicalResult addMask(mlir::Value mask, double hidden, double after);

  llvm::LogicalResult addDistances(transformer::RelativeBiasOp distances, double after);

  llvm::SmallVector<transformer::MaskOp> masks;
  transformer::RelativeBiasOp bias;
  transformer::Visibility visibility = transformer::Visibility::All;
  std::string &reason;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_ATTENTIONMASKS_H
