// SPDX-License-Identifier: Apache-2.0
///
/// How a block computes attention, span by span. The rows of a tile of queries are divided among
/// warps; a warp has whole rows of scores, which never leave its registers. Keys are walked in
/// spans that begin at multiples of their size in the sequence, with an online softmax, so that the
/// bits of a row follow from its own sequence alone: spans that it does not see change nothing.
///
/// Lanes have scores as the sums of a product of matrices lie, whatever units compute them. Of each
/// eight rows of its warp a lane has row g = lane / 4, of each eight keys those with the numbers 2
/// t and 2 t + 1, t = lane % 4. So the four lanes of a row exchange its maximum and its sum.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_ATTENTIONSPAN_H
#define HEDDLE_COMPILER_TARGET_CUDA_ATTENTIONSPAN_H

#include "compiler/Target/Cuda/TensorWords.h"
#include "compiler/Target/Emitters/AttentionTile.h"

#include "llvm/Support/MathExtras.h"

#include <memory>

namespace heddle {

/// Numbers that are loaded and stored at once.
inline constexpr int64_t kFourNumbers = 4;
/// Rows and keys that the lanes of a warp have one or two of each.
inline constexpr int64_t kLaneGroups = kWarpLanes / kLanesOfRow;

/// The sizes of tiles and spans.
struct SpanShape {
  Units units;
  /// Warps of a block, rows of queries of a lane, keys of a span.
  int64_t warps, laneRows, keys;
  int64_t keySize, valueSize;

  int64_t threads() const { return warps * kWarpLanes; }
  int64_t warpRows() const { return laneRows * kLaneGroups; }
  int64_t rows() const { return warps * warpRows(); }
  /// Scores of a lane in one of its rows.
  int64_t laneKeys() const { return keys / kLanesOfRow; }

  /// Numbers of a row of keys or values in shared memory: zeros follow those that there are, for
  /// all threads to have as many fours of a span, and products whole matrices.
  int64_t padded(int64_t size) const {
    return llvm::alignTo(size, std::max<int64_t>(16, threads() * kFourNumbers / keys));
  }
  int64_t keyNumbers() const { return padded(keySize); }
  int64_t valueNumbers() const { return padded(valueSize); }
  /// Values that a lane sums up in one of its rows.
  int64_t laneValues() const { return valueNumbers() / kLanesOfRow; }
  /// Bytes from a row to the next: an odd number of times 16, for eight of them to be in banks of
  /// their own wherever 16 bytes of each are read.
  int64_t pitch(int64_t numbers) const {
    const int64_t parts = numbers / numbersOfWord(units) / 4;
    return (parts % 2 == 1 ? parts : parts + 1) * kSharedAlignment;
  }
  int64_t keyPitch() const { return pitch(keyNumbers()); }
  int64_t valuePitch() const { return pitch(valueNumbers()); }

  /// Queries of tensor cores are in registers; those of FMA units come first, then keys and values.
  int64_t keysBegin() const { return units == Units::Fma ? rows() * keyPitch() : 0; }
  int64_t valuesBegin() const { return keysBegin() + keys * keyPitch(); }
  int64_t bytes() const { return valuesBegin() + keys * valuePitch(); }
};

/// A thread's place in its block, and what it computes.
struct SpanThread {
  /// Its warp, its lane, lane / 4 and lane % 4.
  mlir::Value warp, lane, g, t;

  static SpanThread load(BlockCode &block);
};

/// Products of a warp with what a span has in shared memory: how differs from units to units.
class SpanProducts {
public:
  virtual ~SpanProducts() = default;
  /// Takes up the queries of the tile. Number `i` of a lane's rows begins at `queries[i]`.
  virtual void takeQueries(llvm::ArrayRef<mlir::Value> queries) = 0;
  /// The products of queries and keys: a vector of laneKeys() for each of the lane's rows, of which
  /// element e is of key e / 2 * 8 + 2 t + e % 2.
  virtual llvm::SmallVector<mlir::Value> scores() = 0;
  /// Sums of values, laneValues() for each of the lane's rows, plus those of the span times
  /// weights, which lie as scores do.
  virtual llvm::SmallVector<mlir::Value> addValues(llvm::ArrayRef<mlir::Value> weights,
                                                   mlir::ValueRange sums) = 0;
  /// The value that sum number `i` of a row is of: `first` + t * `step`.
  struct Column {
    int64_t first, step;
  };
  virtual Column columnOf(int64_t i) const = 0;
};

std::unique_ptr<SpanProducts> fmaSpanProducts(BlockCode &block, const SpanShape &shape,
                                              const SpanThread &thread);
std::unique_ptr<SpanProducts> tensorSpanProducts(BlockCode &block, const SpanShape &shape,
                                                 const SpanThread &thread);

// --- rows of keys, values and queries ------------------------------------------------------------

/// Keys or values of the heads at hand.
struct SpanRows {
  /// Where the first row has the first number of the head; of a cache the number of that, the
  /// cache, its places and the list of its blocks.
  mlir::Value base = {}, column = {};
  int64_t stride = 0;
  const CacheFields *cache = nullptr;
  const CacheBlock *places = nullptr;
  mlir::Value blocks = {};
  /// Numbers that there are, and with the zeros behind them.
  int64_t size = 0, numbers = 0;
  /// Whether four numbers side by side lie at a multiple of 16 bytes; null: they do not.
  mlir::Value areAligned = {};
};

/// Loads a thread's part of the `count` rows from position `first` on. Those outside `from` and
/// `to` are zero, and no memory is read for them but that of a row inside.
llvm::SmallVector<mlir::Value> loadSpan(BlockCode &block, const SpanShape &shape,
                                        const SpanRows &rows, mlir::Value first, mlir::Value from,
                                        mlir::Value to);
/// Writes what was loaded to byte `to` of shared memory, as words for the units.
void storeSpan(BlockCode &block, const SpanShape &shape, const SpanRows &rows,
               llvm::ArrayRef<mlir::Value> loaded, int64_t to);

// --- scores --------------------------------------------------------------------------------------

/// A lane's row of queries.
struct LaneRow {
  mlir::Value row, head, position;
  /// The keys that it sees, i32: from `begin` on, before `end`; and before `shown` those that no
  /// mask of a finite number hides. Null: from the first on; none is hidden.
  mlir::Value begin = {}, end = {}, shown = {};
};

/// The products of one row as scores of powers of two: scaled, mapped, with biases and masks, minus
/// infinity where the row does not see a key. `first` is the position of the first key of the span.
mlir::Value spanScores(BlockCode &block, AttentionTile &a, const SpanShape &shape, float scale,
                       const LaneRow &row, mlir::Value products, mlir::Value first, mlir::Value t);

/// The state of the online softmax of a lane's rows: maxima are those of the rows, sums those of
/// the lane's keys.
struct SoftmaxState {
  llvm::SmallVector<mlir::Value> maxima, sums;
};
/// Brings it up to date. Scores become weights; returns what older sums of values are to be
/// multiplied with.
llvm::SmallVector<mlir::Value> updateSoftmax(BlockCode &block, SoftmaxState &state,
                                             llvm::MutableArrayRef<mlir::Value> scores);
/// The sum of a row of all its lanes.
mlir::Value sumOfRow(BlockCode &block, mlir::Value ofLane);

/// The elements of a vector.
llvm::SmallVector<mlir::Value> elementsOf(VectorCode &code, mlir::Value vector);
mlir::Value vectorOf(VectorCode &code, mlir::ValueRange elements);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_ATTENTIONSPAN_H
