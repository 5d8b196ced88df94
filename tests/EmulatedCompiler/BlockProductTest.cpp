// SPDX-License-Identifier: Apache-2.0
///
/// Products by blocks on the emulated GPU: every element has the bits of its sum in the order of k,
/// for any sizes, division of the work and order of threads.
#include "compiler/Parameters/FloatProducts.h"
#include "tests/EmulatedCompiler/LaunchedProduct.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>

namespace heddle {
namespace {

ProductShape tf32(ProductShape shape) {
  shape.products = FloatProducts::Tf32;
  return shape;
}
ProductShape tf32x3(ProductShape shape) {
  shape.products = FloatProducts::Tf32x3;
  return shape;
}

ProductShape inGroups(int64_t groups, ProductShape shape) {
  shape.groups = groups;
  return shape;
}

/// Sizes near those of tiles, slabs and panels, and others.
const ProductShape kShapes[] = {{1, 1, 1},
                                {48, 16, 16},
                                {49, 31, 17},
                                {96, 33, 64},
                                {97, 32, 65},
                                {95, 48, 128},
                                {144, 5, 129},
                                {200, 77, 70, 81},
                                {30, 100, 257},
                                {50, 160, 16, 163},
                                {96, 64, 66, 0, true},
                                {49, 37, 20, 40, true},
                                {145, 17, 140, 0, true},
                                {1, 1, 1, 0, true, true},
                                {48, 64, 16, 0, true, true},
                                {49, 31, 17, 0, true, true},
                                {96, 32, 128, 0, true, true},
                                {97, 100, 129, 0, true, true},
                                {200, 78, 70, 81, true, true},
                                {60, 130, 65, 132, true, true},
                                {144, 515, 20, 516, true, true},
                                {145, 160, 150, 0, true, true},
                                tf32({1, 1, 1}),
                                tf32({48, 32, 16}),
                                tf32({49, 31, 17}),
                                tf32({96, 16, 128}),
                                tf32({97, 50, 129}),
                                tf32({200, 39, 70, 41}),
                                tf32({144, 260, 20}),
                                tf32x3({49, 31, 17}),
                                tf32x3({97, 50, 129}),
                                tf32x3({60, 130, 65, 132}),
                                inGroups(3, {20, 33, 70}),
                                inGroups(2, {97, 16, 130, 40}),
                                inGroups(4, {24, 12, 16, 0, true, true}),
                                inGroups(3, {49, 31, 70, 0, true, true}),
                                inGroups(2, {100, 64, 129, 0, true, true}),
                                inGroups(5, {7, 70, 20, 352, true, true}),
                                inGroups(3, tf32({49, 31, 70})),
                                inGroups(2, tf32x3({60, 32, 129})),
                                inGroups(2, {50, 18, 66, 37, true, true})};

TEST(BlockProduct, IsRightForAllSizes) {
  uint32_t seed = 0;
  for (const ProductShape &shape : kShapes) {
    SCOPED_TRACE(testing::Message()
                 << shape.n << " x " << shape.k << ", " << shape.rows << " rows"
                 << (shape.isBf16 ? ", bf16" : "") << (shape.roundsRows ? " times bf16" : "")
                 << ", groups: " << shape.groups << " " << floatProductsName(shape.products).str());
    CompiledProduct product(shape);
    const ProductOperands operands(shape, ++seed);
    const KernelLaunch launch = product.launchOfAll();
    operands.expectRight(launch, product.run(operands, launch));
  }
}

/// Sizes near those of tiles of warpgroups: slabs of 64, 32 and 16 steps, few rows and many; and
/// products whose k or groups they do not permit.
const ProductShape kWarpgroupShapes[] = {
    {1, 16, 1},     {48, 64, 64},       {49, 80, 65},  {97, 512, 257}, {200, 96, 260, 99},
    {192, 64, 384}, {385, 48, 129, 52}, {144, 640, 3}, {49, 40, 17},   inGroups(2, {96, 32, 70})};

TEST(BlockProduct, IsRightForAllSizesByWarpgroups) {
  uint32_t seed = 0;
  for (ProductShape shape : kWarpgroupShapes) {
    shape.isBf16 = shape.roundsRows = true;
    SCOPED_TRACE(testing::Message()
                 << shape.n << " x " << shape.k << ", " << shape.rows << " rows");
    CompiledProduct product(shape, "sm_90a");
    const ProductOperands operands(shape, ++seed);
    const KernelLaunch launch = product.launchOfAll();
    EXPECT_EQ(launch.threads, shape.k % 16 == 0 && shape.groups == 1 ? 384U : 128U);
    operands.expectRight(launch, product.run(operands, launch));
  }
}

/// Products with many columns and rows, in launches that round their rows before: with slabs of 64,
/// 32 and 16 steps, and rows that are not aligned; blocks of rows past the end.
const ProductShape kRoundedShapes[] = {
    {2304, 16, 257}, {2310, 64, 300}, {2304, 320, 385}, {2400, 96, 321}, {2304, 48, 450, 51}};

ProductShape inBf16(ProductShape shape) {
  shape.isBf16 = shape.roundsRows = true;
  return shape;
}

TEST(BlockProduct, IsRightOfRowsThatAreRoundedBefore) {
  uint32_t seed = 0;
  for (const ProductShape &each : kRoundedShapes) {
    const ProductShape shape = inBf16(each);
    SCOPED_TRACE(testing::Message()
                 << shape.n << " x " << shape.k << ", " << shape.rows << " rows");
    CompiledProduct product(shape, "sm_90a");
    const ProductOperands operands(shape, ++seed);
    KernelLaunch launch = product.launchOfAll();
    EXPECT_EQ(launch.roundedBytes, shape.k * 2);
    // The last panels, whose columns may be past the end.
    launch.columnBegin = launch.columnEnd - 9;
    launch.roundsBefore = true;
    operands.expectRight(launch, product.run(operands, launch));
  }
}

TEST(BlockProduct, AnyDivisionGivesTheSameBitsOfRowsThatAreRoundedBefore) {
  const ProductShape shape = inBf16({2304, 96, 2400});
  CompiledProduct product(shape, "sm_90a");
  const ProductOperands operands(shape, 7);
  // Several groups of tiles; rows from an odd one on; the tile for few rows.
  for (KernelLaunch launch : {KernelLaunch{0, 2400, 0, 9, 3}, KernelLaunch{3, 300, 5, 12, 2},
                              KernelLaunch{1001, 1010, 0, 2, 1}}) {
    launch.shared = product.launchOfAll().shared;
    launch.threads = product.launchOfAll().threads;
    launch.roundedBytes = product.launchOfAll().roundedBytes;
    for (const bool roundsBefore : {false, true}) {
      launch.roundsBefore = roundsBefore;
      SCOPED_TRACE(testing::Message() << "rows from " << launch.rowBegin << " to " << launch.rowEnd
                                      << (roundsBefore ? ", rounded" : ""));
      operands.expectRight(launch, product.run(operands, launch));
    }
  }
}

/// Others round their rows themselves in every launch.
TEST(BlockProduct, OnlyWideProductsOfWarpgroupsRoundBefore) {
  for (const ProductShape &shape :
       {inBf16({2303, 64, 300}), inBf16({2304, 40, 300}), inGroups(2, inBf16({2304, 64, 300})),
        ProductShape{2304, 64, 300, 0, true}}) {
    EXPECT_EQ(CompiledProduct(shape, "sm_90a").launchOfAll().roundedBytes, 0) << shape.n;
  }
  EXPECT_EQ(CompiledProduct(inBf16({2304, 64, 300}), "sm_80").launchOfAll().roundedBytes, 0);
}

/// Expects the same bits from launches of parts of the rows and columns.
void expectAnyDivision(const ProductShape &shape, const std::string &target = "sm_80") {
  CompiledProduct product(shape, target);
  const ProductOperands operands(shape, 7);
  for (KernelLaunch launch :
       {KernelLaunch{0, 150, 0, 4, 1}, KernelLaunch{0, 150, 0, 4, 16}, KernelLaunch{3, 4, 0, 4, 3},
        KernelLaunch{5, 21, 1, 2, 1}, KernelLaunch{5, 149, 1, 4, 2}, KernelLaunch{90, 150, 3, 4, 5},
        KernelLaunch{1, shape.rows, 0, 4, 3}}) {
    launch.shared = product.launchOfAll().shared;
    launch.threads = product.launchOfAll().threads;
    SCOPED_TRACE(testing::Message() << "rows from " << launch.rowBegin << " to " << launch.rowEnd);
    operands.expectRight(launch, product.run(operands, launch));
  }
}

TEST(BlockProduct, AnyDivisionGivesTheSameBits) { expectAnyDivision({160, 45, 150}); }
TEST(BlockProduct, AnyDivisionGivesTheSameBitsOfRoundedRows) {
  expectAnyDivision({160, 92, 150, 0, true, true});
}
TEST(BlockProduct, AnyDivisionGivesTheSameBitsOfGroups) {
  expectAnyDivision(inGroups(2, {90, 30, 150, 0, true, true}));
}
TEST(BlockProduct, AnyDivisionGivesTheSameBitsByWarpgroups) {
  expectAnyDivision({160, 96, 300, 0, true, true}, "sm_90a");
}
TEST(BlockProduct, AnyDivisionGivesTheSameBitsOfTf32) { expectAnyDivision(tf32({160, 45, 150})); }
TEST(BlockProduct, AnyDivisionGivesTheSameBitsOfThreeOfTf32) {
  expectAnyDivision(tf32x3({160, 30, 150}));
}

/// Expects the same bits in any order of threads.
void expectAnyOrder(const ProductShape &shape) {
  CompiledProduct product(shape, "sm_90a");
  const ProductOperands operands(shape, 8);
  for (const char *const seed : {"1000", "2000", "3000"}) {
    ::setenv("HEDDLE_EMULATOR_SEED", seed, 1);
    operands.expectRight(product.launchOfAll(), product.run(operands, product.launchOfAll()));
  }
  ::unsetenv("HEDDLE_EMULATOR_SEED");
}

TEST(BlockProduct, NothingDependsOnTheOrderOfThreads) {
  expectAnyOrder({100, 40, 70});
  expectAnyOrder({100, 72, 70, 0, true, true});
  expectAnyOrder(inGroups(2, {60, 72, 70, 0, true, true}));
  expectAnyOrder({100, 320, 70, 0, true, true});
  expectAnyOrder(tf32({100, 40, 70}));
}

/// Returns the largest error of a sum, relative to the sum of its products' magnitudes.
double largestError(const ProductShape &shape) {
  CompiledProduct product(shape);
  ProductOperands operands(shape, 11);
  operands.bias.assign(operands.bias.size(), 0);
  operands.residual.assign(operands.residual.size(), 0);
  const KernelOutcome result = product.run(operands, product.launchOfAll());
  EXPECT_EQ(result.report, "");
  double largest = 0;
  for (int64_t row = 0; row < shape.rows && result.report.empty(); ++row) {
    for (int64_t column = 0; column < shape.n; ++column) {
      const double error =
          double(result.values[size_t(row * shape.n + column)]) - operands.exactSum(row, column);
      EXPECT_FALSE(std::isnan(error)) << row << ", " << column;
      largest = std::max(largest, std::abs(error) / operands.sumOfMagnitudes(row, column));
    }
  }
  return largest;
}

TEST(BlockProduct, ErrorsAreThoseOfThePrecision) {
  // Factors are rounded to 11 bits, or to 22 with three errors of the last bit; in addition, each
  // instruction rounds the sum.
  constexpr int64_t k = 256;
  const ProductShape shape = {96, k, 32};
  const double ofSums = std::ldexp(k, -27);
  const double tf32Error = largestError(tf32(shape)), threeError = largestError(tf32x3(shape));
  EXPECT_LE(tf32Error, 2 * std::ldexp(1, -11) + std::ldexp(1, -22) + ofSums);
  EXPECT_LE(threeError, 3 * std::ldexp(1, -22) + 3 * ofSums);
  // The errors are not those of a higher precision, and the second is near that of f32.
  EXPECT_GE(tf32Error, std::ldexp(1, -17));
  EXPECT_LE(threeError, 2 * largestError(shape));
  EXPECT_GE(tf32Error, 64 * threeError);
}

TEST(BlockProduct, NumbersThatAreNoneStayInTf32) {
  for (const FloatProducts products : {FloatProducts::Tf32, FloatProducts::Tf32x3}) {
    ProductShape shape = {48, 32, 3};
    shape.products = products;
    CompiledProduct product(shape);
    ProductOperands operands(shape, 9);
    operands.rows[5] = std::numeric_limits<float>::quiet_NaN();
    operands.rows[size_t(shape.k) + 20] = std::numeric_limits<float>::infinity();
    const KernelOutcome result = product.run(operands, product.launchOfAll());
    ASSERT_EQ(result.report, "");
    for (int64_t column = 0; column < shape.n; ++column) {
      const float weight = operands.weights[size_t(column * shape.k + 20)];
      const float infinite = result.values[size_t(shape.n + column)];
      EXPECT_TRUE(std::isnan(result.values[size_t(column)])) << "column " << column;
      // The rounding error of an infinite number is NaN.
      EXPECT_TRUE(products == FloatProducts::Tf32x3
                      ? std::isnan(infinite)
                      : infinite == std::copysign(std::numeric_limits<float>::infinity(), weight))
          << "column " << column;
      EXPECT_EQ(result.values[size_t(2 * shape.n + column)], operands.expected(2, column));
    }
  }
}

TEST(BlockProduct, NumbersThatAreNoneStay) {
  const ProductShape shape = {48, 64, 2, 0, true, true};
  CompiledProduct product(shape);
  ProductOperands operands(shape, 9);
  operands.rows[5] = std::numeric_limits<float>::quiet_NaN();
  operands.rows[size_t(shape.k) + 40] = std::numeric_limits<float>::infinity();
  const KernelOutcome result = product.run(operands, product.launchOfAll());
  ASSERT_EQ(result.report, "");
  for (int64_t column = 0; column < shape.n; ++column) {
    const float weight = operands.weights[size_t(column * shape.k + 40)];
    EXPECT_TRUE(std::isnan(result.values[size_t(column)])) << "column " << column;
    EXPECT_EQ(result.values[size_t(shape.n + column)],
              std::copysign(std::numeric_limits<float>::infinity(), weight))
        << "column " << column;
  }
}

/// Returns the bank passes of a product beyond the minimum, relative to it.
double extraPasses(const ProductShape &shape, const std::string &target = "sm_80") {
  CompiledProduct product(shape, target);
  return extraPassesOf(
      [&] { EXPECT_EQ(product.run(ProductOperands(shape, 3), product.launchOfAll()).report, ""); });
}

TEST(BlockProduct, LanesWantDifferentBanks) {
  // Matrices and weights are read without bank conflicts. Some sums are stored, once, with two
  // lanes per bank; with few rows, every third copy of weights spans two steps.
  constexpr double most = 0.15;
  for (const ProductShape &shape :
       {ProductShape{96, 64, 128, 0, true, true}, ProductShape{48, 128, 16, 0, true, true},
        ProductShape{96, 64, 128}, ProductShape{48, 64, 16}, tf32({96, 32, 128}),
        tf32x3({48, 64, 16})}) {
    EXPECT_LE(extraPasses(shape), most) << shape.rows << " rows" << (shape.isBf16 ? ", bf16" : "");
  }
  // Rows and sums for warpgroups are stored without conflicts. Sums of few columns are read, once,
  // with some lanes in the next row.
  EXPECT_EQ(extraPasses({192, 64, 384, 0, true, true}, "sm_90a"), 0);
  EXPECT_LE(extraPasses({48, 32, 64, 0, true, true}, "sm_90a"), most);
}

// --- groups of columns ---------------------------------------------------------------------------

/// Three products side by side: each group of columns of the result comes from its own columns of
/// the rows.
TEST(BlockProduct, GroupsHaveTheirOwnColumns) {
  constexpr int64_t groups = 3;
  for (const auto &[n, k, rows] :
       {std::array<int64_t, 3>{5, 7, 9}, {48, 16, 130}, {50, 33, 70}, {97, 12, 200}}) {
    std::vector<ProductOperands> operands;
    std::vector<std::byte> panels;
    for (uint32_t group = 0; group < groups; ++group) {
      const ProductOperands &own = operands.emplace_back(ProductShape{n, k, rows}, group + 1);
      const std::vector<std::byte> packed = own.panels(/*together=*/1);
      panels.insert(panels.end(), packed.begin(), packed.end());
    }
    std::vector<float> all(size_t(rows * groups * k)), expected(size_t(rows * groups * n));
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t group = 0; group < groups; ++group) {
        const ProductOperands &own = operands[size_t(group)];
        std::copy_n(own.rows.begin() + row * k, k, all.begin() + (row * groups + group) * k);
        for (int64_t column = 0; column < n; ++column) {
          float sum = 0;
          for (int64_t step = 0; step < k; ++step) {
            sum = std::fma(own.rows[size_t(row * k + step)], own.weights[size_t(column * k + step)],
                           sum);
          }
          expected[size_t((row * groups + group) * n + column)] = sum;
        }
      }
    }
    const CompiledKernel kernel(llvm::formatv(R"(
dataflow.kernel @product : (!dataflow.buffer<[tokens, {0}], f32>, !dataflow.buffer<[{1}, {2}], f32>) -> !dataflow.buffer<[tokens, {1}], f32>
    computes #dataflow.contract<n = {3}, k = {2}, groups = {4}> {{
^bb0(%sum: f32):
  dataflow.yield %sum
}
)",
                                              groups * k, groups * n, k, n, groups),
                                "product", "sm_80");
    const KernelLaunch launch = kernel.launchOf(rows, groups * operands[0].shape.panels());
    EXPECT_GT(launch.shared, 16U) << "not computed by blocks";
    const auto send = [&](EmulatedGpu &gpu, uint64_t result, uint64_t) {
      HeddleRows tokens = {};
      tokens.count = tokens.longest = rows;
      return gpu.sendLaunch({result, gpu.send(all), gpu.send(panels)},
                            {gpu.send(&tokens, sizeof tokens)}, launch);
    };
    const KernelOutcome outcome = kernel.run(launch, expected.size(), groups * n, send);
    ASSERT_EQ(outcome.report, "");
    EXPECT_EQ(outcome.values, expected);
  }
}

} // namespace
} // namespace heddle
