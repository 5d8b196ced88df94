// SPDX-License-Identifier: Apache-2.0
///
/// The code that attention kernels and their halves share: a tile of queries of one sequence and
/// head, the keys and values that it sees, and the products with both. If neighbouring heads share
/// keys and values, a tile has queries of several of them, so keys are read once for all.
///
/// Keys are processed in the order of their positions, a vector of keys at a time for scores and
/// one key at a time for values, with independent lanes: the bits of a row depend only on its own
/// sequence, whatever the tile. A key that a row does not see adds zero to the row's sum of weights
/// and is left out of its sum of values. A row is therefore identical to the bit whether it is
/// computed alone, after a prefix in the cache, or together with its prefix.
///
/// A tile processes the keys from the first to the last that any of its rows sees. Vectors and
/// blocks of keys begin at multiples of their size in the sequence, wherever the tile begins:
/// positions alone determine which keys a lane sums, and in which order. If rows see a bounded
/// number of keys, a sequence is split into pieces of kPieceRows queries, and only the keys that a
/// piece sees are transposed, so scratch does not grow with the sequence.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_ATTENTIONTILE_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_ATTENTIONTILE_H

#include "compiler/Target/Emitters/Amx.h"
#include "compiler/Target/Emitters/CacheBlock.h"
#include "compiler/Target/Emitters/Emitters.h"

#include "llvm/Support/MathExtras.h"

#include <limits>
#include <numeric>
#include <optional>

namespace heddle {

/// Vectors of keys or values in a register tile with the largest number of rows.
inline constexpr int64_t kTileVectors = 2;
/// Vectors of keys in a register tile of few rows.
inline constexpr int64_t kMostKeyVectors = 8;
/// Pairs of vectors for which the function of pairs is emitted side by side. The function is long,
/// and latencies overlap from one column to the next as well.
inline constexpr int64_t kMostPairs = 4;
/// Rows whose exponentials are computed side by side, so that their latencies overlap.
inline constexpr int64_t kRowsTogether = 4;
/// The largest number of tile rows of any target, for the size of scratch. A tile has no more rows
/// than the smallest number of lanes, so one vector holds a number for each of its rows.
inline constexpr int64_t kMostRows = 8;
/// Queries for which keys are transposed at once, if a bounded number of keys is visible.
inline constexpr int64_t kPieceRows = 256;
/// The initial value of maxima.
inline constexpr float kLowestScore = std::numeric_limits<float>::lowest();

/// An input of numbers per key, [rows][heads][longest], and how many of them near a key pairs read.
struct LocationInput {
  mlir::Value numbers;
  int64_t heads, taps;
};

/// The kernel, and its current sequence, head and tile size. Addresses refer to f32 elements,
/// except those of cached keys and values, which are widened as they are loaded.
struct AttentionTile {
  VectorCode &code;
  int64_t rows; // queries of a tile
  int64_t keySize = 0, valueSize = 0;
  int64_t queryStride = 0, keyStride = 0, valueStride = 0;
  /// Keys that a row does not see are left out. With `hidden`, a row sees all keys, and those past
  /// its end get the scores that `hidden` defines.
  transformer::Visibility visibility = {};
  transformer::HiddenAttr hidden = {};
  /// Whether keys and values are in caches; otherwise they are rows.
  bool isCached = false;
  KernelResult result = {};
  mlir::Value query = {}, key = {}, value = {};
  CacheFields keyCache = {}, valueCache = {};
  /// The storage types of keys and values, and where caches store them.
  mlir::Type keyElement = code.f32, valueElement = code.f32;
  CacheBlock keyPlaces = {}, valuePlaces = {};
  /// Neighbouring heads of queries that share one head of keys, and one of values.
  int64_t keyShare = 1, valueShare = 1;
  /// Neighbouring heads that share both: a tile has queries of all of them.
  int64_t headsTogether = 1;
  RowFields queryRows = {};      // the rows of the queries
  mlir::Value tokenOffsets = {}; // offsets of sequences, if queries are in the order of time
  RowFields keyRows = {};        // rows of the keys, unless they are in a cache
  mlir::Value positions = {};    // positions of the queries, with a cache
  mlir::Value bias = {};         // [heads][2 * biasDistance + 1]; null if there is none
  int64_t biasDistance = 0;      // columns of `bias` on each side
  mlir::Block *score = nullptr;  // the function of scores; null if there is none
  bool scoreTakesBias = false;   // otherwise the bias is added to its result
  mlir::Block *pairs = nullptr;  // the function of elements of Q and K; null: their product
  mlir::Value pairWeights = {};  // factors of its result, [heads][keySize]
  // Locations: the inputs; the number of filters, and the filters; the weights of lines,
  // [keySize][lines]; numbers and filtered lines of the rows of a tile, locationPitch elements per
  // row. A line has lineKeys elements: the keys of the longest sequence in whole vectors.
  llvm::SmallVector<LocationInput> locations = {};
  int64_t locationFilters = 0;
  mlir::Value filters = {}, locationWeights = {}, locationScratch = {}, locationPitch = {},
              lineKeys = {};
  mlir::Value longest = {}; // keys of the longest sequence, with numbers per key
  // Weights that another kernel has computed, [rows][headsOfGiven][longest].
  mlir::Value given = {};
  int64_t headsOfGiven = 0;
  bool isRaw = false;              // no softmax follows: scores lack the factor log2(e)
  mlir::Value scores = {};         // [rows][scorePitch], of the current keys
  mlir::Value scorePitch = {};     // elements from the scores of one row to those of the next
  mlir::Value keysTransposed = {}; // [keySize][pitch], from key firstTransposed on
  // With bf16, scratch holds rounded factors: the queries of a tile, [rows][keySize] in whole
  // vectors, and values, [pitch][valueVectors][lanes], for the same keys as keysTransposed. On
  // targets with bf16 instructions they are stored as pairs (AttentionPairs.h). On AMX, products
  // are stored to memory before they become scores.
  dataflow::Arithmetic arithmetic = dataflow::Arithmetic::F32;
  bool isPaired = false, isOnAmx = false;
  mlir::Value roundedQueries = {}, roundedValues = {}, products = {};
  // The current sequence, and the current head or the heads that are computed together:
  mlir::Value firstRow = {}; // the sequence's first row, among the queries
  mlir::Value firstKey = {}; // the same among the keys, unless they are in a cache
  mlir::Value keyCount = {};
  mlir::Value pitch = {};           // elements from one line of transposed keys to the next
  mlir::Value firstTransposed = {}; // first transposed key, a multiple of the lanes; null: 0
  mlir::Value keyBlocks = {};       // of a cache: the sequence's list of blocks
  mlir::Value valueBlocks = {};     // of a cache
  mlir::Value firstCached = {};     // of a cache: the first position to read, where a block begins
  mlir::Value head = {};            // the first of the heads
  mlir::Value headCount = {};       // if headsTogether is more than one
  mlir::Value firstQuery = {};      // the row at which the tiles begin, likewise

  /// Return the head of the keys, and of the values, for the current heads.
  mlir::Value keyHead() const { return code.divide(head, keyShare); }
  mlir::Value valueHead() const { return code.divide(head, valueShare); }
  /// Numbers near a key, of all inputs of locations.
  int64_t numbersNear() const {
    return std::accumulate(
        locations.begin(), locations.end(), int64_t{0},
        [](int64_t sum, const LocationInput &input) { return sum + input.heads * input.taps; });
  }
  /// Vectors of one row of values.
  int64_t valueVectors() const { return (valueSize + code.lanes - 1) / code.lanes; }
  /// Register tiles have this many vectors of keys or values, whatever their rows.
  int64_t vectorsOfTile() const { return kTileVectors * code.target.tileRows / rows; }
  bool isRounded() const { return arithmetic == dataflow::Arithmetic::Bf16; }
  /// Keys that are computed together: a vector, or the steps of an AMX instruction.
  int64_t keysTogether() const { return isPaired ? kAmxBf16Steps : code.lanes; }
  /// 32-bit elements that a key takes in scratch.
  int64_t scratchOfKey() const {
    return isPaired ? static_cast<int64_t>(llvm::alignTo(keySize, kAmxBf16Steps) / 2) : keySize;
  }
  /// Returns the row of the first key in scratch.
  mlir::Value firstScratchRow() const {
    return firstTransposed ? code.add(firstKey, firstTransposed) : firstKey;
  }
  /// Rounds a number of keys up to a multiple of keysTogether().
  mlir::Value roundUp(mlir::Value keys) const {
    return code.multiply(code.divideUp(keys, keysTogether()), keysTogether());
  }
  /// Returns the position of a query in its sequence.
  mlir::Value positionOf(mlir::Value row) const {
    return isCached ? code.loadIndex(positions, row) : code.subtract(row, firstRow);
  }
  /// Returns the address of the scores of a row of the tile.
  mlir::Value scoresOf(int64_t row) const {
    return code.at(scores, code.multiply(scorePitch, row));
  }
};

/// A row of queries of the batch, and a head in it.
struct QueryPlace {
  mlir::Value row, head;
};

/// The queries of one tile. Those past the last one repeat it and are not stored.
struct TileRows {
  llvm::SmallVector<mlir::Value> rows;    // rows of the batch
  llvm::SmallVector<mlir::Value> heads;   // the head of each row
  llvm::SmallVector<mlir::Value> begins;  // the first key that each row sees; empty: all see key 0
  llvm::SmallVector<mlir::Value> visible; // past the last key that each row sees and no mask hides
  mlir::Value first; // the first key that any row sees, rounded down to whole vectors
  mlir::Value seen;  // past the last key that any row sees
  mlir::Value count; // the number of queries that do not repeat another
};

/// The range of current keys that each row of a tile sees: [begins[r], ends[r]). Neither bound
/// decreases from row to row. If `begins` is empty, all rows see the first key.
struct KeyLimits {
  llvm::SmallVector<mlir::Value> begins, ends;
};

/// Sets which keys a row sees.
void setVisibility(AttentionTile &a, transformer::VisibilityAttr visibility,
                   transformer::HiddenAttr hidden);
/// 32-bit elements of scratch: a fixed number, and a number per key of the longest sequence.
struct ScratchElements {
  uint64_t fixed, perLongest;
};
/// Returns the scratch for transposed keys.
ScratchElements transposedKeys(transformer::VisibilityAttr visibility,
                               transformer::HiddenAttr hidden, int64_t keySize);
/// Returns the scratch for keys and values rounded to bf16 and the queries of a tile, enough for
/// every target.
ScratchElements roundedFactors(dataflow::AttentionAttr computes);
/// Returns the largest number of keys, in whole vectors, that `rows` neighbouring queries see
/// together; nullopt if it grows with the sequence.
std::optional<int64_t> mostKeysOf(transformer::VisibilityAttr visibility,
                                  transformer::HiddenAttr hidden, int64_t rows);
/// Loads the row spaces of queries and of keys; input `number` is one of keys or values.
void loadRowSpaces(AttentionTile &a, const KernelBody &body, int64_t number);
/// Loads the keys, which are input `number` of the kernel.
void loadKeys(AttentionTile &a, const KernelBody &body, int64_t number);
/// Loads the values, which are input `number` of the kernel.
void loadValues(AttentionTile &a, const KernelBody &body, int64_t number);
/// Loads the table of biases by distance, if there is one.
void loadBias(AttentionTile &a, const KernelBody &body, int64_t number, int64_t distance);

/// Sets the functions of scores and of pairs, which are the kernel's regions.
void loadScore(AttentionTile &a, const KernelBody &body);

/// Returns the number of neighbouring heads that share keys and values; a tile has rows of all.
int64_t headsTogether(dataflow::AttentionAttr computes);
/// Load everything that a kernel of attention, or of one of its halves, computes with, except
/// locations.
void loadAttention(AttentionTile &a, const KernelBody &body, dataflow::AttentionAttr computes);
void loadAttention(AttentionTile &a, const KernelBody &body,
                   dataflow::AttentionWeightsAttr computes);
void loadAttention(AttentionTile &a, const KernelBody &body, dataflow::AttendAttr computes);

/// Enters the sequence whose rows see the same keys as `row`, and returns the end of its rows. If
/// rows are in the order of time, these are the next rows, before `rowEnd`, that see the same keys.
mlir::Value enterSequence(AttentionTile &a, mlir::Value row, mlir::Value rowEnd);

/// Calls `tile(query, last)` for the tiles of queries of all sequences and heads of the call. A
/// tile has the queries from number `query` on; `last` is past the last query. The number of a
/// query is the number of its row or, if heads share keys, counts the current heads of one row
/// after another. Keys that are rows are transposed before the tiles that see them.
void overTiles(AttentionTile &a, const KernelArguments &arguments,
               llvm::function_ref<void(mlir::Value query, mlir::Value last)> tile);

/// Returns the row and head of a query number.
QueryPlace placeOf(AttentionTile &a, mlir::Value query);

/// Returns the rows of the tile from query number `query` on.
TileRows enterTile(AttentionTile &a, mlir::Value query, mlir::Value last);

/// Returns the keys that each row of the tile sees, among the `count` keys from `firstKey` on.
KeyLimits limitsOf(AttentionTile &a, const TileRows &tile, mlir::Value firstKey, mlir::Value count);

/// Returns, for each row, the number of the `count` keys from `firstKey` on that no mask hides: 0
/// or less if all are hidden.
llvm::SmallVector<mlir::Value> visibleOf(const AttentionTile &a, const TileRows &tile,
                                         mlir::Value firstKey, mlir::Value count);

/// Returns the maximum of `visibleOf()`, in whole vectors: a mask hides later keys from all rows.
mlir::Value mostVisible(const AttentionTile &a, const TileRows &tile, mlir::Value firstKey,
                        mlir::Value count);

// --- Locations

/// Returns the scratch for locations.
ScratchElements locationElements(llvm::ArrayRef<int64_t> heads, llvm::ArrayRef<int64_t> taps,
                                 int64_t filters);
/// Returns the number of lines: filters, or the numbers near a key if there are none.
int64_t locationLines(llvm::ArrayRef<int64_t> heads, llvm::ArrayRef<int64_t> taps, int64_t filters);
/// Loads the inputs of locations, from input number `first` on.
void loadLocationInputs(AttentionTile &a, const KernelBody &body, int64_t first,
                        llvm::ArrayRef<int64_t> heads, llvm::ArrayRef<int64_t> taps,
                        int64_t filters);
/// Does the same, and enters scratch for them from `scratch` on; returns the end of that scratch.
mlir::Value loadLocations(AttentionTile &a, const KernelBody &body, int64_t first,
                          llvm::ArrayRef<int64_t> heads, llvm::ArrayRef<int64_t> taps,
                          int64_t filters, mlir::Value scratch);
/// Writes the lines of the rows of a tile, whose first query has number `query`.
void writeLocations(AttentionTile &a, const TileRows &tile, mlir::Value query);
/// Returns `sums`, of some rows times `vectors` vectors of keys, plus the locations of column
/// `column`. Each of `rows` is the address of a row's lines at the first of the keys.
llvm::SmallVector<mlir::Value> addLocations(AttentionTile &a, mlir::Value column,
                                            llvm::ArrayRef<mlir::Value> rows, int64_t vectors,
                                            llvm::SmallVector<mlir::Value> sums);

// --- Keys

/// Computes keysTransposed[d][j] = K[firstKey + j][keyHead * keySize + d]. Rows past the last one
/// repeat it: their scores are masked.
void transposeKeys(AttentionTile &a);

/// Stores the queries of a tile in the format that scores read.
void takeQueries(AttentionTile &a, const TileRows &tile);

/// Computes scores[r][j] = log2(e) * (score(scale * (Q[r] . K[j])) + bias) for the keys firstKey +
/// j, from <= j < count. With a function of pairs, its weighted sum replaces the product; if no
/// softmax follows, log2(e) is omitted. The score is minus infinity if row r does not see the key,
/// or as `a.hidden` defines it if a mask hides the key. `from` is a multiple of the lanes. Returns
/// the maximum of each row, lane by lane.
llvm::SmallVector<mlir::Value> emitScores(AttentionTile &a, const TileRows &tile, float scale,
                                          mlir::Value firstKey, mlir::Value from, mlir::Value count,
                                          const KeyLimits &limits);

/// Computes scores[r][j] = 2^(scores[r][j] - maxima[r]), from <= j < count, for one row per maximum
/// from row `first` on, at most kRowsTogether. A hidden key's weight is zero. Returns the sums,
/// lane by lane.
llvm::SmallVector<mlir::Value> exponentiate(AttentionTile &a, int64_t first,
                                            llvm::ArrayRef<mlir::Value> maxima, mlir::Value from,
                                            mlir::Value count);

/// Does the same for a tile that has scores for hidden keys. Sets `hidden` to the sum of the
/// weights, lane by lane, over all rows and the keys from `shown` on, which a mask hides from all
/// rows.
llvm::SmallVector<mlir::Value> exponentiateHidden(AttentionTile &a, int64_t first,
                                                  llvm::ArrayRef<mlir::Value> maxima,
                                                  mlir::Value shown, mlir::Value count,
                                                  mlir::Value &hidden);

/// Returns whether an f32 is not zero; NaN is not zero.
mlir::Value isNotZero(VectorCode &code, mlir::Value number);

// --- Values

/// A group of neighbouring vectors of a row of values.
struct ValueGroup {
  int64_t first, count;
};
/// Returns groups of as many vectors of V as fit in the registers beside the rows of the tile.
llvm::SmallVector<ValueGroup> valueGroups(const AttentionTile &a);

/// Returns sums[r * group.count + v] plus the sum of weights[r][j] * V[firstKey + j] over the keys
/// j that row r sees, for the `count` keys from `firstKey` on. With scores for hidden keys, it also
/// includes keys past the row's end whose weight is not zero.
llvm::SmallVector<mlir::Value> addValues(AttentionTile &a, ValueGroup group,
                                         llvm::ArrayRef<mlir::Value> weights, mlir::Value firstKey,
                                         mlir::Value count, const KeyLimits &limits,
                                         llvm::SmallVector<mlir::Value> sums);

/// Writes the values of the current head, rounded, to scratch.
void roundValues(AttentionTile &a);

/// Returns whether a target multiplies an attention on the tile registers of AMX.
bool runsOnAmx(dataflow::AttentionAttr computes, const TargetDescription &target);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_ATTENTIONTILE_H
