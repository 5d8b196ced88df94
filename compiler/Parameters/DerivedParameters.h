// SPDX-License-Identifier: Apache-2.0
///
/// Parameters that passes of every level derive from others: one symbol for one expression, placed
/// after the parameters that the module has, so that a module reads parameters first; and graphs
/// that read a derived parameter instead of another.
#ifndef HEDDLE_COMPILER_PARAMETERS_DERIVEDPARAMETERS_H
#define HEDDLE_COMPILER_PARAMETERS_DERIVEDPARAMETERS_H

#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace heddle {

/// Bytes of a parameter's values.
int64_t byteSize(transformer::ParameterOp parameter);

/// The names of the parameters that an operation of the module names, or the expression of such a
/// parameter.
llvm::DenseSet<mlir::Attribute> neededParameters(mlir::ModuleOp module);

/// `self.query.weight` and `self.key.weight` give `self.query_key.weight`: the common dotted
/// beginning and end once, what differs between them joined, of many only the first and the last.
/// Always an identifier without quotes.
std::string joinNames(llvm::ArrayRef<mlir::FlatSymbolRefAttr> symbols);

/// The parameters of a module, and those that a pass adds.
class DerivedParameters {
public:
  explicit DerivedParameters(mlir::ModuleOp module);

  /// The parameter of a symbol; the verifier has shown that there is one.
  transformer::ParameterOp lookUp(mlir::FlatSymbolRefAttr symbol) const;

  /// The symbols of the module, those of new parameters among them.
  mlir::SymbolTable &symbolTable() { return symbols; }

  /// The parameter of this expression and type: one that exists already, else a new one called
  /// `name` (with a number after it if the name is taken).
  mlir::FlatSymbolRefAttr derive(mlir::Location location, llvm::StringRef name,
                                 transformer::ParameterExpressionAttr expression,
                                 mlir::RankedTensorType type);

  /// The same for `kind(operands)` of f32. Reshapes of reshapes are folded. `factor` is the
  /// constant of `scale`, `numbers` are those of kinds that have them.
  mlir::FlatSymbolRefAttr derive(mlir::Location location, llvm::StringRef name,
                                 transformer::ExpressionKind kind,
                                 llvm::ArrayRef<mlir::FlatSymbolRefAttr> operands,
                                 llvm::ArrayRef<int64_t> shape, mlir::FloatAttr factor = {},
                                 llvm::ArrayRef<int64_t> numbers = {});

private:
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  /// The place after which the next parameter stands; null before the first.
  transformer::ParameterOp last;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, transformer::ParameterOp> byExpression;
};

/// What graphs read instead of a parameter: one operation for each graph and what it reads.
class GraphParameters {
public:
  /// `symbol`, stored as `encodings` if there are any, where `old` was read; the new operation
  /// stands beside the first `old`.
  mlir::Value replace(dataflow::ParameterOp old, dataflow::BufferType type,
                      mlir::FlatSymbolRefAttr symbol, mlir::ArrayAttr encodings = {});

private:
  llvm::DenseMap<std::tuple<mlir::Operation *, mlir::Attribute, mlir::Attribute>,
                 dataflow::ParameterOp>
      known;
};

/// Erases the parameters of graphs that nothing reads any more.
void eraseUnreadParameters(mlir::ModuleOp module);

} // namespace heddle

#endif // HEDDLE_COMPILER_PARAMETERS_DERIVEDPARAMETERS_H
