// SPDX-License-Identifier: Apache-2.0
///
/// The block table of one sequence: its blocks, in order of positions. Tables that begin with the
/// same positions share blocks; a last block that is shared and not full is copied by the table
/// that extends it.
#ifndef HEDDLE_RUNTIME_CACHE_BLOCKTABLE_H
#define HEDDLE_RUNTIME_CACHE_BLOCKTABLE_H

#include "runtime/Cache/BlockPool.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// The blocks of one sequence. All calls on a table must pass the same pool.
class BlockTable {
public:
  int64_t length() const { return positions; }
  /// Returns the blocks; those that were given back keep some number in the list.
  std::span<const int32_t> blocks() const { return list; }

  /// Returns the number of blocks that extend(count) adds, apart from a copy of the last one.
  int64_t blocksFor(int64_t count) const;
  /// Returns the block that extend() writes to first, which must be copied if it is shared; -1 if
  /// extend() begins a new block.
  int32_t partialBlock() const;
  /// Reserves room in the list for `count` more positions.
  void prepare(int64_t count);
  /// Appends `count` positions. The pool must have room; allocates nothing after prepare() of both.
  void extend(BlockPool &pool, int64_t count);
  /// As extend() by one position, but the block that it writes to is another one in any case: the
  /// device copies a last block that is not full.
  void extendApart(BlockPool &pool);
  /// After extendApart() and the copy: replaces the beginning by that of `parent`, whose length was
  /// the same before. If `takesLast`, nothing was copied, and the last block is the parent's too.
  void follow(BlockPool &pool, const BlockTable &parent, bool takesLast);
  /// Appends a full block, or replaces the last block with it if that is not full. Allocates
  /// nothing after prepare(HEDDLE_BLOCK).
  void takeOver(BlockPool &pool, int32_t block);
  /// Replaces the block at `index`, which was not given back, with one of equal contents.
  void exchange(BlockPool &pool, size_t index, int32_t block);
  /// Makes all blocks private to this table by copying the shared ones. The pool must have room;
  /// allocates nothing after its prepare().
  void own(BlockPool &pool);
  /// Shares all blocks of `other`; this table must be empty.
  void shareWith(BlockPool &pool, const BlockTable &other);
  /// Gives back the blocks whose positions are all before `first`, which are not read again.
  void dropBefore(BlockPool &pool, int64_t first);
  /// Gives all blocks back, the last ones first; keeps the list's memory.
  void clear(BlockPool &pool);

private:
  std::vector<int32_t> list;
  int64_t positions = 0;
  /// The number of leading blocks that were given back.
  size_t dropped = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CACHE_BLOCKTABLE_H
