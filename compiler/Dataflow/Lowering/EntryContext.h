// SPDX-License-Identifier: Apache-2.0
///
/// State shared by the patterns of one entry: the graph that they write, the buffers of lowered
/// values, parameters, and constraints for the entry's signature.
#ifndef HEDDLE_COMPILER_DATAFLOW_LOWERING_ENTRYCONTEXT_H
#define HEDDLE_COMPILER_DATAFLOW_LOWERING_ENTRYCONTEXT_H

#include "compiler/Dataflow/KernelBuilder.h"
#include "compiler/Dataflow/Lowering/KeySources.h"
#include "dialects/Dataflow/Dataflow.h"

#include "llvm/ADT/MapVector.h"

#include <optional>

namespace heddle {

/// How a value views the positions of the cache that is its buffer, without moving them: the
/// contraction that reads the value takes the positions in their layout.
struct CacheView {
  /// The number of repetitions of each head of the cache; 0: not repeated.
  int64_t repeats = 0;
  /// Axis i of the value is axis order[i] of the cache; empty: the identity.
  llvm::SmallVector<int64_t> order;
};

/// Returns whether a buffer can hold values of this type; reports an error if not.
mlir::LogicalResult checkType(mlir::Type type,
                              llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Returns whether operations of an entry read data of earlier runs: runs may then begin in the
/// middle of a sequence.
bool readsEarlierRuns(mlir::Block &entry);

/// The computation of a loop nest. The axes are those of the dataflow dialect's `nest`.
struct NestParts {
  llvm::StringRef stem;
  std::string axes;
  dataflow::ReductionKind reduction;
  llvm::SmallVector<mlir::Value> inputs;
  dataflow::BufferType result;
  /// The number that replaces the result at hidden keys: those after the row or, with `visibility`,
  /// those that it does not see. Null: no replacement.
  mlir::FloatAttr hidden = nullptr;
  transformer::VisibilityAttr visibility = nullptr;
  /// Whether the input is a table by distance, with axis `r`.
  bool relative = false;
  /// Whether the first input is read in a window around each key, along axis `j`.
  bool slides = false;
};

/// Invariants, which the conversion maintains:
/// - The builder is at the end of the graph; a pattern only adds to it.
/// - When a pattern runs, each operand has a buffer: a cache if it views positions of one. Masks,
///   segments and positions of rows have none; their users inspect the operation itself.
/// - After it has run, each result has its buffer. No buffer is assigned twice.
/// - A graph reads each parameter once.
class EntryContext {
public:
  EntryContext(dataflow::GraphOp graph, mlir::SymbolTable &symbols);

  // --- Values
  /// Returns the buffer or cache of a value; null if it has none.
  mlir::Value bufferOf(mlir::Value value) const { return buffers.lookup(value); }
  dataflow::BufferType typeOf(mlir::Value value) const {
    return llvm::cast<dataflow::BufferType>(bufferOf(value).getType());
  }
  /// Returns the cache that is the buffer of a value; null if that is no cache.
  dataflow::CacheType cacheOf(mlir::Value value) const;
  /// Returns how a value views that cache; null for the identity.
  const CacheView *viewOf(mlir::Value value) const;
  /// Makes a buffer, or a view of one, the buffer of the only result of an operation.
  mlir::LogicalResult define(mlir::Operation *op, mlir::Value buffer);
  /// The same for one of several results, or an argument of a region.
  void defineValue(mlir::Value value, mlir::Value buffer) { buffers[value] = buffer; }
  /// The same for a cache that the result views differently.
  mlir::LogicalResult defineView(mlir::Operation *op, mlir::Value cache, CacheView view);

  // --- Parameters
  transformer::ParameterOp parameterOp(mlir::FlatSymbolRefAttr symbol) const {
    return symbols.lookup<transformer::ParameterOp>(symbol.getValue());
  }
  /// Returns a parameter as a buffer.
  mlir::Value parameter(mlir::FlatSymbolRefAttr symbol);
  /// Returns a transposed matrix as a buffer.
  mlir::Value transposedParameter(mlir::FlatSymbolRefAttr symbol);

  // --- Dispatches
  /// Returns a dense f32 buffer type.
  dataflow::BufferType denseBuffer(llvm::ArrayRef<int64_t> shape);
  /// Creates the dispatch of `op` and makes its first result the buffer of the operation's only
  /// one.
  mlir::LogicalResult dispatch(mlir::Operation *op, const KernelParts &parts,
                               EpilogueBuilder epilogue = nullptr, EpilogueBuilder pairs = nullptr);
  /// The same for an operation with several results, which are those of the dispatch in this order.
  mlir::LogicalResult dispatchTo(llvm::ArrayRef<mlir::Value> results, mlir::Location location,
                                 const KernelParts &parts);
  /// Creates a dispatch that belongs to no operation and returns its first result.
  mlir::Value createDispatch(mlir::Location location, const KernelParts &parts);
  /// The same for a loop nest; `term` maps the elements of its inputs.
  mlir::LogicalResult nest(mlir::Operation *op, const NestParts &nest,
                           EpilogueBuilder term = nullptr);
  /// Copies a buffer into a dense one.
  mlir::Value copy(mlir::Location location, mlir::Value source);

  // --- Order of rows
  /// Returns the rows of a buffer in the order of another space or, for sequences, those of its
  /// last step.
  mlir::Value moved(mlir::Location location, mlir::Value buffer, RowSpace space);
  /// Returns the buffer that moved() reordered to make `buffer`; `buffer` itself if moved() did not
  /// make it.
  mlir::Value unmoved(mlir::Value buffer) const;
  /// Returns the rows of a state in a space of sequences; `given` is as in `transformer.load`.
  mlir::Value loaded(mlir::Location location, mlir::Value state, bool given, RowSpace space);
  /// Erases unused results of moved() and loaded().
  void eraseUnreadMoves();

  // --- Keys
  /// Fails if the operation reads a cache as if it were rows of the batch.
  mlir::LogicalResult checkCachePositions(mlir::Operation *op, const CachePositions &use) const;
  /// Returns the cache whose positions the keys of `op` are; null if they are rows of the entry.
  /// Fails if no cache has them.
  mlir::FailureOr<mlir::Value> keysOf(mlir::Operation *op) const { return keys.of(op); }
  /// Fails if the operation hides keys by position from queries that do not share the keys'
  /// positions.
  mlir::LogicalResult checkVisibility(mlir::Operation *op,
                                      const transformer::Visibility &visibility,
                                      mlir::Value queries, mlir::Value keys) const;

  /// Fails if the operation measures distances between queries and keys without common positions.
  mlir::LogicalResult checkDistances(mlir::Operation *op, mlir::Value queries,
                                     mlir::Value keys) const;

  // --- Row spaces
  /// Returns the row space of segments: that of the entry's rows, or of blocks of them; in a loop,
  /// that of its steps. Returns nothing for other segments.
  std::optional<RowSpace> spaceOf(mlir::Value segments) const;
  /// Returns the dimension of a buffer that counts the rows of segments, whose space must be known
  /// to spaceOf().
  int64_t rowsIn(mlir::Value segments) const { return RowDimension{*spaceOf(segments)}.number(); }
  /// Returns the dimension for the most keys of a row, for segments that are rows of the entry or
  /// positions of a cache.
  int64_t longestIn(mlir::Value keys) const {
    return RowDimension{spaceOf(keys).value_or(RowSpace::tokens()), true}.number();
  }
  /// Fails unless the first dimension of a buffer counts the rows of segments. `verb` describes
  /// what `op` does with them: "pools".
  mlir::LogicalResult checkRows(mlir::Operation *op, llvm::StringRef verb, mlir::Value buffer,
                                mlir::Value segments) const;

  // --- Bounds
  /// Requires `ids` to be less than `count`. Fails if they are no input.
  mlir::LogicalResult limitIds(mlir::Operation *op, mlir::Value ids, int64_t count);
  /// Requires `ids`, which look up a table, to be less than its rows. Fails if they are no input.
  mlir::LogicalResult limitIds(mlir::Operation *op, mlir::Value ids, mlir::FlatSymbolRefAttr table);
  /// Requires positions of rows, plus `offset`, to be within a table. Fails if it has no such row.
  mlir::LogicalResult limitPositions(mlir::Operation *op, mlir::Value rows,
                                     mlir::FlatSymbolRefAttr table, int64_t offset);
  /// Limits the number of these rows of a sequence.
  void limitPositions(mlir::Value rows, int64_t most);
  /// Returns the exclusive upper bound of the ids in a buffer, if a table gives one.
  std::optional<int64_t> idLimit(mlir::Value buffer) const;
  /// Returns the rows of the longest sequence; 0: no limit.
  int64_t getMaxLength() const { return maxLength; }
  /// Returns the limit on rows of images of variable width, from position tables; null: no limit.
  dataflow::RowLimitsAttr getMaxRows() const;

  mlir::OpBuilder builder;
  /// The segments of the entry's own rows; null if it has none.
  mlir::Value rows;
  KeySources keys;
  /// The orders in which products visit rows, by the rows' choices and the number of groups.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> orders;
  /// The space of the rows that the entry appends to caches, once it does.
  std::optional<RowSpace> appended;

private:
  mlir::SymbolTable &symbols;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::DenseMap<mlir::Value, CacheView> views;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> parameters;
  /// Returns the source of the move that made a buffer, if one did.
  mlir::Value sourceOf(mlir::Value buffer) const;

  /// The buffer or state, the row dimension and, for a state, whether it is loaded as given: 0 or
  /// 1.
  using Move = std::pair<mlir::Value, std::pair<int64_t, int64_t>>;
  llvm::MapVector<Move, mlir::Value> moves;
  llvm::DenseMap<mlir::Value, int64_t> limits;
  int64_t maxLength = 0;
  /// By dimension.
  llvm::MapVector<int64_t, int64_t> rowLimits;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_DATAFLOW_LOWERING_ENTRYCONTEXT_H
