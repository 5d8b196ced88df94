// SPDX-License-Identifier: Apache-2.0
///
/// Blocks of every quantised type, compared with independent formulas, element by element, as
/// ggml's conversions define them.
#include "formats/Gguf/GgufTypes.h"

#include "formats/Checkpoint/Convert.h"
#include "tests/formats/Gguf/GgufBlocks.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace heddle {
namespace {

/// Accessors for the bytes of a block.
struct Block {
  const uint8_t *at;
  unsigned byte(size_t i) const { return at[i]; }
  int signedByte(size_t i) const { return static_cast<int8_t>(at[i]); }
  float half(size_t i) const { return f16ToF32(static_cast<uint16_t>(at[i] | at[i + 1] << 8)); }
  unsigned nibble(size_t start, size_t i) const {
    return i < 16 ? at[start + i] & 15U : at[start + i - 16] >> 4;
  }
  unsigned bit(size_t start, size_t i) const { return at[start + i / 8] >> (i % 8) & 1U; }
};

float f32(unsigned code) { return static_cast<float>(code); }
float f32(int code) { return static_cast<float>(code); }

/// Returns the code of the scale (0) or minimum (1) of a group of Q4_K and Q5_K.
unsigned groupCode(const Block &block, size_t group, size_t which) {
  const size_t base = 4;
  if (group < 4) {
    return block.byte(base + group + 4 * which) & 63U;
  }
  const unsigned low = block.byte(base + group + 4) >> (4 * which) & 15U;
  return low | (block.byte(base + group - 4 + 4 * which) >> 6) << 4;
}

float groupValue(const Block &block, size_t i, unsigned code) {
  const float scale = block.half(0) * f32(groupCode(block, i / 32, 0));
  const float minimum = block.half(2) * f32(groupCode(block, i / 32, 1));
  const float product = scale * f32(code);
  return product - minimum;
}

unsigned groupNibble(const Block &block, size_t start, size_t i) {
  const unsigned byte = block.byte(start + i / 64 * 32 + i % 32);
  return i % 64 < 32 ? byte & 15U : byte >> 4;
}

float sixBits(const Block &block, size_t i) {
  const size_t half = i / 128;
  const size_t l = i % 32;
  const unsigned low[] = {block.byte(half * 64 + l) & 15U, block.byte(half * 64 + l + 32) & 15U,
                          block.byte(half * 64 + l) >> 4, block.byte(half * 64 + l + 32) >> 4};
  const size_t run = i % 128 / 32;
  const unsigned high = block.byte(128 + half * 32 + l) >> (2 * run) & 3U;
  const float scale = block.half(208) * f32(block.signedByte(192 + i / 16));
  return scale * f32(int(low[run] | high << 4) - 32);
}

/// Returns element i of a block.
float valueOf(uint32_t type, const Block &block, size_t i) {
  switch (type) {
  case 2:
    return f32(int(block.nibble(2, i)) - 8) * block.half(0);
  case 3: {
    const float product = f32(block.nibble(4, i)) * block.half(0);
    return product + block.half(2);
  }
  case 6:
    return f32(int(block.nibble(6, i) | block.bit(2, i) << 4) - 16) * block.half(0);
  case 7: {
    const float product = f32(block.nibble(8, i) | block.bit(4, i) << 4) * block.half(0);
    return product + block.half(2);
  }
  case 8:
    return f32(block.signedByte(2 + i)) * block.half(0);
  case 12:
    return groupValue(block, i, groupNibble(block, 16, i));
  case 13:
    return groupValue(block, i,
                      groupNibble(block, 48, i) | (block.byte(16 + i % 32) >> (i / 32) & 1U) << 4);
  case 14:
    return sixBits(block, i);
  default:
    return NAN;
  }
}

class GgufBlockTest : public testing::TestWithParam<uint32_t> {
protected:
  const GgufType &type = *findGgufType(GetParam());
  std::mt19937 random = std::mt19937(GetParam());
};

TEST_P(GgufBlockTest, ValuesAreThoseOfTheDefinition) {
  constexpr size_t blocks = 50;
  const std::string bytes = randomGgufBlocks(type, blocks, random);
  std::vector<float> values(blocks * type.elements);
  const auto source = std::as_bytes(std::span(bytes));
  ASSERT_TRUE(convertGgufToF32(type, source, values).ok());
  const Result<GgufCodes> codes = readGgufCodes(type, source);
  ASSERT_TRUE(codes.ok());
  ASSERT_EQ(codes->codes.size(), values.size());
  ASSERT_EQ(codes->scales.size(), values.size() / codes->group);
  for (size_t i = 0; i < values.size(); ++i) {
    const Block block{reinterpret_cast<const uint8_t *>(bytes.data()) +
                      i / type.elements * type.bytes};
    const float expected = valueOf(type.number, block, i % type.elements);
    ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(expected))
        << type.name << " element " << i << ": " << values[i] << ", expected " << expected;
    // Codes and scales give the same values.
    const size_t group = i / codes->group;
    float said = static_cast<float>(codes->codes[i] - codes->zero) * codes->scales[group];
    said = codes->minimums.empty() ? said : said + codes->minimums[group];
    ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(said)) << i;
  }
}

TEST_P(GgufBlockTest, OnlyWholeBlocksAreRead) {
  const std::string bytes(type.bytes + 1, '\0');
  const auto source = std::as_bytes(std::span(bytes));
  std::vector<float> values(type.elements);
  EXPECT_TRUE(convertGgufToF32(type, source.first(type.bytes), values).ok());
  EXPECT_FALSE(convertGgufToF32(type, source, values).ok());
  EXPECT_FALSE(readGgufCodes(type, source).ok());
  values.pop_back();
  EXPECT_EQ(convertGgufToF32(type, source.first(type.bytes), values).message(),
            "holds " + std::to_string(type.elements) + " values, the destination " +
                std::to_string(type.elements - 1));
}

INSTANTIATE_TEST_SUITE_P(All, GgufBlockTest, testing::Values(2U, 3U, 6U, 7U, 8U, 12U, 13U, 14U),
                         [](const auto &info) {
                           return std::string(findGgufType(info.param)->name);
                         });

TEST(GgufTypes, CodesOfMinus128AreKeptAndSaid) {
  std::string block = rawBytes(uint16_t(0x3C00)) + std::string(32, '\x81');
  const GgufType &type = *findGgufType(8);
  EXPECT_TRUE(readGgufCodes(type, std::as_bytes(std::span(block)))->isSymmetric());
  block[9] = '\x80';
  const Result<GgufCodes> codes = readGgufCodes(type, std::as_bytes(std::span(block)));
  EXPECT_FALSE(codes->isSymmetric());
  EXPECT_EQ(codes->codes[7], -128);
}

TEST(GgufTypes, PlainTypesHaveNoCodes) {
  const std::string bytes(8, '\0');
  EXPECT_EQ(readGgufCodes(*findGgufType(0), std::as_bytes(std::span(bytes))).status().message(),
            "is 8 bytes of F32, expected whole blocks of codes");
}

TEST(GgufTypes, Table) {
  EXPECT_EQ(findGgufType(4), nullptr);
  EXPECT_EQ(findGgufType(10)->name, "Q2_K");
  EXPECT_FALSE(findGgufType(10)->isRead());
  for (uint32_t number = 0; number < 64; ++number) {
    const GgufType *const type = findGgufType(number);
    if (type != nullptr && type->isRead() && !type->plain) {
      EXPECT_LE(type->elements, ggufBlockLimit);
      EXPECT_LE(type->elements / type->group, ggufGroupLimit);
      EXPECT_NE(type->decode, nullptr);
    }
  }
}

} // namespace
} // namespace heddle
