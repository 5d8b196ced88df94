// SPDX-License-Identifier: Apache-2.0
///
/// How the rows of an affine form are best computed: a tree of linear maps, activations and sums,
/// chosen by counting floating-point operations for each row. Weights are free: they are evaluated
/// when the binary is written.
#ifndef HEDDLE_COMPILER_MODEL_BRANCHES_EVALUATION_H
#define HEDDLE_COMPILER_MODEL_BRANCHES_EVALUATION_H

#include "compiler/Model/Branches/AffineForm.h"

#include <optional>
#include <string>

namespace heddle {

/// Columns `first` to `first + width` of rows.
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

/// Rows of `width` to be computed.
struct EvaluationNode {
  enum class Kind {
    /// Rows that are there, or columns of them.
    Columns,
    /// A map of the only part, for each of `groups` of its columns.
    Linear,
    /// A function of the elements of the only part.
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
  /// Operations outside of the form that the node takes the place of.
  llvm::SmallVector<mlir::Operation *> replaced = {};
};

/// An evaluation for a form.
struct ChosenEvaluation {
  Evaluation evaluation;
  /// The first condition that keeps two products apart; empty if all are one.
  std::string obstacle;
};

ChosenEvaluation chooseEvaluation(const AffineForm &form, int64_t width,
                                  const DerivedParameters &parameters, const FormEnds &ends);

/// Floating-point operations for each row. Biases of maps are free: they are added in registers.
int64_t costOf(const Evaluation &evaluation);
/// The same of operations; a bias added by an operation of its own counts.
int64_t costOf(llvm::ArrayRef<mlir::Operation *> operations);

/// The operations outside of the form that an evaluation takes the place of.
void appendReplaced(const Evaluation &evaluation,
                    llvm::SmallVectorImpl<mlir::Operation *> &operations);

/// The maps of an evaluation in the order of their computation: "512 to 2048 in 8 groups, 2048 to
/// 512".
std::string describeMaps(const Evaluation &evaluation);

/// Writes the operations of an evaluation at the builder; sums have `location`.
mlir::Value emitEvaluation(mlir::OpBuilder &builder, mlir::Location location,
                           const Evaluation &evaluation, DerivedParameters &parameters);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_BRANCHES_EVALUATION_H
