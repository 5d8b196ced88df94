// SPDX-License-Identifier: Apache-2.0
///
/// Whether two parameters have the same values: by their hashes, where there is one who reads them;
/// else they are equal where they are derived in the same way from the same tensors.
#ifndef HEDDLE_COMPILER_TRANSFORMS_PARAMETERCONTENT_H
#define HEDDLE_COMPILER_TRANSFORMS_PARAMETERCONTENT_H

#include "compiler/Transforms/ParameterHash.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseMap.h"

namespace heddle {

/// Rows of a parameter, along its first axis.
struct ParameterRows {
  /// Null: zeros, whatever they are compared with.
  mlir::FlatSymbolRefAttr symbol;
  int64_t first = 0;
  int64_t count = 0;
};

/// Compares the parameters of a module. A tensor is read only when there is another of its shape to
/// compare it with, and once for the same rows.
class ParameterContents {
public:
  /// `hasher` may be empty.
  ParameterContents(mlir::ModuleOp module, ParameterHasher hasher);

  bool isParameter(mlir::FlatSymbolRefAttr symbol) const { return bool(lookUp(symbol)); }

  /// All rows of a parameter.
  ParameterRows rowsOf(mlir::FlatSymbolRefAttr symbol) const;

  /// Whether two sets of rows have one shape and the same values, bit by bit.
  bool areEqual(const ParameterRows &left, const ParameterRows &right);

  /// Whether two sets of rows have one shape.
  bool haveOneShape(const ParameterRows &left, const ParameterRows &right) const;

private:
  transformer::ParameterOp lookUp(mlir::FlatSymbolRefAttr symbol) const;
  mlir::Attribute originOf(mlir::FlatSymbolRefAttr symbol);
  mlir::Attribute originOf(const ParameterRows &rows);
  mlir::Attribute rowsOfOrigin(mlir::FlatSymbolRefAttr symbol, int64_t first, int64_t count);
  std::optional<ContentHash> hashOf(const ParameterRows &rows);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  ParameterHasher hasher;
  llvm::DenseMap<mlir::Attribute, mlir::Attribute> origins;
  llvm::DenseMap<std::tuple<mlir::Attribute, int64_t, int64_t>, std::optional<ContentHash>> hashes;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_PARAMETERCONTENT_H
