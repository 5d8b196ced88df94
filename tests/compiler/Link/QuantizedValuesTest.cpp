// SPDX-License-Identifier: Apache-2.0
///
/// Codes and scales of weights, and their layout in rows and panels.
#include "compiler/Link/QuantizedValues.h"

#include "dialects/Transformer/Transformer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace mlir;

namespace heddle {
namespace {

MLIRContext &loadedContext() {
  static MLIRContext context;
  context.loadDialect<transformer::TransformerDialect>();
  return context;
}

/// Returns a type with codes of this width and scales in f32 or another type.
transformer::QuantizedType quantizedType(unsigned bits, int64_t group, Type scales = {}) {
  MLIRContext *context = &loadedContext();
  return transformer::QuantizedType::get(context, IntegerType::get(context, bits), group,
                                         scales ? scales : Float32Type::get(context));
}

/// Like quantizedType(), with minimums.
transformer::QuantizedType typeWithMinimums(unsigned bits, int64_t group, Type scales) {
  MLIRContext *context = &loadedContext();
  return transformer::QuantizedType::get(context, IntegerType::get(context, bits), group, scales,
                                         /*minimums=*/true, /*full=*/false);
}

/// Quantizes values to 8-bit codes and scales.
QuantizedValues quantize(const std::vector<float> &values, int64_t columns, int64_t group) {
  return {values, quantizedType(8, group), columns};
}

float floatAt(const std::vector<std::byte> &bytes, size_t offset) {
  float value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

TEST(QuantizedValuesTest, RowsAreScalesThenCodes) {
  // Groups of four elements, the last with one; halfway cases round to the even code.
  const std::vector<std::byte> rows =
      quantize({127, -2.5F, 3.5F, -127, 1, 0, 0, 0, 0, -6}, 5, 4).rows();
  ASSERT_EQ(rows.size(), 2U * (8 + 8));
  EXPECT_EQ(floatAt(rows, 0), 1);
  EXPECT_EQ(floatAt(rows, 4), 1.0F / 127);
  const std::vector<int> expected = {127, -2, 4, -127, 127, 0, 0, 0};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(static_cast<int8_t>(rows[8 + i]), expected[i]) << i;
  }
  // The scale of a group of zeros is 0.
  EXPECT_EQ(floatAt(rows, 16), 0);
  EXPECT_EQ(static_cast<int8_t>(rows[16 + 8 + 4]), -127);
}

// Four codes of a column are adjacent. The sums follow the scales; the padding of elements and
// columns is zero.
TEST(QuantizedValuesTest, PanelsForIntegersHaveSums) {
  const std::vector<std::byte> panels = quantize({127, -2, 3, 4, 5, 0, 127, 0, 0, -1}, 5, 0)
                                            .packed(/*panelColumns=*/4, /*groups=*/1,
                                                    /*together=*/4);
  ASSERT_EQ(panels.size(), 4U * (4 + 4 + 8));
  EXPECT_EQ(floatAt(panels, 0), 1);
  EXPECT_EQ(floatAt(panels, 8), 0);
  std::vector<int32_t> sums(4);
  std::memcpy(sums.data(), panels.data() + 16, 16);
  EXPECT_EQ(sums, (std::vector<int32_t>{137, 126, 0, 0}));
  const std::vector<int> expected = {127, -2, 3, 4, 0,  127, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                     5,   0,  0, 0, -1, 0,   0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(static_cast<int8_t>(panels[32 + i]), expected[i]) << i;
  }
}

// Each group has its own header, and the last group may be shorter.
TEST(QuantizedValuesTest, GroupsOfPanelsForIntegersFollowEachOther) {
  const std::vector<std::byte> panels = quantize({127, 0, 0, 1, 254, 2}, 6, 4)
                                            .packed(/*panelColumns=*/1, /*groups=*/1,
                                                    /*together=*/4);
  ASSERT_EQ(panels.size(), 8U + 4 + 8 + 4);
  EXPECT_EQ(floatAt(panels, 0), 1);
  EXPECT_EQ(floatAt(panels, 12), 2);
  int32_t sum = 0;
  std::memcpy(&sum, panels.data() + 16, sizeof(sum));
  EXPECT_EQ(sum, 128);
  EXPECT_EQ(static_cast<int8_t>(panels[21]), 1);
  EXPECT_EQ(static_cast<int8_t>(panels[22]), 0);
}

// The bf16 scale, the zero point, then the codes, two per byte; each part is padded to words.
TEST(QuantizedValuesTest, RowsOf4BitsHaveZeros) {
  const Type bf16 = BFloat16Type::get(&loadedContext());
  // Scale 1 and zero point 5, then scale 2 and zero point 0.
  const std::vector<float> values = {-5, 10, 0, 1, 2, 3, 4, 5, 30, 2};
  const QuantizedValues quantized(values, quantizedType(4, 8, bf16), 10);
  EXPECT_EQ(quantized.widen(), values);
  const std::vector<std::byte> rows = quantized.rows();
  const std::vector<int> expected = {0x80, 0x3F, 0x00, 0x40, 0x05, 0, 0, 0,
                                     0xF0, 0x65, 0x87, 0xA9, 0x1F, 0, 0, 0};
  ASSERT_EQ(rows.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(static_cast<int>(rows[i]), expected[i]) << i;
  }
}

// Four columns of 17 elements in groups of 16: a header of scales and zero points, then rows of
// bytes.
TEST(QuantizedValuesTest, PanelsOf4BitsShareBytes) {
  constexpr int64_t columns = 17, rows = 3, panelColumns = 4;
  std::vector<int8_t> codes, zeros;
  std::vector<float> scales;
  for (int64_t i = 0; i < rows * columns; ++i) {
    codes.push_back(static_cast<int8_t>(i * 7 % 16));
  }
  for (int64_t i = 0; i < rows * 2; ++i) {
    scales.push_back(static_cast<float>(i + 1));
    zeros.push_back(static_cast<int8_t>(15 - i));
  }
  const QuantizedValues quantized({codes, scales, zeros, {}}, quantizedType(4, 16), columns);
  const auto halfAt = [](const std::vector<std::byte> &bytes, size_t byte, bool isUpper) {
    return static_cast<int>(bytes[byte]) >> (isUpper ? 4 : 0) & 0xF;
  };
  for (const int64_t together : {1, 4}) {
    const std::vector<std::byte> panels = quantized.packed(panelColumns, 1, together);
    // Headers of 4 columns, and 8 or 2 elements in the second group, half a byte each.
    constexpr size_t head = 32, wholeGroup = head + 16 * panelColumns / 2;
    ASSERT_EQ(panels.size(), wholeGroup + head + (together == 1 ? 2 : 8) * panelColumns / 2);
    for (int64_t row = 0; row < panelColumns; ++row) {
      for (int64_t k = 0; k < 18; ++k) {
        const size_t group = k / 16, at = group * wholeGroup;
        const bool exists = row < rows;
        EXPECT_EQ(floatAt(panels, at + row * 4), exists ? scales[row * 2 + group] : 0);
        EXPECT_EQ(halfAt(panels, at + 16 + row / 2, row % 2 == 1),
                  exists ? zeros[row * 2 + group] : 0);
        const int64_t line = k % 16 / together;
        const size_t byte =
            at + head + line / 2 * panelColumns * together + row * together + k % together;
        EXPECT_EQ(halfAt(panels, byte, line % 2 == 1),
                  exists && k < columns ? codes[row * columns + k] : 0)
            << together << " " << row << " " << k;
      }
    }
  }
}

/// Two rows of five elements in groups of four, with minimums of either sign.
CodeRows rowsWithMinimums() {
  return {{0, 1, 14, 15, 7, 3, 2, 1, 0, 15}, {0.5F, 2, -1, 0}, {}, {-3, 0.25F, 10, 5}};
}

// Scales, minimums, then 8-bit codes.
TEST(QuantizedValuesTest, RowsHaveMinimums) {
  Type f32 = Float32Type::get(&loadedContext());
  const QuantizedValues quantized(rowsWithMinimums(), typeWithMinimums(8, 4, f32), 5);
  const std::vector<float> values = {-3, -2.5F, 4, 4.5F, 14.25F, 7, 8, 9, 10, 5};
  EXPECT_EQ(quantized.widen(), values);
  for (int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(quantized.valueOf(i / 5, i % 5), values[i]);
  }
  const std::vector<std::byte> rows = quantized.rows();
  ASSERT_EQ(rows.size(), 2U * (8 + 8 + 8));
  const CodeRows all = rowsWithMinimums();
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(floatAt(rows, i / 2 * 24 + i % 2 * 4), all.scales[i]);
    EXPECT_EQ(floatAt(rows, i / 2 * 24 + 8 + i % 2 * 4), all.minimums[i]);
  }
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(static_cast<int8_t>(rows[i / 5 * 24 + 16 + i % 5]), all.codes[i]);
  }
}

// Slices and concatenations keep minimums. In a panel of three columns, they follow the scales,
// padded to 16 bytes before the 4-bit codes.
TEST(QuantizedValuesTest, PanelsHaveMinimums) {
  Type f16 = Float16Type::get(&loadedContext());
  CodeRows four = rowsWithMinimums();
  four.codes.resize(16, 9);
  const QuantizedValues two({four.codes, {0.5F, -1}, {}, {-3, 10}}, typeWithMinimums(4, 8, f16), 8);
  QuantizedValues joined = two.rowsFrom(1, 1);
  joined.append(two);
  EXPECT_EQ(joined.all().minimums, (std::vector<float>{10, -3, 10}));
  EXPECT_EQ(joined.all().scales, (std::vector<float>{-1, 0.5F, -1}));
  const std::vector<std::byte> panels = joined.packed(/*panelColumns=*/3, /*groups=*/1);
  ASSERT_EQ(panels.size(), 16U + 8 * 3 / 2);
  const auto halfAt = [&](size_t byte) {
    return static_cast<int>(panels[byte]) | static_cast<int>(panels[byte + 1]) << 8;
  };
  // The f16 values -1, 0.5 and -1, then 10, -3 and 10.
  const std::vector<int> head = {0xBC00, 0x3800, 0xBC00, 0x4900, 0xC200, 0x4900, 0, 0};
  for (size_t i = 0; i < head.size(); ++i) {
    EXPECT_EQ(halfAt(2 * i), head[i]) << i;
  }
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t k = 0; k < 8; ++k) {
      const auto byte = static_cast<int>(panels[16 + k / 2 * 3 + row]);
      EXPECT_EQ(byte >> (k % 2 * 4) & 0xF, joined.all().codes[row * 8 + k]);
    }
  }
}

// Scales of 4-bit codes are rounded up, so that no element exceeds the last code. Groups with a NaN
// or infinity, or with a scale beyond f16, become NaN as a whole.
TEST(QuantizedValuesTest, ScalesOf4BitsReachAllElements) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  MLIRContext *context = &loadedContext();
  for (Type scales : {Type(Float32Type::get(context)), Type(BFloat16Type::get(context)),
                      Type(Float16Type::get(context))}) {
    for (const float size : {1e-36F, 1e-3F, 1.0F, 1e36F}) {
      if (scales.isF16() && (size < 1e-4F || size > 1e3F)) {
        continue;
      }
      std::vector<float> values(64);
      std::ranges::generate(values, [&] { return size * normal(random); });
      const std::vector<float> wide =
          QuantizedValues(values, quantizedType(4, 32, scales), 64).widen();
      for (size_t i = 0; i < values.size(); ++i) {
        const auto group = std::span(values).subspan(i / 32 * 32, 32);
        const float range = std::max(0.0F, *std::ranges::max_element(group)) -
                            std::min(0.0F, *std::ranges::min_element(group));
        ASSERT_NEAR(wide[i] / range, values[i] / range, 1.02 / 15) << size;
      }
    }
  }
  const auto widen = [&](float bad, Type scales) {
    return QuantizedValues(std::vector<float>{1, bad}, quantizedType(4, 0, scales), 2).widen();
  };
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_TRUE(std::isnan(widen(bad, Float32Type::get(context)).front()));
  }
  EXPECT_TRUE(std::isnan(widen(1e6F, Float16Type::get(context)).front()));
  EXPECT_EQ(widen(0, Float16Type::get(context))[1], 0);
  EXPECT_TRUE(std::isfinite(widen(3e38F, BFloat16Type::get(context))[1]));
}

TEST(QuantizedValuesTest, ValuesAreWithinHalfAStep) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(size_t(7) * 75);
  for (const float size : {1e-30F, 1.0F, 1e30F}) {
    std::generate(values.begin(), values.end(), [&] { return size * normal(random); });
    for (const int64_t group : {0, 1, 32, 75, 100}) {
      const std::vector<float> wide = quantize(values, 75, group).widen();
      for (size_t i = 0; i < values.size(); ++i) {
        const size_t row = i / 75 * 75;
        const size_t length = group == 0 ? 75 : std::min<size_t>(group, 75);
        const size_t begin = row + i % 75 / length * length;
        float most = 0;
        for (size_t k = begin; k < std::min(begin + length, row + 75); ++k) {
          most = std::max(most, std::fabs(values[k]));
        }
        ASSERT_NEAR(wide[i] / most, values[i] / most, 0.5001 / 127) << group << " " << i;
      }
    }
  }
}

TEST(QuantizedValuesTest, ExtremesStayInRange) {
  // The scale of the smallest numbers underflows or loses digits; codes stay within 127.
  const float least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(quantize({least, -least}, 2, 0).widen(), (std::vector<float>{0, 0}));
  const std::vector<float> small = quantize({190 * least, -190 * least}, 2, 0).widen();
  EXPECT_EQ(small, (std::vector<float>{127 * least, -127 * least}));
  const float most = std::numeric_limits<float>::max();
  for (const float value : quantize({most, -most, 0}, 3, 0).widen()) {
    EXPECT_TRUE(std::isfinite(value));
  }
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const std::vector<float> wide = quantize({1, bad, 1, 1}, 4, 2).widen();
    EXPECT_TRUE(std::isnan(wide[0]) && std::isnan(wide[1]));
    EXPECT_EQ(wide[2], 1);
  }
}

TEST(QuantizedValuesTest, PanelsHaveScalesBeforeEveryGroup) {
  // 6 x 5 in panels of 4 columns and groups of 3 steps; the rows of the matrix are columns of
  // panels.
  std::vector<float> values(size_t(6) * 5);
  std::iota(values.begin(), values.end(), 1.0F);
  const QuantizedValues quantized = quantize(values, 5, 3);
  const std::vector<float> wide = quantized.widen();
  const std::vector<std::byte> packed = quantized.packed(4, 1);
  const size_t part = 4 * sizeof(float) + 12, panel = 8 * sizeof(float) + 20;
  ASSERT_EQ(packed.size(), 2 * panel);
  for (size_t row = 0; row < 8; ++row) {
    for (size_t k = 0; k < 5; ++k) {
      const size_t at = row / 4 * panel + k / 3 * part;
      const float scale = floatAt(packed, at + row % 4 * sizeof(float));
      const auto code = static_cast<int8_t>(packed[at + 4 * sizeof(float) + k % 3 * 4 + row % 4]);
      const float expected = row < 6 ? wide[row * 5 + k] : 0;
      EXPECT_EQ(static_cast<float>(code) * scale, expected) << row << " " << k;
    }
  }
  // Two groups of rows have separate panels: three rows each, in panels of four columns.
  const std::vector<std::byte> grouped = quantized.packed(4, 2);
  ASSERT_EQ(grouped.size(), 2 * panel);
  EXPECT_EQ(floatAt(grouped, panel), floatAt(packed, 3 * sizeof(float)));
  EXPECT_EQ(floatAt(grouped, 3 * sizeof(float)), 0);
}

} // namespace
} // namespace heddle
