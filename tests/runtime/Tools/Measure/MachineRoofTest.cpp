// SPDX-License-Identifier: Apache-2.0
///
/// The limits of the machine: the sizes that are measured, and the minimum time within the limits.
#include "runtime/Tools/Measure/MachineRoof.h"

#include "runtime/Device/Device.h"

#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

namespace heddle::tools {

using Profile = std::vector<DispatchProfile>;

/// Returns one call that reads this much.
static DispatchProfile reading(const std::string &entry, double weightBytes,
                               double cacheBytes = 0) {
  return {entry, "layer", "contract_8x8", 1, 1.0, 0, weightBytes, cacheBytes};
}

namespace {
/// A machine that reads at the rates of a list, one after another, and records the requested sizes.
struct Machine {
  std::vector<double> rates;
  std::vector<uint64_t> sizes = {};

  std::vector<MachineRoof> roofs(const std::vector<Profile> &profiles) {
    return measureRoofs(profiles, 8, [&](uint64_t bytes) {
      sizes.push_back(bytes);
      return rates.at(sizes.size() - 1);
    });
  }
};
} // namespace

TEST(MachineRoof, APassReadsEveryDispatchOnce) {
  Machine machine{{20, 100}};
  const MachineRoof roof = machine
                               .roofs({{{"encode", "embed", "gather_8", 4, 1.0, 0, 400, 0},
                                        {"encode", "inner", "contract_16x8", 4, 2.0, 4e9, 0, 0},
                                        reading("encode", 50),
                                        {"decode", "inner", "contract", 8, 16.0, 0, 6e6, 2e6}}})
                               .front();
  EXPECT_EQ(machine.sizes, (std::vector<uint64_t>{1000000, 150}));
  EXPECT_EQ(roof.peak, 8);
  ASSERT_EQ(roof.entries.size(), 2u);
  EXPECT_EQ(roof.entries.at("encode").passBytes, 150);
  EXPECT_EQ(roof.entries.at("encode").bandwidth, 100);
  EXPECT_EQ(roof.entries.at("decode").bandwidth, 20);
  EXPECT_EQ(entriesRecord(roof).dump(),
            R"([{"entry":"decode","pass_bytes":1000000.0,"roof_gb_per_s":20.0},)"
            R"({"entry":"encode","pass_bytes":150.0,"roof_gb_per_s":100.0}])");
}

TEST(MachineRoof, WhatReadsAsMuchIsMeasuredOnce) {
  Machine machine{{10, 30}};
  const std::vector<MachineRoof> roofs =
      machine.roofs({{reading("encode", 7e5), reading("decode", 8e5)},
                     {reading("encode", 6.9e5), reading("decode", 8e5)}});
  EXPECT_EQ(machine.sizes, (std::vector<uint64_t>{800000, 690000}));
  EXPECT_EQ(roofs[0].entries.at("encode").bandwidth, 10);
  EXPECT_EQ(roofs[0].entries.at("decode").bandwidth, 10);
  EXPECT_EQ(roofs[1].entries.at("encode").bandwidth, 30);
  EXPECT_EQ(roofs[1].entries.at("decode").bandwidth, 10);
  // No cache holds any of these.
  Machine large{{5}};
  const std::vector<MachineRoof> both =
      large.roofs({{reading("encode", 1e12)}, {reading("encode", 1e10)}});
  EXPECT_EQ(large.sizes, std::vector<uint64_t>{beyondCaches});
  EXPECT_EQ(both[1].entries.at("encode").bandwidth, 5);
}

TEST(MachineRoof, LessIsReadAtNoLowerRate) {
  Machine machine{{20, 12, 90}};
  const std::vector<MachineRoof> roofs = machine.roofs(
      {{reading("encode", 100)}, {reading("encode", 1000)}, {reading("encode", 500)}});
  EXPECT_EQ(machine.sizes, (std::vector<uint64_t>{1000, 500, 100}));
  EXPECT_EQ(roofs[1].entries.at("encode").bandwidth, 20);
  EXPECT_EQ(roofs[2].entries.at("encode").bandwidth, 20);
  EXPECT_EQ(roofs[0].entries.at("encode").bandwidth, 90);
}

TEST(MachineRoof, TheLongerTimeOfEveryDispatchCounts) {
  const MachineRoof roof = {.peak = 8, .entries = {{"encode", {0, 100}}, {"decode", {0, 2}}}};
  const Profile profile = {{"encode", "inner", "contract", 4, 1.0, 16e9, 1e9, 0},
                           {"decode", "inner", "contract", 8, 16.0, 4e9, 6e9, 2e9}};
  EXPECT_DOUBLE_EQ(leastTime(profile[0], roof).computing, 2);
  EXPECT_DOUBLE_EQ(leastTime(profile[0], roof).reading, 0.01);
  EXPECT_DOUBLE_EQ(leastTime(profile[1], roof).seconds(), 4);
  // Not the larger of the two sums: dispatches run one after another.
  EXPECT_DOUBLE_EQ(leastSeconds(profile, roof), 6);
}

TEST(MachineRoof, EveryArithmeticHasAPeakOfItsOwn) {
  const MachineRoof roof = {.peak = 8,
                            .narrowPeaks = {{Arithmetic::Integers, 32}, {Arithmetic::Bf16, 16}},
                            .entries = {{"encode", {0, 100}}}};
  Profile profile = {{"encode", "inner", "contract", 4, 1.0, 16e9, 1e9, 0}};
  EXPECT_DOUBLE_EQ(leastTime(profile[0], roof).computing, 2);
  profile[0].arithmetic = Arithmetic::Integers;
  EXPECT_DOUBLE_EQ(leastTime(profile[0], roof).computing, 0.5);
  profile[0].arithmetic = Arithmetic::Bf16;
  EXPECT_DOUBLE_EQ(leastTime(profile[0], roof).computing, 1);
}

TEST(MachineRoof, TheHigherOfTwoCounts) {
  const MachineRoof before = {.peak = 80, .entries = {{"encode", {100, 30}}, {"decode", {200, 9}}}};
  const MachineRoof after = {.peak = 118,
                             .entries = {{"encode", {100, 20}}, {"decode", {200, 11}}}};
  const MachineRoof both = higherOf(before, after);
  EXPECT_EQ(both.peak, 118);
  EXPECT_EQ(both.entries.at("encode").bandwidth, 30);
  EXPECT_EQ(both.entries.at("decode").bandwidth, 11);
  EXPECT_TRUE(isDisturbed(80, 118));
  EXPECT_TRUE(isDisturbed(118, 80));
  EXPECT_FALSE(isDisturbed(110, 118));
}

// An unknown limit is infinite.
TEST(MachineRoof, AFailedMeasurementDoesNotCount) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  const MachineRoof before = {.peak = unknown,
                              .narrowPeaks = {{Arithmetic::Tf32, 5}},
                              .entries = {{"encode", {100, 30}}, {"decode", {200, unknown}}}};
  const MachineRoof after = {.peak = 118,
                             .narrowPeaks = {{Arithmetic::Tf32, unknown}},
                             .entries = {{"encode", {100, unknown}}, {"decode", {200, unknown}}}};
  for (const MachineRoof &both : {higherOf(before, after), higherOf(after, before)}) {
    EXPECT_EQ(both.peak, 118);
    EXPECT_EQ(both.narrowPeaks.at(Arithmetic::Tf32), 5);
    EXPECT_EQ(both.entries.at("encode").bandwidth, 30);
    EXPECT_EQ(both.entries.at("decode").bandwidth, unknown);
  }
  EXPECT_FALSE(isDisturbed(unknown, 118));
  EXPECT_FALSE(isDisturbed(118, unknown));
  EXPECT_FALSE(isDisturbed(unknown, unknown));
}

// One of two limits says nothing: the other may be the one that counts.
TEST(MachineRoof, WhatNeedsAnUnknownLimitHasNoLeastTime) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  const DispatchProfile both = {"encode", "inner", "contract", 4, 1.0, 16e9, 1e9, 0};
  const DispatchProfile only = {"encode", "norm", "norm", 4, 1.0, 16e9, 0, 0};
  const MachineRoof withoutReading = {.peak = 8, .entries = {{"encode", {0, unknown}}}};
  const MachineRoof withoutPeak = {.peak = unknown, .entries = {{"encode", {0, 100}}}};
  EXPECT_EQ(leastTime(both, withoutReading).seconds(), 0);
  EXPECT_EQ(leastTime(both, withoutPeak).seconds(), 0);
  EXPECT_EQ(leastTime(only, withoutReading).seconds(), 2);
  EXPECT_EQ(leastTime(reading("encode", 1e9), withoutPeak).seconds(), 0.01);
}

// A GPU without memory for what no cache holds still reads less than that.
TEST(MachineRoof, SmallerPassesAreMeasuredAfterAFailure) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  Machine machine{{unknown, 12, 90, unknown}};
  const std::vector<MachineRoof> roofs = machine.roofs({{reading("encode", 1000)},
                                                        {reading("encode", 500)},
                                                        {reading("encode", 100)},
                                                        {reading("encode", 10)}});
  EXPECT_EQ(roofs[0].entries.at("encode").bandwidth, unknown);
  EXPECT_EQ(roofs[1].entries.at("encode").bandwidth, 12);
  EXPECT_EQ(roofs[2].entries.at("encode").bandwidth, 90);
  EXPECT_EQ(roofs[3].entries.at("encode").bandwidth, 90);
}

TEST(MachineRoof, PeaksHaveTheNamesOfTheirProducts) {
  const MachineRoof roof = {.peak = 8,
                            .narrowPeaks = {{Arithmetic::Integers, 1},
                                            {Arithmetic::Bf16, 2},
                                            {Arithmetic::Tf32, 3},
                                            {Arithmetic::Tf32x3, 4}},
                            .entries = {}};
  EXPECT_EQ(narrowPeaksRecord(roof).dump(),
            R"({"integers":1.0,"bf16":2.0,"tf32":3.0,"tf32x3":4.0})");
  EXPECT_EQ(nameOf(Arithmetic::F32), "f32");
}

} // namespace heddle::tools
