// SPDX-License-Identifier: Apache-2.0
///
/// Which keys the values of an entry are about. Scores and masks run over keys that are rows of the
/// entry or positions of a cache; values about different keys must not meet, and a kernel without
/// keys of its own must be told whose number they have.
#ifndef HEDDLE_COMPILER_DATAFLOW_LOWERING_KEYSOURCES_H
#define HEDDLE_COMPILER_DATAFLOW_LOWERING_KEYSOURCES_H

#include "compiler/Dataflow/Lowering/Pattern.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle {

/// Invariant: whatever note() has seen is about the keys of one source. A source is the buffer of a
/// cache argument, segments that no cache has, or null: the entry's own rows.
class KeySources {
public:
  /// `rows` are the segments of the entry's rows. Finds a cache for each of the other segments, one
  /// that has as many positions; `bufferOf` gives the buffer of its argument.
  void begin(mlir::Value rows, mlir::Block &entry,
             llvm::function_ref<mlir::Value(mlir::Value)> bufferOf);
  /// Notes the keys of `op` and of the scores, the mask or the view of a cache that it gives. Fails
  /// if its operands are about different keys.
  mlir::LogicalResult note(mlir::Operation *op, const Pattern &pattern);
  /// Notes that `to` has the keys of `from`, which `op` hands on. Fails if it is known to have
  /// others.
  mlir::LogicalResult hand(mlir::Operation *op, mlir::Value from, mlir::Value to);
  /// The cache whose positions the keys of `op` are; null where they are rows of the entry. Fails
  /// if no cache has them.
  mlir::FailureOr<mlir::Value> of(mlir::Operation *op) const;

private:
  mlir::Value sourceOf(mlir::Value segments) const;
  /// Several operations may give the history of the same rows, or derive the same rows; this
  /// answers with the first of them.
  mlir::Value canonicalSegments(mlir::Value segments) const;

  mlir::Value rows;
  /// The first segments of each row space that derive from the same segments.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> derived;
  llvm::DenseMap<mlir::Value, mlir::Value> segmentCaches;
  /// Sources of values and operations; those about the entry's own rows are left out.
  llvm::DenseMap<mlir::Value, mlir::Value> ofValue;
  llvm::DenseMap<mlir::Operation *, mlir::Value> ofOperation;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_DATAFLOW_LOWERING_KEYSOURCES_H
