// SPDX-License-Identifier: Apache-2.0
///
/// Products of blocks on the emulated GPU: every element has the bits of its sum in the order of k,
/// whatever the sizes, the division of the work and the order of threads.
#include "tests/EmulatedCompiler/LaunchedProduct.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

namespace heddle {
namespace {

/// Expects all that a launch computes to be right, and nothing else to be written.
void expectRight(const ProductOperands &operands, const ProductLaunch &launch,
                 const ProductResult &result) {
  ASSERT_EQ(result.report, "");
  const ProductShape &shape = operands.shape;
  const int64_t begin = launch.columnBegin * ProductShape::panelColumns;
  const int64_t end = launch.columnEnd * ProductShape::panelColumns;
  for (int64_t row = 0; row < shape.rows; ++row) {
    for (int64_t column = 0; column < shape.n; ++column) {
      const float found = result.values[size_t(row * shape.n + column)];
      const bool isOfLaunch =
          row >= launch.rowBegin && row < launch.rowEnd && column >= begin && column < end;
      if (isOfLaunch) {
        ASSERT_EQ(found, operands.expected(row, column)) << "row " << row << " column " << column;
      } else {
        ASSERT_TRUE(std::isnan(found)) << "row " << row << " column " << column;
      }
    }
  }
}

/// Sizes around those of tiles, slabs and panels, and others.
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
                                {145, 17, 140, 0, true}};

TEST(BlockProduct, IsRightForAllSizes) {
  uint32_t seed = 0;
  for (const ProductShape &shape : kShapes) {
    SCOPED_TRACE(testing::Message() << shape.n << " x " << shape.k << ", " << shape.rows << " rows"
                                    << (shape.isBf16 ? ", bf16" : ""));
    CompiledProduct product(shape);
    const ProductOperands operands(shape, ++seed);
    const ProductLaunch launch = product.launchOfAll();
    expectRight(operands, launch, product.run(operands, launch));
  }
}

TEST(BlockProduct, AnyDivisionGivesTheSameBits) {
  const ProductShape shape = {160, 45, 150};
  CompiledProduct product(shape);
  const ProductOperands operands(shape, 7);
  for (ProductLaunch launch : {ProductLaunch{0, 150, 0, 4, 1}, ProductLaunch{0, 150, 0, 4, 16},
                               ProductLaunch{3, 4, 0, 4, 3}, ProductLaunch{5, 21, 1, 2, 1},
                               ProductLaunch{5, 149, 1, 4, 2}, ProductLaunch{90, 150, 3, 4, 5}}) {
    launch.shared = product.launchOfAll().shared;
    SCOPED_TRACE(testing::Message() << "rows from " << launch.rowBegin << " to " << launch.rowEnd);
    expectRight(operands, launch, product.run(operands, launch));
  }
}

TEST(BlockProduct, NothingDependsOnTheOrderOfThreads) {
  const ProductShape shape = {100, 40, 70};
  CompiledProduct product(shape, "sm_90a");
  const ProductOperands operands(shape, 8);
  for (const char *const seed : {"1000", "2000", "3000"}) {
    ::setenv("HEDDLE_EMULATOR_SEED", seed, 1);
    expectRight(operands, product.launchOfAll(), product.run(operands, product.launchOfAll()));
  }
  ::unsetenv("HEDDLE_EMULATOR_SEED");
}

} // namespace
} // namespace heddle
