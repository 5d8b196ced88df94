// SPDX-License-Identifier: Apache-2.0
///
/// Which parameters can be stored as the codes that the model's files have: those that passes made
/// of rows of codes by moving whole rows. What computes with numbers, a sum or a product, makes
/// weights that no codes stand for.
#ifndef HEDDLE_COMPILER_PARAMETERS_KEPTCODES_H
#define HEDDLE_COMPILER_PARAMETERS_KEPTCODES_H

#include "compiler/Parameters/DerivedParameters.h"

#include <string>

namespace heddle {

/// The codes of one parameter.
struct KeptCodes {
  /// A parameter of the same shape whose elements are quantised; null if there is none.
  mlir::FlatSymbolRefAttr symbol;
  /// Why there is none although the values were made of codes: "a sum of codes has none". Empty
  /// where no file has codes of it.
  std::string reason = {};
};

/// The codes of the parameters of a module.
class CodesOfParameters {
public:
  /// Derives what it finds; `parameters` must outlive it.
  explicit CodesOfParameters(DerivedParameters &parameters) : parameters(parameters) {}

  /// The codes of a parameter. Expressions may be as deep as the module is long: there is no
  /// recursion, and each parameter is looked at once.
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
