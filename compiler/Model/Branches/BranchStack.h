// SPDX-License-Identifier: Apache-2.0
///
/// Computes products that are added up as one. For products of adjacent columns it concatenates
/// their weights. If their inputs are the same function of other products, these inner products are
/// stacked too, as one map of the same rows or as a grouped map of columns.
#ifndef HEDDLE_COMPILER_MODEL_BRANCHES_BRANCHSTACK_H
#define HEDDLE_COMPILER_MODEL_BRANCHES_BRANCHSTACK_H

#include "compiler/Model/Branches/Evaluation.h"

namespace heddle {

/// Returns the rows and columns that a value is, looking through nested `columns` operations.
Slice sliceOf(mlir::Value value);

Evaluation makeEvaluation(EvaluationNode node);
EvaluationNode columnsNode(const Slice &slice);
EvaluationNode linearNode(const Weight &weight, const Evaluation &input);

/// Composes the maps of a chain into one.
Weight compose(llvm::ArrayRef<Weight> chain);

/// Maps in the order of their application, and a factor of their product.
struct ScaledChain {
  llvm::ArrayRef<Weight> maps;
  Factor factor;
};
/// Composes the sum of chains into one weight. A last map that several chains share is applied to
/// their sum, so that expressions do not grow quadratically with a program.
Weight composeSum(llvm::ArrayRef<ScaledChain> chains);
/// The same for constants.
Weight composeSum(llvm::ArrayRef<ConstantTerm> constants);

/// The cheapest evaluation of a chain of maps: in stretches, each composed into one map.
struct ChainSplit {
  int64_t multiplications = 0;
  /// The number of maps in each stretch, in the order of their computation.
  llvm::SmallVector<size_t> lengths;
};
ChainSplit cheapestChain(llvm::ArrayRef<Weight> chain);

/// A product whose result is added to others.
struct StackedProduct {
  Weight map;
  Evaluation input;
};

/// Stacks as many products as possible. If two or more are left, returns the first condition that
/// did not hold.
std::string stackProducts(llvm::SmallVectorImpl<StackedProduct> &products,
                          const DerivedParameters &parameters, const FormEnds &ends);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_BRANCHES_BRANCHSTACK_H
