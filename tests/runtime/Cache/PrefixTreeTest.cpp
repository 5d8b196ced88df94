// SPDX-License-Identifier: Apache-2.0
///
/// Blocks that are found by their tokens, and given up when their memory is needed.
#include "runtime/Cache/PrefixTree.h"

#include "runtime/Cache/BlockTable.h"
#include "tests/runtime/Cache/TestStream.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace heddle;

namespace {
using Tokens = std::vector<int32_t>;
constexpr uint64_t blockBytes = HEDDLE_BLOCK * sizeof(float);

/// A pool of `blocks` blocks, and a tree over it.
struct Cache {
  explicit Cache(uint64_t blocks) : budget{blocks * blockBytes} {
    static constexpr CacheShape shape = {1, ElementType::F32, false};
    Result<BlockPool> made =
        BlockPool::create("history", {&shape, 1}, budget, *hostDevice(), testStream());
    EXPECT_EQ(made.status().message(), "");
    pool = *std::move(made);
    tree.use(pool);
  }

  /// Returns a table for these tokens, whole blocks: known blocks are reused, the others are added.
  /// Sets `shared` to the number of known blocks.
  BlockTable tableOf(const Tokens &tokens, size_t &shared) {
    BlockTable table;
    table.prepare(static_cast<int64_t>(tokens.size()));
    PrefixPlace place = PrefixTree::root;
    shared = 0;
    for (size_t at = 0; at < tokens.size(); at += HEDDLE_BLOCK) {
      const BlockTokens block(tokens.data() + at, HEDDLE_BLOCK);
      if (const auto found = tree.find(place, block)) {
        EXPECT_EQ(shared * HEDDLE_BLOCK, at) << "found behind what was not";
        table.takeOver(pool, found->block);
        place = *found;
        ++shared;
        continue;
      }
      EXPECT_TRUE(pool.checkRoom(1).ok());
      tree.prepare(1);
      table.extend(pool, HEDDLE_BLOCK);
      const auto added = tree.add(place, block, table.blocks().back());
      EXPECT_TRUE(added && added->block == table.blocks().back());
      place = *added;
    }
    return table;
  }

  CacheBudget budget;
  BlockPool pool;
  PrefixTree tree;
};

/// Returns tokens of `blocks` blocks, which begin alike as far as their seeds agree.
Tokens tokensOf(size_t blocks, std::initializer_list<int32_t> seed) {
  Tokens tokens;
  auto next = seed.begin();
  for (size_t i = 0; i < blocks; ++i) {
    tokens.insert(tokens.end(), HEDDLE_BLOCK, *next);
    next = next + 1 == seed.end() ? next : next + 1;
  }
  return tokens;
}
} // namespace

TEST(PrefixTree, FindsWhatHasTheSameTokensFromTheBeginning) {
  Cache cache(100);
  size_t shared = 0;
  BlockTable first = cache.tableOf(tokensOf(4, {1, 2, 3}), shared);
  EXPECT_EQ(shared, 0U);
  // The same block after another one is a different block.
  BlockTable second = cache.tableOf(tokensOf(4, {1, 7, 3}), shared);
  EXPECT_EQ(shared, 1U);
  EXPECT_EQ(second.blocks()[0], first.blocks()[0]);
  EXPECT_NE(second.blocks()[2], first.blocks()[2]);
  EXPECT_EQ(cache.pool.inUse(), 7);
  first.clear(cache.pool);
  second.clear(cache.pool);
  EXPECT_EQ(cache.pool.inUse(), 0);
  EXPECT_EQ(cache.budget.used, 0U);
  EXPECT_EQ(cache.pool.idle(), 7);
  // They have no references, but still exist.
  BlockTable third = cache.tableOf(tokensOf(3, {1, 2, 3}), shared);
  EXPECT_EQ(shared, 3U);
  EXPECT_EQ(cache.pool.idle(), 4);
  third.clear(cache.pool);
}

TEST(PrefixTree, GivesUpWhatWasReleasedFirstAndWhatFollowsIt) {
  Cache cache(6);
  size_t shared = 0;
  BlockTable old = cache.tableOf(tokensOf(3, {1, 2, 3}), shared);
  BlockTable young = cache.tableOf(tokensOf(2, {5, 6}), shared);
  old.clear(cache.pool);
  young.clear(cache.pool);
  // One block is free, then the last of the old ones is given up.
  BlockTable more = cache.tableOf(tokensOf(2, {8, 9}), shared);
  more.clear(cache.pool);
  BlockTable again = cache.tableOf(tokensOf(2, {1, 2}), shared);
  EXPECT_EQ(shared, 2U);
  EXPECT_EQ(cache.pool.inUse() + cache.pool.idle(), 6);
  again.clear(cache.pool);
}

TEST(PrefixTree, LosesWhatItsSequenceGaveBackInPart) {
  Cache cache(4);
  size_t shared = 0;
  // As with a window: the first block is not read any more, the last ones are.
  BlockTable window = cache.tableOf(tokensOf(3, {1, 2, 3}), shared);
  const PrefixPlace last = *cache.tree.find(
      *cache.tree.find(*cache.tree.find(PrefixTree::root, BlockTokens(tokensOf(1, {1}))),
                       BlockTokens(tokensOf(1, {2}))),
      BlockTokens(tokensOf(1, {3})));
  window.dropBefore(cache.pool, HEDDLE_BLOCK);
  EXPECT_EQ(cache.pool.idle(), 1);
  BlockTable other = cache.tableOf(tokensOf(2, {7, 8}), shared);
  EXPECT_EQ(cache.pool.idle(), 0);
  // The successor of the lost block cannot be found, and has no successors.
  EXPECT_FALSE(cache.tree.find(PrefixTree::root, BlockTokens(tokensOf(1, {1}))));
  EXPECT_FALSE(cache.tree.add(last, BlockTokens(tokensOf(1, {4})), window.blocks()[2]));
  window.clear(cache.pool);
  EXPECT_EQ(cache.pool.idle(), 0);
  other.clear(cache.pool);
  EXPECT_EQ(cache.pool.idle(), 2);
}

TEST(PrefixTree, IsAMapInAnyOrderOfCalls) {
  std::mt19937 random(3);
  Cache cache(40);
  // The blocks of a sequence are identified by their contents when they were written.
  std::map<int32_t, Tokens> contents;
  std::vector<std::pair<Tokens, BlockTable>> live;
  size_t found = 0;
  for (int call = 0; call < 20000; ++call) {
    if (live.size() < 6 && random() % 2 == 0) {
      Tokens tokens;
      for (size_t blocks = 1 + random() % 6; blocks > 0; --blocks) {
        tokens.insert(tokens.end(), HEDDLE_BLOCK, static_cast<int32_t>(random() % 3));
      }
      size_t shared = 0;
      BlockTable table = cache.tableOf(tokens, shared);
      for (size_t i = 0; i < table.blocks().size(); ++i) {
        const Tokens until(tokens.begin(),
                           tokens.begin() + static_cast<std::ptrdiff_t>((i + 1) * HEDDLE_BLOCK));
        if (i < shared) {
          ASSERT_EQ(contents.at(table.blocks()[i]), until);
        }
        contents[table.blocks()[i]] = until;
      }
      found += shared;
      live.emplace_back(std::move(tokens), std::move(table));
    } else if (!live.empty()) {
      const auto at = live.begin() + static_cast<std::ptrdiff_t>(random() % live.size());
      for (size_t i = 0; i < at->second.blocks().size(); ++i) {
        const auto end = static_cast<std::ptrdiff_t>((i + 1) * HEDDLE_BLOCK);
        ASSERT_EQ(contents.at(at->second.blocks()[i]),
                  Tokens(at->first.begin(), at->first.begin() + end))
            << "overwritten while in use";
      }
      at->second.clear(cache.pool);
      live.erase(at);
    }
    ASSERT_LE(cache.pool.inUse() + cache.pool.idle(), 40);
  }
  EXPECT_GT(found, 1000U);
  for (auto &[tokens, table] : live) {
    table.clear(cache.pool);
  }
  EXPECT_EQ(cache.pool.inUse(), 0);
}
