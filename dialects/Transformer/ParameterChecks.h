// SPDX-License-Identifier: Apache-2.0
///
/// Checks that the verifiers of operations on parameters and states share. They look a symbol up
/// and compare its shape, with the same wording for all errors. Internal to the dialect.
#ifndef HEDDLE_DIALECTS_TRANSFORMER_PARAMETERCHECKS_H
#define HEDDLE_DIALECTS_TRANSFORMER_PARAMETERCHECKS_H

#include "dialects/Transformer/Transformer.h"

#include <string>

namespace heddle::transformer {

/// Prints a shape as `384x12x?`.
std::string printShape(llvm::ArrayRef<int64_t> shape);

/// Returns the parameter that `symbol` names as seen from `user`. If there is none, emits an error
/// that calls it `role`, for example "weight", and returns null.
ParameterOp lookUpParameter(mlir::Operation *user, llvm::StringRef role,
                            mlir::FlatSymbolRefAttr symbol,
                            mlir::SymbolTableCollection &symbolTable);

/// Checks that `symbol` names a parameter of shape `expected`.
llvm::LogicalResult verifyParameterShape(mlir::Operation *user, llvm::StringRef role,
                                         mlir::FlatSymbolRefAttr symbol,
                                         llvm::ArrayRef<int64_t> expected,
                                         mlir::SymbolTableCollection &symbolTable);

/// Checks that `weight` names a parameter [outputs, inputs], and `bias`, if given, a parameter
/// [outputs].
llvm::LogicalResult verifyLinearMap(mlir::Operation *user, mlir::FlatSymbolRefAttr weight,
                                    mlir::FlatSymbolRefAttr bias, int64_t inputs, int64_t outputs,
                                    mlir::SymbolTableCollection &symbolTable);

/// Checks that `symbol` names a table: a parameter [entries, width].
llvm::LogicalResult verifyTable(mlir::Operation *user, mlir::FlatSymbolRefAttr symbol,
                                int64_t width, mlir::SymbolTableCollection &symbolTable);

/// Checks that `symbol` names a parameter [heads, 2 * distance + 1].
llvm::LogicalResult verifyDistanceTable(mlir::Operation *user, mlir::FlatSymbolRefAttr symbol,
                                        int64_t heads, mlir::SymbolTableCollection &symbolTable);

/// Checks that a state is the one from before the run.
llvm::LogicalResult verifyEarlier(mlir::Operation *user, mlir::Value state);

} // namespace heddle::transformer

#endif // HEDDLE_DIALECTS_TRANSFORMER_PARAMETERCHECKS_H
