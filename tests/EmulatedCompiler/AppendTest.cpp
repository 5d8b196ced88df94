// SPDX-License-Identifier: Apache-2.0
///
/// Rows appended to caches on the emulated GPU: numbers, bf16 and codes, byte for byte. Positions
/// that no row has stay as they are.
#include "tests/EmulatedCompiler/LaunchedKernel.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace heddle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// Rows of two sequences, from these positions on: over the edge of a block, and within one.
constexpr int32_t kOffsets[] = {0, 21, 26}, kFirst[] = {13, 2};
constexpr int64_t kRows = 26, kPitch = 3;
/// The blocks of each sequence; one block belongs to nobody.
constexpr int32_t kBlocks[] = {4, 1, 6, 0, 3, 5};
constexpr int64_t kAllBlocks = 7;

std::string nameOf(const KeptBlock &cache) {
  return std::string(cache.kept == Kept::F32    ? "f32"
                     : cache.kept == Kept::Bf16 ? "bf16"
                                                : "codes") +
         (cache.areKeys ? "Keys" : "Rows") + std::to_string(cache.width) + "By" +
         std::to_string(cache.shared);
}

/// A cache's memory, as its description defines it, to which rows are appended.
class ExpectedCache {
public:
  explicit ExpectedCache(const KeptBlock &cache)
      : cache(cache), memory(static_cast<size_t>(kAllBlocks * cache.bytes())) {
    // As a result is before a kernel runs.
    const std::vector<float> nothing(memory.size() / sizeof(float),
                                     std::numeric_limits<float>::quiet_NaN());
    std::memcpy(memory.data(), nothing.data(), memory.size());
  }

  size_t bytes() const { return memory.size(); }
  /// Returns the first byte that is not as it should be, or the number of bytes. Codes of a group
  /// that is not finite may be any.
  size_t firstWrong(std::vector<char> found) const {
    for (const size_t byte : arbitrary) {
      found[byte] = memory[byte];
    }
    return size_t(std::ranges::mismatch(found, memory).in1 - found.begin());
  }
  void append(const float *row, int64_t sequence, int64_t position) {
    block = memory.data() + kBlocks[sequence * kPitch + position / HEDDLE_BLOCK] * cache.bytes();
    inBlock = position % HEDDLE_BLOCK;
    for (int64_t first = 0; first < cache.width; first += cache.shared) {
      appendGroup(row, first);
    }
  }

private:
  template <typename Element> void store(int64_t byte, Element element) {
    std::memcpy(block + byte, &element, sizeof element);
  }
  void appendGroup(const float *row, int64_t first) {
    float most = 0;
    for (int64_t i = first; i < first + cache.shared; ++i) {
      most = std::isnan(row[i]) ? kInfinity : std::max(most, std::abs(row[i]));
    }
    const float scale = most < kInfinity ? most / 127 : std::numeric_limits<float>::quiet_NaN();
    if (cache.kept == Kept::Codes) {
      store(cache.scaleAt(inBlock, first), scale);
    }
    for (int64_t i = first; i < first + cache.shared; ++i) {
      const int64_t byte = cache.elementAt(inBlock, i);
      if (cache.kept == Kept::F32) {
        store(byte, row[i]);
      } else if (cache.kept == Kept::Bf16) {
        // To nearest, ties to even: half of the last kept bit, or slightly less.
        const auto bits = std::bit_cast<uint32_t>(row[i]);
        store(byte, uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16));
      } else if (most < kInfinity) {
        store(byte, int8_t(scale == 0 ? 0 : std::rint(row[i] / scale)));
      } else {
        arbitrary.push_back(size_t(block - memory.data() + byte));
      }
    }
  }

  KeptBlock cache;
  std::vector<char> memory;
  std::vector<size_t> arbitrary;
  char *block = nullptr;
  int64_t inBlock = 0;
};

class Append : public testing::TestWithParam<KeptBlock> {
protected:
  /// Random rows, with groups that are zero and, for codes, not finite.
  static std::vector<float> drawRows(const KeptBlock &cache) {
    std::mt19937 random(7);
    std::normal_distribution<float> number(0, 3);
    std::vector<float> rows(static_cast<size_t>(kRows * cache.width));
    std::ranges::generate(rows, [&] { return number(random); });
    const auto group = rows.begin() + 3 * cache.width;
    std::fill(group, group + cache.shared, 0.0F);
    if (cache.kept == Kept::Codes) {
      rows[size_t(5 * cache.width)] = kInfinity;
      rows[size_t(9 * cache.width + cache.shared - 1)] = std::numeric_limits<float>::quiet_NaN();
    }
    return rows;
  }

  /// Appends rows [from, to), and returns the cache's memory.
  static std::vector<char> append(const KeptBlock &cache, const std::vector<float> &rows,
                                  int64_t from, int64_t to) {
    const CompiledKernel kernel(
        llvm::formatv("dataflow.kernel @append : ({0}, !dataflow.buffer<[tokens, {1}], f32>) -> "
                      "{0} computes #dataflow.append {{\n^bb0(%x: f32):\n  dataflow.yield %x\n}",
                      cache.type(), cache.width),
        "append", "sm_80");
    KernelLaunch launch = kernel.launchOf(kRows, 1);
    EXPECT_GT(launch.shared, 0U);
    launch.rowBegin = from;
    launch.rowEnd = to;
    const ExpectedCache empty(cache);
    const size_t words = empty.bytes() / sizeof(float);
    const KernelOutcome outcome =
        kernel.run(launch, words, cache.width, [&](EmulatedGpu &gpu, uint64_t, uint64_t memory) {
          return send(gpu, memory, rows, cache.bytes(), launch);
        });
    EXPECT_EQ(outcome.report, "");
    std::vector<char> bytes(outcome.values.size() * sizeof(float));
    std::memcpy(bytes.data(), outcome.values.data(), bytes.size());
    return bytes;
  }

private:
  static uint64_t send(EmulatedGpu &gpu, uint64_t memory, const std::vector<float> &rows,
                       int64_t blockBytes, const KernelLaunch &launch) {
    std::vector<int32_t> sequences, positions;
    for (int32_t sequence = 0; sequence < 2; ++sequence) {
      for (int32_t row = kOffsets[sequence]; row < kOffsets[sequence + 1]; ++row) {
        sequences.push_back(sequence);
        positions.push_back(kFirst[sequence] + row - kOffsets[sequence]);
      }
    }
    const auto list = [&](const auto &values) {
      return reinterpret_cast<const int32_t *>(
          gpu.send(values.data(), values.size() * sizeof(int32_t)));
    };
    HeddleRows tokens = {};
    tokens.count = kRows;
    tokens.longest = 21;
    tokens.offsets = list(std::to_array(kOffsets));
    tokens.sequence_of = list(sequences);
    tokens.positions = list(positions);
    HeddleCache cache = {};
    cache.memory = reinterpret_cast<void *>(memory);
    cache.block_stride = blockBytes;
    cache.offsets = tokens.offsets;
    cache.segment_of = tokens.sequence_of;
    cache.lengths = list(std::vector<int32_t>{kFirst[0] + 21, kFirst[1] + 5});
    cache.blocks = list(std::to_array(kBlocks));
    cache.blocks_pitch = kPitch;
    cache.segments = 2;
    return gpu.sendLaunch({gpu.send(&cache, sizeof cache), gpu.send(rows)},
                          {gpu.send(&tokens, sizeof tokens)}, launch);
  }
};

TEST_P(Append, StoresTheBytesOfItsDescription) {
  const KeptBlock &cache = GetParam();
  const std::vector<float> rows = drawRows(cache);
  for (const auto &[from, to] : {std::pair<int64_t, int64_t>{0, kRows}, {20, 23}}) {
    SCOPED_TRACE(from);
    ExpectedCache expected(cache);
    for (int64_t row = from; row < to; ++row) {
      const int64_t sequence = row < kOffsets[1] ? 0 : 1;
      expected.append(rows.data() + row * cache.width, sequence,
                      kFirst[sequence] + row - kOffsets[sequence]);
    }
    const std::vector<char> found = append(cache, rows, from, to);
    ASSERT_EQ(found.size(), expected.bytes());
    EXPECT_EQ(expected.firstWrong(found), found.size());
  }
}

constexpr KeptBlock kCases[] = {
    {Kept::F32, 40, 40, true},    {Kept::F32, 33, 33, false},  {Kept::Bf16, 40, 40, true},
    {Kept::Bf16, 33, 33, false},  {Kept::Codes, 64, 64, true}, {Kept::Codes, 96, 32, true},
    {Kept::Codes, 39, 13, false}, {Kept::Codes, 8, 4, false},  {Kept::Codes, 200, 100, false},
};
INSTANTIATE_TEST_SUITE_P(Caches, Append, testing::ValuesIn(kCases),
                         [](const auto &info) { return nameOf(info.param); });

} // namespace
} // namespace heddle
