// SPDX-License-Identifier: Apache-2.0
///
/// Where the positions of one sequence are: its blocks, in order. Tables that begin with the same
/// positions share blocks; the last one, while it is not full, is copied by whoever extends it
/// while another table has it too.
#ifndef HEDDLE_RUNTIME_CACHE_BLOCKTABLE_H
#define HEDDLE_RUNTIME_CACHE_BLOCKTABLE_H

#include "runtime/Cache/BlockPool.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// The blocks of one sequence. All calls of a table are made with the same pool.
class BlockTable {
public:
  int64_t length() const { return positions; }
  /// Those that were given back have some number too.
  std::span<const int32_t> blocks() const { return list; }

  /// Blocks that extending by `count` adds, beside the copy of the last one.
  int64_t blocksFor(int64_t count) const;
  /// The block that extending writes to first, which must be copied while others have it; -1 when
  /// it begins a new one.
  int32_t partialBlock() const;
  /// Room in the list for `count` more positions.
  void prepare(int64_t count);
  /// There must be room in the pool; allocates nothing after prepare() of both.
  void extend(BlockPool &pool, int64_t count);
  /// Goes on with a block that has all of its positions, in place of the last one where that is not
  /// full. Allocates nothing after prepare(HEDDLE_BLOCK).
  void takeOver(BlockPool &pool, int32_t block);
  /// Exchanges the block with this index, which was not given back, for one that has the same.
  void exchange(BlockPool &pool, size_t index, int32_t block);
  /// Makes all blocks this table's alone: those that it shares are copied. There must be room in
  /// the pool; allocates nothing after its prepare().
  void own(BlockPool &pool);
  /// Takes over what `other` has, sharing its blocks; this table must be empty.
  void shareWith(BlockPool &pool, const BlockTable &other);
  /// Gives back the blocks of which all positions are before `first`: nothing reads them again.
  void dropBefore(BlockPool &pool, int64_t first);
  /// Gives all blocks back, the last ones first; keeps the list's memory.
  void clear(BlockPool &pool);

private:
  std::vector<int32_t> list;
  int64_t positions = 0;
  /// How many of the first blocks were given back.
  size_t dropped = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CACHE_BLOCKTABLE_H
