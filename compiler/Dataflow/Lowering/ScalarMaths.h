// SPDX-License-Identifier: Apache-2.0
///
/// The scalar maths of epilogues: written, and found again in what passes made of them. Products
/// and sums may be contracted into fused multiply-adds, nothing else may be rearranged.
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

/// The value of an activation.
mlir::Value createActivation(mlir::OpBuilder &builder, mlir::Location location,
                             transformer::Activation activation, mlir::Value input);

/// The value of what two elements become.
mlir::Value createCombination(mlir::OpBuilder &builder, mlir::Location location,
                              transformer::Combination combination, mlir::Value left,
                              mlir::Value right);

/// Finds activations in scalar maths by comparing it with what createActivation() writes.
class ActivationMatcher {
public:
  explicit ActivationMatcher(mlir::MLIRContext *context);

  struct Match {
    transformer::Activation activation;
    /// The operations of its maths, the last of all included.
    llvm::SmallPtrSet<mlir::Operation *, 8> operations;
  };
  /// The activation whose maths ends with `last`, if there is one.
  std::optional<Match> match(mlir::Operation *last);

private:
  /// A block for each activation: its argument is the input, its last operation the value.
  mlir::Region maths;
  llvm::SmallVector<transformer::Activation> activations;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_DATAFLOW_LOWERING_SCALARMATHS_H
