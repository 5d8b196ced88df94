// SPDX-License-Identifier: Apache-2.0
///
/// What is done to scores on the way to their softmax, selected or added: masks, which hide some
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
  /// and the softmax.
  llvm::LogicalResult addSelection(transformer::SelectOp select, double after);

  /// What is added to the scores: mask biases, biases by distance, their sums and multiples.
  llvm::LogicalResult addBias(mlir::Value added, double after);

  /// Fails unless every mask and the bias are of these queries and keys.
  llvm::LogicalResult checkSegments(mlir::ValueRange segments);

  /// Makes of all masks what the fused operation says; the bias and the masks are all there.
  llvm::LogicalResult resolve();

  /// `causal` if one of the masks is and makes a difference.
  transformer::Visibility getVisibility() const { return visibility; }

  /// The scores of hidden keys; null where they have no weight, or none is hidden.
  transformer::HiddenAttr getHidden() const { return hidden; }

  /// The table of the bias by distance; null if there is none.
  mlir::FlatSymbolRefAttr getBias() { return bias ? bias.getTableAttr() : nullptr; }

private:
  llvm::LogicalResult decline(const llvm::Twine &text);
  /// Whether the mask hides any keys.
  llvm::FailureOr<bool> addMask(mlir::Value mask);
  /// Adds `hiding` times `after` to the scores of hidden keys.
  llvm::LogicalResult addNumber(double hiding, double after);
  llvm::LogicalResult addDistances(transformer::RelativeBiasOp distances, double after);

  llvm::SmallVector<transformer::MaskOp> masks;
  transformer::RelativeBiasOp bias;
  transformer::Visibility visibility = transformer::Visibility::All;
  transformer::HiddenAttr hidden;
  /// What masks have written over the scores of hidden keys, or added to them, and whether they
  /// have written: then what comes before, nearer to the product, makes no difference.
  double number = 0;
  bool isWritten = false;
  /// Whether the bias is added to what was written.
  bool isBiasAfter = false;
  std::string &reason;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_ATTENTIONMASKS_H
