// SPDX-License-Identifier: Apache-2.0
///
/// Compares parameters by value: by hash if a hasher is given, else by their expressions and the
/// tensors that they are derived from.
#ifndef HEDDLE_COMPILER_MODEL_PARAMETERS_PARAMETERCONTENT_H
#define HEDDLE_COMPILER_MODEL_PARAMETERS_PARAMETERCONTENT_H

#include "compiler/Parameters/ParameterHash.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseMap.h"

namespace heddle {

/// A range of rows of a parameter, along its first axis.
struct ParameterRows {
  /// Null stands for zeros of any shape.
  mlir::FlatSymbolRefAttr symbol;
  int64_t first = 0;
  int64_t count = 0;
};

/// Compares the parameters of a module. Reads a tensor only if there is another of its shape to
/// compare it with, and only once per range of rows.
class ParameterContents {
public:
  /// `hasher` may be empty.
  ParameterContents(mlir::ModuleOp module, ParameterHasher hasher);

  bool isParameter(mlir::FlatSymbolRefAttr symbol) const { return bool(lookUp(symbol)); }

  /// Returns all rows of a parameter.
  ParameterRows rowsOf(mlir::FlatSymbolRefAttr symbol) const;

  /// Returns whether two ranges of rows have the same shape and bitwise the same values.
  bool areEqual(const ParameterRows &left, const ParameterRows &right);

  /// Returns a class number that two ranges of rows share if and only if they are equal. Null with
  /// a `count` stands for a vector of zeros. Reads the tensor if another one was requested before.
  unsigned classOf(const ParameterRows &rows);

  /// Returns whether two ranges of rows have the same shape.
  bool haveOneShape(const ParameterRows &left, const ParameterRows &right) const;

private:
  transformer::ParameterOp lookUp(mlir::FlatSymbolRefAttr symbol) const;
  mlir::Attribute originOf(mlir::FlatSymbolRefAttr symbol);
  mlir::Attribute makeOrigin(mlir::FlatSymbolRefAttr symbol);
  mlir::Attribute originOf(const ParameterRows &rows);
  mlir::Attribute rowsOfOrigin(mlir::FlatSymbolRefAttr symbol, int64_t first, int64_t count);
  std::optional<ContentHash> hashOf(const ParameterRows &rows);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  ParameterHasher hasher;
  llvm::DenseMap<mlir::Attribute, mlir::Attribute> origins;
  llvm::DenseMap<std::tuple<mlir::Attribute, int64_t, int64_t>, std::optional<ContentHash>> hashes;
  /// Class numbers by origin, and by shape and content; those of zeros by shape.
  llvm::DenseMap<mlir::Attribute, unsigned> originClasses;
  llvm::DenseMap<std::tuple<mlir::Type, uint64_t, uint64_t>, unsigned> contentClasses;
  llvm::DenseMap<mlir::Type, unsigned> zeroClasses;
  unsigned lastClass = 0;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_PARAMETERS_PARAMETERCONTENT_H
