// SPDX-License-Identifier: Apache-2.0
///
/// The measuring loops, which Highway compiles for every level of vector instructions.
#include "runtime/Device/Cpu/Roofline.h"

#include "base/ProcessorTargets.h"
#include "runtime/Device/Cpu/Amx.h"
#include "runtime/Device/Cpu/CpuDevice.h"
#include "runtime/Device/Cpu/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/Device/Cpu/Roofline.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace heddle::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Runs `rounds` multiply-adds on each of twelve chains; two units with a latency of four need
/// eight. Returns the number of operations. `sink` keeps the compiler from removing them.
static double multiplyAdd(int64_t rounds, float *sink) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999f);
  const auto term = hn::Set(d, 0.001f);
  auto a0 = hn::Iota(d, 0), a1 = hn::Iota(d, 1), a2 = hn::Iota(d, 2), a3 = hn::Iota(d, 3);
  auto a4 = hn::Iota(d, 4), a5 = hn::Iota(d, 5), a6 = hn::Iota(d, 6), a7 = hn::Iota(d, 7);
  auto a8 = hn::Iota(d, 8), a9 = hn::Iota(d, 9), a10 = hn::Iota(d, 10), a11 = hn::Iota(d, 11);
  for (int64_t i = 0; i < rounds; ++i) {
    a0 = hn::MulAdd(a0, factor, term);
    a1 = hn::MulAdd(a1, factor, term);
    a2 = hn::MulAdd(a2, factor, term);
    a3 = hn::MulAdd(a3, factor, term);
    a4 = hn::MulAdd(a4, factor, term);
    a5 = hn::MulAdd(a5, factor, term);
    a6 = hn::MulAdd(a6, factor, term);
    a7 = hn::MulAdd(a7, factor, term);
    a8 = hn::MulAdd(a8, factor, term);
    a9 = hn::MulAdd(a9, factor, term);
    a10 = hn::MulAdd(a10, factor, term);
    a11 = hn::MulAdd(a11, factor, term);
  }
  const auto sum = hn::Add(
      hn::Add(hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)), hn::Add(hn::Add(a4, a5), hn::Add(a6, a7))),
      hn::Add(hn::Add(a8, a9), hn::Add(a10, a11)));
  *sink = hn::GetLane(hn::SumOfLanes(d, sum));
  return static_cast<double>(rounds) * 12 * 2 * static_cast<double>(hn::Lanes(d));
}

/// Adds up `count` integers from memory, in `streams` parallel parts that each prefetch `ahead`
/// bytes. A single sequential reader cannot saturate memory: the processor prefetches only within a
/// page and only so much for each stream.
template <size_t streams>
static uint64_t readStreams(const uint64_t *values, size_t count, size_t ahead) {
  const hn::ScalableTag<uint64_t> d;
  const size_t lanes = hn::Lanes(d);
  constexpr size_t line = 64 / sizeof(uint64_t);
  const size_t part = count / streams / (4 * line) * (4 * line);
  const size_t valuesAhead = ahead / sizeof(uint64_t);
  auto s0 = hn::Zero(d), s1 = hn::Zero(d);
  for (size_t i = 0; i < part; i += line) {
    for (size_t stream = 0; stream < streams; ++stream) {
      const uint64_t *const from = values + stream * part + i;
      // Past the end this prefetches the next part or an unmapped address; both are harmless.
      hwy::Prefetch(from + valuesAhead);
      for (size_t lane = 0; lane < line; lane += 2 * lanes) {
        s0 = hn::Add(s0, hn::Load(d, from + lane));
        if (lane + lanes < line) {
          s1 = hn::Add(s1, hn::Load(d, from + lane + lanes));
        }
      }
    }
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
}

/// Reads everything in one of several ways and returns the bytes read. `sum` keeps the compiler
/// from removing the loop.
static double readAll(const uint64_t *values, size_t count, int way, uint64_t *sum) {
  static constexpr size_t ahead[] = {1024, 4096, 8192};
  const size_t distance = ahead[static_cast<size_t>(way) % 3];
  const size_t streams = size_t(1) << (way / 3);
  switch (streams) {
  case 1:
    *sum = readStreams<1>(values, count, distance);
    break;
  case 2:
    *sum = readStreams<2>(values, count, distance);
    break;
  case 4:
    *sum = readStreams<4>(values, count, distance);
    break;
  default:
    *sum = readStreams<8>(values, count, distance);
    break;
  }
  return static_cast<double>(count * sizeof(uint64_t));
}

static const char *targetName() { return hwy::TargetName(HWY_TARGET); }

} // namespace heddle::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heddle {
HWY_EXPORT(multiplyAdd);
HWY_EXPORT(readAll);
HWY_EXPORT(targetName);

/// The number of tries for the peak. The best one counts, because disturbances only slow a try
/// down; a try is shorter than the time slice of a busy machine, so some are undisturbed.
static constexpr int tries = 200;
/// The variants of reading: 1, 2, 4 and 8 streams, each with three prefetch distances.
static constexpr int waysOfReading = 12;
static constexpr int64_t roundsPerTry = 400'000;
/// The minimum bytes of a try, so that the time for starting the threads is negligible.
static constexpr uint64_t leastBytesOfTry = uint64_t(32) << 20;

static double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Returns the best rate of `work(worker, try)`, which returns the amount done, over the threads of
/// a pool.
template <typename Work> static double bestRate(ThreadPool &pool, int count, const Work &work) {
  double best = 0;
  for (int i = 0; i < count; ++i) {
    std::atomic<double> amount = 0;
    std::chrono::steady_clock::time_point begin;
    auto task = [&](int worker) {
      pool.barrier();
      if (worker == 0) {
        begin = std::chrono::steady_clock::now();
      }
      const double done = work(worker, i);
      for (double before = amount; !amount.compare_exchange_weak(before, before + done);) {
      }
    };
    pool.run(task);
    best = std::max(best, amount / secondsSince(begin) / 1e9);
  }
  return best;
}

#ifdef __x86_64__
// Highway versions in use may lack its dot products. Each of twelve chains adds one product of a
// lane's elements in a round, as in multiplyAdd(); without the empty statements the compiler would
// merge the products of all rounds.
static constexpr int chains = 12;

__attribute__((target("avx512f,avx512vnni"))) static double addWithVnni(int64_t rounds,
                                                                        float *sink) {
  const __m512i row = _mm512_set1_epi8(3);
  const __m512i weight = _mm512_set1_epi8(-5);
  __m512i sums[chains] = {};
  for (int64_t i = 0; i < rounds; ++i) {
    for (__m512i &sum : sums) {
      sum = _mm512_dpbusd_epi32(sum, row, weight);
      asm("" : "+v"(sum));
    }
  }
  for (const __m512i &sum : sums) {
    *sink += static_cast<float>(_mm512_cvtsi512_si32(sum));
  }
  return static_cast<double>(rounds) * chains * 2 * sizeof(__m512i);
}

__attribute__((target("avx512f,avx512bw"))) static double addWideWithoutVnni(int64_t rounds,
                                                                             float *sink) {
  __m512i row = _mm512_set1_epi8(3);
  const __m512i weight = _mm512_set1_epi8(-5);
  const __m512i ones = _mm512_set1_epi16(1);
  __m512i sums[chains] = {};
  for (int64_t i = 0; i < rounds; ++i) {
    for (__m512i &sum : sums) {
      asm("" : "+v"(row));
      const __m512i pairs = _mm512_maddubs_epi16(row, weight);
      sum = _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, ones));
    }
  }
  for (const __m512i &sum : sums) {
    *sink += static_cast<float>(_mm512_cvtsi512_si32(sum));
  }
  return static_cast<double>(rounds) * chains * 2 * sizeof(__m512i);
}

__attribute__((target("avx2"))) static double addWithoutVnni(int64_t rounds, float *sink) {
  __m256i row = _mm256_set1_epi8(3);
  const __m256i weight = _mm256_set1_epi8(-5);
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sums[chains] = {};
  for (int64_t i = 0; i < rounds; ++i) {
    for (__m256i &sum : sums) {
      asm("" : "+x"(row));
      const __m256i pairs = _mm256_maddubs_epi16(row, weight);
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
    }
  }
  for (const __m256i &sum : sums) {
    *sink += static_cast<float>(_mm256_extract_epi32(sum, 0));
  }
  return static_cast<double>(rounds) * chains * 2 * sizeof(__m256i);
}

// vdpbf16ps has a latency of six cycles on some processors, and two are issued at a time: twelve
// chains suffice. With 16 or more chains, LLVM 22 spills some to memory.
static constexpr int bf16Chains = 14;

__attribute__((target("avx512f,avx512bf16"))) static double addBf16(int64_t rounds, float *sink) {
  const __m512bh row = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5F), _mm512_set1_ps(0.5F));
  const __m512bh weight = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.25F), _mm512_set1_ps(-0.25F));
  __m512 sums[bf16Chains] = {};
  for (int64_t i = 0; i < rounds; ++i) {
    // Sums must be in registers.
#pragma GCC unroll 14
    for (__m512 &sum : sums) {
      sum = _mm512_dpbf16_ps(sum, row, weight);
      asm("" : "+v"(sum));
    }
  }
  for (const __m512 &sum : sums) {
    *sink += _mm512_cvtss_f32(sum);
  }
  return static_cast<double>(rounds) * bf16Chains * sizeof(__m512);
}

// multiplyAdd() for a target without the widest vectors of the machine.
__attribute__((target("avx2,fma"))) static double multiplyAddAvx2(int64_t rounds, float *sink) {
  const __m256 factor = _mm256_set1_ps(0.999F);
  const __m256 term = _mm256_set1_ps(0.001F);
  __m256 sums[chains] = {};
  for (int64_t i = 0; i < rounds; ++i) {
    // Sums have to be in registers.
#pragma GCC unroll 12
    for (__m256 &sum : sums) {
      sum = _mm256_fmadd_ps(sum, factor, term);
      asm("" : "+x"(sum));
    }
  }
  for (const __m256 &sum : sums) {
    *sink += _mm256_cvtss_f32(sum);
  }
  return static_cast<double>(rounds) * chains * sizeof(__m256) / 2;
}

#endif

/// What the code of a target may use; nothing beside the baseline for a name that is no
/// processor's.
static ProcessorTarget instructionsOf(std::string_view target) {
  const ProcessorTarget *found = findProcessorTarget(target);
  return found ? *found : ProcessorTarget{target, InstructionSet::Baseline};
}

/// The rate of one of the loops that do so many rounds.
static Result<double> measureRounds(int threads, double (*add)(int64_t rounds, float *sink)) {
  HEDDLE_ASSIGN(const std::unique_ptr<ThreadPool> pool, ThreadPool::create(threads));
  std::atomic<float> keep = 0;
  return bestRate(*pool, tries, [&](int, int) {
    float sink = 0;
    const double operations = add(roundsPerTry, &sink);
    keep.store(sink, std::memory_order_relaxed);
    return operations;
  });
}

static double multiplyAddWidest(int64_t rounds, float *sink) {
  return HWY_DYNAMIC_DISPATCH(multiplyAdd)(rounds, sink);
}

Result<double> measureFmaPeak(int threads, std::string_view target) {
#ifdef __x86_64__
  if (const ProcessorTarget own = instructionsOf(target);
      own.has(InstructionSet::Avx2) && !own.has(InstructionSet::Avx512)) {
    return measureRounds(threads, multiplyAddAvx2);
  }
#endif
  return measureRounds(threads, multiplyAddWidest);
}

Result<double> measureIntegerPeak(int threads, std::string_view target) {
#ifdef __x86_64__
  const ProcessorTarget own = instructionsOf(target);
  if (own.has(InstructionSet::Amx)) {
    return measureRounds(threads, multiplyIntegersOnAmx);
  }
  if (own.has(InstructionSet::Avx2)) {
    return measureRounds(threads, own.has(InstructionSet::Vnni)     ? addWithVnni
                                  : own.has(InstructionSet::Avx512) ? addWideWithoutVnni
                                                                    : addWithoutVnni);
  }
#endif
  // Such a target multiplies integers no faster.
  return measureFmaPeak(threads, target);
}

Result<double> measureBf16Peak(int threads, std::string_view target) {
#ifdef __x86_64__
  const ProcessorTarget own = instructionsOf(target);
  if (own.has(InstructionSet::Bf16)) {
    return measureRounds(threads, own.has(InstructionSet::Amx) ? multiplyBf16OnAmx : addBf16);
  }
#endif
  // Other targets widen them.
  return measureFmaPeak(threads, target);
}

Result<double> measureReadBandwidth(int threads, uint64_t bytes) {
  HEDDLE_ASSIGN(const std::unique_ptr<ThreadPool> pool, ThreadPool::create(threads));
  // Every variant of reading handles multiples of this many bytes.
  constexpr uint64_t unit = 8192;
  const uint64_t share =
      std::max(std::min(bytes, beyondCaches) / static_cast<uint64_t>(threads) / unit, uint64_t(1)) *
      unit;
  const uint64_t times =
      std::max(leastBytesOfTry / (share * static_cast<uint64_t>(threads)), uint64_t(1));
  DeviceMemory memory;
  HEDDLE_TRY(memory.grow(*cpuDevice(), share * static_cast<uint64_t>(threads)));
  std::atomic<uint64_t> keep = 0;
  auto own = [&](int worker) { return memory.data() + share * static_cast<uint64_t>(worker); };
  // Pages that were never written all map to the same zero page.
  auto fill = [&](int worker) { std::memset(own(worker), 1, share); };
  pool->run(fill);
  return bestRate(*pool, waysOfReading, [&](int worker, int attempt) {
    const auto *const values = reinterpret_cast<const uint64_t *>(own(worker));
    double done = 0;
    for (uint64_t i = 0; i < times; ++i) {
      uint64_t sum = 0;
      done += HWY_DYNAMIC_DISPATCH(readAll)(values, share / sizeof(uint64_t), attempt, &sum);
      keep += sum;
    }
    return done;
  });
}

std::string_view rooflineVectors(std::string_view target) {
  const ProcessorTarget own = instructionsOf(target);
  return own.has(InstructionSet::Avx2) && !own.has(InstructionSet::Avx512)
             ? "AVX2"
             : HWY_DYNAMIC_DISPATCH(targetName)();
}

} // namespace heddle
#endif // HWY_ONCE
