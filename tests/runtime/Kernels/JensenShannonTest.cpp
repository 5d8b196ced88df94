// SPDX-License-Identifier: Apache-2.0
///
/// Compares the divergence of distributions with its naive twin: odd sizes, zeros, one-hot
/// distributions, every target of this machine.
#include "runtime/Kernels/JensenShannon.h"
#include "runtime/Kernels/Reference.h"
#include "tests/runtime/Kernels/AllTargets.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace heddle;

using Distribution = std::vector<float>;

static double divergence(const Distribution &p, const Distribution &q) {
  return jensenShannon(p.data(), q.data(), static_cast<int64_t>(p.size()));
}

/// Returns the softmax of random scores; with `zeros`, some keys have probability zero.
static Distribution randomDistribution(size_t count, double sharpness, bool zeros, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> weights(count);
  double sum = 0;
  for (size_t key = 0; key < count; ++key) {
    const double unit = static_cast<double>(random() >> 11) / static_cast<double>(1ULL << 53);
    weights[key] = zeros && key > 0 && random() % 3 == 0 ? 0 : std::exp(sharpness * unit);
    sum += weights[key];
  }
  Distribution result;
  for (const double weight : weights) {
    result.push_back(static_cast<float>(weight / sum));
  }
  return result;
}

/// Returns the distribution with all probability on one key.
static Distribution certain(size_t count, size_t key) {
  Distribution result(count, 0.0F);
  result[key] = 1;
  return result;
}

TEST(JensenShannon, IsThatOfItsTwin) {
  onAllTargets([] {
    for (const size_t count :
         {1U, 2U, 3U, 7U, 15U, 16U, 17U, 31U, 33U, 100U, 511U, 4097U, 32000U}) {
      for (const double sharpness : {0.0, 0.01, 1.0, 10.0, 100.0}) {
        for (const bool zeros : {false, true}) {
          const Distribution p = randomDistribution(count, sharpness, zeros, count);
          const Distribution q = randomDistribution(count, sharpness, zeros, count + 1);
          EXPECT_NEAR(divergence(p, q), reference::jensenShannon(p, q), 5e-7)
              << count << " " << sharpness << " " << zeros;
        }
      }
    }
  });
}

TEST(JensenShannon, OfWhatIsKnown) {
  onAllTargets([] {
    for (const size_t count : {2U, 16U, 33U}) {
      // Disjoint distributions: one bit.
      EXPECT_DOUBLE_EQ(divergence(certain(count, 0), certain(count, count - 1)), 1);
      // H(3/4, 1/4) - H(1/2, 1/2) / 2.
      Distribution half = certain(count, 0);
      half[0] = half[1] = 0.5F;
      EXPECT_NEAR(divergence(certain(count, 0), half), 0.31127812445913283, 1e-7);
    }
  });
}

TEST(JensenShannon, IsExactlyNothingForEqualOnesAndSymmetric) {
  onAllTargets([] {
    for (const size_t count : {1U, 5U, 16U, 99U}) {
      for (const bool zeros : {false, true}) {
        const Distribution p = randomDistribution(count, 8, zeros, count);
        const Distribution q = randomDistribution(count, 8, zeros, count + 7);
        EXPECT_EQ(divergence(p, p), 0);
        EXPECT_EQ(divergence(p, q), divergence(q, p));
      }
      EXPECT_EQ(divergence(certain(count, 0), certain(count, 0)), 0);
    }
  });
  EXPECT_EQ(jensenShannon(nullptr, nullptr, 0), 0);
}

TEST(JensenShannon, StaysWithinItsRange) {
  onAllTargets([] {
    // Sums that rounding took beyond 1 on both sides, and nearly equal distributions.
    Distribution p(20, 0.0F);
    Distribution q(20, 0.0F);
    for (size_t key = 0; key < 10; ++key) {
      p[key] = 0.1000001F;
      q[key + 10] = 0.1000001F;
    }
    EXPECT_EQ(divergence(p, q), 1);
    for (uint64_t seed = 0; seed < 200; ++seed) {
      Distribution near = randomDistribution(50, 3, false, seed);
      const Distribution same = near;
      near[seed % 50] = std::nextafter(near[seed % 50], 1.0F);
      EXPECT_GE(divergence(near, same), 0);
      EXPECT_LT(divergence(near, same), 1e-6);
    }
  });
}

TEST(JensenShannon, TakesTheSmallestNumbers) {
  constexpr float smallest = std::numeric_limits<float>::denorm_min();
  onAllTargets([] {
    for (const float tiny : {smallest, 1e-40F, std::numeric_limits<float>::min(), 1e-30F}) {
      const Distribution p = {tiny, 1, 0, tiny};
      const Distribution q = {0, 1, tiny, tiny};
      EXPECT_NEAR(divergence(p, q), 0, 1e-7) << tiny;
      EXPECT_NEAR(divergence(p, {1, tiny, 0, 0}), 1, 1e-7) << tiny;
    }
  });
}

TEST(JensenShannon, SaysWhatIsNoNumber) {
  onAllTargets([] {
    for (const size_t at : {0U, 5U, 17U}) {
      Distribution p(18, 1.0F / 18);
      const Distribution q = p;
      p[at] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_TRUE(std::isnan(divergence(p, q))) << at;
      EXPECT_TRUE(std::isnan(divergence(q, p))) << at;
      EXPECT_TRUE(std::isnan(divergence(p, p))) << at;
    }
  });
}

TEST(JensenShannon, HasTheSameBitsOnAllTargets) {
  const Distribution p = randomDistribution(5001, 6, true, 3);
  const Distribution q = randomDistribution(5001, 6, true, 4);
  std::vector<double> found;
  onAllTargets([&] {
    // Without fused multiply-add the logarithm itself differs.
    if (hwy::SupportedTargets() < HWY_SSE4) {
      found.push_back(divergence(p, q));
    }
  });
  for (const double each : found) {
    EXPECT_EQ(each, found.front());
  }
}
