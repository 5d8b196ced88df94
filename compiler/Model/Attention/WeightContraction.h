// SPDX-License-Identifier: Apache-2.0
///
/// Reads a contraction of activations with a weight as a linear map: which axes it sums, which it
/// makes, and how the weight's axes form a matrix.
#ifndef HEDDLE_COMPILER_MODEL_ATTENTION_WEIGHTCONTRACTION_H
#define HEDDLE_COMPILER_MODEL_ATTENTION_WEIGHTCONTRACTION_H

#include "compiler/Parameters/DerivedParameters.h"

#include <string>

namespace heddle {

/// A weight behind transposes.
struct WeightView {
  transformer::WeightOp weight;
  /// The letter of each axis of the parameter.
  std::string axes;
};

/// Returns the weight that `value` is, through transposes; `axes` are the letters of the value's
/// axes. The weight is null if the value is something else.
WeightView viewWeight(mlir::Value value, llvm::StringRef axes);

/// `result[row, made] = sum over summed of rows[row, summed] * weight[made, summed]`.
struct WeightContraction {
  mlir::Value rows;
  transformer::WeightOp weight;
  std::string rowsAxes;
  char row = 0;
  /// Letters in the weight's order, one or two each.
  std::string summed;
  std::string made;
  /// The parameter's summed axes are first: the matrix is its transpose.
  bool summedFirst = false;
  /// The parameter's summed axis is between the made axes: the matrix of each head is transposed.
  bool summedBetween = false;
};

/// Matches `contract` as a linear map; on failure `reason` is the first condition that did not
/// hold. At least one operand is a weight.
llvm::FailureOr<WeightContraction> matchWeightContraction(transformer::ContractOp contract,
                                                          std::string &reason);

/// Derives the matrix [heads * made, summed] of a weight whose axes order[0] to order[2] are heads,
/// made and summed. The head axis is not the last.
mlir::FlatSymbolRefAttr mapOfHeads(DerivedParameters &parameters, mlir::Location location,
                                   transformer::WeightOp weight, llvm::ArrayRef<int64_t> order);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_ATTENTION_WEIGHTCONTRACTION_H
