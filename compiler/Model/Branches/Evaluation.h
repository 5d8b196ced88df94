// SPDX-License-Identifier: Apache-2.0
///
/// The cheapest evaluation of the rows of an affine form: a tree of linear maps, activations and
/// sums, chosen by the number of floating-point operations per row. Composing weights is free: they
/// are evaluated when the binary is written.
#ifndef HEDDLE_COMPILER_MODEL_BRANCHES_EVALUATION_H
#define HEDDLE_COMPILER_MODEL_BRANCHES_EVALUATION_H

#include "compiler/Model/Branches/AffineForm.h"

#include <optional>
#include <string>

namespace heddle {

/// Columns [first, first + width) of rows.
struct Slice {
  mlir::Value base;
  int64_t first = 0;
  int64_t width = 0;

  bool operator==(const Slice &other) const = default;
};

struct EvaluationNode;
using Evaluation = std::shared_ptr<const EvaluationNode>;

/// An evaluation times a factor, as a part of a sum.
struct Addend {
  Factor factor;
  Evaluation evaluation;
};

/// A computation of rows of `width` columns.
struct EvaluationNode {
  enum class Kind {
    /// Existing rows, or columns of them.
    Columns,
    /// A map of the only part; with `groups` > 1, one map per group of columns.
    Linear,
    /// An element-wise function of the only part.
    Activate,
    /// The sum of all parts and the bias.
    Sum
  };
  Kind kind = Kind::Columns;
  int64_t width = 0;
  Slice columns = {};
  std::optional<Weight> weight = {};
  std::optional<Weight> bias = {};
  int64_t groups = 1;
  transformer::Activation function = {};
  llvm::SmallVector<Addend, 1> parts = {};
  /// Operations outside the form that the node replaces.
  llvm::SmallVector<mlir::Operation *> replaced = {};
};

/// The evaluation that is chosen for a form.
struct ChosenEvaluation {
  Evaluation evaluation;
  /// The first reason why there are two products or more; empty if there is one.
  std::string obstacle;
};

ChosenEvaluation chooseEvaluation(const AffineForm &form, int64_t width,
                                  const DerivedParameters &parameters, const FormEnds &ends);

/// Counts floating-point operations per row. Biases of maps are free: they are added in registers.
int64_t costOf(const Evaluation &evaluation);
/// The same for operations; a bias added by a separate operation counts.
int64_t costOf(llvm::ArrayRef<mlir::Operation *> operations);

/// Appends the operations outside the form that an evaluation replaces.
void appendReplaced(const Evaluation &evaluation,
                    llvm::SmallVectorImpl<mlir::Operation *> &operations);

/// Describes the maps of an evaluation in the order of their computation: "512 to 2048 in 8 groups,
/// 2048 to 512".
std::string describeMaps(const Evaluation &evaluation);

/// Writes the operations of an evaluation at the builder's insertion point; sums have `location`.
mlir::Value emitEvaluation(mlir::OpBuilder &builder, mlir::Location location,
                           const Evaluation &evaluation, DerivedParameters &parameters);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_BRANCHES_EVALUATION_H
