// SPDX-License-Identifier: Apache-2.0
///
/// Goes over the tiles of a block's attention, and the sections of their keys. How far the block
/// has come is in shared memory instead of the variables of nested loops, and so is what a tile
/// needs again after its spans. Neither takes registers in the loop over spans, where ptxas would
/// move them to local memory (docs/decisions/0080).
#ifndef HEDDLE_COMPILER_TARGET_CUDA_TILEWALK_H
#define HEDDLE_COMPILER_TARGET_CUDA_TILEWALK_H

#include "compiler/Target/Cuda/BlockCode.h"
#include "compiler/Target/Emitters/AttentionTile.h"
#include "compiler/Target/Emitters/Emitters.h"

#include <functional>

namespace heddle {

/// A section of the keys that a tile sees: where it ends, and whether the block computes a later
/// one.
struct KeySection {
  mlir::Value to, hasNext;
};

/// A tile of the queries [query, last) of one sequence and some heads, and a section of its keys,
/// with the code and the operands that compute it. Queries are numbered as `a` says.
struct WalkedTile {
  BlockCode &block;
  AttentionTile &a;
  const KernelArguments &arguments;
  mlir::Value query, last;
  /// The number of the section, if different blocks compute those of a row.
  mlir::Value section;
  /// Before its spans: where the section before ends, or 0.
  mlir::Value after = {};
  /// After its spans: whether the block computes a later section of the tile.
  mlir::Value hasNext = {};
};

/// The tiles of a block: piece by piece of its launch, sequence by sequence, and for each sequence
/// by the heads that share keys.
class TileWalk {
public:
  using Prepare = std::function<AttentionTile(const KernelBody &body)>;
  using Use = llvm::function_ref<void(const WalkedTile &tile)>;

  /// Bytes of shared memory that a walk takes.
  static int64_t bytes();
  /// `work` is that of the kernel, which has so many heads. `begin` is the first of bytes().
  /// `prepare` loads the operands of a tile.
  TileWalk(BlockCode &block, const KernelBody &body, const BlockWork &work, int64_t heads,
           int64_t begin, Prepare prepare);

  /// Emits a loop over tiles and sections. `emitTile` calls advance() once, and then has a barrier
  /// on every path. All threads of the block call both together.
  void overTiles(Use emitTile);
  /// Stores to shared memory what comes next: a section of the same tile if there is one, or the
  /// next tile; and the current one. A barrier must precede again().
  void advance(const std::optional<KeySection> &section = {});
  /// Calls `use` with the current tile, loaded anew.
  void again(Use use) const;

private:
  /// A number in shared memory.
  enum Slot : int64_t;
  /// A number of the walk that grows until the block is through with it, and then begins at zero
  /// again: the end of the section, or the distance of the tile's queries, heads or rows from the
  /// first ones.
  struct Digit {
    mlir::Value now, next, hasNext;
  };

  mlir::Value load(Slot slot) const;
  void store(llvm::ArrayRef<std::pair<Slot, mlir::Value>> numbers);
  KernelArguments loadLaunch() const;
  LaunchPieces piecesOf(const KernelArguments &launch) const;
  BlockCode loadBlock() const;
  void enter(mlir::ValueRange next, Use emitTile);

  BlockCode &block;
  VectorCode &code;
  const KernelBody &body;
  const BlockWork work;
  const int64_t heads, begin;
  const Prepare prepare;
  /// The place of the current tile, its digits above the section and its piece, until advance().
  llvm::SmallVector<std::pair<Slot, mlir::Value>> place;
  llvm::SmallVector<Digit> digits;
  mlir::Value piece;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_TILEWALK_H
