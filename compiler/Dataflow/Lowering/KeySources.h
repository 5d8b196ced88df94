// SPDX-License-Identifier: Apache-2.0
///
/// Tracks which keys the values of an entry refer to. Scores and masks refer to keys that are rows
/// of the entry or positions of a cache. Values about different keys must not be combined, and a
/// kernel without keys of its own needs to know how many there are.
#ifndef HEDDLE_COMPILER_DATAFLOW_LOWERING_KEYSOURCES_H
#define HEDDLE_COMPILER_DATAFLOW_LOWERING_KEYSOURCES_H

#include "compiler/Dataflow/Lowering/Pattern.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle {

/// Invariant: each value that note() has seen refers to the keys of one source. A source is the
/// buffer of a cache argument, segments without a cache, or null: the entry's own rows.
class KeySources {
public:
  /// `rows` are the segments of the entry's rows. Finds for each of the other segments a cache with
  /// as many positions; `bufferOf` returns the buffer of its argument.
  void begin(mlir::Value rows, mlir::Block &entry,
             llvm::function_ref<mlir::Value(mlir::Value)> bufferOf);
  /// Records the keys of `op` and of its result: scores, a mask or a view of a cache. Fails if its
  /// operands refer to different keys.
  mlir::LogicalResult note(mlir::Operation *op, const Pattern &pattern);
  /// Records that `op` passes `from` on as `to`, with the same keys. Fails if `to` is known to have
  /// others.
  mlir::LogicalResult hand(mlir::Operation *op, mlir::Value from, mlir::Value to);
  /// Returns the cache whose positions the keys of `op` are; null if they are rows of the entry.
  /// Fails if no cache has them.
  mlir::FailureOr<mlir::Value> of(mlir::Operation *op) const;

private:
  mlir::Value sourceOf(mlir::Value segments) const;
  /// Several operations may return the history of the same rows, or derive the same rows; returns
  /// the first of them.
  mlir::Value canonicalSegments(mlir::Value segments) const;

  mlir::Value rows;
  /// The first segments of each row space that derive from the same segments.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> derived;
  llvm::DenseMap<mlir::Value, mlir::Value> segmentCaches;
  /// Sources of values and operations, without those of the entry's own rows.
  llvm::DenseMap<mlir::Value, mlir::Value> ofValue;
  llvm::DenseMap<mlir::Operation *, mlir::Value> ofOperation;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_DATAFLOW_LOWERING_KEYSOURCES_H
