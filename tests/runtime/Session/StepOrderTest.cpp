// SPDX-License-Identifier: Apache-2.0
///
/// Rows in time-step order: every row of every sequence once, in steps whose sequences are the
/// first of those of the step before.
#include "runtime/Session/StepOrder.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <utility>

namespace heddle {
namespace {

/// The lists of a space, filled for sequences of some lengths.
struct Lists {
  Lists(const StepOrder &order, const std::vector<int32_t> &lengths, RowSpace space)
      : ranks(lengths.size(), -1), ownLengths(lengths.size(), -1) {
    int64_t count = 0;
    for (const int32_t length : lengths) {
      count += space.rowsOf(length);
    }
    // A chunk may be laid out for a longer sequence than it has.
    const int64_t longest = space.isOfSteps() ? order.steps() + 3 : 1;
    offsets.assign(static_cast<size_t>(longest) + 1, -1);
    sequenceOf.assign(static_cast<size_t>(count), -1);
    positions.assign(static_cast<size_t>(count), -1);
    order.write(lengths, {}, space,
                {count, longest, offsets.data(), sequenceOf.data(), positions.data(), ranks.data(),
                 ownLengths.data(), nullptr});
  }

  std::vector<int32_t> offsets, sequenceOf, positions, ranks, ownLengths;
};

void expectOrder(const std::vector<int32_t> &lengths, bool reversed) {
  StepOrder order;
  order.arrange(lengths);
  const Lists lists(order, lengths, RowSpace::steps(reversed));
  ASSERT_EQ(order.steps(), *std::max_element(lengths.begin(), lengths.end()));
  EXPECT_EQ(lists.ownLengths, lengths);
  std::set<std::pair<int32_t, int32_t>> seen;
  for (int64_t step = 0; step < order.steps(); ++step) {
    const int64_t active = order.start(step + 1) - order.start(step);
    ASSERT_GT(active, 0);
    EXPECT_EQ(lists.offsets[static_cast<size_t>(step)], order.start(step));
    for (int64_t slot = 0; slot < active; ++slot) {
      const auto row = static_cast<size_t>(order.start(step) + slot);
      const int32_t sequence = lists.sequenceOf[row];
      const int32_t length = lengths[static_cast<size_t>(sequence)];
      EXPECT_EQ(lists.ranks[static_cast<size_t>(sequence)], slot);
      EXPECT_EQ(lists.positions[row], reversed ? length - 1 - step : step);
      EXPECT_TRUE(seen.emplace(sequence, lists.positions[row]).second);
      // The same slot in the previous step belongs to the same sequence.
      if (step > 0) {
        EXPECT_EQ(lists.sequenceOf[static_cast<size_t>(order.start(step - 1) + slot)], sequence);
      }
    }
  }
  EXPECT_EQ(seen.size(), lists.sequenceOf.size());
  // Steps without sequences are empty.
  for (size_t step = static_cast<size_t>(order.steps()); step < lists.offsets.size(); ++step) {
    EXPECT_EQ(lists.offsets[step], order.start(order.steps()));
  }
}

TEST(StepOrder, EveryRowHasItsPlace) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<int32_t> lengths(1 + random() % 20);
    std::generate(lengths.begin(), lengths.end(), [&] { return int32_t(1 + random() % 12); });
    expectOrder(lengths, false);
    expectOrder(lengths, true);
  }
  expectOrder({1}, false);
  expectOrder({7, 7, 7}, true);
}

TEST(StepOrder, EquallyLongSequencesKeepTheirOrder) {
  const std::vector<int32_t> lengths = {2, 5, 2, 9, 5};
  StepOrder order;
  order.arrange(lengths);
  const Lists ranks(order, lengths, RowSpace::ranks());
  EXPECT_EQ(ranks.sequenceOf, (std::vector<int32_t>{3, 1, 4, 0, 2}));
  EXPECT_EQ(ranks.ranks, (std::vector<int32_t>{3, 1, 4, 0, 2}));
  // An earlier arrangement has no effect.
  order.arrange(std::vector<int32_t>{1, 2});
  EXPECT_EQ(order.steps(), 2);
  EXPECT_EQ(order.start(1), 2);
  EXPECT_EQ(order.start(2), 3);
}

} // namespace
} // namespace heddle
