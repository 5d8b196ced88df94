// SPDX-License-Identifier: Apache-2.0
///
/// Parameters that passes of every level derive from others: one symbol per expression, inserted
/// after the existing parameters, so that parameters come first in a module. Also replaces
/// parameters that graphs read by derived ones.
#ifndef HEDDLE_COMPILER_PARAMETERS_DERIVEDPARAMETERS_H
#define HEDDLE_COMPILER_PARAMETERS_DERIVEDPARAMETERS_H

#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace heddle {

/// Returns the size of a parameter's values in bytes.
int64_t byteSize(transformer::ParameterOp parameter);

/// Returns the names of the parameters that an operation of the module names, or the expression of
/// a needed parameter.
llvm::DenseSet<mlir::Attribute> neededParameters(mlir::ModuleOp module);

/// Joins names: `self.query.weight` and `self.key.weight` give `self.query_key.weight`. Keeps the
/// common dotted prefix and suffix once and joins the parts that differ; for many names only the
/// first and the last. Always an identifier without quotes.
std::string joinNames(llvm::ArrayRef<mlir::FlatSymbolRefAttr> symbols);

/// The parameters of a module, including those that a pass adds.
class DerivedParameters {
public:
  explicit DerivedParameters(mlir::ModuleOp module);

  /// Returns the parameter of a symbol; the verifier has checked that it exists.
  transformer::ParameterOp lookUp(mlir::FlatSymbolRefAttr symbol) const;

  /// Returns the symbol table of the module, which includes new parameters.
  mlir::SymbolTable &symbolTable() { return symbols; }

  /// Returns the parameter with this expression and type: an existing one, else a new one called
  /// `name` (with a numeric suffix if the name is taken).
  mlir::FlatSymbolRefAttr derive(mlir::Location location, llvm::StringRef name,
                                 transformer::ParameterExpressionAttr expression,
                                 mlir::RankedTensorType type);

  /// The same for `kind(operands)` of f32. Folds reshapes of reshapes. `factor` is the constant of
  /// `scale`, `numbers` are those of kinds that have them.
  mlir::FlatSymbolRefAttr derive(mlir::Location location, llvm::StringRef name,
                                 transformer::ExpressionKind kind,
                                 llvm::ArrayRef<mlir::FlatSymbolRefAttr> operands,
                                 llvm::ArrayRef<int64_t> shape, mlir::FloatAttr factor = {},
                                 llvm::ArrayRef<int64_t> numbers = {});

private:
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  /// The parameter after which the next one is inserted; null before the first.
  transformer::ParameterOp last;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, transformer::ParameterOp> byExpression;
};

/// Replaces parameters that graphs read: one operation per graph and parameter.
class GraphParameters {
public:
  /// Returns a read of `symbol`, stored as `encodings` if there are any, to replace `old`. A new
  /// operation is inserted next to the first `old`.
  mlir::Value replace(dataflow::ParameterOp old, dataflow::BufferType type,
                      mlir::FlatSymbolRefAttr symbol, mlir::ArrayAttr encodings = {});

private:
  llvm::DenseMap<std::tuple<mlir::Operation *, mlir::Attribute, mlir::Attribute>,
                 dataflow::ParameterOp>
      known;
};

/// Erases unused parameter operations of graphs.
void eraseUnreadParameters(mlir::ModuleOp module);

} // namespace heddle

#endif // HEDDLE_COMPILER_PARAMETERS_DERIVEDPARAMETERS_H
