// SPDX-License-Identifier: Apache-2.0
///
/// The order of rows by group, as one block sorts them on the emulated GPU: stable, for any numbers
/// of rows and groups, and for numbers of groups that do not exist.
#include "tests/EmulatedCompiler/PlantedDefects.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

namespace heddle {
namespace {

CompiledKernel compiled(int64_t groups) {
  const std::string program = llvm::formatv(R"(
!numbers = !dataflow.buffer<[tokens], i32>
dataflow.kernel @sort : (!numbers) -> !numbers computes #dataflow.order<groups = {0}> {{
^bb0(%e: f32):
  dataflow.yield %e
}
)",
                                            groups);
  return {program, "sort", "sm_80"};
}

/// Returns the rows at all places: those of a group in order, group by group. Numbers beyond the
/// last group, and negative ones, are those of the last group.
std::vector<int32_t> sorted(const std::vector<int32_t> &chosen, int64_t groups) {
  const auto placeOf = [&](int32_t row) {
    const uint64_t number = static_cast<uint32_t>(chosen[size_t(row)]);
    return std::pair(std::min(number, uint64_t(groups) - 1), row);
  };
  std::vector<int32_t> order(chosen.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, placeOf);
  return order;
}

KernelOutcome run(const CompiledKernel &kernel, const std::vector<int32_t> &chosen,
                  const KernelLaunch &launch) {
  const auto send = [&](EmulatedGpu &gpu, uint64_t result, uint64_t) {
    HeddleRows rows = {};
    rows.count = rows.longest = int64_t(chosen.size());
    return gpu.sendLaunch({result, gpu.send(chosen)}, {gpu.send(&rows, sizeof rows)}, launch);
  };
  return kernel.run(launch, chosen.size(), /*rowElements=*/1, send);
}

/// Expects a launch to write the rows of its places, and nothing else.
void expectRight(const CompiledKernel &kernel, const std::vector<int32_t> &chosen, int64_t groups,
                 const KernelLaunch &launch) {
  const KernelOutcome outcome = run(kernel, chosen, launch);
  ASSERT_EQ(outcome.report, "");
  const std::vector<int32_t> right = sorted(chosen, groups);
  for (int64_t place = 0; place < int64_t(chosen.size()); ++place) {
    const float found = outcome.values[size_t(place)];
    if (place >= launch.rowBegin && place < launch.rowEnd) {
      ASSERT_EQ(std::bit_cast<int32_t>(found), right[size_t(place)]) << "place " << place;
    } else {
      ASSERT_TRUE(std::isnan(found)) << "place " << place;
    }
  }
}

std::vector<int32_t> randomNumbers(int64_t count, int64_t groups, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int32_t> number(0, int32_t(groups) - 1);
  std::vector<int32_t> all(size_t(count), 0);
  std::ranges::generate(all, [&] { return number(random); });
  return all;
}

TEST(BlockOrder, IsRightForAllSizes) {
  uint32_t seed = 0;
  for (const int64_t groups : {1, 2, 7, 8, 64, 100, 257, 512}) {
    const CompiledKernel kernel = compiled(groups);
    for (const int64_t rows : {1, 3, 64, 511, 2000}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, " << groups << " groups");
      const KernelLaunch launch = kernel.launchOf(rows, 1);
      EXPECT_EQ(launch.threads, 512U);
      expectRight(kernel, randomNumbers(rows, groups, ++seed), groups, launch);
    }
  }
}

TEST(BlockOrder, SortsAnyNumbersInAnyDivision) {
  constexpr int64_t groups = 5;
  const CompiledKernel kernel = compiled(groups);
  std::vector<int32_t> chosen = randomNumbers(300, groups, 1);
  chosen[7] = -1;
  chosen[100] = groups;
  chosen[299] = std::numeric_limits<int32_t>::max();
  for (const auto &[begin, end] : {std::pair<int64_t, int64_t>{0, 300}, {0, 1}, {17, 250}}) {
    for (const char *const seed : {"1", "2"}) {
      ::setenv("HEDDLE_EMULATOR_SEED", seed, 1);
      KernelLaunch launch = kernel.launchOf(300, 1);
      launch.rowBegin = begin;
      launch.rowEnd = end;
      launch.blocks = 3;
      expectRight(kernel, chosen, groups, launch);
    }
  }
  ::unsetenv("HEDDLE_EMULATOR_SEED");
}

// A thread adds up counts that others have stored before a barrier.
TEST(BlockOrder, IsReportedWithoutItsBarrier) {
  const CompiledKernel kernel = compiled(8);
  all<mlir::NVVM::Barrier0Op>(kernel.body()).back().erase();
  expectReported(run(kernel, randomNumbers(300, 8, 1), kernel.launchOf(300, 1)), "sort",
                 "reads byte [0-9]+ of shared memory, which (nobody has written|thread [0-9]+ has "
                 "written since the last barrier)");
}

// More groups than a block has threads: each thread is a caller.
TEST(BlockOrder, LeavesManyGroupsToThreads) {
  EXPECT_EQ(compiled(513).launchOf(10, 1).shared, 0U);
  EXPECT_GT(compiled(512).launchOf(10, 1).shared, 0U);
}

} // namespace
} // namespace heddle
