// SPDX-License-Identifier: Apache-2.0
///
/// A contraction of activations with a weight, seen as a linear map: which axes it sums, which it
/// makes, and how the weight's axes lie in a matrix.
#ifndef HEDDLE_COMPILER_TRANSFORMS_WEIGHTCONTRACTION_H
#define HEDDLE_COMPILER_TRANSFORMS_WEIGHTCONTRACTION_H

#include "dialects/Transformer/Transformer.h"

#include <string>

namespace heddle {

/// A weight behind transposes.
struct WeightView {
  transformer::WeightOp weight;
  /// The letter of each axis of the parameter.
  std::string axes;
};

/// The weight that `value` is, through transposes; `axes` are the letters of the value's axes.
/// The weight is null if the value is something else.
WeightView viewWeight(mlir::Value value, llvm::StringRef axes);

/// `result[row, made] = sum over summed of rows[row, summed] * weight[made, summed]`.
struct WeightContraction {
  mlir::Value rows;
  transformer::WeightOp weight;
  std::string rowsAxes;
  char row = 0;
  /// Letters in the order in which the weight has them, one or two of each.
  std::string summed;
  std::string made;
  /// The parameter has the summed axes first: the matrix is its transpose.
  bool summedFirst = false;
};

/// `contract` as a linear map; on failure `reason` is the first condition that did not hold.
/// At least one operand is a weight.
llvm::FailureOr<WeightContraction> matchWeightContraction(transformer::ContractOp contract,
                                                          std::string &reason);

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_WEIGHTCONTRACTION_H
