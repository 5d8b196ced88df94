// SPDX-License-Identifier: Apache-2.0
///
/// Finds redundant computations and caches by value numbers, and rewrites the program to use the
/// first: of equal values, of caches of one class, and of the weights of attentions whose values
/// differ.
#ifndef HEDDLE_COMPILER_MODEL_SHARING_SHAREDVALUES_H
#define HEDDLE_COMPILER_MODEL_SHARING_SHAREDVALUES_H

#include "compiler/Model/Sharing/ValueNumbering.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace heddle {

/// Attentions of one block with equal weights, each with its own values.
struct SharedWeights {
  /// In program order.
  llvm::SmallVector<transformer::AttentionOp> attentions;
  /// An operation that computes exactly these weights; may be null.
  transformer::AttentionWeightsOp existing;

  /// Returns whether computing the weights once pays. Weights that are only an optional result do
  /// not count, because they are not computed unless requested.
  bool areShared();
  /// Returns the first operation that computes the weights, for reports.
  mlir::Operation *first();
};

class SharedValues {
public:
  SharedValues(mlir::ModuleOp module, const ValueNumbering &numbering);

  /// Returns the earlier value that an operation recomputes; null if it is the first.
  mlir::Value keptFor(mlir::Operation *op) const { return kept.lookup(op); }

  /// Returns whether the result of an operation replaces that of another.
  bool isKept(mlir::Operation *op) const { return keepers.contains(op); }

  /// Returns the cache that replaces `name`: the first of its class.
  mlir::StringAttr keptFor(mlir::StringAttr name) const;

  /// Returns the attentions with the same weights as `attention`, including itself; null if it
  /// stays one operation.
  SharedWeights *weightsFor(transformer::AttentionOp attention);

  /// Returns every redundant operation, in program order.
  llvm::SmallVector<mlir::Operation *> repeated() const;

  /// Replaces redundant values by the first equal ones, and erases their operations.
  void rewrite();

private:
  void findRepeated(mlir::Block &block);
  void mergeCaches(mlir::func::FuncOp entry);
  void mergeCacheResults(mlir::func::FuncOp entry);
  void computeOnce(SharedWeights &shared);

  mlir::ModuleOp module;
  const ValueNumbering &numbering;
  llvm::MapVector<mlir::Operation *, mlir::Value> kept;
  llvm::DenseSet<mlir::Operation *> keepers;
  llvm::MapVector<std::pair<mlir::Block *, unsigned>, SharedWeights> weights;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_MODEL_SHARING_SHAREDVALUES_H
