// SPDX-License-Identifier: Apache-2.0
///
/// Rows as an affine function of other rows: `sum over j of c_j W_j,n ... W_j,1 a_j + b`, written
/// with any sums, scales and linear maps.
#ifndef HEDDLE_COMPILER_MODEL_BRANCHES_AFFINEFORM_H
#define HEDDLE_COMPILER_MODEL_BRANCHES_AFFINEFORM_H

#include "compiler/Model/Parameters/WeightExpression.h"

namespace heddle {

/// `factor * chain[n - 1] ... chain[0] atom`. The atom is an argument, the result of an operation
/// that is not affine, or a value with a second user.
struct Term {
  Factor factor;
  /// The maps in the order of their application; empty for the atom itself.
  llvm::SmallVector<Weight> chain;
  mlir::Value atom;
};

/// `factor * chain[n - 1] ... chain[1] chain[0]`, where chain[0] is a vector: the same for every
/// row, except for row numbers in the factor.
struct ConstantTerm {
  Factor factor;
  llvm::SmallVector<Weight> chain;
};

struct AffineForm {
  llvm::SmallVector<Term> terms;
  llvm::SmallVector<ConstantTerm> constants;
  /// The operations that compute the form, operands first. Either all of them are replaced or none.
  llvm::SmallVector<mlir::Operation *> operations;
  /// Whether row numbers are multiplied before a map that they follow in a term.
  bool movesRows = false;
};

/// Affine values that are treated as atoms.
using FormEnds = llvm::DenseSet<mlir::Value>;

/// Returns whether the result is an affine function of the rows of one operand: a sum, a scale, a
/// product with a number or with one number per row, or a linear map.
bool isAffine(mlir::Operation *operation);

/// Returns whether `operation` is part of a larger form: its only user is affine in its result.
bool isWithinForm(mlir::Operation *operation);

/// Returns the operands of an affine operation in which it is affine.
llvm::SmallVector<mlir::Value, 2> affineOperands(mlir::Operation *operation);

/// The size of a form; the default is that of an atom. The work of choosing an evaluation grows
/// faster than linearly with it.
struct FormSize {
  int64_t terms = 1;
  /// Operations, terms, and the maps of each term.
  int64_t total = 1;
};

/// Computes the size of an affine operation's form from the sizes of its operands.
FormSize formSize(mlir::Operation *operation, llvm::function_ref<FormSize(mlir::Value)> sizeOf);

/// Returns the form of an affine operation's result.
AffineForm flattenAffine(mlir::Operation *root, const DerivedParameters &parameters,
                         const FormEnds &ends);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_BRANCHES_AFFINEFORM_H
