// SPDX-License-Identifier: Apache-2.0
///
/// Rows as an affine function of other rows: `sum over j of c_j W_j,n ... W_j,1 a_j + b`, whatever
/// sums, scales and linear maps it is written with.
#ifndef HEDDLE_COMPILER_TRANSFORMS_AFFINEFORM_H
#define HEDDLE_COMPILER_TRANSFORMS_AFFINEFORM_H

#include "compiler/Transforms/WeightExpression.h"

namespace heddle {

/// `factor * chain[n - 1] ... chain[0] atom`. The atom is the result of what is not affine, an
/// argument, or a value with a second user.
struct Term {
  Factor factor;
  /// The maps in the order in which they are applied; empty for the atom itself.
  llvm::SmallVector<Weight> chain;
  mlir::Value atom;
};

/// `factor * vector`, the same for every row but for the factor's numbers of rows.
struct ConstantTerm {
  Factor factor;
  Weight vector;
};

struct AffineForm {
  llvm::SmallVector<Term> terms;
  llvm::SmallVector<ConstantTerm> constants;
  /// What computes it, operands first: all of it is replaced or nothing.
  llvm::SmallVector<mlir::Operation *> operations;
};

/// Whether the result is an affine function of one of the operands' rows: a sum, a scale, a product
/// with a number or with one for each row, a linear map.
bool isAffine(mlir::Operation *operation);

/// Whether `operation` is a part of a larger form: its only user is affine in its result.
bool isWithinForm(mlir::Operation *operation);

/// The form of an affine operation's result.
AffineForm flattenAffine(mlir::Operation *root, const DerivedParameters &parameters);

} // namespace heddle

#endif // HEDDLE_COMPILER_TRANSFORMS_AFFINEFORM_H
