// SPDX-License-Identifier: Apache-2.0
///
/// Analyses operations between scores and their softmax: masks, which hide keys, and biases by
/// distance. Attention is fused only if all of them are understood.
#ifndef HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONMASKS_H
#define HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONMASKS_H

#include "compiler/Model/Attention/AttentionMatch.h"

#include <string>

namespace heddle {

/// Prints a number for reasons: six digits, no trailing zeros.
std::string printNumber(double number);

/// Collects masks and the bias, walking backwards from the softmax. A function that fails sets the
/// reason.
class AttentionMasks {
public:
  explicit AttentionMasks(std::string &reason) : reason(reason) {}

  /// Returns whether a value consists of sums and multiples of mask biases and biases by distance
  /// only. Returns false if there are too many of them.
  static bool isBias(mlir::Value value);

  /// Marks that masks and biases added from now on precede a function other than a factor.
  void enterMaths() { ++pieces; }

  /// Adds a selection of scores by a mask. `after` is the product of the factors between it and the
  /// softmax.
  llvm::LogicalResult addSelection(transformer::SelectOp select, const ScoreFactor &after);

  /// Adds a value that is added to the scores and for which isBias() holds.
  llvm::LogicalResult addBias(mlir::Value added, const ScoreFactor &after);

  /// Fails unless every mask and the bias refer to these queries and keys.
  llvm::LogicalResult checkSegments(mlir::ValueRange segments);

  /// Combines all masks into the attributes of the fused operation. Call it when all masks and
  /// biases are added.
  llvm::LogicalResult resolve();

  /// Returns the keys that no mask hides.
  transformer::Visibility getVisibility() const { return visibility; }

  /// Returns the scores of hidden keys; null if they have no weight, or if no key is hidden.
  transformer::HiddenAttr getHidden() const { return hidden; }

  /// Returns the tables of the biases by distance.
  llvm::ArrayRef<DistanceBias> getBiases() const { return biases; }

private:
  llvm::LogicalResult decline(const llvm::Twine &text);
  /// The combined effect of all masks that hide the same keys.
  struct HiddenKeys {
    transformer::Visibility seen;
    /// The number that the masks assign or add to the scores, and whether one assigns it. Once it
    /// is assigned, masks that are applied earlier have no effect.
    double number = 0;
    bool isWritten = false;
    /// How many of the biases are added after the assignment.
    size_t biasesAfter = 0;
  };
  /// Returns the keys that a mask hides; null if it hides none.
  llvm::FailureOr<HiddenKeys *> addMask(mlir::Value mask);
  /// Adds `hiding` times `after` to the scores of hidden keys.
  llvm::LogicalResult addNumber(HiddenKeys &keys, double hiding, const ScoreFactor &after);
  llvm::LogicalResult resolveTables();
  llvm::LogicalResult resolveFinite(const HiddenKeys &keys);
  llvm::LogicalResult addDistances(transformer::RelativeBiasOp distances, const ScoreFactor &after);

  llvm::SmallVector<transformer::MaskOp> masks;
  llvm::SmallVector<transformer::RelativeBiasOp> distances;
  /// One entry per element of `distances`.
  llvm::SmallVector<DistanceBias> biases;
  /// The number of functions met so far, and its value when the biases were met.
  size_t pieces = 0;
  size_t piecesAfterBiases = 0;
  /// By their visible keys, in the order in which masks were met.
  llvm::SmallVector<HiddenKeys, 2> hiddenKeys;
  transformer::Visibility visibility = transformer::Visibility::all();
  transformer::HiddenAttr hidden;
  std::string &reason;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONMASKS_H
