// SPDX-License-Identifier: Apache-2.0
///
/// Tables that share blocks, compared with plain lists.
#include "runtime/Cache/BlockTable.h"

#include "heddle/Abi.h"

#include "tests/runtime/Cache/TestStream.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace heddle;

static constexpr CacheShape shapes[] = {{1, ElementType::F32, true}, {2, ElementType::F32, false}};
static constexpr uint64_t blockBytes = 3 * HEDDLE_BLOCK * sizeof(float);

static BlockPool makePool(CacheBudget &budget) {
  Result<BlockPool> pool =
      BlockPool::create("history", shapes, budget, *hostDevice(), testStream());
  EXPECT_EQ(pool.status().message(), "");
  return *std::move(pool);
}

/// Returns the last number of a position in a cache, [HEDDLE_BLOCK][numbers] per block.
static float &numberAt(const BlockPool &pool, size_t cache, int64_t block, int64_t position) {
  const int64_t numbers = shapes[cache].width;
  auto *const memory = reinterpret_cast<float *>(pool.memory(cache));
  return memory[block * 3 * HEDDLE_BLOCK + position % HEDDLE_BLOCK * numbers + numbers - 1];
}

/// Writes and reads the value of one position of a table.
static void write(BlockPool &pool, const BlockTable &table, int64_t position, float value) {
  const int64_t block = table.blocks()[static_cast<size_t>(position / HEDDLE_BLOCK)];
  numberAt(pool, 0, block, position) = value;
  numberAt(pool, 1, block, position) = -value;
}

static float read(const BlockPool &pool, const BlockTable &table, int64_t position) {
  const int64_t block = table.blocks()[static_cast<size_t>(position / HEDDLE_BLOCK)];
  const float value = numberAt(pool, 0, block, position);
  EXPECT_EQ(numberAt(pool, 1, block, position), -value);
  return value;
}

TEST(BlockTable, OwnsWhatItSharedAfterACopyOfEveryBlock) {
  CacheBudget budget{100 * blockBytes};
  BlockPool pool = makePool(budget);
  BlockTable first;
  first.extend(pool, 2 * HEDDLE_BLOCK + 3);
  write(pool, first, 1, 4);
  write(pool, first, 2 * HEDDLE_BLOCK + 2, 5);
  BlockTable second;
  second.shareWith(pool, first);
  second.own(pool);
  EXPECT_EQ(pool.inUse(), 6);
  write(pool, second, 1, 7);
  EXPECT_EQ(read(pool, second, 2 * HEDDLE_BLOCK + 2), 5);
  EXPECT_EQ(read(pool, first, 1), 4);
  // Nothing is shared any more, so nothing is copied.
  first.own(pool);
  second.own(pool);
  EXPECT_EQ(pool.inUse(), 6);
  first.clear(pool);
  second.clear(pool);
  EXPECT_EQ(pool.inUse(), 0);
}

/// Each of two hypotheses has two forks, which turn out to continue others than those they are of.
/// The last block is full or not, and the first ones may have been given back.
TEST(BlockTable, FollowsWhatADeviceChooses) {
  for (const int64_t length : {3 * HEDDLE_BLOCK, 2 * HEDDLE_BLOCK + 3}) {
    for (const int64_t unread : {int64_t(0), int64_t(HEDDLE_BLOCK)}) {
      SCOPED_TRACE(testing::Message() << length << " " << unread);
      CacheBudget budget{100 * blockBytes};
      BlockPool pool = makePool(budget);
      std::vector<BlockTable> parents(2), forks(4);
      for (BlockTable &parent : parents) {
        parent.extend(pool, length);
      }
      for (size_t i = 0; i < forks.size(); ++i) {
        forks[i].shareWith(pool, parents[i / 2]);
        forks[i].extendApart(pool);
        EXPECT_EQ(forks[i].length(), length + 1);
      }
      EXPECT_EQ(pool.inUse(), 6 + 4);
      const std::vector<int32_t> unused = {forks[0].blocks().back(), forks[1].blocks().back(),
                                           forks[2].blocks().back(), forks[3].blocks().back()};
      parents[1].dropBefore(pool, unread);
      const bool isPartial = parents[0].partialBlock() >= 0;
      const size_t chosen[] = {1, 1, 0, 1};
      const bool isFirst[] = {true, false, true, false};
      for (size_t i = 0; i < forks.size(); ++i) {
        const BlockTable &parent = parents[chosen[i]];
        forks[i].follow(pool, parent, isFirst[i]);
        std::vector<int32_t> expected(parent.blocks().begin(), parent.blocks().end());
        if (!isPartial) {
          expected.push_back(unused[i]);
        } else if (!isFirst[i]) {
          expected.back() = unused[i];
        }
        EXPECT_EQ(std::vector<int32_t>(forks[i].blocks().begin(), forks[i].blocks().end()),
                  expected);
      }
      for (BlockTable &parent : parents) {
        parent.clear(pool);
      }
      // Three whole blocks of either and one for each fork; or two whole ones of either, two last
      // ones, and the copies of two forks. Those that were given back are gone.
      EXPECT_EQ(pool.inUse(), (isPartial ? 8 : 10) - (unread == 0 ? 0 : 1));
      // The others do not notice what one of them does.
      forks[0].clear(pool);
      forks[1].extend(pool, HEDDLE_BLOCK);
      for (BlockTable &fork : forks) {
        fork.clear(pool);
      }
      EXPECT_EQ(pool.inUse(), 0);
    }
  }
}

TEST(BlockTable, CopiesAtMostTheLastBlockOfAFork) {
  CacheBudget budget{100 * blockBytes};
  BlockPool pool = makePool(budget);
  BlockTable first;
  first.extend(pool, 2 * HEDDLE_BLOCK + 3);
  write(pool, first, 2 * HEDDLE_BLOCK + 2, 5);
  BlockTable second;
  second.shareWith(pool, first);
  EXPECT_EQ(pool.inUse(), 3);
  EXPECT_EQ(second.partialBlock(), 2);
  second.extend(pool, 1);
  EXPECT_EQ(pool.inUse(), 4);
  EXPECT_EQ(second.blocks()[1], first.blocks()[1]);
  EXPECT_NE(second.blocks()[2], first.blocks()[2]);
  EXPECT_EQ(read(pool, second, 2 * HEDDLE_BLOCK + 2), 5);
  // The other owner has it alone now.
  first.extend(pool, 1);
  EXPECT_EQ(pool.inUse(), 4);
  first.clear(pool);
  second.clear(pool);
  EXPECT_EQ(pool.inUse(), 0);
}

TEST(BlockTable, AForkAtTheEndOfABlockCopiesNothing) {
  CacheBudget budget{100 * blockBytes};
  BlockPool pool = makePool(budget);
  BlockTable first;
  first.extend(pool, HEDDLE_BLOCK);
  BlockTable second;
  second.shareWith(pool, first);
  EXPECT_EQ(second.partialBlock(), -1);
  EXPECT_EQ(second.blocksFor(1), 1);
  second.extend(pool, 1);
  EXPECT_EQ(pool.inUse(), 2);
  EXPECT_EQ(second.blocks()[0], first.blocks()[0]);
}

TEST(BlockTable, GivesBackBlocksThatNothingReadsAgain) {
  CacheBudget budget{100 * blockBytes};
  BlockPool pool = makePool(budget);
  BlockTable first;
  first.extend(pool, 3 * HEDDLE_BLOCK + 5);
  write(pool, first, 3 * HEDDLE_BLOCK + 4, 9);
  first.dropBefore(pool, HEDDLE_BLOCK - 1);
  EXPECT_EQ(pool.inUse(), 4);
  first.dropBefore(pool, 2 * HEDDLE_BLOCK);
  EXPECT_EQ(pool.inUse(), 2);
  // Another owner keeps what it reads.
  BlockTable second;
  second.shareWith(pool, first);
  first.dropBefore(pool, 3 * HEDDLE_BLOCK + 4);
  EXPECT_EQ(pool.inUse(), 2);
  second.dropBefore(pool, 3 * HEDDLE_BLOCK);
  EXPECT_EQ(pool.inUse(), 1);
  EXPECT_EQ(second.length(), 3 * HEDDLE_BLOCK + 5);
  EXPECT_EQ(read(pool, second, 3 * HEDDLE_BLOCK + 4), 9);
  // No further than there are positions, and never the block that is written to.
  first.dropBefore(pool, 1000 * HEDDLE_BLOCK);
  first.extend(pool, 1);
  EXPECT_EQ(pool.inUse(), 2);
  first.clear(pool);
  second.clear(pool);
  EXPECT_EQ(pool.inUse(), 0);
  EXPECT_EQ(budget.used, 0u);
}

TEST(BlockTable, BehavesAsAList) {
  CacheBudget budget{100000 * blockBytes};
  BlockPool pool = makePool(budget);
  std::mt19937 random(3);
  std::vector<BlockTable> tables(20);
  std::vector<std::vector<float>> lists(20);
  for (int i = 0; i < 20000; ++i) {
    const size_t at = random() % tables.size();
    const size_t other = random() % tables.size();
    switch (random() % 4) {
    case 0:
      tables[at].clear(pool);
      lists[at].clear();
      if (at != other) {
        tables[at].shareWith(pool, tables[other]);
        lists[at] = lists[other];
      }
      break;
    case 1:
      if (random() % 8 == 0) {
        tables[at].clear(pool);
        lists[at].clear();
      }
      break;
    default:
      const int64_t count = random() % 5 == 0 ? random() % 40 : 1;
      tables[at].extend(pool, count);
      for (int64_t more = 0; more < count; ++more) {
        lists[at].push_back(static_cast<float>(random() % 1000));
        write(pool, tables[at], static_cast<int64_t>(lists[at].size()) - 1, lists[at].back());
      }
    }
    ASSERT_EQ(tables[at].length(), static_cast<int64_t>(lists[at].size()));
    for (size_t position = 0; position < lists[at].size(); ++position) {
      ASSERT_EQ(read(pool, tables[at], static_cast<int64_t>(position)), lists[at][position]);
    }
  }
  // Every block in use is in as many tables as its reference count.
  std::map<int32_t, int32_t> owners;
  for (const BlockTable &table : tables) {
    for (const int32_t block : table.blocks()) {
      ++owners[block];
    }
  }
  EXPECT_EQ(pool.inUse(), static_cast<int64_t>(owners.size()));
  for (const auto &[block, count] : owners) {
    EXPECT_EQ(pool.referencesOf(block), count);
  }
  for (BlockTable &table : tables) {
    table.clear(pool);
  }
  EXPECT_EQ(pool.inUse(), 0);
  EXPECT_EQ(budget.used, 0u);
}
