// SPDX-License-Identifier: Apache-2.0
///
/// Sums of squares of rows, compared with a plain loop, bit by bit.
#include "compiler/Calibration/Moments.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace heddle {
namespace {

std::vector<float> randomRows(int64_t count, int64_t width) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::vector<float> rows(static_cast<size_t>(count * width));
  std::ranges::generate(rows, [&] { return normal(generator); });
  return rows;
}

/// Computes the moments with a plain loop over the rows in order.
std::vector<float> expectedMoments(const std::vector<float> &rows, int64_t groups, int64_t k) {
  std::vector<float> moments;
  const int64_t width = groups * k, count = static_cast<int64_t>(rows.size()) / width;
  for (int64_t i = 0; i < width; ++i) {
    for (int64_t j = 0; j < k; ++j) {
      double sum = 0;
      for (int64_t row = 0; row < count; ++row) {
        sum += static_cast<double>(rows[row * width + i]) * rows[row * width + i / k * k + j];
      }
      moments.push_back(static_cast<float>(sum));
    }
  }
  return moments;
}

TEST(MomentsTest, AreThoseOfAPlainLoopHoweverRowsCome) {
  for (const auto &[groups, k] : {std::pair<int64_t, int64_t>{1, 1}, {1, 7}, {3, 10}, {2, 33}}) {
    const int64_t width = groups * k;
    constexpr int64_t count = 101;
    const std::vector<float> rows = randomRows(count, width);
    const std::vector<float> expected = expectedMoments(rows, groups, k);
    for (const int64_t batch : {1, 32, 45, 101}) {
      for (const unsigned threads : {1U, 3U}) {
        Moments moments(groups, k);
        for (int64_t row = 0; row < count; row += batch) {
          const int64_t next = std::min(batch, count - row);
          moments.add(std::span(rows).subspan(static_cast<size_t>(row * width),
                                              static_cast<size_t>(next * width)),
                      threads);
        }
        std::vector<float> written(expected.size());
        moments.write(written);
        EXPECT_EQ(written, expected) << groups << " x " << k << ", " << batch << " rows at a time";
        EXPECT_TRUE(moments.areFinite());
      }
    }
  }
}

// Each row chooses two groups: both use the same row, or each has a row of its own. A group that no
// row chooses has zero moments.
TEST(MomentsTest, OfGroupsAreThoseOfTheRowsThatChoseThem) {
  constexpr int64_t groups = 5, k = 7, count = 40, choices = 2, unseen = 3;
  for (const int64_t own : {1L, choices}) {
    const std::vector<float> rows = randomRows(count * own, k);
    std::vector<float> chosen;
    std::vector<std::vector<float>> ofGroups(groups);
    for (int64_t i = 0; i < count * choices; ++i) {
      int64_t group = (i * i + i / 3) % groups;
      group = group == unseen ? 0 : group;
      chosen.push_back(static_cast<float>(group));
      const auto row = rows.begin() + (own == 1 ? i / choices : i) * k;
      ofGroups[group].insert(ofGroups[group].end(), row, row + k);
    }
    std::vector<float> expected;
    for (const std::vector<float> &each : ofGroups) {
      const std::vector<float> moments = expectedMoments(each, 1, k);
      expected.insert(expected.end(), moments.begin(), moments.end());
    }
    for (const int64_t batch : {1, 9, 40}) {
      for (const unsigned threads : {1U, 3U}) {
        Moments moments(groups, k);
        for (int64_t row = 0; row < count; row += batch) {
          const int64_t next = std::min(batch, count - row);
          moments.addChosen(std::span(rows).subspan(row * own * k, next * own * k),
                            std::span(chosen).subspan(row * choices, next * choices), threads);
        }
        std::vector<float> written(expected.size());
        moments.write(written);
        EXPECT_EQ(written, expected) << own << " rows each, " << batch << " at a time";
        for (int64_t group = 0; group < groups; ++group) {
          EXPECT_EQ(moments.hasRows(group), group != unseen);
        }
      }
    }
  }
}

TEST(MomentsTest, TakeATriangleOfMemory) {
  EXPECT_EQ(Moments::bytesOf(3, 4), 3U * 10 * sizeof(double));
}

TEST(MomentsTest, SayWhereASumIsNoNumberOfF32) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(), 1e30F}) {
    Moments moments(1, 5);
    std::vector<float> row(5, 1);
    moments.add(row, 1);
    EXPECT_TRUE(moments.areFinite());
    row[3] = bad;
    moments.add(row, 1);
    EXPECT_FALSE(moments.areFinite()) << bad;
  }
}

} // namespace
} // namespace heddle
