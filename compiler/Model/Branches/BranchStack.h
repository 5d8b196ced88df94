// SPDX-License-Identifier: Apache-2.0
///
/// Products that are added up, computed as one: those of columns side by side have their weights
/// side by side; those of the same function of products have these first products stacked too, as
/// one map of the same rows or as a map for each group of columns.
#ifndef HEDDLE_COMPILER_MODEL_BRANCHES_BRANCHSTACK_H
#define HEDDLE_COMPILER_MODEL_BRANCHES_BRANCHSTACK_H

#include "compiler/Model/Branches/Evaluation.h"

namespace heddle {

/// The rows that a value is, seen through columns of columns.
Slice sliceOf(mlir::Value value);

Evaluation makeEvaluation(EvaluationNode node);
EvaluationNode columnsNode(const Slice &slice);
EvaluationNode linearNode(const Weight &weight, const Evaluation &input);

/// The maps of a chain as one.
Weight compose(llvm::ArrayRef<Weight> chain);

/// Maps in the order in which they are applied, and what their product is multiplied by.
struct ScaledChain {
  llvm::ArrayRef<Weight> maps;
  Factor factor;
};
/// The sum of chains as one. A map that several end with is applied to their sum, so that what is
/// written does not grow with the square of a program.
Weight composeSum(llvm::ArrayRef<ScaledChain> chains);
/// The same of constants.
Weight composeSum(llvm::ArrayRef<ConstantTerm> constants);

/// How a chain of maps is cheapest: in stretches, each composed to one map.
struct ChainSplit {
  int64_t multiplications = 0;
  /// The maps in each of the stretches, in the order of their computation.
  llvm::SmallVector<size_t> lengths;
};
ChainSplit cheapestChain(llvm::ArrayRef<Weight> chain);

/// A product whose result is added to others.
struct StackedProduct {
  Weight map;
  Evaluation input;
};

/// Stacks what can be; if two products or more are left, the first condition that failed.
std::string stackProducts(llvm::SmallVectorImpl<StackedProduct> &products,
                          const DerivedParameters &parameters, const FormEnds &ends);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_BRANCHES_BRANCHSTACK_H
