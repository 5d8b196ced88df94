// SPDX-License-Identifier: Apache-2.0
///
/// Builds the scalar maths of epilogues, and recognises it after passes. Passes may contract
/// products and sums into fused multiply-adds, but not reassociate anything.
#ifndef HEDDLE_COMPILER_DATAFLOW_LOWERING_SCALARMATHS_H
#define HEDDLE_COMPILER_DATAFLOW_LOWERING_SCALARMATHS_H

#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <optional>

namespace heddle {

mlir::Value createNumber(mlir::OpBuilder &builder, mlir::Location location, mlir::FloatAttr number);
mlir::Value createNumber(mlir::OpBuilder &builder, mlir::Location location, double number);
mlir::Value createSum(mlir::OpBuilder &builder, mlir::Location location, mlir::Value left,
                      mlir::Value right);
mlir::Value createProduct(mlir::OpBuilder &builder, mlir::Location location, mlir::Value left,
                          mlir::Value right);

/// Emits an activation.
mlir::Value createActivation(mlir::OpBuilder &builder, mlir::Location location,
                             transformer::Activation activation, mlir::Value input);

/// Emits a combination of two elements.
mlir::Value createCombination(mlir::OpBuilder &builder, mlir::Location location,
                              transformer::Combination combination, mlir::Value left,
                              mlir::Value right);

/// Recognises activations in scalar maths by comparison with the output of createActivation().
class ActivationMatcher {
public:
  explicit ActivationMatcher(mlir::MLIRContext *context);

  struct Match {
    transformer::Activation activation;
    /// The operations of the activation, including the last one.
    llvm::SmallPtrSet<mlir::Operation *, 8> operations;
  };
  /// Returns the activation that ends at `last`, if there is one.
  std::optional<Match> match(mlir::Operation *last);

private:
  /// A block for each activation: its argument is the input, its last operation the value.
  mlir::Region maths;
  llvm::SmallVector<transformer::Activation> activations;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_DATAFLOW_LOWERING_SCALARMATHS_H
