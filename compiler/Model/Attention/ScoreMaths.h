// SPDX-License-Identifier: Apache-2.0
///
/// Element-wise functions between the product of queries and keys and the softmax, as steps of
/// `#transformer.score`. They are collected backwards from the softmax, in pieces with factors,
/// biases and transposes between.
#ifndef HEDDLE_COMPILER_MODEL_ATTENTION_SCOREMATHS_H
#define HEDDLE_COMPILER_MODEL_ATTENTION_SCOREMATHS_H

#include "dialects/Transformer/Transformer.h"

#include <optional>

namespace heddle {

/// The steps from one value of the program to another.
struct MathsPiece {
  /// The value of s0.
  mlir::Value input;
  llvm::SmallVector<transformer::ScoreStep> steps;
};

/// Returns the element-wise function with one input that ends at `value`; nothing if there is none.
std::optional<MathsPiece> elementwiseBefore(mlir::Value value);

/// The same; nothing for a single sum or factor, which products of queries and keys absorb.
std::optional<MathsPiece> mathsBefore(mlir::Value value);

/// Returns whether an operation replaces NaN by zero among probabilities. Every row sees a key, so
/// it has no effect if scores are numbers.
bool isNanGuard(mlir::Operation *op);

/// Collects all steps, the last ones first.
class ScoreMaths {
public:
  bool empty() const { return steps.empty(); }
  llvm::ArrayRef<transformer::ScoreStep> getSteps() const { return steps; }

  /// Inserts steps before the existing ones.
  void prepend(llvm::ArrayRef<transformer::ScoreStep> before);

  /// Removes leading factors and returns their product, which becomes part of the scale.
  double takeFactor();

private:
  llvm::SmallVector<transformer::ScoreStep> steps;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_ATTENTION_SCOREMATHS_H
