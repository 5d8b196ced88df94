// SPDX-License-Identifier: Apache-2.0
///
/// The weights of attention, and its scores, by blocks on the emulated GPU: every number agrees
/// with the definition, keys that a row does not see weigh nothing, memory behind the keys of a
/// sequence stays as it was, and a sequence has the same bits in every batch.
#include "tests/EmulatedCompiler/LaunchedAttention.h"
#include "tests/EmulatedCompiler/PlantedDefects.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace heddle {
namespace {

using transformer::Visibility;
using enum AttentionShape::Result;

const AttentionShape kShapes[] = {
    {.heads = 2, .keySize = 32, .valueSize = 0, .result = Weights},
    {.heads = 1, .keySize = 3, .valueSize = 0, .result = Weights},
    {.heads = 3,
     .keySize = 24,
     .valueSize = 0,
     .visibility = Visibility::causal(),
     .biasDistance = 4,
     .before = 5,
     .result = Weights},
    {.heads = 1,
     .keySize = 130,
     .valueSize = 0,
     .visibility = Visibility::band(9, 4),
     .result = Weights},
    {.heads = 4,
     .keySize = 16,
     .valueSize = 0,
     .visibility = Visibility::causal(),
     .isCached = true,
     .keyShare = 2,
     .result = Weights},
    // More heads than a tile has rows.
    {.heads = 70, .keySize = 4, .valueSize = 0, .keyShare = 70, .result = Weights},
    {.heads = 2,
     .keySize = 16,
     .valueSize = 0,
     .visibility = Visibility::causal(),
     .score = "tanh",
     .hidden = "added",
     .result = Weights},
    {.heads = 1, .keySize = 64, .valueSize = 0, .isCached = true, .result = Weights},
    {.heads = 1,
     .keySize = 19,
     .valueSize = 0,
     .isCached = true,
     .hasPairs = true,
     .result = Weights},
    {.heads = 2, .keySize = 20, .valueSize = 0, .hasPairs = true, .result = Scores},
    {.heads = 1,
     .keySize = 6,
     .valueSize = 0,
     .hasPairs = true,
     .locationHeads = {2, 1},
     .locationTaps = {3, 7},
     .result = Weights},
    {.heads = 2,
     .keySize = 5,
     .valueSize = 0,
     .isCached = true,
     .hasPairs = true,
     .locationHeads = {1, 2},
     .locationTaps = {5, 1},
     .locationFilters = 20,
     .result = Weights},
    {.heads = 2, .keySize = 16, .valueSize = 0, .score = "tanh", .result = Scores}};

/// Returns the number of keys of a part: all of a sequence or, in a cache, those before its end.
int64_t keysOf(const AttentionShape &shape, const AttentionPart &part) {
  return shape.isCached ? part.first + part.rows : part.sequence->length;
}

/// Expects the numbers of all rows, heads and keys of a batch.
void expectRight(const AttentionShape &shape, const std::vector<AttentionPart> &batch) {
  const CompiledAttention attention(shape);
  const KernelLaunch launch = attention.launchOf(batch);
  EXPECT_GT(launch.shared, 0U) << "not computed by blocks";
  const KernelOutcome outcome = attention.run(batch, launch);
  ASSERT_EQ(outcome.report, "");
  int64_t longest = 0, number = 0;
  for (const AttentionPart &part : batch) {
    longest = std::max(longest, keysOf(shape, part));
  }
  for (const AttentionPart &part : batch) {
    for (int64_t row = 0; row < part.rows; ++row, ++number) {
      const int64_t own = part.first + row;
      for (int64_t head = 0; head < shape.heads; ++head) {
        const std::vector<double> expected = attention.expectedWeights(*part.sequence, own, head);
        for (int64_t key = 0; key < longest; ++key) {
          const int64_t place = (number * shape.heads + head) * longest + key;
          const float found = outcome.values[size_t(place)];
          if (key >= keysOf(shape, part)) {
            ASSERT_TRUE(std::isnan(found)) << "row " << number << ", key " << key;
            continue;
          }
          ASSERT_NEAR(found, expected[size_t(key)], 1e-5)
              << "row " << number << ", head " << head << ", key " << key;
          if (shape.hidden.empty() && !shape.visibility.sees(own, key)) {
            ASSERT_EQ(found, 0.0F) << "row " << number << ", key " << key;
          }
        }
      }
    }
  }
}

TEST(BlockWeights, AgreeWithTheirDefinition) {
  int number = 0;
  for (const AttentionShape &shape : kShapes) {
    SCOPED_TRACE(testing::Message() << "shape " << number++);
    // One tile and two, one span and two.
    const AttentionSequence one(shape, 5, 1), two(shape, 70, 2), three(shape, 33, 3);
    expectRight(shape, {{&one, 0, 5}, {&two, 0, 70}, {&three, 0, 33}});
  }
}

TEST(BlockWeights, OfASequenceHaveTheSameBitsInAnyBatch) {
  for (const bool hasPairs : {false, true}) {
    const AttentionShape shape = {.heads = 2,
                                  .keySize = 20,
                                  .valueSize = 0,
                                  .visibility = Visibility::causal(),
                                  .hasPairs = hasPairs,
                                  .result = Weights};
    const CompiledAttention attention(shape);
    const AttentionSequence own(shape, 50, 1), other(shape, 61, 2);
    const std::vector<float> alone = attention.run({{&own, 0, 50}}).values;
    const std::vector<float> together = attention.run({{&other, 0, 61}, {&own, 0, 50}}).values;
    ASSERT_EQ(alone.size(), size_t(50 * 2 * 50));
    ASSERT_EQ(together.size(), size_t(111 * 2 * 61));
    for (size_t row = 0; row < 100; ++row) {
      for (size_t key = 0; key < 50; ++key) {
        const float a = alone[row * 50 + key], b = together[(61 * 2 + row) * 61 + key];
        ASSERT_EQ(std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b))
            << "row " << row << ", key " << key;
      }
    }
  }
}

/// Returns the weights of a row, of all heads and keys.
std::vector<float> rowOf(const std::vector<float> &values, int64_t row, int64_t width) {
  const auto begin = values.begin() + row * width;
  return std::vector<float>(begin, begin + width);
}

// In a window, the keys that the first pass reads depend on the rows of the tile. Shared heads, of
// which a launch has a part, are in one tile.
TEST(BlockWeights, HaveTheSameBitsInAnyDivision) {
  const AttentionShape shape = {.heads = 4,
                                .keySize = 16,
                                .valueSize = 0,
                                .visibility = Visibility::band(12, 3),
                                .keyShare = 2,
                                .result = Weights};
  const CompiledAttention attention(shape);
  const AttentionSequence one(shape, 60, 1), two(shape, 75, 2);
  const std::vector<AttentionPart> batch = {{&one, 0, 60}, {&two, 0, 75}};
  const std::vector<float> whole = attention.run(batch).values;
  KernelLaunch launch = attention.launchOf(batch);
  launch.rowBegin = 41;
  launch.rowEnd = 100;
  launch.columnBegin = 1;
  launch.columnEnd = 3;
  launch.blocks = 3;
  const KernelOutcome part = attention.run(batch, launch);
  ASSERT_EQ(part.report, "");
  for (int64_t line = 0; line < 135 * 4; ++line) {
    const int64_t row = line / 4, head = line % 4, keys = row < 60 ? 60 : 75;
    const bool isOfLaunch = row >= 41 && row < 100 && head >= 1 && head < 3;
    for (int64_t key = 0; key < keys; ++key) {
      const float found = part.values[size_t(line * 75 + key)];
      if (isOfLaunch) {
        ASSERT_EQ(found, whole[size_t(line * 75 + key)]) << "row " << row << ", key " << key;
      } else {
        ASSERT_TRUE(std::isnan(found)) << "row " << row << ", key " << key;
      }
    }
  }
}

// Chunks of a text have its keys in a cache, as far as they have come.
TEST(BlockWeights, OfATextHaveTheSameBitsInAnyChunks) {
  const AttentionShape shape = {.heads = 1,
                                .keySize = 24,
                                .valueSize = 0,
                                .visibility = Visibility::band(30, 0),
                                .isCached = true,
                                .result = Weights};
  const CompiledAttention attention(shape);
  const AttentionSequence own(shape, 70, 1);
  const std::vector<float> whole = attention.run({{&own, 0, 70}}).values;
  for (const AttentionPart &chunk : {AttentionPart{&own, 0, 20}, {&own, 20, 45}, {&own, 69, 1}}) {
    const int64_t keys = chunk.first + chunk.rows;
    const KernelOutcome found = attention.run({chunk});
    ASSERT_EQ(found.report, "");
    for (int64_t row = 0; row < chunk.rows; ++row) {
      std::vector<float> right = rowOf(whole, chunk.first + row, 70);
      right.resize(size_t(keys));
      ASSERT_EQ(rowOf(found.values, row, keys), right) << "row " << chunk.first + row;
    }
  }
}

// A row whose scores have no maximum has weights that are no numbers, and no weight where it sees
// nothing, whatever the rows beside it see.
TEST(BlockWeights, OfARowThatIsNoNumberAreZeroWhereItSeesNothing) {
  const AttentionShape shape = {.heads = 1,
                                .keySize = 8,
                                .valueSize = 0,
                                .visibility = Visibility::causal(),
                                .result = Weights};
  AttentionSequence own(shape, 40, 1);
  own.queries[size_t(5 * shape.keySize)] = std::numeric_limits<float>::quiet_NaN();
  const KernelOutcome found = CompiledAttention(shape).run({{&own, 0, 40}});
  ASSERT_EQ(found.report, "");
  for (int64_t key = 0; key < 40; ++key) {
    const float weight = found.values[size_t(5 * 40 + key)];
    EXPECT_TRUE(key <= 5 ? std::isnan(weight) : weight == 0) << key;
  }
}

// The barriers before and after the scores of each pass.
TEST(BlockWeights, AreReportedWithoutABarrier) {
  const AttentionShape shape = {.heads = 1, .keySize = 32, .valueSize = 0, .result = Weights};
  // The third one is for tiles that see no keys: others have the first of their spans.
  for (const size_t barrier : {0, 1, 3, 4, 5, 6}) {
    CompiledAttention attention(shape);
    auto barriers = all<mlir::NVVM::Barrier0Op>(attention.body());
    ASSERT_EQ(barriers.size(), 7U);
    barriers[barrier].erase();
    expectReported(attention.runAlone(/*length=*/100), "attention",
                   "(reads|writes) byte [0-9]+ of shared memory, which .*(nobody has written|since "
                   "the last barrier)");
  }
}

} // namespace
} // namespace heddle
