// SPDX-License-Identifier: Apache-2.0
///
/// Attention of bf16 by warpgroups, on Hopper (docs/decisions/0069). The first warpgroup of a block
/// fills stages of shared memory with spans of keys and values. Each of the others has 64 queries
/// of a tile, whose scores it multiplies, maps and sums up.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_WARPGROUPATTENTION_H
#define HEDDLE_COMPILER_TARGET_CUDA_WARPGROUPATTENTION_H

#include "compiler/Target/Cuda/KeySections.h"
#include "compiler/Target/Cuda/StageRing.h"

namespace heddle {

/// Warpgroups that have queries, and the threads of a block.
inline constexpr int64_t kQueryWarpgroups = 2;
inline constexpr int64_t kAttentionThreads = (1 + kQueryWarpgroups) * kWarpgroupThreads;

/// Returns the tile and the spans; its warps are those that have queries.
SpanShape warpgroupShape(int64_t keySize, int64_t valueSize);

/// Where shared memory has queries, keys and values as bf16, and the mbarriers:
///
///   queries   [chunks][rows of a tile][chunk]
///   a stage   keys [chunks][keys of a span][chunk]; values, transposed, [values][keys of a span]
///
/// A chunk has up to 64 numbers of a row; the 16-byte parts of these rows are permuted as their
/// descriptor says. Products read both factors with their steps along rows.
struct WarpgroupSpans {
  explicit WarpgroupSpans(const SpanShape &shape) : shape(shape) {}
  const SpanShape &shape;

  /// Numbers of a row of a chunk, and the chunks of a row.
  int64_t chunkNumbers() const;
  int64_t chunks() const { return llvm::divideCeilSigned(shape.keyNumbers(), chunkNumbers()); }
  int64_t chunkBytes() const { return chunkNumbers() * kBf16Bytes; }
  /// Bytes of a row of transposed values.
  int64_t valueBytes() const { return shape.keys * kBf16Bytes; }

  int64_t queriesBytes() const { return chunks() * shape.rows() * chunkBytes(); }
  int64_t keysBytes() const { return chunks() * shape.keys * chunkBytes(); }
  int64_t stageBytes() const { return keysBytes() + shape.valueNumbers() * valueBytes(); }
  int64_t mbarriersBegin() const { return queriesBytes() + kStages * stageBytes(); }
  int64_t bytes() const { return mbarriersBegin() + StageRing::bytes(kStages); }

  static constexpr int64_t kStages = 4, kBf16Bytes = 2;
};

/// Stores queries, keys and values, rounded, to shared memory. A warpgroup calls each function
/// together; its threads divide the parts of all rows among themselves.
class SpanWriter {
public:
  SpanWriter(WarpgroupCode &warpgroups, const WarpgroupSpans &spans, const AttentionTile &a,
             mlir::Value inWarpgroup)
      : warpgroups(warpgroups), block(warpgroups.block), code(block.code), spans(spans),
        shape(spans.shape), keyBatch(partsOfBatch(a.keyPlaces)),
        valueBatch(partsOfBatch(a.valuePlaces)), inWarpgroup(inWarpgroup) {}

  /// Stores the queries of a warpgroup, from number `first` of the tile on.
  void storeQueries(const QueryTile &tile, const AttentionTile &a, mlir::Value first);
  /// A span is loaded and stored in batches, so that few registers are needed: those of keys, then
  /// those of values.
  int64_t batches() const {
    return keyBatches() + llvm::divideCeilSigned(valueParts(), valueBatch);
  }
  /// Starts to load the thread's parts of a batch of the span from key `first` on, eight numbers
  /// each, as memory stores them. Keys that no query sees repeat one that is seen; such values are
  /// zero.
  llvm::SmallVector<mlir::Value> load(const QueryTile &tile, const SpanRows &keys,
                                      const SpanRows &values, mlir::Value first, int64_t batch);
  /// Returns zeros of the types of the first batch.
  llvm::SmallVector<mlir::Value> zeros(const SpanRows &keys);
  /// Stores what was loaded to the stage that begins at an offset.
  void store(const SpanRows &keys, const SpanRows &values, mlir::ValueRange loaded, int64_t batch,
             mlir::Value stage);

private:
  /// Scales take registers too.
  static int64_t partsOfBatch(const CacheBlock &places) { return places.hasScales() ? 2 : 4; }
  /// A part of a row.
  struct Part {
    mlir::Value row, part;
  };
  /// Parts of `rows` rows of queries or keys for each thread.
  int64_t partsOf(int64_t rows) const {
    return rows * shape.keyNumbers() / kCoreSteps / kWarpgroupThreads;
  }
  int64_t valueParts() const {
    return shape.valueNumbers() * shape.keys / kCoreSteps / kWarpgroupThreads;
  }
  int64_t keyBatches() const { return llvm::divideCeilSigned(partsOf(shape.keys), keyBatch); }
  void forParts(int64_t batch, llvm::function_ref<void(int64_t i)> use) const;
  Part partAt(int64_t i, int64_t rows, bool areTogether);
  mlir::Value placeIn(const Part &part, int64_t rows, int64_t rowBytes);
  llvm::SmallVector<mlir::Value> loadPart(const SpanRows &rows, mlir::Value position,
                                          mlir::Value part, bool together);
  void storePart(const SpanRows &rows, mlir::ValueRange loaded, mlir::Value place);

  WarpgroupCode &warpgroups;
  BlockCode &block;
  VectorCode &code;
  const WarpgroupSpans &spans;
  const SpanShape &shape;
  /// The parts of a thread in a batch of keys, and of values.
  const int64_t keyBatch, valueBatch;
  mlir::Value inWarpgroup;
};

/// Emits sections of tiles.
class WarpgroupAttention {
public:
  WarpgroupAttention(TileWalk &walk, const WalkedTile &walked, const SpanShape &shape, float scale,
                     SectionSpace space);
  void emitSection();

private:
  /// The values that are carried from span to span: the stage of the span and its products of
  /// queries and keys; the softmax of the spans before; and the sums of values with the words of
  /// the last weights, whose product is in flight.
  struct State {
    Stage stage;
    SoftmaxState softmax;
    llvm::SmallVector<mlir::Value> products, sums, words;
  };
  size_t productCount() const { return static_cast<size_t>(shape.laneRows * shape.laneKeys()); }
  size_t sumCount() const { return static_cast<size_t>(shape.laneRows * shape.laneValues()); }
  State unpack(mlir::ValueRange carried) const;
  static llvm::SmallVector<mlir::Value> pack(const State &state);

  mlir::Value stageBegin(mlir::Value number);
  llvm::SmallVector<mlir::Value> fill(const Stage &stage, mlir::Value first, const SpanRows &keys,
                                      const SpanRows &values,
                                      llvm::SmallVector<mlir::Value> loaded);
  void produce();
  llvm::SmallVector<mlir::Value> multiplyKeys(const Stage &stage);
  llvm::SmallVector<mlir::Value> addValues(const Stage &stage, mlir::ValueRange sums,
                                           mlir::ValueRange words);
  State begin();
  llvm::SmallVector<mlir::Value> rowsOf(mlir::ValueRange registers, size_t count) const;
  llvm::SmallVector<mlir::Value> weightsOf(mlir::Value first, State &state,
                                           llvm::SmallVector<mlir::Value> &corrections);
  llvm::SmallVector<mlir::Value> wordsOf(llvm::ArrayRef<mlir::Value> weights);
  void awaitValues(State &state);
  State next(mlir::Value first, State state);
  State attend();
  void consume();
  void store(const SoftmaxState &softmax, llvm::ArrayRef<mlir::Value> sums);

  BlockCode &block;
  VectorCode &code;
  AttentionTile &a;
  const SpanShape &shape;
  const float scale;
  TileWalk &walk;
  const WalkedTile &walked;
  const SectionSpace space;
  const WarpgroupSpans spans;
  WarpgroupCode warpgroups;
  StageRing stages;
  /// The thread's warpgroup and its place there; the warp among those that have queries.
  mlir::Value warpgroup, inWarpgroup;
  SpanThread thread;
  QueryTile tile;
  SpanWriter writer;
  mlir::Value firstSpan;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_WARPGROUPATTENTION_H
