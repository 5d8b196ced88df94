// SPDX-License-Identifier: Apache-2.0
///
/// How one type of operation of the model level is lowered to dispatches. The conversion finds the
/// pattern by the type of the operation, checks its segments and caches as the pattern requires,
/// and calls it. The patterns are in the files of Patterns/.
#ifndef HEDDLE_COMPILER_DATAFLOW_LOWERING_PATTERN_H
#define HEDDLE_COMPILER_DATAFLOW_LOWERING_PATTERN_H

#include "dialects/Transformer/Transformer.h"

namespace heddle {

class EntryContext;

/// The segments that an operation names: those of its rows or queries, those of its keys, or both,
/// rows first.
enum class NamedSegments { None, Rows, Keys, RowsAndKeys };

/// How an operation reads the positions of a cache.
struct CachePositions {
  enum Kind {
    /// Its operands are rows of the batch; a cache is an error.
    None,
    /// The result is a view of the same positions with other axes. Takes them only in the cache's
    /// layout.
    Views,
    /// The same, but takes every view.
    Transposes,
    /// Reads every view; the result is computed.
    Contracts,
    /// Reads positions as keys and values of an attention, only in the cache's layout.
    Attends,
  };

  static CachePositions none() { return {None}; }
  static CachePositions views() { return {Views}; }
  static CachePositions transposes() { return {Transposes}; }
  static CachePositions contracts() { return {Contracts}; }
  /// The indices of the operands that are keys and values; -1 if there are none.
  static CachePositions attends(int key, int value) { return {Attends, key, value}; }

  bool isView() const { return kind == Views || kind == Transposes; }

  Kind kind;
  int key = -1;
  int value = -1;
};

/// When an operation is lowered.
enum class LoweringOrder {
  InPlace,
  /// Before its first user, for operations over the keys of a cache: the rows of this run must be
  /// appended first.
  AtFirstUse,
  /// After all readers of its first operand, which it changes in place.
  AfterReaders,
};

struct Pattern {
  NamedSegments segments;
  CachePositions caches;
  LoweringOrder order;
  /// Assigns a buffer to each result, or none to results that their users inspect. Reports errors
  /// at the operation.
  mlir::LogicalResult (*lower)(mlir::Operation *, EntryContext &);

  /// Returns the segments of the rows or queries of `op`; null if it names none.
  mlir::Value rowsOf(mlir::Operation *op) const;
  /// Returns the segments of the keys of `op`; null if it names none.
  mlir::Value keysOf(mlir::Operation *op) const;
};

/// Returns the pattern of operations of type `Op`. Specialisations are next to the lowering
/// functions. There is no general definition, so an operation without a pattern is a link error.
template <typename Op> Pattern patternOf();

/// Adapts `function` to the signature of Pattern::lower.
template <typename Op, mlir::LogicalResult (*function)(Op, EntryContext &)>
mlir::LogicalResult lowerAs(mlir::Operation *op, EntryContext &entry) {
  return function(llvm::cast<Op>(op), entry);
}

/// Returns the pattern of an operation on rows that names no segments.
template <typename Op, mlir::LogicalResult (*function)(Op, EntryContext &)> Pattern rowPattern() {
  return {NamedSegments::None, CachePositions::none(), LoweringOrder::InPlace,
          lowerAs<Op, function>};
}

/// Returns the pattern of an operation; null for an operation of another dialect, or one that is
/// not allowed in entries.
const Pattern *findPattern(mlir::Operation *op);

} // namespace heddle

#endif // HEDDLE_COMPILER_DATAFLOW_LOWERING_PATTERN_H
