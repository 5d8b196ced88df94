// SPDX-License-Identifier: Apache-2.0
///
/// Products in f32 with quantised weights, by blocks on the emulated GPU: every element has the
/// bits of its sum in the order of k over dequantised weights, for any type of codes, sizes,
/// division of the work and order of threads.
#include "tests/EmulatedCompiler/LaunchedCodes.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace heddle {
namespace {

CodesShape dequantised(CodesShape shape) {
  shape.dequantises = true;
  return shape;
}

/// Sizes near those of tiles, slabs, groups and panels, and others. Groups end in the middle of
/// slabs, with them, or after them.
const CodesShape kShapes[] = {{1, 1, 1, "i8, row"},
                              {48, 32, 16, "i8, row"},
                              {49, 31, 17, "i8, row"},
                              {97, 130, 128, "i8, row"},
                              {60, 77, 70, "i8, row, full", 81},
                              {30, 258, 3, "i8, row, f16", 260},
                              {96, 192, 128, "i8, 64"},
                              {49, 200, 20, "i8, 64"},
                              {50, 100, 65, "i8, 16, f16"},
                              {97, 90, 3, "i8, 20"},
                              {33, 22, 70, "i8, 1"},
                              {48, 150, 129, "i8, 48, bf16"},
                              {40, 128, 66, "i8, 32, f16, minimums"},
                              {1, 1, 1, "i4, row"},
                              {97, 33, 70, "i4, row, bf16"},
                              {48, 128, 16, "i4, 128, f16"},
                              {50, 45, 70, "i4, 32, bf16", 47},
                              {49, 70, 17, "i4, 8, bf16"},
                              {96, 333, 67, "i4, 40, f16"},
                              {97, 300, 3, "i4, 128"},
                              {145, 96, 130, "i4, 32, f16, minimums"},
                              {49, 70, 5, "i4, 24, minimums"}};

TEST(DequantisedProduct, IsRightForAllSizes) {
  uint32_t seed = 0;
  for (const CodesShape &shape : kShapes) {
    expectRight(dequantised(shape), ++seed);
  }
}

TEST(DequantisedProduct, IsRightForRandomSizes) {
  std::mt19937 random(74);
  const std::string types[] = {"i8, row", "i8, 64",          "i8, 36, f16",
                               "i4, row", "i4, 32, bf16",    "i4, 16, f16, minimums",
                               "i4, 104", "i8, 7, minimums", "i4, 128, f16"};
  for (int seed = 0; seed < randomKernels(6); ++seed) {
    const auto below = [&](int64_t most) { return 1 + int64_t(random() % uint64_t(most)); };
    CodesShape shape = {below(150), below(300), below(140), types[random() % std::size(types)]};
    shape.stride = random() % 2 == 0 ? 0 : shape.k + below(5);
    expectRight(dequantised(shape), uint32_t(seed));
  }
}

TEST(DequantisedProduct, AnyDivisionGivesTheSameBits) {
  for (const std::string type : {"i8, 64", "i4, 32, f16, minimums"}) {
    const CodesShape shape = dequantised({160, 90, 150, type});
    CompiledCodes product(shape);
    const CodesOperands operands(shape, 7);
    for (KernelLaunch launch : {KernelLaunch{0, 150, 0, 4, 1}, KernelLaunch{0, 150, 0, 4, 16},
                                KernelLaunch{3, 4, 0, 4, 3}, KernelLaunch{5, 21, 1, 2, 1},
                                KernelLaunch{5, 149, 1, 4, 2}, KernelLaunch{90, 150, 3, 4, 5}}) {
      launch.shared = product.launchOfAll().shared;
      SCOPED_TRACE(testing::Message()
                   << "rows from " << launch.rowBegin << " to " << launch.rowEnd);
      operands.expectRight(launch, product.run(operands, launch));
    }
  }
}

TEST(DequantisedProduct, NothingDependsOnTheOrderOfThreads) {
  expectRightInAnyOrder(dequantised({100, 200, 70, "i4, 32, bf16"}));
}

// The last slab has steps past the end of k, whose rows are zero and whose codes are anything. Zero
// times an infinite weight would make NaN of an infinite sum.
TEST(DequantisedProduct, StepsPastTheEndHaveNoWeights) {
  constexpr int64_t column = 7;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const CodesShape shape = dequantised({50, 70, 3, "i8, 64"});
  CompiledCodes product(shape);
  CodesOperands operands(shape, 9);
  for (float &element : operands.rows) {
    element = std::fabs(element) + 0.5F;
  }
  RandomCodes &weights = operands.weights;
  std::fill_n(weights.own.codes.begin() + column * shape.k, shape.k, int8_t{3});
  weights.own.scales[size_t(column * weights.groups + 1)] = infinity;
  operands.panels = weights.panels(/*groupsOfColumns=*/1, /*together=*/1);
  const KernelOutcome outcome = product.run(operands, product.launchOfAll());
  operands.expectRight(product.launchOfAll(), outcome);
  ASSERT_EQ(outcome.report, "");
  EXPECT_EQ(outcome.values[column], infinity);
  EXPECT_TRUE(std::isfinite(outcome.values[column + 1]));
}

// With as many groups, three stages of heads take more than the memory that every GPU provides by
// default, but less than the 99 KB that a block may have on any of them.
TEST(DequantisedProduct, ManyGroupsFitInMemory) {
  constexpr unsigned usual = 48 * 1024, most = 99 * 1024;
  const auto sharedOf = [](const std::string &type) {
    return CompiledCodes(dequantised({96, 384, 1, type})).launchOfAll().shared;
  };
  EXPECT_GT(sharedOf("i8, 1, minimums"), usual);
  EXPECT_LE(sharedOf("i8, 1, minimums"), most);
  for (const std::string type : {"i8, 64", "i8, 16, minimums", "i4, 8, minimums", "i4, row"}) {
    EXPECT_LE(sharedOf(type), usual) << type;
  }
}

TEST(DequantisedProduct, LanesWantDifferentBanks) {
  for (const CodesShape &given :
       {CodesShape{96, 128, 128, "i8, 64"}, CodesShape{48, 256, 16, "i8, 64"},
        CodesShape{96, 128, 128, "i4, 128, f16"},
        CodesShape{48, 256, 16, "i4, 32, f16, minimums"}}) {
    const CodesShape shape = dequantised(given);
    CompiledCodes product(shape);
    const double extra = extraPassesOf(
        [&] { EXPECT_EQ(product.run(CodesOperands(shape, 3), product.launchOfAll()).report, ""); });
    EXPECT_LE(extra, 0.15) << shape.type << ", " << shape.rows << " rows";
  }
}

} // namespace
} // namespace heddle
