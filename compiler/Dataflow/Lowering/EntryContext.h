// SPDX-License-Identifier: Apache-2.0
///
/// What the patterns of one entry share: the graph that they write, the buffers of values lowered
/// so far, parameters, and what the entry's signature must say in the end.
#ifndef HEDDLE_COMPILER_DATAFLOW_LOWERING_ENTRYCONTEXT_H
#define HEDDLE_COMPILER_DATAFLOW_LOWERING_ENTRYCONTEXT_H

#include "compiler/Dataflow/KernelBuilder.h"
#include "compiler/Dataflow/Lowering/KeySources.h"
#include "dialects/Dataflow/Dataflow.h"

#include "llvm/ADT/MapVector.h"

#include <optional>

namespace heddle {

/// How a value shows the positions of the cache that is its buffer, where no kernel has moved them:
/// the contraction that reads the value takes the positions as they lie.
struct CacheView {
  /// How often each head of the cache is repeated; 0: it is not.
  int64_t repeats = 0;
  /// Axis i of the value is axis order[i] of the cache; empty: they are the same.
  llvm::SmallVector<int64_t> order;
};

/// Whether a buffer can hold values of this type; reports if not.
mlir::LogicalResult checkType(mlir::Type type,
                              llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Whether operations of an entry read what its earlier runs left: runs may then begin in the
/// middle of a sequence.
bool readsEarlierRuns(mlir::Block &entry);

/// What a loop nest computes. The axes are those of the dataflow dialect's `nest`.
struct NestParts {
  llvm::StringRef stem;
  std::string axes;
  dataflow::ReductionKind reduction;
  llvm::SmallVector<mlir::Value> inputs;
  dataflow::BufferType result;
  /// What hidden keys have in place of the computed number: those after the row or, with
  /// `visibility`, those that it does not see. Null: the number.
  mlir::FloatAttr hidden = nullptr;
  transformer::VisibilityAttr visibility = nullptr;
  /// Whether the input is a table by distance, of axis `r`.
  bool relative = false;
  /// Whether the first input is read about each key, along axis `j`.
  bool slides = false;
};

/// Invariants, which the conversion sees to:
/// - The builder is at the end of the graph; a pattern only ever adds to it.
/// - When a pattern runs, each operand has a buffer: a cache if it shows positions of one. Masks,
///   segments and positions of rows have none; what reads them looks at the operation itself.
/// - When it has run, the results have theirs. A buffer is never given twice.
/// - A graph reads each parameter once.
class EntryContext {
public:
  EntryContext(dataflow::GraphOp graph, mlir::SymbolTable &symbols);

  // --- Values
  /// The buffer or cache of a value; null if it has none.
  mlir::Value bufferOf(mlir::Value value) const { return buffers.lookup(value); }
  dataflow::BufferType typeOf(mlir::Value value) const {
    return llvm::cast<dataflow::BufferType>(bufferOf(value).getType());
  }
  /// The cache that is the buffer of a value; null if that is no cache.
  dataflow::CacheType cacheOf(mlir::Value value) const;
  /// How a value shows that cache; null: as it lies.
  const CacheView *viewOf(mlir::Value value) const;
  /// Makes a buffer, or a view of one, that of the only result of an operation.
  mlir::LogicalResult define(mlir::Operation *op, mlir::Value buffer);
  /// The same for one result of several, or an argument of a region.
  void defineValue(mlir::Value value, mlir::Value buffer) { buffers[value] = buffer; }
  /// The same for a cache that the result shows another way.
  mlir::LogicalResult defineView(mlir::Operation *op, mlir::Value cache, CacheView view);

  // --- Parameters
  transformer::ParameterOp parameterOp(mlir::FlatSymbolRefAttr symbol) const {
    return symbols.lookup<transformer::ParameterOp>(symbol.getValue());
  }
  /// A parameter as a buffer.
  mlir::Value parameter(mlir::FlatSymbolRefAttr symbol);
  /// A matrix transposed, as a buffer.
  mlir::Value transposedParameter(mlir::FlatSymbolRefAttr symbol);

  // --- Dispatches
  /// A buffer of f32 without gaps.
  dataflow::BufferType denseBuffer(llvm::ArrayRef<int64_t> shape);
  /// Creates the dispatch of `op` and makes its first result the buffer of the operation's only
  /// one.
  mlir::LogicalResult dispatch(mlir::Operation *op, const KernelParts &parts,
                               EpilogueBuilder epilogue = nullptr, EpilogueBuilder pairs = nullptr);
  /// The same for an operation of several results, which are the dispatch's in this order.
  mlir::LogicalResult dispatchTo(llvm::ArrayRef<mlir::Value> results, mlir::Location location,
                                 const KernelParts &parts);
  /// A dispatch of no operation: its first result.
  mlir::Value createDispatch(mlir::Location location, const KernelParts &parts);
  /// The same for a loop nest; `term` maps the elements of its inputs.
  mlir::LogicalResult nest(mlir::Operation *op, const NestParts &nest,
                           EpilogueBuilder term = nullptr);
  /// A dense buffer with the elements of another.
  mlir::Value copy(mlir::Location location, mlir::Value source);

  // --- Order of rows
  /// The rows of a buffer in the order of another space, or of sequences those of its last step.
  mlir::Value moved(mlir::Location location, mlir::Value buffer, RowSpace space);
  /// What moved() has brought into another order to make `buffer`; `buffer` itself if that was not
  /// made so.
  mlir::Value unmoved(mlir::Value buffer) const;
  /// The rows of a state, of which `given` is as in `transformer.load`, in a space of sequences.
  mlir::Value loaded(mlir::Location location, mlir::Value state, bool given, RowSpace space);
  /// Erases what moved() and loaded() have made and nothing reads.
  void eraseUnreadMoves();

  // --- Keys
  /// Fails if the operation reads a cache as if it were rows of the batch.
  mlir::LogicalResult checkCacheUse(mlir::Operation *op, const CacheUse &use) const;
  /// The cache whose positions the keys of `op` are; null where they are rows of the entry. Fails
  /// if no cache has them.
  mlir::FailureOr<mlir::Value> keysOf(mlir::Operation *op) const { return keys.of(op); }
  /// Fails if the operation hides keys by their positions from queries that are none of the keys'
  /// positions.
  mlir::LogicalResult checkVisibility(mlir::Operation *op,
                                      const transformer::Visibility &visibility,
                                      mlir::Value queries, mlir::Value keys) const;

  /// Fails if the operation measures distances between queries and keys that have no positions in
  /// common.
  mlir::LogicalResult checkDistances(mlir::Operation *op, mlir::Value queries,
                                     mlir::Value keys) const;

  // --- Row spaces
  /// The row space of segments: that of the entry's rows, or of blocks of them; in a loop, that of
  /// its steps. None for others.
  std::optional<RowSpace> spaceOf(mlir::Value segments) const;
  /// The dimension of a buffer that counts the rows of segments, of which spaceOf() knows the
  /// space.
  int64_t rowsIn(mlir::Value segments) const { return RowDimension{*spaceOf(segments)}.number(); }
  /// The dimension that says how many keys a row has at most, of segments that are rows of the
  /// entry or positions of a cache.
  int64_t longestIn(mlir::Value keys) const {
    return RowDimension{spaceOf(keys).value_or(RowSpace::tokens()), true}.number();
  }
  /// Fails unless the first dimension of a buffer counts the rows of segments. `verb` says what
  /// `op` does with them: "pools".
  mlir::LogicalResult checkRows(mlir::Operation *op, llvm::StringRef verb, mlir::Value buffer,
                                mlir::Value segments) const;

  // --- Bounds
  /// Notes that `ids` must be less than `count`. Fails if they are no input.
  mlir::LogicalResult limitIds(mlir::Operation *op, mlir::Value ids, int64_t count);
  /// Notes that `ids` look up a table: ids must be less than its rows. Fails if they are no input.
  mlir::LogicalResult limitIds(mlir::Operation *op, mlir::Value ids, mlir::FlatSymbolRefAttr table);
  /// Notes that positions of rows from `offset` on look up a table. Fails if it has no such row.
  mlir::LogicalResult limitPositions(mlir::Operation *op, mlir::Value rows,
                                     mlir::FlatSymbolRefAttr table, int64_t offset);
  /// Notes that a sequence has at most so many of these rows.
  void limitPositions(mlir::Value rows, int64_t most);
  /// The exclusive upper bound of the ids in a buffer, if a table gives one.
  std::optional<int64_t> idLimit(mlir::Value buffer) const;
  /// Rows of the longest sentence; 0: any.
  int64_t getMaxLength() const { return maxLength; }
  /// Rows of images of any width for which there are positions; null: any.
  dataflow::RowLimitsAttr getMaxRows() const;

  mlir::OpBuilder builder;
  /// The segments of the entry's own rows; null if it has none.
  mlir::Value rows;
  KeySources keys;
  /// The orders that products go over rows in, by the numbers that the rows have chosen and how
  /// many there are to choose from.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> orders;
  /// The space of the rows that the entry appends to caches, once it does.
  std::optional<RowSpace> appended;

private:
  mlir::SymbolTable &symbols;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::DenseMap<mlir::Value, CacheView> views;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> parameters;
  /// The move that made a buffer, if one did.
  mlir::Value sourceOf(mlir::Value buffer) const;

  /// The buffer or state, the number of the dimension of rows and, of a state, whether it is loaded
  /// as it was given: 0 or 1.
  using Move = std::pair<mlir::Value, std::pair<int64_t, int64_t>>;
  llvm::MapVector<Move, mlir::Value> moves;
  llvm::DenseMap<mlir::Value, int64_t> limits;
  int64_t maxLength = 0;
  /// By the number of the dimension.
  llvm::MapVector<int64_t, int64_t> rowLimits;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_DATAFLOW_LOWERING_ENTRYCONTEXT_H
