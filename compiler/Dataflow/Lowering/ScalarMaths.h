// SPDX-License-Identifier: Apache-2.0
///
/// The scalar maths of epilogues. Products and sums may be contracted into fused multiply-adds,
/// nothing else may be rearranged.
#ifndef HEDDLE_COMPILER_DATAFLOW_LOWERING_SCALARMATHS_H
#define HEDDLE_COMPILER_DATAFLOW_LOWERING_SCALARMATHS_H

#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/Builders.h"

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

} // namespace heddle

#endif // HEDDLE_COMPILER_DATAFLOW_LOWERING_SCALARMATHS_H
