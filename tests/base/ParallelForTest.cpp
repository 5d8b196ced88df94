// SPDX-License-Identifier: Apache-2.0
///
/// Every iteration runs once, whatever the number of threads, those that cannot be started among
/// them.
#include "base/ParallelFor.h"

#include "tests/base/ThreadShortage.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace heddle {
namespace {

/// How often each iteration ran.
std::vector<int> runsOf(size_t count, unsigned threads) {
  std::vector<std::atomic<int>> runs(count);
  parallelFor(count, [&](size_t i) { ++runs[i]; }, threads);
  return {runs.begin(), runs.end()};
}

TEST(ParallelForTest, EveryIterationOnce) {
  for (const size_t count : {0, 1, 2, 7, 1000}) {
    for (const unsigned threads : {0U, 1U, 2U, 5U}) {
      EXPECT_EQ(runsOf(count, threads), std::vector<int>(count, 1)) << count << " by " << threads;
    }
  }
}

TEST(ParallelForTest, SeveralThreadsAtOnce) {
  // Each waits for the other, for a while.
  std::atomic<int> arrived = 0;
  parallelFor(
      2,
      [&](size_t) {
        ++arrived;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (arrived < 2 && std::chrono::steady_clock::now() < end) {
          std::this_thread::yield();
        }
        EXPECT_EQ(arrived, 2);
      },
      2);
}

TEST(ParallelForTest, ThreadsThatCannotBeStarted) {
  const ThreadShortage shortage;
  EXPECT_EQ(runsOf(9, 4), std::vector<int>(9, 1));
}

} // namespace
} // namespace heddle
