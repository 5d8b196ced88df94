// SPDX-License-Identifier: Apache-2.0
///
/// How a block computes attention, span by span. The rows of a tile of queries are divided among
/// warps. A warp holds whole rows of scores, which never leave its registers. Keys are processed in
/// spans that begin at multiples of their size in the sequence, with an online softmax. The bits of
/// a row therefore depend only on its own sequence: spans of which it sees no key change nothing.
///
/// Lanes hold scores in the layout of the sums of a matrix product (mma), whatever units compute
/// them. Of each eight rows of its warp, a lane has row g = lane / 4; of each eight keys, it has
/// keys 2 t and 2 t + 1, where t = lane % 4. The four lanes of a row thus exchange its maximum and
/// its sum.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_ATTENTIONSPAN_H
#define HEDDLE_COMPILER_TARGET_CUDA_ATTENTIONSPAN_H

#include "compiler/Target/Cuda/TensorWords.h"
#include "compiler/Target/Emitters/AttentionTile.h"

#include "llvm/Support/MathExtras.h"

#include <memory>

namespace heddle {

/// Numbers that are loaded and stored at once.
inline constexpr int64_t kFourNumbers = 4;
/// Rows of which each lane of a warp has one, and keys of which it has two.
inline constexpr int64_t kLaneGroups = kWarpLanes / kLanesOfRow;

/// The sizes of tiles and spans.
struct SpanShape {
  Units units;
  /// Warps of a block, rows of queries per lane, keys of a span.
  int64_t warps, laneRows, keys;
  int64_t keySize, valueSize;
  /// Lines of locations: numbers for each row and key that pairs read.
  int64_t lines = 0;

  int64_t threads() const { return warps * kWarpLanes; }
  int64_t warpRows() const { return laneRows * kLaneGroups; }
  int64_t rows() const { return warps * warpRows(); }
  /// Scores of a lane in one of its rows.
  int64_t laneKeys() const { return keys / kLanesOfRow; }

  /// Returns the numbers of a row of keys or values in shared memory. Rows are padded with zeros,
  /// so that all threads load the same number of fours of a span and products use whole matrices.
  int64_t padded(int64_t size) const {
    return llvm::alignTo(size, std::max<int64_t>(16, threads() * kFourNumbers / keys));
  }
  int64_t keyNumbers() const { return padded(keySize); }
  int64_t valueNumbers() const { return padded(valueSize); }
  /// Values that a lane sums in one of its rows.
  int64_t laneValues() const { return valueNumbers() / kLanesOfRow; }
  /// Returns the bytes from one row to the next: an odd multiple of 16, so that 16-byte reads of
  /// eight rows use distinct banks.
  int64_t pitch(int64_t numbers) const {
    const int64_t parts = numbers / numbersOfWord(units) / 4;
    return (parts % 2 == 1 ? parts : parts + 1) * kSharedAlignment;
  }
  int64_t keyPitch() const { return pitch(keyNumbers()); }
  int64_t valuePitch() const { return pitch(valueNumbers()); }

  /// Tensor cores keep queries in registers. For FMA units, shared memory begins with the queries,
  /// followed by keys and values.
  int64_t keysBegin() const { return units == Units::Fma ? rows() * keyPitch() : 0; }
  int64_t valuesBegin() const { return keysBegin() + keys * keyPitch(); }
  /// Lines are [rows][lines][keys], in f32.
  int64_t linesBegin() const { return valuesBegin() + keys * valuePitch(); }
  int64_t bytes() const {
    return linesBegin() + rows() * lines * keys * static_cast<int64_t>(sizeof(float));
  }
};

/// The indices of a thread in its block and warp.
struct SpanThread {
  /// The warp, the lane, g = lane / 4 and t = lane % 4.
  mlir::Value warp, lane, g, t;

  static SpanThread load(BlockCode &block);
};

/// A row of queries of a lane.
struct LaneRow {
  mlir::Value row, head, position;
  /// The keys that it sees, as i32: [begin, end); a mask of a finite number hides keys from `shown`
  /// on. A null `begin` means 0; a null `shown` means that no key is hidden.
  mlir::Value begin = {}, end = {}, shown = {};
};

class QueryTile;

/// Products of a warp with a span in shared memory; each kind of unit has an implementation.
class SpanProducts {
public:
  virtual ~SpanProducts() = default;
  /// Loads the queries of the tile; row `i` of the lane is `rows[i]` and begins at `queries[i]`.
  virtual void takeQueries(llvm::ArrayRef<mlir::Value> queries, llvm::ArrayRef<LaneRow> rows) = 0;
  /// Stores what scores of the span from key `first` on need besides its keys, before the barrier
  /// that precedes them.
  virtual void storeLines(const QueryTile & /*tile*/, mlir::Value /*first*/) {}
  /// Returns the products of queries and keys, or what takes their place: for each of the lane's
  /// rows a vector of laneKeys(), whose element e belongs to key e / 2 * 8 + 2 t + e % 2.
  virtual llvm::SmallVector<mlir::Value> scores() = 0;
  /// Returns sums of values, laneValues() for each of the lane's rows, plus the span's values times
  /// `weights`, which have the layout of scores.
  virtual llvm::SmallVector<mlir::Value> addValues(llvm::ArrayRef<mlir::Value> weights,
                                                   mlir::ValueRange sums) = 0;
  /// Identifies the value that sum number `i` of a row belongs to: `first` + t * `step`.
  struct Column {
    int64_t first, step;
  };
  virtual Column columnOf(int64_t i) const = 0;
};

std::unique_ptr<SpanProducts> fmaSpanProducts(BlockCode &block, const AttentionTile &a,
                                              const SpanShape &shape, const SpanThread &thread);
std::unique_ptr<SpanProducts> tensorSpanProducts(BlockCode &block, const SpanShape &shape,
                                                 const SpanThread &thread);

// --- rows of keys, values and queries ------------------------------------------------------------

/// Keys or values of the current heads.
struct SpanRows {
  /// For rows: the address of the head's first number in row 0. For a cache: the number of the
  /// head's first element, the cache, its layout and the list of its blocks.
  mlir::Value base = {}, column = {};
  int64_t stride = 0;
  const CacheFields *cache = nullptr;
  const CacheBlock *places = nullptr;
  mlir::Value blocks = {};
  /// The numbers of a row, without and with padding.
  int64_t size = 0, numbers = 0;
  /// Whether four adjacent numbers are aligned to their size; null if they are not.
  mlir::Value areAligned = {};

  /// The type of a number in memory: f32, or what a cache stores; codes have scales.
  mlir::Type element(VectorCode &code) const { return places ? places->element : code.f32; }
  bool hasScales() const { return places && places->hasScales(); }
  /// Returns whether neighbouring threads take neighbouring rows of keys.
  bool areTogether() const { return places && places->elementStride != 1; }
};

/// Starts to load four numbers from `number` on of the row at a position; those past the last one
/// are zero. `together` says that they are aligned. Returns what memory stores, so that nothing
/// waits for a load before its numbers are used, unless rows are padded or not aligned: a vector,
/// or single numbers if they are narrow and may not be loaded as one; after codes, their scale.
llvm::SmallVector<mlir::Value> loadFour(BlockCode &block, const SpanRows &rows,
                                        mlir::Value position, mlir::Value number, bool together);
/// Returns zeros of these types.
llvm::SmallVector<mlir::Value> zeroFour(BlockCode &block, const SpanRows &rows);
/// Returns loaded numbers as words for units. The vector may be replaced by its elements.
llvm::SmallVector<mlir::Value> wordsOfFour(BlockCode &block, Units units, const SpanRows &rows,
                                           mlir::ValueRange loaded);
/// Emits loads twice, for rows that are aligned as `areAligned` says, if it is not null, and for
/// others; returns what the right ones return.
llvm::SmallVector<mlir::Value>
loadAligned(BlockCode &block, mlir::Value areAligned,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(bool together)> load);
/// Starts to load number `number`, or the last one if there is none, of `count` adjacent rows from
/// a multiple of `count` on, which divides HEDDLE_BLOCK. Rows outside [from, to) are zero, and are
/// not read; without `from`, all rows are there. Returns what memory stores, as single numbers;
/// after codes, as many scales.
llvm::SmallVector<mlir::Value> loadColumn(BlockCode &block, const SpanRows &rows, mlir::Value first,
                                          mlir::Value number, int64_t count, mlir::Value from,
                                          mlir::Value to);
/// Returns loaded numbers of a column as words of two bf16 numbers each.
llvm::SmallVector<mlir::Value> wordsOfColumn(BlockCode &block, const SpanRows &rows,
                                             mlir::ValueRange loaded);

/// Loads a thread's part of the span of keys or values from position `first` on. Rows outside
/// [from, to) are zero; their loads read memory of a row inside instead.
llvm::SmallVector<mlir::Value> loadSpan(BlockCode &block, const SpanShape &shape,
                                        const SpanRows &rows, mlir::Value first, mlir::Value from,
                                        mlir::Value to);
/// Loads the first span, as loadSpan() does. If there is no row in [from, to), nothing is read.
llvm::SmallVector<mlir::Value> loadFirstSpan(BlockCode &block, const SpanShape &shape,
                                             const SpanRows &rows, mlir::Value first,
                                             mlir::Value from, mlir::Value to);
/// Stores loaded numbers at byte `to` of shared memory, as words for the units.
void storeSpan(BlockCode &block, const SpanShape &shape, const SpanRows &rows,
               llvm::ArrayRef<mlir::Value> loaded, int64_t to);

// --- scores --------------------------------------------------------------------------------------

/// Returns SpanProducts::scores() of a warp that has rows, and zeros for others, which only load
/// their part of keys and values.
llvm::SmallVector<mlir::Value> productsOf(BlockCode &block, SpanProducts &products,
                                          const SpanShape &shape, mlir::Value hasRows);
/// Converts the products of a lane's rows to scores for a softmax with powers of two, or to plain
/// scores if no softmax follows: scales and maps them, adds biases and masks, and sets scores of
/// unseen keys to minus infinity. `first` is the position of the first key of the span.
llvm::SmallVector<mlir::Value> spanScores(BlockCode &block, AttentionTile &a,
                                          const SpanShape &shape, float scale,
                                          llvm::ArrayRef<LaneRow> rows,
                                          llvm::ArrayRef<mlir::Value> products, mlir::Value first,
                                          mlir::Value t);

/// The state of the online softmax of a lane's rows: maxima of whole rows, and sums over the lane's
/// own keys.
struct SoftmaxState {
  llvm::SmallVector<mlir::Value> maxima, sums;
};
/// Updates the state and turns scores into weights. Returns the factors that rescale older sums of
/// values.
llvm::SmallVector<mlir::Value> updateSoftmax(BlockCode &block, SoftmaxState &state,
                                             llvm::MutableArrayRef<mlir::Value> scores);
/// Returns 2^(score - maximum) for the scores of a row.
mlir::Value weightsOf(VectorCode &code, mlir::Value scores, mlir::Value maximum);
/// Returns the sums of a lane's rows over all lanes of each, and the inverses of numbers.
llvm::SmallVector<mlir::Value> sumsOfRows(BlockCode &block, llvm::ArrayRef<mlir::Value> ofLane);
llvm::SmallVector<mlir::Value> inverses(VectorCode &code, llvm::ArrayRef<mlir::Value> numbers);

// --- a tile of queries ---------------------------------------------------------------------------

/// The queries of a tile and the keys that they see. Warps have warpRows() rows each.
class QueryTile {
public:
  /// `warp` is the number of the warp among those that hold scores.
  QueryTile(BlockCode &block, AttentionTile &a, const SpanShape &shape, mlir::Value warp);

  /// Enters the tile from number `query` on, of queries before `last`.
  void enter(mlir::Value query, mlir::Value last);
  /// Enters the lane's rows; returns the addresses of their queries, if there are queries.
  llvm::SmallVector<mlir::Value> enterRows(mlir::Value g);
  /// Enters the lane's rows without their positions and the keys that they see.
  void enterPlaces(mlir::Value g);
  /// Enters the range of keys that any row sees.
  void enterKeys();
  /// Returns the first key of the first span in that range.
  mlir::Value firstSpan() const;

  /// Returns the place in the tile of the lane's row number `i`.
  mlir::Value placeInTile(size_t i, const SpanThread &thread) const;
  /// Returns the keys or values of the current heads.
  SpanRows keysOrValues(bool areKeys) const;
  /// Returns query number `inTile` of the tile; those past the last query repeat it.
  QueryPlace placeAt(mlir::Value inTile) const;
  mlir::Value addressOf(const QueryPlace &place) const;
  /// Returns whether four numbers, from a multiple of four on, are aligned to 16 bytes in rows that
  /// begin at `address`, `stride` elements apart; null if they are known not to be.
  mlir::Value areAligned(mlir::Value address, int64_t stride, int64_t size) const;

  int64_t laneRows() const { return shape.laneRows; }
  /// Goes over the lane's sums of values, laneValues() for each of its rows: calls `useRow` for
  /// each row that the tile has, which calls `useSums`, and this calls `use` for each sum that
  /// belongs to a column of the row's head.
  void
  overSums(llvm::ArrayRef<mlir::Value> sums, const SpanThread &thread,
           llvm::function_ref<SpanProducts::Column(int64_t)> columnOf,
           llvm::function_ref<void(size_t row, llvm::function_ref<void()> useSums)> useRow,
           llvm::function_ref<void(size_t row, mlir::Value column, mlir::Value sum)> use) const;
  /// Returns the address of the result of a row's head in a column.
  mlir::Value resultAt(const LaneRow &row, mlir::Value column) const;
  /// Stores a number of the result.
  void storeNumber(mlir::Value number, mlir::Value address) const;
  /// Stores result[row][head] = sums of values, laneValues() for each of the lane's rows.
  void store(llvm::ArrayRef<mlir::Value> sums, const SpanThread &thread,
             llvm::function_ref<SpanProducts::Column(int64_t)> columnOf) const;

  /// The lane's rows, the number of queries before the warp's, the number of queries, and the range
  /// of keys.
  llvm::SmallVector<LaneRow> rows;
  mlir::Value before, count, from, to;

private:
  LaneRow rowOf(mlir::Value query) const;
  LaneRow rowOf(const QueryPlace &place) const;
  mlir::Value narrow(mlir::Value number) const;

  VectorCode &code;
  AttentionTile &a;
  const SpanShape &shape;
  mlir::Value first, lastQuery;
};

/// Return values with their vectors replaced by the elements, and a vector of elements.
llvm::SmallVector<mlir::Value> apart(VectorCode &code, mlir::ValueRange values);
mlir::Value vectorOf(VectorCode &code, mlir::ValueRange elements);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_ATTENTIONSPAN_H
