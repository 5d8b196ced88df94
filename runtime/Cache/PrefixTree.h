// SPDX-License-Identifier: Apache-2.0
///
/// An index of full blocks of histories by the tokens that they were computed from, so that a
/// sequence which begins with the same tokens reuses them. A block is a child of the block before
/// it, so a sequence that finds a block has equal tokens from its beginning on. Hashes only select
/// buckets.
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

/// The position of a sequence in the tree: its last full block. Blocks are reused, but the numbers
/// of places are not.
struct PrefixPlace {
  int32_t block = -1;
  uint64_t number = 0;
};

/// The tokens of a block.
using BlockTokens = std::span<const int32_t, HEDDLE_BLOCK>;

/// Holds no references and keeps all its blocks until the pool needs their memory. Has one entry
/// for each block of the pool, so that only prepare() allocates.
class PrefixTree final : public BlockKeeper {
public:
  /// The place where sequences begin, and that of a sequence that left the tree, which finds
  /// nothing.
  static constexpr PrefixPlace root = {-1, 0};
  static constexpr PrefixPlace outside = {-1, UINT64_MAX};

  PrefixTree() = default;
  /// Sets the pool. The tree must not move after the first block is added.
  void use(BlockPool &pool) { blocks = &pool; }
  /// Reserves room for all blocks that the pool has after taking `more`.
  void prepare(int64_t more);

  /// Returns the child of `place` that has these tokens.
  std::optional<PrefixPlace> find(const PrefixPlace &place, BlockTokens tokens) const;
  /// Returns the same, after adding `block` as that child if there is none. Nullopt if `place` has
  /// been given up.
  std::optional<PrefixPlace> add(const PrefixPlace &place, BlockTokens tokens, int32_t block);

  void giveUp(int32_t block) override;

private:
  struct Entry {
    /// 0: the block is not in the tree.
    uint64_t number = 0;
    uint64_t parent = 0;
    uint64_t hash = 0;
    std::array<int32_t, HEDDLE_BLOCK> tokens = {};
    /// The next entry in the same bucket.
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
  /// The size is a power of two.
  std::vector<int32_t> buckets;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CACHE_PREFIXTREE_H
