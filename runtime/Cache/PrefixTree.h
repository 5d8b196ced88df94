// SPDX-License-Identifier: Apache-2.0
///
/// Full blocks of histories by the tokens that they were computed from, so that a sequence which
/// begins with the same tokens takes them over. A block is a child of the one before it: what a
/// sequence finds has equal tokens from its beginning on. Hashes only say where to look.
#ifndef HEDDLE_RUNTIME_CACHE_PREFIXTREE_H
#define HEDDLE_RUNTIME_CACHE_PREFIXTREE_H

#include "heddle/Abi.h"
#include "runtime/Cache/BlockPool.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heddle {

/// Where a sequence is in the tree: the last full block that it has. Blocks are used again, numbers
/// of places are not.
struct PrefixPlace {
  int32_t block = -1;
  uint64_t number = 0;
};

/// The tokens of a block.
using BlockTokens = std::span<const int32_t, HEDDLE_BLOCK>;

/// Refers to no block, and keeps all that it has: the pool says when the memory of one is needed.
/// Holds one entry for each block of the pool, so that only prepare() allocates.
class PrefixTree final : public BlockKeeper {
public:
  /// Where sequences begin, and where one is that left the tree: nothing is found from there.
  static constexpr PrefixPlace root = {-1, 0};
  static constexpr PrefixPlace outside = {-1, UINT64_MAX};

  PrefixTree() = default;
  /// Must be at its place before the first block is added.
  void use(BlockPool &pool) { blocks = &pool; }
  /// Room for all blocks that the pool has after `more` were taken.
  void prepare(int64_t more);

  /// The block that goes on from `place` with these tokens.
  std::optional<PrefixPlace> find(const PrefixPlace &place, BlockTokens tokens) const;
  /// The same after add() of a block that has them, where there is none yet. Nothing where `place`
  /// has been given up.
  std::optional<PrefixPlace> add(const PrefixPlace &place, BlockTokens tokens, int32_t block);

  void giveUp(int32_t block) override;

private:
  struct Entry {
    /// 0: the block is not in the tree.
    uint64_t number = 0;
    uint64_t parent = 0;
    uint64_t hash = 0;
    std::array<int32_t, HEDDLE_BLOCK> tokens = {};
    /// The next one of the same bucket.
    int32_t nextInBucket = -1;
    int32_t parentBlock = -1;
    int32_t firstChild = -1;
    int32_t nextSibling = -1;
    int32_t previousSibling = -1;
  };

  Entry &entryOf(int32_t block) { return entries[static_cast<size_t>(block)]; }
  bool holds(const PrefixPlace &place) const;
  void enterBucket(int32_t block);
  void leaveBucket(int32_t block);
  void remove(int32_t block);

  BlockPool *blocks = nullptr;
  uint64_t lastNumber = 0;
  std::vector<Entry> entries;
  /// A power of two of them.
  std::vector<int32_t> buckets;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CACHE_PREFIXTREE_H
