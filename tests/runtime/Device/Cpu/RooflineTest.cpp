// SPDX-License-Identifier: Apache-2.0
///
/// The measurements give plausible numbers.
#include "runtime/Device/Cpu/Roofline.h"

#include "runtime/Device/Device.h"

#include <gtest/gtest.h>

using namespace heddle;

TEST(Roofline, FmaPeakIsPossible) {
  const Result<double> peak = measureFmaPeak(1);
  ASSERT_TRUE(peak.ok());
  // From a slow emulator to three 16-lane units at 6 GHz.
  EXPECT_GT(*peak, 0.05);
  EXPECT_LT(*peak, 600);
  EXPECT_FALSE(rooflineTarget().empty());
}

TEST(Roofline, PeaksOfDotProductsArePossible) {
  for (const auto measure : {measureIntegerPeak, measureBf16Peak}) {
    const Result<double> peak = measure(1);
    ASSERT_TRUE(peak.ok());
    EXPECT_GT(*peak, 0.05);
    // An AMX unit that multiplies 8-bit tiles every 16 cycles, at 6 GHz.
    EXPECT_LT(*peak, 12500);
  }
}

TEST(Roofline, BandwidthIsPossible) {
  const Result<double> bandwidth = measureReadBandwidth(2, beyondCaches);
  ASSERT_TRUE(bandwidth.ok());
  EXPECT_GT(*bandwidth, 0.05);
  EXPECT_LT(*bandwidth, 5000);
}

TEST(Roofline, ReadsAsMuchAsItIsAskedTo) {
  // Very small sizes are rounded up to a multiple that every variant of reading supports.
  for (const uint64_t bytes : {uint64_t(0), uint64_t(1), uint64_t(3) << 20}) {
    const Result<double> bandwidth = measureReadBandwidth(2, bytes);
    ASSERT_TRUE(bandwidth.ok());
    EXPECT_GT(*bandwidth, 0.05);
    EXPECT_LT(*bandwidth, 20000);
  }
}
