// SPDX-License-Identifier: Apache-2.0
///
/// How one type of operation of the model level becomes dispatches. The conversion finds a pattern
/// by the type of the operation, checks what the pattern says of segments and caches, and calls it.
/// Each operation has its pattern in a file of Patterns/.
#ifndef HEDDLE_COMPILER_DATAFLOW_LOWERING_PATTERN_H
#define HEDDLE_COMPILER_DATAFLOW_LOWERING_PATTERN_H

#include "dialects/Transformer/Transformer.h"

namespace heddle {

class EntryContext;

/// Which segments the operands of an operation name: those of its rows or queries, those of its
/// keys, or both, rows first.
enum class NamedSegments { None, Rows, Keys, RowsAndKeys };

/// How an operation reads the positions of a cache.
struct CacheUse {
  enum Kind {
    /// Its operands are rows of the batch; a cache is an error.
    None,
    /// The result is the same positions in other axes. Takes them only as the cache has them.
    Views,
    /// The same, but takes every view.
    Transposes,
    /// Reads every view; the result is computed.
    Contracts,
    /// Reads positions as keys and values of an attention, only as the cache has them.
    Attends,
  };

  static CacheUse none() { return {None}; }
  static CacheUse views() { return {Views}; }
  static CacheUse transposes() { return {Transposes}; }
  static CacheUse contracts() { return {Contracts}; }
  /// The numbers of the operands that are keys and values; -1: it has none.
  static CacheUse attends(int key, int value) { return {Attends, key, value}; }

  bool isView() const { return kind == Views || kind == Transposes; }

  Kind kind;
  int key = -1;
  int value = -1;
};

/// When an operation is lowered.
enum class LoweringOrder {
  InPlace,
  /// Before its first user: it runs over the keys of a cache, and the rows of this run must have
  /// been appended by then.
  AtFirstUse,
  /// After all readers of its first operand, which it changes in place.
  AfterReaders,
};

struct Pattern {
  NamedSegments segments;
  CacheUse caches;
  LoweringOrder order;
  /// Gives each result a buffer, or none to what is read where it is used. Reports failures at the
  /// operation.
  mlir::LogicalResult (*lower)(mlir::Operation *, EntryContext &);

  /// The segments of the rows or queries of `op`; null if it names none.
  mlir::Value rowsOf(mlir::Operation *op) const;
  /// The segments of the keys of `op`; null if it names none.
  mlir::Value keysOf(mlir::Operation *op) const;
};

/// The pattern of operations of type `Op`. Each is a specialization beside the function that it
/// names; there is no general definition, so that an operation of the dialect without a pattern
/// does not link.
template <typename Op> Pattern patternOf();

/// `function` for any operation, as Pattern::lower has it.
template <typename Op, mlir::LogicalResult (*function)(Op, EntryContext &)>
mlir::LogicalResult lowerAs(mlir::Operation *op, EntryContext &entry) {
  return function(llvm::cast<Op>(op), entry);
}

/// The pattern of an operation on rows that names no segments.
template <typename Op, mlir::LogicalResult (*function)(Op, EntryContext &)> Pattern rowPattern() {
  return {NamedSegments::None, CacheUse::none(), LoweringOrder::InPlace, lowerAs<Op, function>};
}

/// The pattern of an operation; null if it is of another dialect, or not an operation of entries.
const Pattern *findPattern(mlir::Operation *op);

} // namespace heddle

#endif // HEDDLE_COMPILER_DATAFLOW_LOWERING_PATTERN_H
