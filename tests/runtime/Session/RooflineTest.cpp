// SPDX-License-Identifier: Apache-2.0
///
/// The probes give possible numbers.
#include "runtime/Kernels/Roofline.h"

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

TEST(Roofline, BandwidthIsPossible) {
  const Result<double> bandwidth = measureReadBandwidth(2);
  ASSERT_TRUE(bandwidth.ok());
  EXPECT_GT(*bandwidth, 0.05);
  EXPECT_LT(*bandwidth, 5000);
}
