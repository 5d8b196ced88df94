// SPDX-License-Identifier: Apache-2.0
///
/// Peak loops. Both measure windows in which all threads work at once and keep the best window:
/// what disturbs a measurement only ever makes it slower.
#include "runtime/Tools/MachinePeak.h"

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace heddle::tools {

namespace {
using Clock = std::chrono::steady_clock;

/// A loop that runs for a while and answers how many operations it did.
using PeakLoop = int64_t (*)(int64_t iterations);
} // namespace

/// The rate of `work(thread)`, summed over threads that start together: its results divided by the
/// time of the slowest. The best of several windows.
static double bestRate(int threads, int windows, const std::function<int64_t(int)> &work) {
  std::barrier barrier(threads);
  std::vector<int64_t> done(static_cast<size_t>(threads));
  double best = 0;
  const auto body = [&](int thread) {
    for (int window = 0; window < windows; ++window) {
      barrier.arrive_and_wait();
      const Clock::time_point start = Clock::now();
      done[static_cast<size_t>(thread)] = work(thread);
      barrier.arrive_and_wait();
      if (thread == 0) {
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        double sum = 0;
        for (const int64_t count : done) {
          sum += static_cast<double>(count);
        }
        best = std::max(best, sum / seconds);
      }
    }
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) {
    others.emplace_back(body, thread);
  }
  body(0);
  for (std::thread &other : others) {
    other.join();
  }
  return best;
}

#if defined(__x86_64__)
// Two units with a latency of four or five cycles need ten sums in flight.
static constexpr int chains = 12;
// Keeps results alive that nobody looks at.
static volatile float sink;

__attribute__((target("avx512f"))) static int64_t fmaLoop512(int64_t iterations) {
  const __m512 factor = _mm512_set1_ps(0.999F);
  const __m512 term = _mm512_set1_ps(0.001F);
  __m512 sums[chains];
  for (__m512 &sum : sums) {
    sum = _mm512_set1_ps(1.0F);
  }
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
#pragma clang loop unroll(full)
    for (int chain = 0; chain < chains; ++chain) {
      sums[chain] = _mm512_fmadd_ps(sums[chain], factor, term);
    }
  }
  for (const __m512 sum : sums) {
    sink = _mm512_reduce_add_ps(sum);
  }
  return iterations * chains * 16 * 2;
}

__attribute__((target("avx2,fma"))) static int64_t fmaLoop256(int64_t iterations) {
  const __m256 factor = _mm256_set1_ps(0.999F);
  const __m256 term = _mm256_set1_ps(0.001F);
  __m256 sums[chains];
  for (__m256 &sum : sums) {
    sum = _mm256_set1_ps(1.0F);
  }
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
#pragma clang loop unroll(full)
    for (int chain = 0; chain < chains; ++chain) {
      sums[chain] = _mm256_fmadd_ps(sums[chain], factor, term);
    }
  }
  for (const __m256 sum : sums) {
    sink = _mm256_cvtss_f32(sum);
  }
  return iterations * chains * 8 * 2;
}

static PeakLoop peakLoopOf(std::string_view isa) {
  if (isa.starts_with("x86-64-v4") && __builtin_cpu_supports("avx512f")) {
    return &fmaLoop512;
  }
  if (isa.starts_with("x86-64-v3") && __builtin_cpu_supports("avx2") &&
      __builtin_cpu_supports("fma")) {
    return &fmaLoop256;
  }
  return nullptr;
}
#else
static PeakLoop peakLoopOf(std::string_view) { return nullptr; }
#endif

double measurePeakFlops(std::string_view isa, int threads) {
  const PeakLoop loop = peakLoopOf(isa);
  if (loop == nullptr) {
    return 0;
  }
  // As many iterations as take about ten milliseconds.
  int64_t iterations = 1024;
  const auto seconds = [&] {
    const Clock::time_point start = Clock::now();
    loop(iterations);
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  while (seconds() < 0.01) {
    iterations *= 2;
  }
  return bestRate(threads, 20, [&](int) { return loop(iterations); });
}

double measureBandwidth(int threads) {
  constexpr size_t bytes = size_t(512) << 20;
  const size_t words = bytes / sizeof(uint64_t) / static_cast<size_t>(threads);
  std::vector<std::unique_ptr<uint64_t[]>> memory(static_cast<size_t>(threads));
  static std::array<uint64_t, 8> sums;
  return bestRate(threads, 4, [&](int thread) -> int64_t {
    std::unique_ptr<uint64_t[]> &part = memory[static_cast<size_t>(thread)];
    if (part == nullptr) {
      // The first window only makes the pages exist, by the thread that reads them.
      part.reset(new (std::nothrow) uint64_t[words]);
      if (part != nullptr) {
        std::fill_n(part.get(), words, 1);
      }
      return 0;
    }
    std::array<uint64_t, 8> partial = {};
    for (size_t word = 0; word + partial.size() <= words; word += partial.size()) {
      for (size_t lane = 0; lane < partial.size(); ++lane) {
        partial[lane] += part[word + lane];
      }
    }
    if (partial[0] == 0) {
      sums = partial;
    }
    return static_cast<int64_t>(words * sizeof(uint64_t));
  });
}

} // namespace heddle::tools
