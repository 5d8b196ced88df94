// SPDX-License-Identifier: Apache-2.0
///
/// Sections of keys: a row's keys are divided at multiples of kSectionKeys. Each section has a
/// softmax of its own, and their results are merged in order, as in Flash-Decoding. So blocks may
/// compute sections of the same rows at the same time (docs/decisions/0075), and a row has the same
/// bits whether they do or not.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_KEYSECTIONS_H
#define HEDDLE_COMPILER_TARGET_CUDA_KEYSECTIONS_H

#include "compiler/Target/Cuda/AttentionSpan.h"
#include "compiler/Target/Cuda/TileWalk.h"

#include "heddle/Abi.h"

namespace heddle {

/// Keys of a section, a multiple of the keys of every span.
inline constexpr int64_t kSectionKeys = 1024;
/// Threads of a block that merges the sections of a row.
inline constexpr int64_t kMergeThreads = HEDDLE_MERGE_THREADS;

/// The numbers of the partial result of a row, a head and a section: the maximum of the scores, the
/// sum of their weights, and the weighted sums of values.
inline constexpr int64_t partialNumbers(int64_t valueSize) { return 2 + valueSize; }

/// Bytes of shared memory that hold the maxima and sums of a tile's rows between sections: each of
/// the lanes of a row has its own.
inline constexpr int64_t sectionBytes(int64_t rows) {
  return rows * kLanesOfRow * 2 * static_cast<int64_t>(sizeof(float));
}

/// The heads of the kernel, and the byte of shared memory from which on there are sectionBytes().
struct SectionSpace {
  int64_t heads, begin;
};

/// The sections of a tile.
class KeySections {
public:
  KeySections(const WalkedTile &walked, SectionSpace space)
      : walked(walked), block(walked.block), code(block.code), a(walked.a), space(space) {}

  /// Enters the keys of the first section that the block computes, or of the one after that of the
  /// walk. There is one even if the tile sees no key of it.
  KeySection enter(QueryTile &tile, const SpanThread &thread) const;
  /// Stores what the lane has of the result of a section whose spans are computed: merged with the
  /// sections before, or as a partial result if other blocks compute other sections. All lanes of a
  /// warp call it together. Threads are as loadThread() says.
  void store(const SpanShape &shape, const SoftmaxState &softmax, llvm::ArrayRef<mlir::Value> sums,
             llvm::function_ref<SpanThread(BlockCode &)> loadThread,
             llvm::function_ref<SpanProducts::Column(int64_t)> columnOf) const;
  /// Merges the partial results of a row and a head, and stores its result. The threads of a block
  /// call it together.
  void merge(mlir::Value row, mlir::Value head) const;

private:
  /// How the launch divides keys (HeddleSections).
  struct Division {
    /// The number of sections that different blocks compute, and whether it is more than one.
    mlir::Value count, isDivided;
    /// Where partial results are.
    mlir::Value partials;
  };
  /// The maximum and the sum of weights of a row, and the factors of older and newer sums.
  struct Merged {
    mlir::Value maximum, sum, ofOlder, ofNewer;
  };
  Division load() const;
  Merged mergeRow(mlir::Value maximumBefore, mlir::Value sumBefore, mlir::Value maximum,
                  mlir::Value sum) const;
  mlir::Value hasSeen(mlir::Value sum) const;
  mlir::Value mergeValue(const Merged &row, mlir::Value before, mlir::Value sum) const;
  /// Returns the address of the partial result of a row, a head and a section.
  mlir::Value partialAt(const Division &division, mlir::Value row, mlir::Value head,
                        mlir::Value section) const;
  /// Returns where shared memory has the maximum and the sum of weights of the lane's row `i`.
  mlir::Value totalsAt(const QueryTile &tile, size_t i, const SpanThread &thread) const;
  void storePartial(const Division &division, const QueryTile &tile,
                    llvm::ArrayRef<mlir::Value> maxima, llvm::ArrayRef<mlir::Value> rowSums,
                    llvm::ArrayRef<mlir::Value> sums, const SpanThread &thread,
                    llvm::function_ref<SpanProducts::Column(int64_t)> columnOf) const;
  void storeMerged(const QueryTile &tile, llvm::ArrayRef<mlir::Value> maxima,
                   llvm::ArrayRef<mlir::Value> rowSums, llvm::ArrayRef<mlir::Value> sums,
                   const SpanThread &thread,
                   llvm::function_ref<SpanProducts::Column(int64_t)> columnOf) const;

  const WalkedTile &walked;
  BlockCode &block;
  VectorCode &code;
  AttentionTile &a;
  const SectionSpace space;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_KEYSECTIONS_H
