// SPDX-License-Identifier: Apache-2.0
///
/// Products of integers by blocks on the emulated GPU: every element has the bits that the
/// description of #dataflow.contract defines, for any sizes, division of the work and order of
/// threads.
#include "tests/EmulatedCompiler/LaunchedCodes.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace heddle {
namespace {

CodesShape inGroups(int64_t groups, CodesShape shape) {
  shape.groups = groups;
  return shape;
}

/// Sizes near those of tiles, slabs, groups and panels, and others.
const CodesShape kShapes[] = {{1, 1, 1, "i8, row"},
                              {48, 64, 16, "i8, row"},
                              {49, 31, 17, "i8, row"},
                              {192, 64, 65, "i8, row"},
                              {193, 130, 128, "i8, row"},
                              {200, 77, 70, "i8, row", 81},
                              {30, 700, 66, "i8, row, full"},
                              {60, 258, 3, "i8, row, f16", 260},
                              {1, 1, 1, "i4, row"},
                              {97, 100, 70, "i4, row, bf16"},
                              {49, 333, 17, "i4, row, bf16", 335},
                              {48, 64, 16, "i8, 32"},
                              {49, 128, 70, "i8, 64"},
                              {97, 256, 65, "i8, 128"},
                              {50, 300, 20, "i8, 128", 301},
                              {96, 300, 128, "i8, 128"},
                              {60, 75, 66, "i8, 20, f16"},
                              {33, 22, 70, "i8, 4"},
                              {48, 400, 5, "i8, 96"},
                              {48, 64, 16, "i4, 32, bf16"},
                              {97, 256, 65, "i4, 32, bf16"},
                              {50, 45, 70, "i4, 32, bf16", 47},
                              {49, 70, 17, "i4, 8, bf16"},
                              {96, 333, 67, "i4, 40, f16"},
                              {100, 512, 66, "i4, 128"},
                              {145, 300, 3, "i4, 128, bf16"},
                              inGroups(4, {24, 12, 70, "i8, row"}),
                              inGroups(3, {49, 77, 17, "i8, row"}),
                              inGroups(2, {97, 96, 129, "i8, row", 195}),
                              inGroups(2, {97, 100, 70, "i4, row, bf16"}),
                              inGroups(3, {20, 128, 66, "i8, 64"}),
                              inGroups(2, {50, 75, 20, "i8, 20, f16"}),
                              inGroups(2, {100, 256, 65, "i4, 128"})};

TEST(BlockIntegers, AreRightForAllSizes) {
  uint32_t seed = 0;
  for (const CodesShape &shape : kShapes) {
    expectRight(shape, ++seed);
  }
}

TEST(BlockIntegers, AreRightOnHopper) {
  expectRight({97, 130, 70, "i8, row"}, 1, "sm_90a");
  expectRight({97, 96, 20, "i4, 32, bf16"}, 2, "sm_90a");
}

TEST(BlockIntegers, AreRightForRandomSizes) {
  std::mt19937 random(72);
  const std::string types[] = {"i8, row",       "i8, row, f16", "i8, 128",      "i8, 64, bf16",
                               "i8, 36",        "i4, row",      "i4, 32, bf16", "i4, 16, f16",
                               "i4, 104, bf16", "i4, 128"};
  for (int seed = 0; seed < randomKernels(12); ++seed) {
    const auto below = [&](int64_t most) { return 1 + int64_t(random() % uint64_t(most)); };
    CodesShape shape = {below(220), below(420), below(140), types[random() % std::size(types)]};
    shape.stride = random() % 2 == 0 ? 0 : shape.k + below(5);
    expectRight(shape, uint32_t(seed));
  }
}

/// Expects the same bits from launches of parts of the rows and columns.
void expectAnyDivision(const CodesShape &shape) {
  CompiledCodes product(shape);
  const CodesOperands operands(shape, 7);
  for (KernelLaunch launch :
       {KernelLaunch{0, 150, 0, 5, 1}, KernelLaunch{0, 150, 0, 5, 16}, KernelLaunch{3, 4, 0, 5, 3},
        KernelLaunch{5, 21, 1, 2, 1}, KernelLaunch{5, 149, 1, 5, 2}, KernelLaunch{90, 150, 4, 5, 5},
        KernelLaunch{1, 65, 0, 5, 3}}) {
    launch.shared = product.launchOfAll().shared;
    SCOPED_TRACE(testing::Message() << "rows from " << launch.rowBegin << " to " << launch.rowEnd);
    operands.expectRight(launch, product.run(operands, launch));
  }
}

TEST(BlockIntegers, AnyDivisionGivesTheSameBits) { expectAnyDivision({210, 90, 150, "i8, row"}); }
TEST(BlockIntegers, AnyDivisionGivesTheSameBitsOfGroups) {
  expectAnyDivision({210, 90, 150, "i8, 32"});
}
TEST(BlockIntegers, AnyDivisionGivesTheSameBitsOfGroupsOfColumns) {
  expectAnyDivision(inGroups(5, {40, 90, 150, "i8, row"}));
}
TEST(BlockIntegers, AnyDivisionGivesTheSameBitsOf4Bits) {
  expectAnyDivision({210, 96, 150, "i4, 32, bf16"});
}

TEST(BlockIntegers, NothingDependsOnTheOrderOfThreads) {
  for (const std::string type : {"i8, row", "i8, 64", "i4, 32, bf16"}) {
    expectRightInAnyOrder({100, 200, 70, type});
  }
}

// Rows of zeros, of numbers so small that they have no scale, of infinities and of NaN.
TEST(BlockIntegers, RowsAtTheEdges) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const std::string type : {"i8, row", "i8, 32", "i4, row", "i4, 32, bf16"}) {
    const CodesShape shape = {50, 96, 7, type};
    CompiledCodes product(shape);
    CodesOperands operands(shape, 9);
    const auto row = [&](int64_t number) { return operands.rows.begin() + number * shape.k; };
    std::fill_n(row(0), shape.k, 0.0F);
    std::fill_n(row(1), shape.k, std::numeric_limits<float>::denorm_min());
    row(2)[40] = infinity;
    row(3)[90] = -infinity;
    row(4)[5] = std::numeric_limits<float>::quiet_NaN();
    std::fill_n(row(5), shape.k, std::numeric_limits<float>::max());
    std::fill_n(row(6), shape.k, -0.0F);
    const KernelOutcome result = product.run(operands, product.launchOfAll());
    operands.expectRight(product.launchOfAll(), result);
    ASSERT_EQ(result.report, "");
    EXPECT_TRUE(std::isnan(result.values[size_t(2 * shape.n)])) << type;
    EXPECT_TRUE(std::isnan(result.values[size_t(4 * shape.n)])) << type;
    EXPECT_FALSE(std::isnan(result.values[0])) << type;
  }
}

/// Returns the bank passes of a product beyond the minimum, relative to it.
double extraPasses(const CodesShape &shape) {
  CompiledCodes product(shape);
  return extraPassesOf(
      [&] { EXPECT_EQ(product.run(CodesOperands(shape, 3), product.launchOfAll()).report, ""); });
}

TEST(BlockIntegers, LanesWantDifferentBanks) {
  for (const CodesShape &shape :
       {CodesShape{192, 256, 128, "i8, row"}, CodesShape{48, 512, 16, "i8, row"},
        CodesShape{96, 256, 128, "i8, 128"}, CodesShape{96, 256, 128, "i4, 32, bf16"},
        CodesShape{48, 512, 16, "i4, 32, bf16"}}) {
    EXPECT_LE(extraPasses(shape), 0.15) << shape.type << ", " << shape.rows << " rows";
  }
}

} // namespace
} // namespace heddle
