// SPDX-License-Identifier: Apache-2.0
///
/// The measurements give plausible numbers.
#include "runtime/Device/Cpu/Roofline.h"

#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Device/Device.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

using namespace heddle;

TEST(Roofline, PeaksArePossible) {
  const std::shared_ptr<Device> device = cpuDevice();
  for (const std::string &target : device->targets()) {
    const Result<double> peak = device->measurePeak(1, Arithmetic::F32, target);
    ASSERT_TRUE(peak.ok()) << target;
    // From a slow emulator to three 16-lane units at 6 GHz.
    EXPECT_GT(*peak, 0.05) << target;
    EXPECT_LT(*peak, 600) << target;
    EXPECT_FALSE(device->vectors(target).empty()) << target;
    for (const Arithmetic narrow : {Arithmetic::Integers, Arithmetic::Bf16}) {
      const Result<double> other = device->measurePeak(1, narrow, target);
      ASSERT_TRUE(other.ok()) << target;
      EXPECT_GT(*other, 0.05) << target;
      // A unit of AMX that multiplies tiles of 8 bits every 16 steps, at 6 GHz.
      EXPECT_LT(*other, 12500) << target;
    }
  }
}

// Tiles of AMX multiply 16 times as many numbers as vectors do in the same time.
TEST(Roofline, APeakIsThatOfTheTarget) {
  const std::shared_ptr<Device> device = cpuDevice();
  const std::vector<std::string> targets = device->targets();
  EXPECT_EQ(
      device->measurePeak(1, Arithmetic::F32, "abacus").status().message(),
      fmt::format("the peak of target \"abacus\", expected one of {}", fmt::join(targets, ", ")));
  if (targets.front() != "x86-64-v4-amx") {
    GTEST_SKIP() << "no AMX";
  }
  const auto peakOf = [&](Arithmetic arithmetic, const char *target) {
    return *device->measurePeak(1, arithmetic, target);
  };
  EXPECT_GT(peakOf(Arithmetic::Integers, "x86-64-v4-amx"),
            3 * peakOf(Arithmetic::Integers, "x86-64-v4-vnni"));
  EXPECT_GT(peakOf(Arithmetic::Bf16, "x86-64-v4-amx"),
            3 * peakOf(Arithmetic::Bf16, "x86-64-v4-bf16"));
  EXPECT_EQ(device->vectors("x86-64-v3"), "AVX2");
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
