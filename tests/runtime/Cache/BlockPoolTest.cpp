// SPDX-License-Identifier: Apache-2.0
///
/// Blocks: numbers, counts, contents and the bound.
#include "runtime/Cache/BlockPool.h"

#include "heddle/Abi.h"

#include "tests/runtime/Cache/TestStream.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace heddle;

static constexpr CacheShape shapes[] = {{8, ElementType::F32, true}, {4, ElementType::F32, false}};
static constexpr uint64_t blockBytes = 12 * HEDDLE_BLOCK * sizeof(float);

static BlockPool makePool(CacheBudget &budget) {
  Result<BlockPool> pool =
      BlockPool::create("history", shapes, budget, *hostDevice(), testStream());
  EXPECT_EQ(pool.status().message(), "");
  return *std::move(pool);
}

TEST(BlockPool, LaysTheCachesOfAGroupSideBySide) {
  CacheBudget budget{10 * blockBytes};
  const BlockPool pool = makePool(budget);
  EXPECT_EQ(pool.blockBytes(), blockBytes);
  EXPECT_EQ(pool.memory(1) - pool.memory(0), 8 * HEDDLE_BLOCK * int64_t(sizeof(float)));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(pool.memory(0)) % HEDDLE_ALIGNMENT, 0u);
}

TEST(BlockPool, HasNoMemoryForLessThanABlock) {
  CacheBudget budget{blockBytes - 1};
  const BlockPool pool = makePool(budget);
  EXPECT_EQ(pool.memory(0), nullptr);
  EXPECT_EQ(pool.memory(1), nullptr);
}

TEST(BlockPool, GivesTheSameNumbersForTheSameCalls) {
  CacheBudget budget{10 * blockBytes};
  BlockPool pool = makePool(budget);
  EXPECT_EQ(pool.take(), 0);
  EXPECT_EQ(pool.take(), 1);
  EXPECT_EQ(pool.take(), 2);
  pool.release(0);
  pool.release(2);
  EXPECT_EQ(pool.take(), 2);
  EXPECT_EQ(pool.take(), 0);
  EXPECT_EQ(pool.take(), 3);
  EXPECT_EQ(pool.inUse(), 4);
}

TEST(BlockPool, CountsReferences) {
  CacheBudget budget{10 * blockBytes};
  BlockPool pool = makePool(budget);
  const int32_t block = pool.take();
  pool.share(block);
  EXPECT_EQ(pool.referencesOf(block), 2);
  pool.release(block);
  EXPECT_EQ(pool.inUse(), 1);
  EXPECT_EQ(budget.used, blockBytes);
  pool.release(block);
  EXPECT_EQ(pool.inUse(), 0);
  EXPECT_EQ(budget.used, 0u);
}

TEST(BlockPool, HasNoRoomForMoreBytesThanThereAreNumbersOf) {
  CacheBudget budget{10 * blockBytes};
  BlockPool pool = makePool(budget);
  pool.take();
  EXPECT_TRUE(pool.checkRoom(9).ok());
  // 2^62 blocks of 768 bytes are 0 modulo 2^64.
  for (const int64_t blocks : {int64_t(10), int64_t(1) << 62, INT64_MAX}) {
    EXPECT_EQ(pool.checkRoom(blocks).code(), StatusCode::ResourceExhausted) << blocks;
  }
}

TEST(BlockPool, CopiesFilledPositionsOfBothLayouts) {
  CacheBudget budget{10 * blockBytes};
  BlockPool pool = makePool(budget);
  const int32_t from = pool.take();
  const int32_t to = pool.take();
  auto *const source = reinterpret_cast<float *>(pool.memory(0));
  for (int64_t i = 0; i < 12 * HEDDLE_BLOCK; ++i) {
    source[i] = static_cast<float>(i + 1);
  }
  pool.copy(to, from, 3);
  const float *target = source + 12 * HEDDLE_BLOCK;
  for (int64_t i = 0; i < 8 * HEDDLE_BLOCK; ++i) {
    EXPECT_EQ(target[i], i % HEDDLE_BLOCK < 3 ? source[i] : 0.0f) << i;
  }
  for (int64_t i = 8 * HEDDLE_BLOCK; i < 12 * HEDDLE_BLOCK; ++i) {
    EXPECT_EQ(target[i], i < 8 * HEDDLE_BLOCK + 3 * 4 ? source[i] : 0.0f) << i;
  }
}

TEST(BlockPool, HasTheBytesOfEachElementType) {
  // 3 bf16 for each of 16 positions, 5 bytes, then 2 floats, which begin with a whole word.
  constexpr CacheShape mixed[] = {
      {3, ElementType::BF16, true}, {5, ElementType::I8, false}, {2, ElementType::F32, false}};
  CacheBudget budget{1 << 16};
  Result<BlockPool> pool = BlockPool::create("history", mixed, budget, *hostDevice(), testStream());
  ASSERT_EQ(pool.status().message(), "");
  EXPECT_EQ(pool->blockBytes(), (6 + 5 + 8) * HEDDLE_BLOCK);
  EXPECT_EQ(pool->memory(1) - pool->memory(0), 6 * HEDDLE_BLOCK);
  EXPECT_EQ(pool->memory(2) - pool->memory(0), 11 * HEDDLE_BLOCK);
  const int32_t from = pool->take();
  const int32_t to = pool->take();
  std::byte *const source = pool->memory(0);
  std::fill_n(source, pool->blockBytes(), std::byte(7));
  pool->copy(to, from, 3);
  const std::byte *target = source + pool->blockBytes();
  for (int64_t i = 0; i < 19 * HEDDLE_BLOCK; ++i) {
    const bool isCopied = i < 6 * HEDDLE_BLOCK    ? i % (2 * HEDDLE_BLOCK) < 3 * 2
                          : i < 11 * HEDDLE_BLOCK ? i < 6 * HEDDLE_BLOCK + 3 * 5
                                                  : i < 11 * HEDDLE_BLOCK + 3 * 8;
    EXPECT_EQ(target[i], std::byte(isCopied ? 7 : 0)) << i;
  }
  // States of one position: 6, 5 and 8 bytes, each from a whole word on.
  Result<BlockPool> states =
      BlockPool::create("states", mixed, budget, *hostDevice(), testStream(), 1);
  ASSERT_EQ(states.status().message(), "");
  EXPECT_EQ(states->blockBytes(), 8u + 8u + 8u);
}

TEST(BlockPool, SaysWhenItIsFull) {
  CacheBudget budget{3 * blockBytes + 5};
  BlockPool pool = makePool(budget);
  BlockPool other = makePool(budget);
  pool.take();
  other.take();
  EXPECT_TRUE(pool.checkRoom(1).ok());
  const Status status = pool.checkRoom(2);
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(status.message(), "the cache is full: the history needs 2 more blocks of 768 bytes, "
                              "and 1536 of 2309 bytes are in use");
  EXPECT_EQ(pool.checkRoom(1, 1).code(), StatusCode::Ok);
  EXPECT_EQ(pool.checkRoom(1, 6).message(),
            "the cache is full: the history needs 1 more blocks of 768 bytes, and 1542 of 2309 "
            "bytes are in use");
  EXPECT_FALSE(pool.checkRoom(1, UINT64_MAX).ok());
  pool.take();
  EXPECT_FALSE(other.checkRoom(1).ok());
  pool.release(0);
  EXPECT_TRUE(other.checkRoom(1).ok());
}

TEST(BlockPool, AGroupWithoutCachesTakesNothing) {
  CacheBudget budget{0};
  Result<BlockPool> pool = BlockPool::create("memory", {}, budget, *hostDevice(), testStream());
  ASSERT_TRUE(pool.ok());
  EXPECT_TRUE(pool->checkRoom(1000).ok());
  EXPECT_EQ(pool->take(), 0);
  EXPECT_EQ(budget.used, 0u);
  pool->release(0);
  EXPECT_EQ(pool->inUse(), 0);
}
