// SPDX-License-Identifier: Apache-2.0
///
/// Element-wise maths between the product of queries and keys and the softmax, as steps of
/// `#transformer.score`. It is collected from the softmax backwards, in pieces with factors, biases
/// and transposes between them.
#ifndef HEDDLE_COMPILER_MODEL_ATTENTION_SCOREMATHS_H
#define HEDDLE_COMPILER_MODEL_ATTENTION_SCOREMATHS_H

#include "dialects/Transformer/Transformer.h"

#include <optional>

namespace heddle {

/// Steps from one value of the program to another.
struct MathsPiece {
  /// What s0 is.
  mlir::Value input;
  llvm::SmallVector<transformer::ScoreStep> steps;
};

/// The element-wise maths that ends with `value` and has one input; none if there is none.
std::optional<MathsPiece> elementwiseBefore(mlir::Value value);

/// The same; none if it is no more than a sum or a factor, which products of queries and keys take
/// in.
std::optional<MathsPiece> mathsBefore(mlir::Value value);

/// Whether an operation makes zeros of what is no number among probabilities. Every row sees a key,
/// so that there is nothing to do where scores are numbers.
bool isNanGuard(mlir::Operation *op);

/// All steps so far, the last ones first known.
class ScoreMaths {
public:
  bool empty() const { return steps.empty(); }
  llvm::ArrayRef<transformer::ScoreStep> getSteps() const { return steps; }

  /// Puts steps before those that are there.
  void prepend(llvm::ArrayRef<transformer::ScoreStep> before);

  /// Takes leading factors out, which are then the scale's: returns their product.
  double takeFactor();

private:
  llvm::SmallVector<transformer::ScoreStep> steps;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_ATTENTION_SCOREMATHS_H
