// SPDX-License-Identifier: Apache-2.0
///
/// Threads, barriers, working memory and the floating-point environment.
#include "runtime/Device/Cpu/ThreadPool.h"
#include "runtime/Device/Cpu/FloatingPoint.h"

#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <immintrin.h>
#include <sys/wait.h>
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

/// What `body` returns in a child of fork(), which has ten seconds.
static int inChild(const std::function<int()> &body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    ::_exit(body());
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ThreadPool, StartsItsThreadsAgainInAChild) {
  const auto pool = ThreadPool::create(4);
  ASSERT_TRUE(pool.ok());
  std::atomic<int> calls = 0;
  auto task = [&](int) {
    ++calls;
    (*pool)->barrier();
  };
  (*pool)->run(task);
  const auto body = [&] {
    for (int i = 0; i < 20; ++i) {
      if (!(*pool)->renew().ok()) {
        return 100;
      }
      (*pool)->run(task);
    }
    // A child of the child, too.
    const int below = inChild([&] {
      const Status status = (*pool)->renew();
      (*pool)->run(task);
      return status.ok() ? calls.load() : 100;
    });
    return below == 4 * 22 ? calls.load() : 101;
  };
  EXPECT_EQ(inChild(body), 4 * 21);
  ASSERT_TRUE((*pool)->renew().ok());
  (*pool)->run(task);
  EXPECT_EQ(calls, 4 * 2);
}

TEST(ThreadPool, EndsInAChildThatDoesNotUseIt) {
  auto pool = ThreadPool::create(4);
  ASSERT_TRUE(pool.ok());
  EXPECT_EQ(inChild([&] {
              pool->reset();
              return 7;
            }),
            7);
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
