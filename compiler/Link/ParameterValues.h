// SPDX-License-Identifier: Apache-2.0
///
/// Values of parameters by their expressions. Stored values stay f32; what is computed from them is
/// f64 until the last expression, so that a derived parameter is rounded once.
#ifndef HEDDLE_COMPILER_LINK_PARAMETERVALUES_H
#define HEDDLE_COMPILER_LINK_PARAMETERVALUES_H

#include "compiler/Link/Parameters.h"

#include "mlir/IR/SymbolTable.h"

#include <optional>
#include <variant>

namespace heddle {

/// Evaluates parameters of a module, whose symbols do not change meanwhile. Expressions may be as
/// deep as the module is long: there is no recursion.
class ParameterEvaluator {
public:
  ParameterEvaluator(mlir::ModuleOp module, const ParameterSource &source)
      : module(module), source(source) {}

  Result<std::vector<float>> evaluate(transformer::ParameterOp parameter);

private:
  using Values = std::variant<std::vector<float>, std::vector<double>>;
  struct Step;

  Result<Values> read(transformer::ParameterOp parameter);
  transformer::ParameterOp lookUp(mlir::FlatSymbolRefAttr symbol);
  void take(Step &step, Values operand);
  static Values finish(Step &step);

  mlir::ModuleOp module;
  const ParameterSource &source;
  /// Made with the first expression.
  std::optional<mlir::SymbolTable> symbols;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_PARAMETERVALUES_H
