// SPDX-License-Identifier: Apache-2.0
///
/// Values of derived parameters.
#include "compiler/Link/Parameters.h"

#include "compiler/Link/ParameterValues.h"
#include "compiler/Parameters/DerivedParameters.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <string>

using namespace mlir;

namespace heddle {
namespace {

/// Returns the buffer that a source fills, as f32.
std::span<float> floatsOf(std::span<std::byte> bytes) {
  return {reinterpret_cast<float *>(bytes.data()), bytes.size() / sizeof(float)};
}

/// Returns the values of @p in a program of parameters; stored values count up from 0.
std::vector<float> valuesOf(const std::string &program) {
  MLIRContext context;
  context.loadDialect<transformer::TransformerDialect>();
  auto module = parseSourceString<ModuleOp>(program, &context);
  if (!module) {
    ADD_FAILURE() << program;
    return {};
  }
  const auto countFrom = [](int64_t first, std::span<std::byte> bytes) {
    const std::span<float> values = floatsOf(bytes);
    std::iota(values.begin(), values.end(), static_cast<float>(first));
    return Status();
  };
  ParameterSource count = [&](llvm::StringRef, ElementType, std::span<std::byte> bytes) {
    return countFrom(0, bytes);
  };
  auto parameter = module->lookupSymbol<transformer::ParameterOp>("p");
  const Result<std::vector<float>> values = evaluateParameter(*module, parameter, count);
  EXPECT_TRUE(values.ok());
  // Evaluates each row, from a source that supports partial reads and from one that does not.
  const int64_t rows = parameter.getTensorType().getDimSize(0);
  for (const bool hasParts : {false, true}) {
    if (hasParts) {
      count.setParts({[](llvm::StringRef) { return true; },
                      [&](llvm::StringRef, ElementType, int64_t first, std::span<std::byte> bytes) {
                        return countFrom(first, bytes);
                      }});
    }
    ParameterEvaluator evaluator(*module, count, /*sliceElements=*/1);
    std::vector<float> joined;
    for (int64_t row = 0; row < rows; ++row) {
      const Result<std::vector<float>> one = evaluator.evaluateRows(parameter, row, 1);
      EXPECT_TRUE(one.ok());
      joined.insert(joined.end(), one->begin(), one->end());
    }
    EXPECT_TRUE(
        std::ranges::equal(std::as_bytes(std::span(joined)), std::as_bytes(std::span(*values))))
        << program;
  }
  return values.ok() ? *values : std::vector<float>();
}

TEST(ParametersTest, BytesAreThoseOfTheElementTypes) {
  MLIRContext context;
  context.loadDialect<transformer::TransformerDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto bytesOf = [&](Type element) {
    return byteSize(
        transformer::ParameterOp::create(builder, module->getLoc(), builder.getStringAttr("p"),
                                         TypeAttr::get(RankedTensorType::get({3, 3}, element)),
                                         StringAttr(), transformer::ParameterExpressionAttr()));
  };
  EXPECT_EQ(bytesOf(builder.getF32Type()), 36);
  EXPECT_EQ(bytesOf(builder.getBF16Type()), 18);
  EXPECT_EQ(bytesOf(builder.getI1Type()), 9); // one byte each
}

TEST(ParametersTest, SinusoidsByTurnsAreThoseOfThePaper) {
  const std::vector<float> table =
      valuesOf("transformer.parameter @p : tensor<64x48xf32> = sinusoid_interleaved(0, 24)");
  ASSERT_EQ(table.size(), size_t(64 * 48));
  for (int position = 0; position < 64; ++position) {
    for (int i = 0; i < 24; ++i) {
      const double angle = position / std::pow(10000.0, 2.0 * i / 48.0);
      EXPECT_FLOAT_EQ(table[position * 48 + 2 * i], float(std::sin(angle)));
      EXPECT_FLOAT_EQ(table[position * 48 + 2 * i + 1], float(std::cos(angle)));
    }
  }
}

TEST(ParametersTest, SinusoidsInHalvesFromAnotherPosition) {
  const std::vector<float> table =
      valuesOf("transformer.parameter @p : tensor<5x8xf32> = sinusoid_split(1, 3)");
  ASSERT_EQ(table.size(), size_t(40));
  for (int position = 0; position < 5; ++position) {
    for (int i = 0; i < 4; ++i) {
      const double angle = (position + 1) * std::exp(-i * std::log(10000.0) / 3);
      EXPECT_FLOAT_EQ(table[position * 8 + i], float(std::sin(angle)));
      EXPECT_FLOAT_EQ(table[position * 8 + 4 + i], float(std::cos(angle)));
    }
  }
}

// A table for one head whose entries are the numbers of the buckets.
TEST(ParametersTest, BucketsInBothDirections) {
  const std::vector<float> expected = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
                                       2, 2, 2, 2, 2, 1, 0, 5, 6, 6, 6, 6, 6, 7,
                                       7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
  EXPECT_EQ(valuesOf("transformer.parameter @t : tensor<8x1xf32> from \"t\"\n"
                     "transformer.parameter @p : tensor<1x41xf32> = relative_buckets(@t, 1, 20)"),
            expected);
}

TEST(ParametersTest, BucketsOfEarlierKeysOnly) {
  const std::vector<float> expected = {7, 7, 7, 7, 7, 7, 7, 6, 6, 6, 6, 6, 5, 5,
                                       5, 4, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0,
                                       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(valuesOf("transformer.parameter @t : tensor<8x1xf32> from \"t\"\n"
                     "transformer.parameter @p : tensor<1x41xf32> = relative_buckets(@t, 0, 20)"),
            expected);
}

TEST(ParametersTest, BucketsOfTheUsualSize) {
  const std::vector<float> table =
      valuesOf("transformer.parameter @t : tensor<32x2xf32> from \"t\"\n"
               "transformer.parameter @p : tensor<2x257xf32> = relative_buckets(@t, 1, 128)");
  ASSERT_EQ(table.size(), size_t(2 * 257));
  const std::pair<int, int> buckets[] = {{-128, 15}, {-91, 15}, {-90, 14}, {-64, 14}, {-63, 13},
                                         {-46, 13},  {-45, 12}, {-32, 12}, {-16, 10}, {-12, 9},
                                         {-11, 8},   {-8, 8},   {-7, 7},   {0, 0},    {7, 23},
                                         {8, 24},    {16, 26},  {64, 30},  {128, 31}};
  for (const auto &[distance, bucket] : buckets) {
    // The rows of the result are the heads.
    EXPECT_EQ(table[distance + 128], float(2 * bucket)) << distance;
    EXPECT_EQ(table[257 + distance + 128], float(2 * bucket + 1)) << distance;
  }
}

TEST(ParametersTest, RowsFromTheFirst) {
  const std::vector<float> expected = {4, 5, 6, 7};
  EXPECT_EQ(valuesOf("transformer.parameter @t : tensor<5x2xf32> from \"t\"\n"
                     "transformer.parameter @p : tensor<2x2xf32> = rows(@t, 2)"),
            expected);
}

TEST(ParametersTest, ColumnsFromTheFirst) {
  const std::vector<float> expected = {1, 2, 6, 7, 11, 12};
  EXPECT_EQ(valuesOf("transformer.parameter @t : tensor<3x5xf32> from \"t\"\n"
                     "transformer.parameter @p : tensor<3x2xf32> = columns(@t, 1)"),
            expected);
}

// Each group of rows starts new panels of 48 columns; the unused columns are zero.
TEST(ParametersTest, PanelsOfGroups) {
  constexpr int64_t n = 50, k = 3, width = 48;
  const std::vector<float> packed =
      valuesOf("transformer.parameter @t : tensor<100x3xf32> from \"t\"\n"
               "transformer.parameter @p : tensor<4x3x48xf32> = pack(@t, 48, 2)");
  ASSERT_EQ(packed.size(), size_t(4 * k * width));
  for (int64_t panel = 0; panel < 4; ++panel) {
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t column = 0; column < width; ++column) {
        const int64_t inGroup = panel % 2 * width + column;
        const int64_t row = panel / 2 * n + inGroup;
        EXPECT_EQ(packed[(panel * k + i) * width + column], inGroup < n ? float(row * k + i) : 0.0f)
            << panel << " " << i << " " << column;
      }
    }
  }
}

TEST(ParametersTest, OnesFromARow) {
  const std::vector<float> expected = {0, 0, 1, 1, 1, 1};
  EXPECT_EQ(valuesOf("transformer.parameter @p : tensor<3x2xf32> = ones_from(1)"), expected);
  // A start beyond the last row, in a vector.
  EXPECT_EQ(valuesOf("transformer.parameter @p : tensor<2xf32> = ones_from(9)"),
            (std::vector<float>{0, 0}));
}

TEST(ParametersTest, ProductsOfMatrices) {
  // [0 1 2; 3 4 5] times [0 1; 2 3; 4 5].
  const std::string matrices = "transformer.parameter @a : tensor<2x3xf32> from \"a\"\n"
                               "transformer.parameter @b : tensor<3x2xf32> from \"b\"\n"
                               "transformer.parameter @v : tensor<3xf32> from \"v\"\n";
  EXPECT_EQ(valuesOf(matrices + "transformer.parameter @p : tensor<2x2xf32> = product(@a, @b)"),
            (std::vector<float>{10, 13, 28, 40}));
  EXPECT_EQ(valuesOf(matrices + "transformer.parameter @p : tensor<3x3xf32> = product(@b, @a)"),
            (std::vector<float>{3, 4, 5, 9, 14, 19, 15, 24, 33}));
  EXPECT_EQ(valuesOf(matrices + "transformer.parameter @p : tensor<2xf32> = product(@a, @v)"),
            (std::vector<float>{5, 14}));
}

// A sum of many squares loses digits in f32.
TEST(ParametersTest, ProductsAreRoundedOnce) {
  const std::vector<float> squares =
      valuesOf("transformer.parameter @a : tensor<1x20000xf32> from \"a\"\n"
               "transformer.parameter @b : tensor<20000xf32> from \"b\"\n"
               "transformer.parameter @p : tensor<1xf32> = product(@a, @b)");
  double expected = 0;
  for (int i = 0; i < 20000; ++i) {
    expected += double(i) * i;
  }
  EXPECT_EQ(squares, (std::vector<float>{float(expected)}));
}

TEST(ParametersTest, ScalesByParametersAndAConstant) {
  const std::string table = "transformer.parameter @a : tensor<2x2xf32> from \"a\"\n"
                            "transformer.parameter @t : tensor<5xf32> from \"t\"\n"
                            "transformer.parameter @three : tensor<1xf32> = rows(@t, 3)\n";
  EXPECT_EQ(valuesOf(table + "transformer.parameter @p : tensor<2x2xf32> = scale(@a, @three)"),
            (std::vector<float>{0, 3, 6, 9}));
  EXPECT_EQ(valuesOf(table + "transformer.parameter @p : tensor<2x2xf32> = scale(@a, -0.5)"),
            (std::vector<float>{0, -0.5, -1, -1.5}));
  EXPECT_EQ(valuesOf(table + "transformer.parameter @p : tensor<2x2xf32> = "
                             "scale(@a, @three, @three, 2.5e-1)"),
            (std::vector<float>{0, 2.25, 4.5, 6.75}));
  // A third of three is not rounded in between.
  EXPECT_EQ(valuesOf(table + "transformer.parameter @p : tensor<1xf32> = "
                             "scale(@three, @three, 0.33333333333333331)"),
            (std::vector<float>{3}));
}

TEST(ParametersTest, SumsInDouble) {
  EXPECT_EQ(valuesOf("transformer.parameter @a : tensor<3xf32> from \"a\"\n"
                     "transformer.parameter @large : tensor<3xf32> = scale(@a, 1.0e8)\n"
                     "transformer.parameter @less : tensor<3xf32> = scale(@a, -1.0e8)\n"
                     "transformer.parameter @p : tensor<3xf32> = sum(@large, @a, @a, @less)"),
            (std::vector<float>{0, 2, 4}));
}

// Intermediate values are not rounded and may exceed the range of f32.
TEST(ParametersTest, ExpressionsOfExpressionsAreRoundedOnce) {
  const std::string large = "transformer.parameter @a : tensor<3xf32> from \"a\"\n"
                            "transformer.parameter @large : tensor<3xf32> = scale(@a, 1.0e30)\n"
                            "transformer.parameter @more : tensor<3xf32> = scale(@large, 1.0e30)\n";
  EXPECT_EQ(valuesOf(large + "transformer.parameter @p : tensor<3xf32> = scale(@more, 1.0e-60)"),
            (std::vector<float>{0, 1, 2}));
  // In f32, the small terms would be lost.
  const std::string close = "transformer.parameter @a : tensor<2x2xf32> from \"a\"\n"
                            "transformer.parameter @s : tensor<2x2xf32> = scale(@a, 1.0e8)\n"
                            "transformer.parameter @t : tensor<2x2xf32> = sum(@s, @a)\n"
                            "transformer.parameter @u : tensor<2x2xf32> = scale(@a, -1.0e8)\n";
  EXPECT_EQ(valuesOf(close + "transformer.parameter @p : tensor<2x2xf32> = sum(@t, @u)"),
            (std::vector<float>{0, 1, 2, 3}));
  // Transposed in between, concatenated, and concatenated with stored values.
  EXPECT_EQ(valuesOf(close + "transformer.parameter @v : tensor<2x2xf32> = transpose(@t)\n"
                             "transformer.parameter @w : tensor<2x2xf32> = transpose(@u)\n"
                             "transformer.parameter @x : tensor<4x2xf32> = concat(@a, @v)\n"
                             "transformer.parameter @y : tensor<4x2xf32> = concat(@a, @w)\n"
                             "transformer.parameter @p : tensor<4x2xf32> = sum(@x, @y)"),
            (std::vector<float>{0, 2, 4, 6, 0, 2, 1, 3}));
  EXPECT_EQ(valuesOf(close + "transformer.parameter @x : tensor<2x4xf32> = concat_columns(@a, @t)\n"
                             "transformer.parameter @y : tensor<2x4xf32> = concat_columns(@a, @u)\n"
                             "transformer.parameter @p : tensor<2x4xf32> = sum(@x, @y)"),
            (std::vector<float>{0, 2, 0, 1, 4, 6, 2, 3}));
}

// Expressions as deeply nested as in a long program.
TEST(ParametersTest, ExpressionsMayBeDeep) {
  std::string program = "transformer.parameter @p0 : tensor<2xf32> from \"a\"\n";
  constexpr int depth = 100000;
  for (int i = 1; i < depth; ++i) {
    program += "transformer.parameter @p" + std::to_string(i) + " : tensor<2xf32> = scale(@p" +
               std::to_string(i - 1) + ", " + (i % 2 == 0 ? "2.0" : "0.5") + ")\n";
  }
  program +=
      "transformer.parameter @p : tensor<2xf32> = sum(@p" + std::to_string(depth - 1) + ", @p0)\n";
  EXPECT_EQ(valuesOf(program), (std::vector<float>{0, 1.5}));
}

TEST(ParametersTest, ColumnsSideBySide) {
  EXPECT_EQ(valuesOf("transformer.parameter @a : tensor<2x1xf32> from \"a\"\n"
                     "transformer.parameter @b : tensor<2x3xf32> from \"b\"\n"
                     "transformer.parameter @p : tensor<2x5xf32> = concat_columns(@a, @b, @a)"),
            (std::vector<float>{0, 0, 1, 2, 0, 1, 3, 4, 5, 1}));
}

/// Returns the stored bytes of @p, evaluated from the values of its source @a, as numbers of T;
/// `count` of them, or as many as the source has if it is 0.
template <typename T, typename From>
std::vector<T> storedOf(const std::string &program, const std::vector<From> &source,
                        size_t count = 0) {
  MLIRContext context;
  context.loadDialect<transformer::TransformerDialect>();
  auto module = parseSourceString<ModuleOp>(program, &context);
  ParameterSource given = [&](llvm::StringRef, ElementType, std::span<std::byte> bytes) {
    EXPECT_EQ(bytes.size(), source.size() * sizeof(From));
    std::memcpy(bytes.data(), source.data(), bytes.size());
    return Status();
  };
  const auto evaluate = [&](int64_t sliceElements) {
    std::vector<std::byte> bytes;
    ParameterEvaluator evaluator(*module, given, sliceElements);
    EXPECT_TRUE(evaluator
                    .evaluateStored(module->lookupSymbol<transformer::ParameterOp>("p"),
                                    [&](std::span<const std::byte> piece) {
                                      bytes.insert(bytes.end(), piece.begin(), piece.end());
                                      return Status();
                                    })
                    .ok());
    return bytes;
  };
  const std::vector<std::byte> whole = evaluate(int64_t(1) << 22);
  given.setParts(
      {[](llvm::StringRef) { return true; },
       [&](llvm::StringRef, ElementType element, int64_t first, std::span<std::byte> bytes) {
         const size_t items = bytes.size() / infoOf(element).bytes();
         EXPECT_LE(first + items, source.size());
         std::memcpy(bytes.data(), source.data() + first, items * sizeof(From));
         return Status();
       }});
  for (const int64_t slice : {1, 7, 100}) {
    EXPECT_TRUE(evaluate(slice) == whole) << program << " in slices of " << slice;
  }
  std::vector<T> result(count == 0 ? source.size() : count);
  EXPECT_EQ(whole.size(), result.size() * sizeof(T));
  std::memcpy(result.data(), whole.data(), std::min(whole.size(), result.size() * sizeof(T)));
  return result;
}

std::vector<uint16_t> allHalves() {
  std::vector<uint16_t> bits(65536);
  std::iota(bits.begin(), bits.end(), 0);
  return bits;
}

// Bit for bit, including signalling NaNs.
TEST(ParametersTest, NarrowValuesThatOnlyMoveStayAsTheyAre) {
  const std::vector<uint16_t> all = allHalves();
  EXPECT_EQ(storedOf<uint16_t>("transformer.parameter @p : tensor<65536xbf16> from \"p\"", all),
            all);
  EXPECT_EQ(storedOf<uint16_t>("transformer.parameter @a : tensor<65536xbf16> from \"a\"\n"
                               "transformer.parameter @p : tensor<65536xbf16> = convert(@a)",
                               all),
            all);
  // Through f32.
  EXPECT_EQ(storedOf<uint16_t>("transformer.parameter @a : tensor<65536xbf16> from \"a\"\n"
                               "transformer.parameter @wide : tensor<65536xf32> = convert(@a)\n"
                               "transformer.parameter @p : tensor<65536xbf16> = convert(@wide)",
                               all),
            all);
  std::vector<uint16_t> turned(65536);
  for (size_t i = 0; i < 256; ++i) {
    for (size_t j = 0; j < 256; ++j) {
      turned[j * 256 + i] = all[i * 256 + j];
    }
  }
  const std::vector<uint16_t> panels =
      storedOf<uint16_t>("transformer.parameter @a : tensor<256x256xf16> from \"a\"\n"
                         "transformer.parameter @p : tensor<1x256x256xf16> = pack(@a, 256)",
                         all);
  EXPECT_EQ(panels, turned);
}

// Pairs of elements of a column are adjacent, with zeros for an odd k and beyond the last column.
TEST(ParametersTest, PanelsForBf16HavePairs) {
  const std::vector<uint16_t> rows = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(storedOf<uint16_t>("transformer.parameter @a : tensor<3x3xbf16> from \"a\"\n"
                               "transformer.parameter @p : tensor<2x2x2x2xbf16> = "
                               "pack(@a, 2, 1, 2)",
                               rows, 16),
            (std::vector<uint16_t>{1, 2, 4, 5, 3, 0, 6, 0, 7, 8, 0, 0, 9, 0, 0, 0}));
  EXPECT_EQ(storedOf<uint16_t>("transformer.parameter @a : tensor<3x3xbf16> from \"a\"\n"
                               "transformer.parameter @p : tensor<3x2x2x2xbf16> = "
                               "pack(@a, 2, 3, 2)",
                               rows, 24),
            (std::vector<uint16_t>{1, 2, 0, 0, 3, 0, 0, 0, 4, 5, 0, 0,
                                   6, 0, 0, 0, 7, 8, 0, 0, 9, 0, 0, 0}));
}

TEST(ParametersTest, HalvesAreWidenedExactlyAndRoundedOnce) {
  const std::vector<uint16_t> all = allHalves();
  const std::string halves = "transformer.parameter @a : tensor<65536xf16> from \"a\"\n";
  const std::vector<float> wide =
      storedOf<float>(halves + "transformer.parameter @p : tensor<65536xf32> = convert(@a)", all);
  const std::vector<uint16_t> narrow = storedOf<uint16_t>(
      halves + "transformer.parameter @p : tensor<65536xbf16> = convert(@a)", all);
  for (size_t i = 0; i < all.size(); ++i) {
    const auto expected = static_cast<float>(std::bit_cast<_Float16>(all[i]));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(wide[i]));
      EXPECT_GT(narrow[i] & 0x7FFF, 0x7F80) << i;
      continue;
    }
    EXPECT_EQ(wide[i], expected) << i;
    // Rounds to nearest even, by adding just below half a unit, or half for odd numbers.
    uint32_t bits = std::bit_cast<uint32_t>(expected);
    bits += 0x7FFF + ((bits >> 16) & 1);
    EXPECT_EQ(narrow[i], bits >> 16) << i;
  }
}

TEST(ParametersTest, FloatsAreRoundedToHalvesOnce) {
  // All exponents, and ties between adjacent values.
  std::vector<float> values;
  std::mt19937 random(5);
  for (int i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    values.push_back(std::bit_cast<float>(i % 2 == 0 ? bits : (bits & 0xFFFFF000U)));
  }
  for (int i = 0; i < 65536; i += 3) {
    values[i] = static_cast<float>(random() % 70000) / static_cast<float>(1 << (random() % 30));
  }
  const std::vector<uint16_t> narrow =
      storedOf<uint16_t>("transformer.parameter @a : tensor<65536xf32> from \"a\"\n"
                         "transformer.parameter @p : tensor<65536xf16> = convert(@a)",
                         values);
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      EXPECT_GT(narrow[i] & 0x7FFF, 0x7C00);
    } else {
      EXPECT_EQ(narrow[i], std::bit_cast<uint16_t>(static_cast<_Float16>(values[i]))) << values[i];
    }
  }
}

// f32 is rounded by its bits, f64 by arithmetic: the results are equal.
TEST(ParametersTest, FloatsAreRoundedToUpperHalvesOnce) {
  std::vector<float> values;
  std::mt19937 random(6);
  for (int i = 0; i < 65536; ++i) {
    auto bits = static_cast<uint32_t>(random());
    // Every third value is a tie; every fifth is subnormal or out of range.
    bits = i % 3 == 0 ? (bits & 0xFFFF0000U) | 0x8000U : bits;
    bits = i % 5 == 0 ? bits & (i % 2 == 0 ? 0x807FFFFFU : 0xFF7FFFFFU) : bits;
    bits = i % 11 == 0 ? bits | 0x7F7F0000U : bits;
    values.push_back(std::bit_cast<float>(bits));
  }
  const std::string program = "transformer.parameter @a : tensor<65536xf32> from \"a\"\n"
                              "transformer.parameter @wide : tensor<65536xf32> = scale(@a, 1.0)\n"
                              "transformer.parameter @p : tensor<65536xbf16> = convert(";
  const auto byBits = storedOf<uint16_t>(program + "@a)", values);
  const auto byArithmetic = storedOf<uint16_t>(program + "@wide)", values);
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      EXPECT_GT(byBits[i] & 0x7FFF, 0x7F80);
    } else {
      EXPECT_EQ(byBits[i], byArithmetic[i]) << values[i];
    }
  }
}

// storedOf() compares slices with the whole.
TEST(ParametersTest, SlicesOfCodesAndPanelsAreThoseOfTheWhole) {
  std::vector<float> values(size_t(40) * 64);
  std::mt19937 random(7);
  for (float &value : values) {
    value = static_cast<float>(random() % 2001) / 1000.0F - 1;
  }
  const std::string codes = R"mlir(
    transformer.parameter @a : tensor<40x64xf32> from "a"
    transformer.parameter @half : tensor<40x64xf32> = scale(@a, 0.5)
    transformer.parameter @some : tensor<20x64xf32> = rows(@half, 3)
    transformer.parameter @more : tensor<20x64xf32> = rows(@a, 20)
    transformer.parameter @joined : tensor<40x64xf32> = concat(@some, @more)
    transformer.parameter @codes : tensor<40x64x!transformer.quantized<i8, 32>> = convert(@joined)
  )mlir";
  const std::vector<std::byte> rows = storedOf<std::byte>(
      codes + "transformer.parameter @p : tensor<20x64x!transformer.quantized<i8, 32>> = "
              "rows(@codes, 15)",
      values, size_t(20) * (2 * 4 + 64));
  EXPECT_NE(rows.front(), rows.back());
  storedOf<std::byte>(codes + "transformer.parameter @p : tensor<5x576xi8> = pack(@codes, 8)",
                      values, size_t(5) * 576);
  storedOf<std::byte>(codes + "transformer.parameter @p : tensor<6x576xi8> = pack(@codes, 8, 2)",
                      values, size_t(6) * 576);
  storedOf<float>(codes + "transformer.parameter @p : tensor<8x64x6xf32> = pack(@joined, 6, 2)",
                  values, size_t(8) * 64 * 6);
  // Rows of codes are longer than some of the rows that are derived from them.
  const std::string wide = "transformer.parameter @wide : tensor<40x64xf32> = convert(@codes)\n";
  const std::vector<float> all = storedOf<float>(
      codes + wide + "transformer.parameter @p : tensor<40x64xf32> = scale(@wide, 1.0)", values);
  for (const int64_t first : {0, 3, 8, 300}) {
    const std::vector<float> some = storedOf<float>(
        codes + wide + "transformer.parameter @narrow : tensor<320x8xf32> = reshape(@wide)\n" +
            "transformer.parameter @p : tensor<17x8xf32> = rows(@narrow, " + std::to_string(first) +
            ")",
        values, size_t(17) * 8);
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + 8 * first)) << first;
  }
  // An operation that does not keep the order of rows is evaluated as a whole, then sliced.
  storedOf<float>(codes + R"mlir(
    transformer.parameter @turned : tensor<64x40xf32> = transpose(@joined)
    transformer.parameter @p : tensor<7x40xf32> = rows(@turned, 11))mlir",
                  values, size_t(7) * 40);
}

// Hashes of contents, for passes that compare parameters.
TEST(ParametersTest, HashesRowsOfEvaluatedParameters) {
  MLIRContext context;
  context.loadDialect<transformer::TransformerDialect>();
  auto module = parseSourceString<ModuleOp>(R"mlir(
    transformer.parameter @a : tensor<2x3xf32> from "a"
    transformer.parameter @b : tensor<2x3xf32> from "b"
    transformer.parameter @both : tensor<4x3xf32> = concat(@a, @b)
    transformer.parameter @turned : tensor<3x2xf32> = transpose(@a)
    transformer.parameter @zeros : tensor<3xf32> = zeros()
    transformer.parameter @lost : tensor<3xf32> from "lost")mlir",
                                            &context);
  ASSERT_TRUE(module);
  size_t reads = 0;
  const ParameterHasher hasher =
      parameterHasher([&](llvm::StringRef name, ElementType, std::span<std::byte> bytes) -> Status {
        ++reads;
        const std::span<float> values = floatsOf(bytes);
        std::iota(values.begin(), values.end(), name == "b" ? 6.0f : 0.0f);
        return name == "lost" ? HEDDLE_ERROR(NotFound, "no tensor \"lost\"") : Status();
      });
  const auto hash = [&](llvm::StringRef name, int64_t first, int64_t count) {
    return hasher(module->lookupSymbol<transformer::ParameterOp>(name), first, count);
  };
  EXPECT_EQ(reads, 0u);
  EXPECT_EQ(hash("both", 0, 2), hash("a", 0, 2));
  EXPECT_EQ(hash("both", 2, 2), hash("b", 0, 2));
  EXPECT_EQ(hash("both", 3, 1), hash("b", 1, 1));
  EXPECT_NE(hash("a", 0, 2), hash("b", 0, 2));
  EXPECT_NE(hash("a", 0, 1), hash("a", 1, 1));
  EXPECT_NE(hash("turned", 0, 3), hash("a", 0, 2));
  EXPECT_TRUE(hash("zeros", 0, 3)->isZero);
  EXPECT_FALSE(hash("a", 0, 1)->isZero);
  EXPECT_FALSE(hash("lost", 0, 3).has_value());
}

// Values, for passes that inspect them.
TEST(ParametersTest, ReadsEvaluatedParameters) {
  MLIRContext context;
  context.loadDialect<transformer::TransformerDialect>();
  auto module = parseSourceString<ModuleOp>(R"mlir(
    transformer.parameter @a : tensor<3xf32> from "a"
    transformer.parameter @half : tensor<3xf32> = scale(@a, 0.5)
    transformer.parameter @lost : tensor<3xf32> from "lost")mlir",
                                            &context);
  ASSERT_TRUE(module);
  const ParameterReader reader =
      parameterReader([&](llvm::StringRef name, ElementType, std::span<std::byte> bytes) -> Status {
        const std::span<float> values = floatsOf(bytes);
        std::iota(values.begin(), values.end(), 1.0f);
        return name == "lost" ? HEDDLE_ERROR(NotFound, "no tensor \"lost\"") : Status();
      });
  const auto read = [&](llvm::StringRef name) {
    return reader(module->lookupSymbol<transformer::ParameterOp>(name));
  };
  EXPECT_EQ(read("half"), (std::vector<float>{0.5, 1, 1.5}));
  EXPECT_FALSE(read("lost").has_value());
}

// Passes do not fold a tensor that cannot be read, because they cannot inspect the result.
TEST(ParametersTest, NothingIsFusedOfWhatCannotBeRead) {
  const auto reportOf = [](const ParameterReader &reader) {
    MLIRContext context;
    context.loadDialect<transformer::TransformerDialect, func::FuncDialect>();
    auto module = parseSourceString<ModuleOp>(R"mlir(
      transformer.parameter @a : tensor<24x8xf32> from "a"
      transformer.parameter @lost : tensor<8x24xf32> from "lost"
      func.func @encode(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
        %h = transformer.linear %x, @a : tensor<?x8xf32> -> tensor<?x24xf32>
        %y = transformer.linear %h, @lost : tensor<?x24xf32> -> tensor<?x8xf32>
        return %y : tensor<?x8xf32>
      })mlir",
                                              &context);
    const Report report(context);
    PassManager manager(&context);
    manager.addPass(createFuseBranchesPass(reader));
    EXPECT_TRUE(module && succeeded(manager.run(*module)));
    const std::vector<Report::Entry> entries = report.entries();
    EXPECT_EQ(entries.size(), 1u);
    return entries.empty() ? std::string() : entries.front().text;
  };
  const auto readerBut = [](llvm::StringRef lost) {
    return parameterReader(
        [lost](llvm::StringRef name, ElementType, std::span<std::byte> bytes) -> Status {
          const std::span<float> values = floatsOf(bytes);
          std::fill(values.begin(), values.end(), 1.0f);
          return name == lost ? HEDDLE_ERROR(NotFound, "no tensor") : Status();
        });
  };
  EXPECT_EQ(reportOf(readerBut("lost")), "not fused: the values of @lost cannot be read");
  EXPECT_EQ(reportOf(readerBut("")), reportOf(ParameterReader()));
  EXPECT_NE(reportOf(ParameterReader()).find("2 maps as"), std::string::npos);
}

} // namespace
} // namespace heddle
