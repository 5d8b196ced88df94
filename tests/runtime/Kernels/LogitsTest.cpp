// SPDX-License-Identifier: Apache-2.0
///
/// Compares the kernels over logits with their naive twins: odd sizes, special values, every target
/// of this machine.
#include "runtime/Kernels/LogSumExp.h"
#include "runtime/Kernels/Reference.h"
#include "runtime/Kernels/TopK.h"
#include "tests/runtime/Kernels/AllTargets.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace heddle;

static constexpr float infinity = std::numeric_limits<float>::infinity();
static constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

/// Returns `count` values, many of which are equal if `levels` is small.
static std::vector<float> randomValues(size_t count, float scale, int levels, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (float &value : values) {
    const auto unit = static_cast<float>(random() >> 40) / static_cast<float>(1 << 24);
    value = scale * std::round(unit * static_cast<float>(levels)) / static_cast<float>(levels);
  }
  return values;
}

static std::vector<ExponentialSum> pieces(std::span<const float> values, size_t size) {
  std::vector<ExponentialSum> sums;
  for (size_t begin = 0; begin < values.size(); begin += size) {
    const size_t count = std::min(size, values.size() - begin);
    sums.push_back(exponentialSum(values.data() + begin, static_cast<int64_t>(count)));
  }
  return sums;
}

TEST(LogSumExp, IsThatOfItsTwin) {
  onAllTargets([] {
    for (const size_t count : {1U, 2U, 7U, 15U, 16U, 17U, 48U, 767U, 768U, 769U, 32000U}) {
      for (const float scale : {0.0F, 1.0F, 30.0F, -200.0F}) {
        const std::vector<float> values = randomValues(count, scale, 1 << 20, count);
        EXPECT_NEAR(logSumExp(pieces(values, 768)), reference::logSumExp(values), 1e-6)
            << count << " " << scale;
        EXPECT_EQ(largestOf(values.data(), static_cast<int64_t>(count)),
                  reference::largestOf(values));
      }
    }
  });
}

TEST(LogSumExp, HasTheSameBitsOnAllTargets) {
  const std::vector<float> values = randomValues(5000, 20, 1 << 20, 3);
  std::vector<double> sums;
  onAllTargets([&] {
    // Without fused multiply-add the exponential itself differs.
    if (hwy::SupportedTargets() < HWY_SSE4) {
      sums.push_back(logSumExp(pieces(values, 768)));
    }
  });
  for (const double sum : sums) {
    EXPECT_EQ(sum, sums.front());
  }
}

TEST(LogSumExp, TakesWhatIsNotThere) {
  EXPECT_EQ(logSumExp({}), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(exponentialSum(nullptr, 0).sum, 0);
  std::vector<float> values(20, -infinity);
  EXPECT_EQ(logSumExp(pieces(values, 7)), -std::numeric_limits<double>::infinity());
  values[13] = 2;
  EXPECT_DOUBLE_EQ(logSumExp(pieces(values, 7)), 2);
}

TEST(LogSumExp, SaysWhatIsNoNumber) {
  for (const size_t at : {0U, 5U, 17U}) {
    std::vector<float> values(18, 1);
    values[at] = notANumber;
    EXPECT_TRUE(std::isnan(logSumExp(pieces(values, 6)))) << at;
  }
  const std::vector<float> all(3, notANumber);
  EXPECT_TRUE(std::isnan(logSumExp(pieces(all, 3))));
}

/// Expects a number to be within `most` units in the last place of another.
static void expectNear(double found, double expected, double most) {
  const double unit = std::nextafter(std::abs(expected), INFINITY) - std::abs(expected);
  EXPECT_LE(std::abs(found - expected), most * unit) << found << " " << expected;
}

TEST(LogSumExp, ExponentialsAreThoseOfTheLibrary) {
  for (int i = 0; i <= 200000; ++i) {
    const double x = -707.9 * std::pow(i / 200000.0, 3);
    expectNear(exponentialOf(x), std::exp(x), 2);
  }
  EXPECT_EQ(exponentialOf(0), 1);
  EXPECT_EQ(exponentialOf(-0.0), 1);
  // Lower numbers have the exponential of -708.
  for (const double x : {-709.0, -1e300, -std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(exponentialOf(x), exponentialOf(-708)) << x;
  }
  EXPECT_GT(exponentialOf(-708), 0);
  EXPECT_LT(exponentialOf(-708), 1e-307);
  EXPECT_TRUE(std::isnan(exponentialOf(std::numeric_limits<double>::quiet_NaN())));
}

TEST(LogSumExp, LogarithmsAreThoseOfTheLibrary) {
  for (int i = 0; i <= 200000; ++i) {
    // Many are close to 1, and some beyond any sum of exponentials.
    const double x = 1 + std::pow(i / 20000.0, 30);
    expectNear(logarithmOf(x), std::log(x), 3);
  }
  EXPECT_EQ(logarithmOf(1), 0);
  EXPECT_FALSE(std::signbit(logarithmOf(1)));
  expectNear(logarithmOf(std::numeric_limits<double>::max()),
             std::log(std::numeric_limits<double>::max()), 2);
  EXPECT_EQ(logarithmOf(std::numeric_limits<double>::infinity()),
            std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(logarithmOf(std::numeric_limits<double>::quiet_NaN())));
}

TEST(LogSumExp, SkipsPiecesWithoutASum) {
  const ExponentialSum some = {3, 2};
  const double expected = logSumExp(std::span(&some, 1));
  EXPECT_DOUBLE_EQ(expected, 3 + std::log(2.0));
  const std::vector<ExponentialSum> sums = {{}, some, {1, 0}, {-infinity, 0}};
  EXPECT_EQ(logSumExp(sums), expected);
}

/// Returns the best of values offered in pieces, last piece first.
static std::vector<RankedValue> bestOf(std::span<const float> values, size_t capacity,
                                       size_t size) {
  TopK best;
  best.reset(static_cast<int64_t>(capacity));
  std::vector<int32_t> positions(size + 64);
  for (size_t begin = (values.size() - 1) / size * size;; begin -= size) {
    const auto count = static_cast<int64_t>(std::min(size, values.size() - begin));
    const float largest = largestOf(values.data() + begin, count);
    best.offer(values.data() + begin, count, largest, static_cast<int32_t>(begin), nullptr,
               positions.data());
    if (begin == 0) {
      break;
    }
  }
  std::vector<RankedValue> kept(best.kept().begin(), best.kept().end());
  std::sort(kept.begin(), kept.end(), ranksBefore);
  return kept;
}

TEST(TopK, IsThatOfItsTwin) {
  onAllTargets([] {
    for (const size_t count : {1U, 5U, 16U, 100U, 769U, 5000U}) {
      for (const int levels : {1, 20, 1 << 20}) {
        const std::vector<float> values = randomValues(count, 5, levels, count);
        for (const size_t capacity : {0U, 1U, 2U, 8U, 100U}) {
          EXPECT_EQ(bestOf(values, capacity, 70), reference::topK(values, capacity))
              << count << " " << levels << " " << capacity;
        }
      }
    }
  });
}

TEST(TopK, NeverKeepsWhatIsNoNumberOrBanned) {
  std::vector<float> values(40, -infinity);
  values[3] = notANumber;
  values[30] = -3e38F;
  values[31] = -0.0F;
  values[32] = 0.0F;
  const std::vector<RankedValue> kept = bestOf(values, 5, 9);
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept[0].number, 31);
  EXPECT_EQ(kept[1].number, 32);
  EXPECT_EQ(kept[2].number, 30);
}

TEST(TopK, TakesNumbersThatAreGiven) {
  const std::vector<float> values = {1, 3, 2, 3};
  const std::vector<int32_t> numbers = {7, 40, 50, 90};
  std::vector<int32_t> positions(values.size() + 64);
  TopK best;
  best.reset(2);
  best.offer(values.data(), 4, 3, 0, numbers.data(), positions.data());
  std::vector<RankedValue> kept(best.kept().begin(), best.kept().end());
  std::sort(kept.begin(), kept.end(), ranksBefore);
  EXPECT_EQ(kept, (std::vector<RankedValue>{{3, 40}, {3, 90}}));
}
