// SPDX-License-Identifier: Apache-2.0
///
/// Rows of states that sequences share until they change them.
#include "runtime/Cache/StateRow.h"

#include "tests/runtime/Cache/TestStream.h"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

using namespace heddle;

static constexpr CacheShape shapes[] = {{5, ElementType::F32, false}, {3, ElementType::F32, false}};
static constexpr uint64_t blockBytes = 8 * sizeof(float);

static BlockPool makePool(CacheBudget &budget) {
  Result<BlockPool> pool =
      BlockPool::create("states", shapes, budget, *hostDevice(), testStream(), 1);
  EXPECT_EQ(pool.status().message(), "");
  return *std::move(pool);
}

static float *rowOf(const BlockPool &pool, size_t state, const StateRow &row) {
  return reinterpret_cast<float *>(pool.memory(state)) + row.block() * 8;
}

static void write(BlockPool &pool, const StateRow &row, float value) {
  rowOf(pool, 0, row)[4] = value;
  rowOf(pool, 1, row)[2] = -value;
}

static float read(const BlockPool &pool, const StateRow &row) {
  const float value = rowOf(pool, 0, row)[4];
  EXPECT_EQ(rowOf(pool, 1, row)[2], -value);
  return value;
}

TEST(StateRow, IsOfOnePositionOfAllStates) {
  CacheBudget budget{10 * blockBytes};
  const BlockPool pool = makePool(budget);
  EXPECT_EQ(pool.blockBytes(), blockBytes);
  EXPECT_EQ(pool.memory(1) - pool.memory(0), 5 * int64_t(sizeof(float)));
}

/// One of two rows that continue a third takes its block; the other has one of its own, into which a
/// device copies.
TEST(StateRow, FollowsWhatADeviceChooses) {
  CacheBudget budget{10 * blockBytes};
  BlockPool pool = makePool(budget);
  StateRow parent, other, first, second;
  parent.change(pool);
  other.change(pool);
  for (StateRow *const row : {&first, &second}) {
    row->shareWith(pool, other);
    row->changeApart(pool);
  }
  EXPECT_EQ(pool.inUse(), 4);
  const int32_t own = second.block();
  first.follow(pool, parent);
  EXPECT_EQ(first.block(), parent.block());
  EXPECT_EQ(second.block(), own);
  EXPECT_EQ(pool.inUse(), 3);
  for (StateRow *const row : {&parent, &other, &first, &second}) {
    row->clear(pool);
  }
  EXPECT_EQ(pool.inUse(), 0);
}

TEST(StateRow, IsCopiedByWhoeverChangesItFirst) {
  CacheBudget budget{10 * blockBytes};
  BlockPool pool = makePool(budget);
  StateRow first;
  StateRow second;
  second.shareWith(pool, first);
  EXPECT_EQ(second.block(), -1);
  first.change(pool);
  write(pool, first, 7);
  second.shareWith(pool, first);
  EXPECT_EQ(pool.inUse(), 1);
  second.change(pool);
  EXPECT_EQ(pool.inUse(), 2);
  EXPECT_EQ(read(pool, second), 7);
  write(pool, second, 8);
  // The other has it alone now.
  const int32_t kept = first.block();
  first.change(pool);
  EXPECT_EQ(first.block(), kept);
  EXPECT_EQ(read(pool, first), 7);
  first.clear(pool);
  second.clear(pool);
  EXPECT_EQ(pool.inUse(), 0);
  EXPECT_EQ(budget.used, 0u);
}

TEST(StateRow, BehavesAsAValue) {
  CacheBudget budget{100 * blockBytes};
  BlockPool pool = makePool(budget);
  std::mt19937 random(3);
  std::vector<StateRow> rows(20);
  std::vector<float> values(20, -1);
  for (int i = 0; i < 20000; ++i) {
    const size_t at = random() % rows.size();
    const size_t other = random() % rows.size();
    switch (random() % 4) {
    case 0:
      if (at != other) {
        rows[at].clear(pool);
        rows[at].shareWith(pool, rows[other]);
        values[at] = values[other];
      }
      break;
    case 1:
      rows[at].clear(pool);
      values[at] = -1;
      break;
    default:
      rows[at].change(pool);
      values[at] = static_cast<float>(random() % 1000);
      write(pool, rows[at], values[at]);
    }
    for (size_t each = 0; each < rows.size(); ++each) {
      ASSERT_EQ(rows[each].block() < 0, values[each] < 0);
      ASSERT_TRUE(values[each] < 0 || read(pool, rows[each]) == values[each]);
    }
  }
  std::map<int32_t, int32_t> owners;
  for (StateRow &row : rows) {
    owners[row.block()] += row.block() < 0 ? 0 : 1;
  }
  for (const auto &[block, count] : owners) {
    EXPECT_TRUE(block < 0 || pool.referencesOf(block) == count);
  }
  for (StateRow &row : rows) {
    row.clear(pool);
  }
  EXPECT_EQ(pool.inUse(), 0);
  EXPECT_EQ(budget.used, 0u);
}
