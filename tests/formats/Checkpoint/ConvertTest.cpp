// SPDX-License-Identifier: Apache-2.0
///
/// Compares conversion with a twin that follows the definition of the formats, for every value.
#include "formats/Checkpoint/Convert.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace heddle {
namespace {

/// Returns the bits of the f32 with the value of a float with these exponent and fraction bits.
uint32_t naiveBits(uint32_t bits, int exponentBits, int fractionBits) {
  const uint32_t fraction = bits & ((1U << fractionBits) - 1);
  const int exponent = static_cast<int>(bits >> fractionBits) & ((1 << exponentBits) - 1);
  const bool negative = (bits >> (exponentBits + fractionBits)) != 0;
  const int bias = (1 << (exponentBits - 1)) - 1;
  const uint32_t sign = negative ? 0x80000000U : 0U;
  if (exponent == (1 << exponentBits) - 1) {
    return sign | 0x7F800000U | fraction << (23 - fractionBits);
  }
  const double significand = std::ldexp(fraction, -fractionBits) + (exponent == 0 ? 0 : 1);
  const auto value =
      static_cast<float>(std::ldexp(significand, (exponent == 0 ? 1 : exponent) - bias));
  return sign | std::bit_cast<uint32_t>(value);
}

/// Converts every 16-bit pattern from an odd address and compares the results bit by bit.
void checkEveryValue(ElementType dtype, int exponentBits, int fractionBits) {
  constexpr size_t count = 65536;
  std::vector<std::byte> source(2 * count + 1);
  for (size_t i = 0; i < count; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    std::memcpy(source.data() + 1 + 2 * i, &bits, sizeof(bits));
  }
  std::vector<float> result(count);
  ASSERT_TRUE(convertToF32(dtype, std::span(source).subspan(1), result).ok());
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(result[i]),
              naiveBits(static_cast<uint32_t>(i), exponentBits, fractionBits))
        << "pattern " << i;
  }
}

TEST(ConvertTest, EveryHalf) { checkEveryValue(ElementType::F16, 5, 10); }

TEST(ConvertTest, EveryBfloat) { checkEveryValue(ElementType::BF16, 8, 7); }

TEST(ConvertTest, OddLengths) {
  // The tail of the vector loop is converted, and nothing past the end is written.
  const std::vector<uint16_t> source(70, 0x3C00);
  for (size_t count = 0; count <= source.size(); ++count) {
    std::vector<float> result(count + 1, -1.0F);
    ASSERT_TRUE(convertToF32(ElementType::F16, std::as_bytes(std::span(source).first(count)),
                             std::span(result).first(count))
                    .ok());
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(result[i], 1.0F);
    }
    ASSERT_EQ(result[count], -1.0F);
  }
}

TEST(ConvertTest, FloatIsCopied) {
  const std::vector<uint32_t> source = {0x7F800001U, 0x80000000U, 0x3F800000U};
  std::vector<float> result(3);
  ASSERT_TRUE(convertToF32(ElementType::F32, std::as_bytes(std::span(source)), result).ok());
  EXPECT_EQ(std::memcmp(result.data(), source.data(), 12), 0);
  EXPECT_TRUE(convertToF32(ElementType::F32, {}, {}).ok());
}

TEST(ConvertTest, Integers) {
  const std::vector<int64_t> wide = {0, -1, INT32_MAX, INT32_MIN};
  std::vector<int32_t> result(4);
  ASSERT_TRUE(convertToI32(ElementType::I64, std::as_bytes(std::span(wide)), result).ok());
  EXPECT_EQ(result, (std::vector<int32_t>{0, -1, INT32_MAX, INT32_MIN}));
  const std::vector<int32_t> same = {7, -7, 0, 1};
  ASSERT_TRUE(convertToI32(ElementType::I32, std::as_bytes(std::span(same)), result).ok());
  EXPECT_EQ(result, same);
  EXPECT_TRUE(convertToI32(ElementType::I32, {}, {}).ok());
}

TEST(ConvertTest, Scaled) {
  const std::vector<int8_t> bytes = {-128, 127, 3, -6, 0, 1};
  const std::vector<float> three = {3, 7, 0.1F};
  std::vector<float> result(6);
  const auto scales = std::as_bytes(std::span(three));
  ASSERT_TRUE(
      convertScaledToF32(ElementType::I8, std::as_bytes(std::span(bytes)), scales, result).ok());
  EXPECT_EQ(result,
            (std::vector<float>{-128 / 3.0F, 127 / 3.0F, 3 / 7.0F, -6 / 7.0F, 0, 1 / 0.1F}));
  const std::vector<int16_t> words = {-32768, 32767, 1, 0, -1, 1000};
  const auto source = std::as_bytes(std::span(words));
  ASSERT_TRUE(convertScaledToF32(ElementType::I16, source, scales.first(4), result).ok());
  EXPECT_EQ(result,
            (std::vector<float>{-32768 / 3.0F, 32767 / 3.0F, 1 / 3.0F, 0, -1 / 3.0F, 1000 / 3.0F}));
  // Neither the codes nor the scales need alignment.
  std::vector<std::byte> shifted(sizeof(float) + 1);
  std::memcpy(shifted.data() + 1, three.data(), sizeof(float));
  ASSERT_TRUE(
      convertScaledToF32(ElementType::I16, source, std::span(shifted).subspan(1), result).ok());
  EXPECT_EQ(result[2], 1 / 3.0F);
  EXPECT_TRUE(convertScaledToF32(ElementType::I8, {}, scales, {}).ok());
}

TEST(ConvertTest, BadScales) {
  const std::vector<int8_t> bytes = {1, 2, 3, 4};
  const std::vector<float> three = {1, 2, 3};
  std::vector<float> result(4);
  const auto source = std::as_bytes(std::span(bytes));
  const auto scales = std::as_bytes(std::span(three));
  const auto message = [&](ElementType dtype, std::span<const std::byte> items,
                           std::span<const std::byte> some) {
    return std::string(convertScaledToF32(dtype, items, some, result).message());
  };
  EXPECT_EQ(message(ElementType::I8, source, scales),
            "has 3 scales, expected a divisor of its 4 values");
  EXPECT_EQ(message(ElementType::I8, source, {}),
            "has 0 scales, expected a divisor of its 4 values");
  EXPECT_EQ(message(ElementType::I8, source.first(3), scales), "holds 3 values, the destination 4");
  EXPECT_EQ(message(ElementType::U8, source, scales.first(8)),
            "has type U8 and scales, expected I8 or I16");
}

TEST(ConvertTest, BadInput) {
  std::vector<float> floats(2);
  std::vector<int32_t> integers(2);
  const std::vector<int64_t> wide = {1, int64_t(INT32_MAX) + 1};
  const auto bytes = std::as_bytes(std::span(wide));
  EXPECT_EQ(convertToF32(ElementType::I64, bytes, floats).message(),
            "has type I64, expected F32, F16 or BF16");
  EXPECT_EQ(convertToI32(ElementType::F64, bytes, integers).message(),
            "has type F64, expected I32 or I64");
  EXPECT_EQ(convertToF32(ElementType::F32, bytes, floats).message(),
            "holds 4 values, the destination 2");
  const Status large = convertToI32(ElementType::I64, bytes, integers);
  EXPECT_EQ(large.message(), "value 2 is 2147483648, expected one from -2147483648 to 2147483647");
  EXPECT_EQ(large.code(), StatusCode::OutOfRange);
}

} // namespace
} // namespace heddle
