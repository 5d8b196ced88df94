// SPDX-License-Identifier: Apache-2.0
///
/// Into how many blocks and sections launches are divided, and the memory that these need.
#include "runtime/Device/Cuda/LaunchShapes.h"

#include "heddle/Abi.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

/// A launch of a kernel, all of whose rows have as many keys.
class LaunchShapesTest : public testing::Test {
protected:
  static constexpr unsigned mostBlocks = 132;
  static constexpr int64_t sectionKeys = 1024;
  static constexpr uint64_t partialBytes = 520;

  CudaKernel kernel;
  HeddleRows keys = {};
  const HeddleRows *const spaces = &keys;
  HeddleKernelContext context = {nullptr, &spaces, nullptr};

  LaunchShapesTest() {
    kernel.threads = 128;
    kernel.shared = 1024;
    kernel.mostBlocks = mostBlocks;
    kernel.sectionKeys = sectionKeys;
    kernel.partialBytes = partialBytes;
    kernel.pieceRows = 2;
    kernel.pieceColumns = 4;
    kernel.spaces = 1;
  }
  Launch launchOf(Range rows, int64_t columns) const {
    return {&kernel, nullptr, &context, rows, {0, columns}, /*rowTile=*/1, /*scratch=*/0};
  }
  SectionMemory sectionsOf(Range rows, int64_t columns, int64_t longest) {
    keys.longest = longest;
    return sectionMemory(kernel, launchOf(rows, columns));
  }
};

TEST_F(LaunchShapesTest, FewRowsOfManyKeysHaveSections) {
  // A power of two of sections and of rows.
  const SectionMemory sections = sectionsOf({0, 3}, 8, 2 * sectionKeys + 1);
  EXPECT_EQ(sections.count, 4);
  EXPECT_EQ(sections.bytes, 4 * 8 * 4 * partialBytes);
  EXPECT_EQ(sections.before, 0U);
  // Partial results are numbered by rows of the batch.
  EXPECT_EQ(sectionsOf({5, 7}, 8, 2 * sectionKeys).before, 5 * 8 * 2 * partialBytes);
}

TEST_F(LaunchShapesTest, OthersHaveOne) {
  EXPECT_EQ(sectionsOf({0, 1}, 8, sectionKeys).count, 1);
  // They have a piece for each block, though fewer rows and columns than that would be without.
  EXPECT_EQ(sectionsOf({0, 8}, 132, 2 * sectionKeys).count, 1);
  EXPECT_EQ(sectionsOf({0, 8}, 128, 2 * sectionKeys).count, 2);
  EXPECT_EQ(sectionsOf({0, 1}, 129 * 4, 2 * sectionKeys).count, 2);
  // A part of the columns, and a kernel that another one finishes.
  keys.longest = 2 * sectionKeys;
  Launch launch = launchOf({0, 1}, 8);
  launch.columns.begin = 1;
  EXPECT_EQ(sectionMemory(kernel, launch).count, 1);
  launch = launchOf({0, 1}, 8);
  launch.finish = &kernel;
  EXPECT_EQ(sectionMemory(kernel, launch).count, 1);
  kernel.sectionKeys = 0;
  EXPECT_EQ(sectionsOf({0, 1}, 8, 2 * sectionKeys).count, 1);
}

TEST_F(LaunchShapesTest, MemoryForSectionsIsLimited) {
  constexpr int64_t most = (int64_t(256) << 20) / (8 * partialBytes);
  EXPECT_GT(sectionsOf({0, 1}, 8, (most / 2) * sectionKeys).count, 1);
  EXPECT_EQ(sectionsOf({0, 1}, 8, 2 * most * sectionKeys).count, 1);
}

TEST_F(LaunchShapesTest, BlocksAreThoseThatHaveWorkAndMemory) {
  EXPECT_EQ(blocksOf(kernel, launchOf({0, 3}, 5), 5, 0), 20U);
  EXPECT_EQ(blocksOf(kernel, launchOf({0, 300}, 5), 5, 0), mostBlocks);
  // Each thread is a caller, with scratch memory of its own.
  kernel.shared = 0;
  EXPECT_EQ(blocksOf(kernel, launchOf({0, 300}, 1), 1, 0), 4U);
  Launch launch = launchOf({0, 300}, 1);
  launch.scratch = 100;
  EXPECT_EQ(blocksOf(kernel, launch, 1, 100 * (2 * 128 + 1)), 2U);
  launch.rowTile = 16;
  EXPECT_EQ(blocksOf(kernel, launch, 1, 100 * 1024), 1U);
}

TEST_F(LaunchShapesTest, LargeLaunchesRoundRowsBefore) {
  EXPECT_EQ(roundedMemory(kernel, launchOf({0, 1 << 20}, 1)), 0U);
  kernel.roundedFrom = 1000;
  kernel.roundedBytes = 256;
  EXPECT_EQ(roundedMemory(kernel, launchOf({0, 999}, 1)), 0U);
  EXPECT_EQ(roundedMemory(kernel, launchOf({7, 1007}, 1)), 1024U * 256);
  // As many as fit, and one more.
  EXPECT_EQ(roundedMemory(kernel, launchOf({0, (1 << 20) - 1}, 1)), uint64_t(256) << 20);
  EXPECT_EQ(roundedMemory(kernel, launchOf({0, (1 << 20) + 1}, 1)), 0U);
}

} // namespace
} // namespace heddle
