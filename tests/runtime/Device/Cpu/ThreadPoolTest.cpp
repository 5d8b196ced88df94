// SPDX-License-Identifier: Apache-2.0
///
/// Threads, barriers, working memory and the floating-point environment.
#include "runtime/Device/Cpu/ThreadPool.h"
#include "runtime/Device/Cpu/FloatingPoint.h"

#include <atomic>
#include <gtest/gtest.h>
#include <immintrin.h>
#include <unistd.h>

using namespace heddle;

TEST(ThreadPool, RunsEveryWorkerOnce) {
  for (int threads = 1; threads <= 5; ++threads) {
    const auto pool = ThreadPool::create(threads);
    ASSERT_TRUE(pool.ok());
    std::vector<int> calls(static_cast<size_t>(threads));
    auto task = [&](int worker) { ++calls[static_cast<size_t>(worker)]; };
    for (int i = 0; i < 100; ++i) {
      (*pool)->run(task);
    }
    EXPECT_EQ(calls, std::vector<int>(static_cast<size_t>(threads), 100));
  }
}

TEST(ThreadPool, BarrierSeparates) {
  const auto pool = ThreadPool::create(3);
  ASSERT_TRUE(pool.ok());
  std::vector<int> seen(3);
  int wrong[3] = {};
  auto task = [&](int worker) {
    for (int round = 1; round <= 500; ++round) {
      seen[static_cast<size_t>(worker)] = round;
      (*pool)->barrier();
      for (const int each : seen) {
        wrong[worker] += each != round;
      }
      (*pool)->barrier();
    }
  };
  (*pool)->run(task);
  EXPECT_EQ(wrong[0] + wrong[1] + wrong[2], 0);
}

TEST(ThreadPool, HasMoreThreadsThanProcessors) {
  const auto pool = ThreadPool::create(33);
  ASSERT_TRUE(pool.ok());
  std::atomic<int> calls = 0;
  auto task = [&](int) {
    for (int round = 1; round <= 20; ++round) {
      ++calls;
      (*pool)->barrier();
      EXPECT_GE(calls, 33 * round);
      (*pool)->barrier();
    }
  };
  (*pool)->run(task);
  EXPECT_EQ(calls, 33 * 20);
}

TEST(ThreadPool, WakesSleepers) {
  const auto pool = ThreadPool::create(2);
  ASSERT_TRUE(pool.ok());
  std::atomic<int> calls = 0;
  auto task = [&](int worker) { calls += worker; };
  for (int i = 0; i < 5; ++i) {
    // Longer than any thread spins.
    ::usleep(20000);
    (*pool)->run(task);
  }
  EXPECT_EQ(calls, 5);
}

TEST(FloatingPoint, IsTheSameForAll) {
  const uint32_t before = _mm_getcsr();
  // A caller that flushes denormal numbers.
  _mm_setcsr(before | 0x8040);
  {
    const DefaultFloatingPoint control;
    volatile float small = 1e-38f;
    EXPECT_NE(small / 16, 0.0f);
  }
  volatile float small = 1e-38f;
  EXPECT_EQ(small / 16, 0.0f);
  _mm_setcsr(before);
}
