// SPDX-License-Identifier: Apache-2.0
///
/// Finds parameters that can be stored with the codes of the model's files: those that passes
/// derived from quantised rows by moving whole rows. Computations such as sums or products give
/// weights without codes.
#ifndef HEDDLE_COMPILER_PARAMETERS_KEPTCODES_H
#define HEDDLE_COMPILER_PARAMETERS_KEPTCODES_H

#include "compiler/Parameters/DerivedParameters.h"

#include <string>

namespace heddle {

/// The codes of one parameter.
struct KeptCodes {
  /// A parameter of the same shape with quantised elements; null if there is none.
  mlir::FlatSymbolRefAttr symbol;
  /// Why there is none although the values derive from codes: "a sum of codes has none". Empty if
  /// no file has codes of it.
  std::string reason = {};
};

/// The codes of the parameters of a module.
class CodesOfParameters {
public:
  /// Derives parameters for the codes; `parameters` must outlive it.
  explicit CodesOfParameters(DerivedParameters &parameters) : parameters(parameters) {}

  /// Returns the codes of a parameter. Visits each parameter once, without recursion, because
  /// expressions may be as deep as the module is long.
  const KeptCodes &of(mlir::FlatSymbolRefAttr symbol);

private:
  KeptCodes find(transformer::ParameterOp parameter);
  KeptCodes join(transformer::ParameterOp parameter);
  KeptCodes move(transformer::ParameterOp parameter);
  KeptCodes derive(transformer::ParameterOp parameter,
                   llvm::ArrayRef<mlir::FlatSymbolRefAttr> operands,
                   transformer::QuantizedType element);
  transformer::QuantizedType typeOf(const KeptCodes &codes) const;

  DerivedParameters &parameters;
  llvm::DenseMap<mlir::Attribute, KeptCodes> known;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_PARAMETERS_KEPTCODES_H
