// SPDX-License-Identifier: Apache-2.0
///
/// Builders of the views between rows and heads. Passes insert such views freely; simplifyLayouts()
/// removes those that cancel.
#ifndef HEDDLE_COMPILER_MODEL_ATTENTION_HEADLAYOUT_H
#define HEDDLE_COMPILER_MODEL_ATTENTION_HEADLAYOUT_H

#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace heddle {

/// Returns whether a permutation leaves every axis in place.
bool isIdentity(llvm::ArrayRef<int64_t> permutation);

/// Returns `input` with permuted axes; `input` itself for the identity.
mlir::Value transposed(mlir::OpBuilder &builder, mlir::Location location, mlir::Value input,
                       llvm::ArrayRef<int64_t> permutation);

/// Returns [t, h, d] as rows [t, h * d].
mlir::Value mergedHeads(mlir::OpBuilder &builder, mlir::Location location, mlir::Value heads);

/// Returns rows [t, h * d] as [t, h, d].
mlir::Value splitHeads(mlir::OpBuilder &builder, mlir::Location location, mlir::Value rows,
                       int64_t heads, int64_t size);

/// Repeats each head `times` times: [t, g, d] to [t, g * times, d].
mlir::Value repeatedHeads(mlir::OpBuilder &builder, mlir::Location location, mlir::Value heads,
                          int64_t times);

/// Returns the sum of the heads of rows [t, h * d]: [t, d].
mlir::Value sumOfHeads(mlir::OpBuilder &builder, mlir::Location location, mlir::Value rows,
                       int64_t heads);

/// Cancels merge_heads of split_heads, split_heads of merge_heads, transposes of transposes.
void simplifyLayouts(mlir::ModuleOp module);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_ATTENTION_HEADLAYOUT_H
