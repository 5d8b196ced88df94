// SPDX-License-Identifier: Apache-2.0
///
/// Finds what a program computes or keeps more than once, by the numbers of its values, and
/// rewrites the program to use the first: of equal values, of caches of one class, and of the
/// weights of attentions whose values differ.
#ifndef HEDDLE_COMPILER_MODEL_SHARING_SHAREDVALUES_H
#define HEDDLE_COMPILER_MODEL_SHARING_SHAREDVALUES_H

#include "compiler/Model/Sharing/ValueNumbering.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace heddle {

/// Attentions of one block with equal weights and, each, values of its own.
struct SharedWeights {
  /// In the order of the program.
  llvm::SmallVector<transformer::AttentionOp> attentions;
  /// An operation that computes just these weights; may be null.
  transformer::AttentionWeightsOp existing;

  /// Whether computing the weights once pays. Weights that are there only because a caller may ask
  /// for them are not computed otherwise.
  bool areShared();
  /// The first operation that computes the weights: the one to name.
  mlir::Operation *first();
};

class SharedValues {
public:
  SharedValues(mlir::ModuleOp module, const ValueNumbering &numbering);

  /// The value that an operation computes again; null if it is the first to.
  mlir::Value keptFor(mlir::Operation *op) const { return kept.lookup(op); }

  /// Whether the result of an operation stands for that of another.
  bool isKept(mlir::Operation *op) const { return keepers.contains(op); }

  /// The cache that has the rows of `name`: the first of its class.
  mlir::StringAttr keptFor(mlir::StringAttr name) const;

  /// The attentions whose weights are those of `attention`, itself among them; null if it is to
  /// stay one operation.
  SharedWeights *weightsFor(transformer::AttentionOp attention);

  /// Every operation with an equal before it, in the order of the program.
  llvm::SmallVector<mlir::Operation *> repeated() const;

  /// Leaves the first of each. Operations that are repeated are erased.
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
