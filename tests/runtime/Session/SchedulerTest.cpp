// SPDX-License-Identifier: Apache-2.0
///
/// Division of batches into chunks.
#include "runtime/Session/Scheduler.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace heddle;

/// Checks that the chunks cover every sequence exactly once.
static void expectCover(std::span<const Chunk> chunks, const std::vector<int32_t> &lengths) {
  std::vector<Chunk> sorted(chunks.begin(), chunks.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const Chunk &a, const Chunk &b) { return a.firstSequence < b.firstSequence; });
  int64_t sequence = 0;
  int64_t token = 0;
  for (const Chunk &chunk : sorted) {
    EXPECT_EQ(chunk.firstSequence, sequence);
    EXPECT_EQ(chunk.firstToken, token);
    int64_t tokens = 0;
    int64_t longest = 0;
    for (int64_t i = 0; i < chunk.sequences; ++i) {
      tokens += lengths[static_cast<size_t>(sequence + i)];
      longest = std::max<int64_t>(longest, lengths[static_cast<size_t>(sequence + i)]);
    }
    EXPECT_EQ(chunk.tokens, tokens);
    EXPECT_EQ(chunk.longest, longest);
    EXPECT_GT(chunk.sequences, 0);
    sequence += chunk.sequences;
    token += tokens;
  }
  EXPECT_EQ(sequence, static_cast<int64_t>(lengths.size()));
}

TEST(Scheduler, CoversRandomBatches) {
  std::mt19937 random(3);
  Scheduler scheduler;
  for (int i = 0; i < 300; ++i) {
    std::vector<int32_t> lengths(random() % 60 + 1);
    for (int32_t &length : lengths) {
      length = static_cast<int32_t>(random() % 200 + 1);
    }
    const int threads = static_cast<int>(random() % 8 + 1);
    const bool chunked = scheduler.cut(lengths, {1, 0.001}, threads, int64_t(random() % 500 + 1),
                                       static_cast<Schedule>(random() % 3));
    expectCover(scheduler.chunks(), lengths);
    EXPECT_TRUE(chunked || scheduler.chunks().size() == 1);
  }
}

TEST(Scheduler, OneThreadTakesChunksOfTheSize) {
  Scheduler scheduler;
  const std::vector<int32_t> lengths(32, 128);
  EXPECT_TRUE(scheduler.cut(lengths, {1, 0}, 1, 256, Schedule::Automatic));
  EXPECT_EQ(scheduler.chunks().size(), 16u);
  for (const Chunk &chunk : scheduler.chunks()) {
    EXPECT_EQ(chunk.tokens, 256);
  }
}

TEST(Scheduler, EvenBatchesAreChunked) {
  Scheduler scheduler;
  EXPECT_TRUE(
      scheduler.cut(std::vector<int32_t>(32, 128), {1, 0.001}, 2, 256, Schedule::Automatic));
  EXPECT_TRUE(scheduler.cut(std::vector<int32_t>(2, 64), {1, 0.001}, 2, 256, Schedule::Automatic));
  EXPECT_EQ(scheduler.chunks().size(), 2u);
}

TEST(Scheduler, FewLongSequencesAreShared) {
  Scheduler scheduler;
  EXPECT_FALSE(scheduler.cut(std::vector<int32_t>{128}, {1, 0.001}, 2, 256, Schedule::Automatic));
  EXPECT_FALSE(
      scheduler.cut(std::vector<int32_t>{500, 20}, {1, 0.001}, 2, 256, Schedule::Automatic));
  EXPECT_FALSE(
      scheduler.cut(std::vector<int32_t>{90, 90, 90}, {1, 0}, 2, 256, Schedule::Automatic));
  EXPECT_TRUE(scheduler.cut(std::vector<int32_t>{90, 90, 90}, {1, 0}, 2, 256, Schedule::Chunked));
}
