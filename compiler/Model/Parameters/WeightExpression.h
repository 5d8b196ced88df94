// SPDX-License-Identifier: Apache-2.0
///
/// Parameter expressions that a pass considers but has not added to the module, so that rejected
/// ones leave nothing behind.
#ifndef HEDDLE_COMPILER_MODEL_PARAMETERS_WEIGHTEXPRESSION_H
#define HEDDLE_COMPILER_MODEL_PARAMETERS_WEIGHTEXPRESSION_H

#include "compiler/Parameters/DerivedParameters.h"

#include "mlir/IR/Location.h"

#include <memory>

namespace heddle {

/// A factor: a constant, weights of one element, and row numbers, `tensor<?x1xf32>`, which are
/// unknown until the model runs.
struct Factor {
  double constant = 1;
  llvm::SmallVector<mlir::FlatSymbolRefAttr> weights;
  llvm::SmallVector<mlir::Value> rows;
  /// How far from 1 its constant factors are if none cancels another: 4 for a product of 2 and 0.5.
  double spread = 1;

  /// Returns a factor of one constant.
  static Factor of(double constant);

  /// Returns whether there is nothing to fold into weights.
  bool isOne() const { return constant == 1 && weights.empty(); }
  Factor operator*(const Factor &other) const;
  /// The factor without the row numbers, and the row numbers alone.
  Factor known() const { return {constant, weights, {}, spread}; }
  Factor ofRows() const { return {1, {}, rows, 1}; }
};

/// A vector or a matrix [results, inputs], as in `transformer.linear`. Cheap to copy.
class Weight {
public:
  /// Returns the parameter that an operation at `location` reads.
  static Weight stored(transformer::ParameterOp parameter, mlir::Location location);
  static Weight zeros(int64_t width, llvm::StringRef name, mlir::Location location);
  /// Element by element.
  static Weight sum(llvm::ArrayRef<Weight> weights);
  /// Concatenate rows, and concatenate columns.
  static Weight concat(llvm::ArrayRef<Weight> weights);
  static Weight concatColumns(llvm::ArrayRef<Weight> weights);

  /// Returns this matrix times another, or times a vector: `right` is applied first.
  Weight times(const Weight &right) const;
  /// Returns every element times the known part of a factor.
  Weight scaled(const Factor &factor) const;
  /// Returns a vector as a matrix of one column.
  Weight asColumn() const;

  llvm::ArrayRef<int64_t> shape() const;
  int64_t rows() const { return shape().front(); }
  int64_t columns() const { return shape().back(); }
  /// Returns whether both are the same stored parameter; does not compare expressions.
  bool isSameStored(const Weight &other) const;
  /// Appends the locations of the operations that read its parameters, at most the first ones.
  void appendLocations(llvm::SmallVectorImpl<mlir::Location> &locations) const;

  /// Returns the symbol of a stored parameter; null for an expression.
  mlir::FlatSymbolRefAttr symbol() const;
  /// Returns the kind of an expression.
  transformer::ExpressionKind kind() const;
  llvm::ArrayRef<Weight> operands() const;
  /// Returns the factor of a Scale expression.
  const Factor &factor() const;

  /// Adds the parameter with these values, and those that it needs, to the module.
  mlir::FlatSymbolRefAttr derive(DerivedParameters &parameters) const;

private:
  struct Node;
  explicit Weight(std::shared_ptr<const Node> node) : node(std::move(node)) {}
  static Weight combine(transformer::ExpressionKind kind, llvm::ArrayRef<Weight> weights,
                        llvm::ArrayRef<int64_t> shape);

  std::shared_ptr<const Node> node;
};

/// Derives the one-element parameter for the known part of a factor, which is not 1 and has
/// weights.
mlir::FlatSymbolRefAttr deriveFactor(const Factor &factor, mlir::Location location,
                                     DerivedParameters &parameters);

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_PARAMETERS_WEIGHTEXPRESSION_H
