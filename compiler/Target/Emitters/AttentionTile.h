// SPDX-License-Identifier: Apache-2.0
///
/// What the kernels of attention and of its halves share: a tile of queries of one sequence and
/// head, the keys and values that it sees, and the products with both. Where neighbouring heads
/// share keys and values, a tile has queries of several of them: keys are read once for all.
///
/// Keys are walked in the order of their positions, a vector of keys at a time for scores and one
/// key at a time for values, each lane by itself: the bits of a row depend on nothing but its own
/// sequence, whatever the tile. A key that a row does not see adds zero to the row's sum of weights
/// and is left out of its sum of values, so a row is the same to the bit computed alone, after a
/// prefix in the cache, or with its prefix.
///
/// A tile walks the keys from the first to the last that any of its rows sees. Vectors and blocks
/// of keys begin at multiples of their size in the sequence, wherever the tile begins: which keys a
/// lane sums, and in which order, is a function of their positions. Where rows see a bounded number
/// of keys, a sequence is cut into pieces of kPieceRows queries, for which those keys are
/// transposed that one of them sees: scratch does not grow with the sequence.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_ATTENTIONTILE_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_ATTENTIONTILE_H

#include "compiler/Target/Emitters/Amx.h"
#include "compiler/Target/Emitters/CacheBlock.h"
#include "compiler/Target/Emitters/Emitters.h"

#include "llvm/Support/MathExtras.h"

#include <limits>
#include <optional>

namespace heddle {

/// Vectors of keys or values in a register tile of the most rows.
inline constexpr int64_t kTileVectors = 2;
/// Vectors of keys in a register tile of few rows.
inline constexpr int64_t kMostKeyVectors = 8;
/// Pairs of vectors whose maths is written side by side: it is long, and its latencies overlap from
/// one column to the next as well.
inline constexpr int64_t kMostPairs = 4;
/// Rows whose exponentials are computed side by side, so that their latencies overlap.
inline constexpr int64_t kRowsTogether = 4;
/// The most lanes and tile rows of any target, for the size of scratch. A tile has no more rows
/// than the least lanes, so that numbers of its rows fit one vector.
inline constexpr int64_t kMostLanes = 16;
inline constexpr int64_t kMostRows = 8;
/// Queries for which keys are transposed at once, where a bounded number of keys is visible.
inline constexpr int64_t kPieceRows = 256;
/// What maxima begin with.
inline constexpr float kLowestScore = std::numeric_limits<float>::lowest();

/// Numbers of keys that pairs look at, [rows][heads][longest], and how many near a key.
struct LocationInput {
  mlir::Value numbers;
  int64_t heads, taps;
};

/// The kernel, and the sequence, head and tile size at hand. Addresses are of f32 elements, but for
/// those of cached keys and values, which are widened as they are loaded.
struct AttentionTile {
  VectorCode &code;
  int64_t rows; // queries of a tile
  int64_t keySize = 0, valueSize = 0;
  int64_t queryStride = 0, keyStride = 0, valueStride = 0;
  /// Keys that a row does not see are left out; with `hidden`, a row sees all, and keys after it
  /// have the scores that it gives them.
  transformer::Visibility visibility = {};
  transformer::HiddenAttr hidden = {};
  /// Keys and values are rows, or caches.
  bool isCached = false;
  KernelResult result = {};
  mlir::Value query = {}, key = {}, value = {};
  CacheFields keyCache = {}, valueCache = {};
  /// What elements of keys and values are stored as, and where caches have them.
  mlir::Type keyElement = code.f32, valueElement = code.f32;
  CacheBlock keyPlaces = {}, valuePlaces = {};
  /// Neighbouring heads of queries that have one head of keys, and one of values.
  int64_t keyShare = 1, valueShare = 1;
  /// Neighbouring heads that have both in common: a tile has queries of these.
  int64_t headsTogether = 1;
  RowFields queryRows = {};      // the rows of the queries
  mlir::Value tokenOffsets = {}; // of sequences, where queries are in the order of time
  RowFields keyRows = {};        // of the keys, where those are no cache
  mlir::Value positions = {};    // of the queries, with a cache
  mlir::Value bias = {};         // [heads][2 * biasDistance + 1], null: none
  int64_t biasDistance = 0;      // columns of `bias` on each side
  mlir::Block *score = nullptr;  // the maths of a score, null: none
  bool scoreTakesBias = false;   // else the bias is added to what it yields
  mlir::Block *pairs = nullptr;  // the maths of an element of Q and one of K, null: their product
  mlir::Value pairWeights = {};  // what it is multiplied with, [heads][keySize]
  // Locations: the inputs; how many filters they have, and the filters; the weights of
  // lines, [keySize][lines]; numbers and filtered lines of the rows of a tile, locationPitch
  // elements each, in lines of lineKeys, the keys of the longest sequence in whole vectors.
  llvm::SmallVector<LocationInput> locations = {};
  int64_t locationFilters = 0;
  mlir::Value filters = {}, locationWeights = {}, locationScratch = {}, locationPitch = {},
              lineKeys = {};
  mlir::Value longest = {};        // the keys of the longest sequence, where numbers of keys are
  bool isRaw = false;              // no softmax follows: scores lack the factor log2(e)
  mlir::Value scores = {};         // [rows][scorePitch], of the keys at hand
  mlir::Value scorePitch = {};     // elements from the scores of one row to those of the next
  mlir::Value keysTransposed = {}; // [keySize][pitch], from firstTransposed on
  // With bf16 factors are rounded in scratch: the queries of a tile, [rows][keySize] in whole
  // vectors, and values, [pitch][valueVectors][lanes], as long as keys. Where a target has
  // instructions for bf16 they lie in pairs (AttentionPairs.h); on AMX products come to be in
  // memory before they are scores.
  dataflow::Arithmetic arithmetic = dataflow::Arithmetic::F32;
  bool isPaired = false, isOnAmx = false;
  mlir::Value roundedQueries = {}, roundedValues = {}, products = {};
  // The current sequence and head, or the heads computed together:
  mlir::Value firstRow = {}; // of the sequence, among the queries
  mlir::Value firstKey = {}; // the same among the keys, where those are no cache
  mlir::Value keyCount = {};
  mlir::Value pitch = {};           // elements from one line of transposed keys to the next
  mlir::Value firstTransposed = {}; // the first of them, a multiple of the lanes; null: of all keys
  mlir::Value keyBlocks = {};       // of a cache: the list of its blocks
  mlir::Value valueBlocks = {};     // of a cache
  mlir::Value firstCached = {};     // of a cache: the first position that is read, that of a block
  mlir::Value head = {};            // the first of them
  mlir::Value headCount = {};       // where headsTogether is more than one
  mlir::Value firstQuery = {};      // the row with which the tiles begin, likewise

  /// The head of the keys, and of the values, of the heads at hand.
  mlir::Value keyHead() const { return code.divide(head, keyShare); }
  mlir::Value valueHead() const { return code.divide(head, valueShare); }
  /// Vectors of one row of values.
  int64_t valueVectors() const { return (valueSize + code.lanes - 1) / code.lanes; }
  /// Register tiles have this many vectors of keys or values, whatever the rows.
  int64_t vectorsOfTile() const { return kTileVectors * code.target.tileRows / rows; }
  bool isRounded() const { return arithmetic == dataflow::Arithmetic::Bf16; }
  /// Keys that are computed together: a vector, or the steps of an instruction of AMX.
  int64_t keysTogether() const { return isPaired ? kAmxBf16Steps : code.lanes; }
  /// Elements of 32 bits that a key takes in scratch.
  int64_t scratchOfKey() const {
    return isPaired ? static_cast<int64_t>(llvm::alignTo(keySize, kAmxBf16Steps) / 2) : keySize;
  }
  /// The row of the first key in scratch.
  mlir::Value firstScratchRow() const {
    return firstTransposed ? code.add(firstKey, firstTransposed) : firstKey;
  }
  /// Whole vectors that cover the keys, or all that is computed together.
  mlir::Value roundUp(mlir::Value keys) const {
    return code.multiply(code.divideUp(keys, keysTogether()), keysTogether());
  }
  /// The position of a query in its sequence.
  mlir::Value positionOf(mlir::Value row) const {
    return isCached ? code.loadIndex(positions, row) : code.subtract(row, firstRow);
  }
  /// Where the scores of a row of the tile begin.
  mlir::Value scoresOf(int64_t row) const {
    return code.at(scores, code.multiply(scorePitch, row));
  }
};

/// A row of queries of the batch, and a head of it.
struct QueryPlace {
  mlir::Value row, head;
};

/// The queries of one tile. Those past the last repeat it, and are not stored.
struct TileRows {
  llvm::SmallVector<mlir::Value> rows;    // of the batch
  llvm::SmallVector<mlir::Value> heads;   // of each of them
  llvm::SmallVector<mlir::Value> begins;  // the first key that each of them sees; none: all from 0
  llvm::SmallVector<mlir::Value> visible; // past the last that each sees, and that no mask hides
  mlir::Value first;                      // of the keys that any of them sees, in whole vectors
  mlir::Value seen;                       // past the last of them
  mlir::Value count;                      // how many do not repeat another
};

/// Which of the keys at hand each row of a tile sees: from `begins` on, which do not fall from row
/// to row, and before `ends`, which do not either. No `begins`: from the first on.
struct KeyLimits {
  llvm::SmallVector<mlir::Value> begins, ends;
};

/// Takes up which keys a row sees.
void setVisibility(AttentionTile &a, transformer::VisibilityAttr visibility,
                   transformer::HiddenAttr hidden);
/// Elements of scratch: a fixed number, and so many for each key of the longest sequence.
struct ScratchElements {
  uint64_t fixed, perLongest;
};
/// Those that transposed keys take.
ScratchElements transposedKeys(transformer::VisibilityAttr visibility,
                               transformer::HiddenAttr hidden, int64_t keySize);
/// The same with keys and values that are rounded to bf16, and the queries of a tile: enough for
/// every target.
ScratchElements roundedFactors(dataflow::AttentionAttr computes);
/// The most keys, from a whole vector on and in whole vectors, that `rows` neighbouring queries see
/// together; none if they grow with the sequence.
std::optional<int64_t> mostKeysOf(transformer::VisibilityAttr visibility,
                                  transformer::HiddenAttr hidden, int64_t rows);
/// Takes up the rows of queries and of keys, of which input `number` has some.
void loadRowSpaces(AttentionTile &a, const KernelBody &body, int64_t number);
/// Takes up the keys, which are input `number` of the kernel.
void loadKeys(AttentionTile &a, const KernelBody &body, int64_t number);
/// The same for the values.
void loadValues(AttentionTile &a, const KernelBody &body, int64_t number);
/// Takes up the table of biases by distance, if there is one.
void loadBias(AttentionTile &a, const KernelBody &body, int64_t number, int64_t distance);

/// Takes up the maths of scores and of pairs, which are the kernel's regions.
void loadScore(AttentionTile &a, const KernelBody &body);

/// Neighbouring heads that have keys and values in common: rows of all of them are in a tile.
int64_t headsTogether(dataflow::AttentionAttr computes);
/// Takes up all that a kernel of attention computes with.
void loadAttention(AttentionTile &a, const KernelBody &body, dataflow::AttentionAttr computes);

/// Takes up the sequence whose rows see the same keys as `row`, and returns where its rows end. Of
/// rows in the order of time it is the next rows, before `rowEnd`, that do.
mlir::Value enterSequence(AttentionTile &a, mlir::Value row, mlir::Value rowEnd);

/// Calls `tile(query, last)` for the tiles of queries of all sequences and heads of the call: the
/// queries from number `query` on, `last` being past the last one. The number of a query is that of
/// its row, or, where heads share keys, counts the heads at hand of one row after the other. Keys
/// that are rows are transposed before the tiles that see them.
void overTiles(AttentionTile &a, const KernelArguments &arguments,
               llvm::function_ref<void(mlir::Value query, mlir::Value last)> tile);

/// Where the query of a number is.
QueryPlace placeOf(AttentionTile &a, mlir::Value query);

/// The rows of the tile from query number `query` on.
TileRows enterTile(AttentionTile &a, mlir::Value query, mlir::Value last);

/// The keys that each row of the tile sees of the `count` keys from `firstKey` on.
KeyLimits limitsOf(AttentionTile &a, const TileRows &tile, mlir::Value firstKey, mlir::Value count);

/// How many of the `count` keys from `firstKey` on no mask hides, for each row: 0 or less if all
/// are hidden.
llvm::SmallVector<mlir::Value> visibleOf(const AttentionTile &a, const TileRows &tile,
                                         mlir::Value firstKey, mlir::Value count);

/// The most of `visibleOf()`, in whole vectors: a mask hides the keys past them from all rows.
mlir::Value mostVisible(const AttentionTile &a, const TileRows &tile, mlir::Value firstKey,
                        mlir::Value count);

// --- Locations

/// The elements of scratch that it takes.
ScratchElements locationElements(llvm::ArrayRef<int64_t> heads, llvm::ArrayRef<int64_t> taps,
                                 int64_t filters);
/// Takes it up, input number `first` and those after it, in scratch from `scratch` on; returns
/// where that ends.
mlir::Value loadLocations(AttentionTile &a, const KernelBody &body, int64_t first,
                          llvm::ArrayRef<int64_t> heads, llvm::ArrayRef<int64_t> taps,
                          int64_t filters, mlir::Value scratch);
/// Writes the lines of the rows of a tile, whose first query has number `query`.
void writeLocations(AttentionTile &a, const TileRows &tile, mlir::Value query);
/// `sums`, of some rows times `vectors` of keys, plus what column `column` adds of their lines.
/// Each of `rows` is where the lines of the row are, at the first of the keys.
llvm::SmallVector<mlir::Value> addLocations(AttentionTile &a, mlir::Value column,
                                            llvm::ArrayRef<mlir::Value> rows, int64_t vectors,
                                            llvm::SmallVector<mlir::Value> sums);

// --- Keys

/// keysTransposed[d][j] = K[firstKey + j][keyHead * keySize + d]. Rows past the last repeat it:
/// their scores are masked.
void transposeKeys(AttentionTile &a);

/// Writes the queries of a tile to where scores read them.
void takeQueries(AttentionTile &a, const TileRows &tile);

/// scores[r][j] = log2(e) * (score(scale * (Q[r] . K[j])) + bias), in place of the product perhaps
/// the weighted sum of the maths of pairs and without log2(e) where no softmax follows, for the
/// keys firstKey + j, from
/// <= j < count, minus infinity where row r does not see the key; what `a.hidden` says where a mask
/// hides it. `from` is a multiple of the lanes. Returns the maximum of each row, lane by lane.
llvm::SmallVector<mlir::Value> emitScores(AttentionTile &a, const TileRows &tile, float scale,
                                          mlir::Value firstKey, mlir::Value from, mlir::Value count,
                                          const KeyLimits &limits);

/// scores[r][j] = 2^(scores[r][j] - maxima[r]), from <= j < count, for as many rows from `first` on
/// as there are maxima, kRowsTogether at most. A hidden key's weight is zero. Returns the sums,
/// lane by lane.
llvm::SmallVector<mlir::Value> exponentiate(AttentionTile &a, int64_t first,
                                            llvm::ArrayRef<mlir::Value> maxima, mlir::Value from,
                                            mlir::Value count);

/// The same for a tile that has scores for hidden keys. `hidden` is the sum of the weights, lane by
/// lane, of all rows and the keys from `shown` on, which a mask hides from all rows.
llvm::SmallVector<mlir::Value> exponentiateHidden(AttentionTile &a, int64_t first,
                                                  llvm::ArrayRef<mlir::Value> maxima,
                                                  mlir::Value shown, mlir::Value count,
                                                  mlir::Value &hidden);

/// Whether an f32 is not zero, as NaN is not.
mlir::Value isNotZero(VectorCode &code, mlir::Value number);

// --- Values

/// A group of neighbouring vectors of a row of values.
struct ValueGroup {
  int64_t first, count;
};
/// As many vectors of V at a time as fit the registers beside the rows of the tile.
llvm::SmallVector<ValueGroup> valueGroups(const AttentionTile &a);

/// sums[r * group.count + v] plus the sum over the keys j of weights[r][j] * V[firstKey + j] that
/// row r sees, for the `count` keys from `firstKey` on. With scores for hidden keys it has those
/// past its end too whose weight is not zero.
llvm::SmallVector<mlir::Value> addValues(AttentionTile &a, ValueGroup group,
                                         llvm::ArrayRef<mlir::Value> weights, mlir::Value firstKey,
                                         mlir::Value count, const KeyLimits &limits,
                                         llvm::SmallVector<mlir::Value> sums);

/// Writes the values of the head at hand, rounded, to scratch.
void roundValues(AttentionTile &a);

/// Whether a target multiplies an attention on the tile registers of AMX.
bool runsOnAmx(dataflow::AttentionAttr computes, const TargetDescription &target);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_ATTENTIONTILE_H
