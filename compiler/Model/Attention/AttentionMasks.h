// SPDX-License-Identifier: Apache-2.0
///
/// Reads what a program does to scores before their softmax: masks, which hide keys, and biases by
/// distance. Attention is fused only where all of it is understood.
#ifndef HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONMASKS_H
#define HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONMASKS_H

#include "compiler/Model/Attention/AttentionMatch.h"

#include <string>

namespace heddle {

/// A number as reasons print it: six digits, no trailing zeros.
std::string printNumber(double number);

/// Collects masks and the bias from the softmax backwards. A function that fails sets the reason.
class AttentionMasks {
public:
  explicit AttentionMasks(std::string &reason) : reason(reason) {}

  /// Whether a value is made of nothing but mask biases and biases by distance: their sums and
  /// multiples. No, if it is made of very many.
  static bool isBias(mlir::Value value);

  /// What is met from now on comes before maths that is no factor.
  void enterMaths() { ++pieces; }

  /// Scores where the mask is true. `after` is the product of the factors between this selection
  /// and the softmax.
  llvm::LogicalResult addSelection(transformer::SelectOp select, const ScoreFactor &after);

  /// What is added to the scores, a bias as isBias() says.
  llvm::LogicalResult addBias(mlir::Value added, const ScoreFactor &after);

  /// Fails unless every mask and the bias are of these queries and keys.
  llvm::LogicalResult checkSegments(mlir::ValueRange segments);

  /// Makes of all masks what the fused operation says; the bias and the masks are all there.
  llvm::LogicalResult resolve();

  /// The keys that no mask hides.
  transformer::Visibility getVisibility() const { return visibility; }

  /// The scores of hidden keys; null where they have no weight, or none is hidden.
  transformer::HiddenAttr getHidden() const { return hidden; }

  /// The tables of the biases by distance.
  llvm::ArrayRef<DistanceBias> getBiases() const { return biases; }

private:
  llvm::LogicalResult decline(const llvm::Twine &text);
  /// What all masks that hide the same keys do to their scores.
  struct HiddenKeys {
    transformer::Visibility seen;
    /// What masks have written over the scores, or added to them, and whether they have written:
    /// then what comes before, nearer to the product, makes no difference.
    double number = 0;
    bool isWritten = false;
    /// How many of the biases are added to what was written.
    size_t biasesAfter = 0;
  };
  /// The keys that a mask hides; null if it hides none.
  llvm::FailureOr<HiddenKeys *> addMask(mlir::Value mask);
  /// Adds `hiding` times `after` to the scores of hidden keys.
  llvm::LogicalResult addNumber(HiddenKeys &keys, double hiding, const ScoreFactor &after);
  llvm::LogicalResult resolveTables();
  llvm::LogicalResult resolveFinite(const HiddenKeys &keys);
  llvm::LogicalResult addDistances(transformer::RelativeBiasOp distances, const ScoreFactor &after);

  llvm::SmallVector<transformer::MaskOp> masks;
  llvm::SmallVector<transformer::RelativeBiasOp> distances;
  /// One for each of `distances`.
  llvm::SmallVector<DistanceBias> biases;
  /// Pieces of maths that were met so far, and when the biases were met.
  size_t pieces = 0;
  size_t piecesAfterBiases = 0;
  /// By what they see, in the order in which masks were met.
  llvm::SmallVector<HiddenKeys, 2> hiddenKeys;
  transformer::Visibility visibility = transformer::Visibility::all();
  transformer::HiddenAttr hidden;
  std::string &reason;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_ATTENTION_ATTENTIONMASKS_H
