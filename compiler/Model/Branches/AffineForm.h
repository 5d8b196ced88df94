// SPDX-License-Identifier: Apache-2.0
///
/// Rows as an affine function of other rows: `sum over j of c_j W_j,n ... W_j,1 a_j + b`, whatever
/// sums, scales and linear maps it is written with.
#ifndef HEDDLE_COMPILER_MODEL_BRANCHES_AFFINEFORM_H
#define HEDDLE_COMPILER_MODEL_BRANCHES_AFFINEFORM_H

#include "compiler/Model/Parameters/WeightExpression.h"

namespace heddle {

/// `factor * chain[n - 1] ... chain[0] atom`. The atom is the result of what is not affine, an
/// argument, or a value with a second user.
struct Term {
  Factor factor;
  /// The maps in the order in which they are applied; empty for the atom itself.
  llvm::SmallVector<Weight> chain;
  mlir::Value atom;
};

/// `factor * chain[n - 1] ... chain[1] chain[0]`, where chain[0] is a vector: the same for every
/// row but for the factor's numbers of rows.
struct ConstantTerm {
  Factor factor;
  llvm::SmallVector<Weight> chain;
};

struct AffineForm {
  llvm::SmallVector<Term> terms;
  llvm::SmallVector<ConstantTerm> constants;
  /// What computes it, operands first: all of it is replaced or nothing.
  llvm::SmallVector<mlir::Operation *> operations;
  /// Whether numbers of rows are multiplied before a map, and stand after it in a term.
  bool movesRows = false;
};

/// Values that are atoms although they are affine: forms end there.
using FormEnds = llvm::DenseSet<mlir::Value>;

/// Whether the result is an affine function of one of the operands' rows: a sum, a scale, a product
/// with a number or with one for each row, a linear map.
bool isAffine(mlir::Operation *operation);

/// Whether `operation` is a part of a larger form: its only user is affine in its result.
bool isWithinForm(mlir::Operation *operation);

/// The operands of an affine operation in which it is affine.
llvm::SmallVector<mlir::Value, 2> affineOperands(mlir::Operation *operation);

/// How much there is of a form, by default of an atom. The work of choosing an evaluation grows
/// faster than this.
struct FormSize {
  int64_t terms = 1;
  /// Operations, terms, and the maps of each.
  int64_t total = 1;
};

/// The size of an affine operation's form, by those of its operands.
FormSize formSize(mlir::Operation *operation, llvm::function_ref<FormSize(mlir::Value)> sizeOf);

/// The form of an affine operation's result.
AffineForm flattenAffine(mlir::Operation *root, const DerivedParameters &parameters,
                         const FormEnds &ends);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_BRANCHES_AFFINEFORM_H
