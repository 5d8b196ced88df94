// SPDX-License-Identifier: Apache-2.0
///
/// Expressions over parameters that a pass considers and has not added to the module, so that what
/// it does not take leaves nothing behind.
#ifndef HEDDLE_COMPILER_MODEL_PARAMETERS_WEIGHTEXPRESSION_H
#define HEDDLE_COMPILER_MODEL_PARAMETERS_WEIGHTEXPRESSION_H

#include "compiler/Parameters/DerivedParameters.h"

#include "mlir/IR/Location.h"

#include <memory>

namespace heddle {

/// What something is multiplied by: a constant, weights of one element, and numbers of each row,
/// `tensor<?x1xf32>`, that are known only when the model runs.
struct Factor {
  double constant = 1;
  llvm::SmallVector<mlir::FlatSymbolRefAttr> weights;
  llvm::SmallVector<mlir::Value> rows;
  /// How far from 1 the constants that it was multiplied from are, all in one direction: 4 for a
  /// product of 2 and 0.5.
  double spread = 1;

  /// A factor of one constant.
  static Factor of(double constant);

  /// Whether weights can take nothing over.
  bool isOne() const { return constant == 1 && weights.empty(); }
  Factor operator*(const Factor &other) const;
  /// Without the numbers of rows, and only these.
  Factor known() const { return {constant, weights, {}, spread}; }
  Factor ofRows() const { return {1, {}, rows, 1}; }
};

/// A vector or a matrix [results, inputs], as `transformer.linear` has it. Cheap to copy.
class Weight {
public:
  /// The parameter that an operation at `location` reads.
  static Weight stored(transformer::ParameterOp parameter, mlir::Location location);
  static Weight zeros(int64_t width, llvm::StringRef name, mlir::Location location);
  /// Element by element.
  static Weight sum(llvm::ArrayRef<Weight> weights);
  /// Below each other, and side by side.
  static Weight concat(llvm::ArrayRef<Weight> weights);
  static Weight concatColumns(llvm::ArrayRef<Weight> weights);

  /// This matrix times another, or times a vector: `right` is applied first.
  Weight times(const Weight &right) const;
  /// Every element times what is known of a factor.
  Weight scaled(const Factor &factor) const;
  /// A vector as a matrix of one column.
  Weight asColumn() const;

  llvm::ArrayRef<int64_t> shape() const;
  int64_t rows() const { return shape().front(); }
  int64_t columns() const { return shape().back(); }
  /// The same parameter, stored; whether expressions are equal is not asked.
  bool isSameStored(const Weight &other) const;
  /// The places of the operations that read the parameters of it, of many the first ones.
  void appendLocations(llvm::SmallVectorImpl<mlir::Location> &locations) const;

  /// The parameter, where it is stored; null for an expression.
  mlir::FlatSymbolRefAttr symbol() const;
  /// What an expression is made of.
  transformer::ExpressionKind kind() const;
  llvm::ArrayRef<Weight> operands() const;
  /// The factor of a Scale expression.
  const Factor &factor() const;

  /// The parameter of the module that has these values, and those it needs.
  mlir::FlatSymbolRefAttr derive(DerivedParameters &parameters) const;

private:
  struct Node;
  explicit Weight(std::shared_ptr<const Node> node) : node(std::move(node)) {}
  static Weight combine(transformer::ExpressionKind kind, llvm::ArrayRef<Weight> weights,
                        llvm::ArrayRef<int64_t> shape);

  std::shared_ptr<const Node> node;
};

/// The parameter of one element that is what is known of a factor other than 1 and has weights.
mlir::FlatSymbolRefAttr deriveFactor(const Factor &factor, mlir::Location location,
                                     DerivedParameters &parameters);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_PARAMETERS_WEIGHTEXPRESSION_H
