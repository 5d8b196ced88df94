// SPDX-License-Identifier: Apache-2.0
///
/// Parts of `heddle bench`: lengths from a file, medians, and pinning.
#include "runtime/Tools/Measure/Workload.h"
#include "tests/base/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <thread>

namespace heddle::tools {

namespace {
struct LengthsTest : testing::Test {
  std::string messageOf(const std::string &content) {
    const Status status = readLengths(folder.write("lengths", content)).status();
    return std::string(status.message()).erase(0, folder.path().size() + 1);
  }
  TemporaryFolder folder;
};
} // namespace

TEST_F(LengthsTest, OneALine) {
  const Result<Shape> shape = readLengths(folder.write("lengths", "7\r\n12\n1"));
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape->name, "lengths");
  EXPECT_EQ(shape->lengths, (std::vector<int32_t>{7, 12, 1}));
  EXPECT_EQ(shape->tokens(), 20);
}

TEST_F(LengthsTest, Errors) {
  const std::string expected = " is not a length, expected a positive number of tokens";
  EXPECT_EQ(messageOf(""), "lengths: no lengths, expected one a line");
  EXPECT_EQ(messageOf("7\nx\n"), "lengths:2: \"x\"" + expected);
  EXPECT_EQ(messageOf("7\n\n8\n"), "lengths:2: \"\"" + expected);
  EXPECT_EQ(messageOf("0\n"), "lengths:1: \"0\"" + expected);
  EXPECT_EQ(messageOf("7 \n"), "lengths:1: \"7 \"" + expected);
  EXPECT_EQ(messageOf("67108865\n"), "lengths:1: \"67108865\"" + expected);
  EXPECT_EQ(messageOf("67108864\n1\n"),
            "lengths:2: 67108865 tokens up to here, expected at most 67108864 in one batch");
  EXPECT_EQ(readLengths(folder / "absent").status().code(), StatusCode::NotFound);
}

TEST(Timing, Medians) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({4, 1, 3, 2}), 3);
}

TEST(Timing, AtLeastFiveRunsAndTwoSeconds) {
  double time = 0;
  int runs = 0;
  const auto clock = [&] { return time; };
  const auto run = [&](double seconds) {
    return [&, seconds]() -> Status {
      time += seconds;
      ++runs;
      return {};
    };
  };
  const Result<RunTimes> slow = timeWork(run(1.0), clock);
  ASSERT_TRUE(slow.ok());
  EXPECT_DOUBLE_EQ(slow->median, 1.0);
  EXPECT_EQ(runs, 3 + 5);
  runs = 0;
  const Result<RunTimes> fast = timeWork(run(0.125), clock);
  ASSERT_TRUE(fast.ok());
  EXPECT_DOUBLE_EQ(fast->median, 0.125);
  EXPECT_EQ(runs, 3 + 16);
  runs = 0;
  ASSERT_TRUE(timeWork(run(0.125), clock, 2).ok());
  EXPECT_EQ(runs, 1 + 2);
}

TEST(Timing, SaysOnceWhichRunsDifferMuch) {
  const RunTimes steady({1.0, 1.25, 1.25, 9.0, 1.25});
  EXPECT_DOUBLE_EQ(steady.median, 1.25);
  EXPECT_DOUBLE_EQ(steady.least, 1);
  EXPECT_DOUBLE_EQ(steady.most, 9);
  EXPECT_DOUBLE_EQ(steady.spread(), 1.25);
  EXPECT_DOUBLE_EQ(RunTimes({2.0}).spread(), 1);
  SpreadNote note;
  note.add("1x16", steady);
  note.add("8x40", RunTimes({2.0}));
  EXPECT_EQ(note.text(), "");
  note.add("32x128", RunTimes({1.0, 1.3, 1.3}));
  note.add("4x4", RunTimes({1.0, 2.0}));
  EXPECT_EQ(note.text(), "heddle: note: the runs of 32x128, 4x4 differ much: the median is more "
                         "than 1.25 times the least time; other work disturbed the machine, "
                         "measure again\n");
}

TEST(Timing, FailuresEndIt) {
  int runs = 0;
  const Result<RunTimes> failed = timeWork(
      [&]() -> Status { return ++runs < 5 ? Status() : HEDDLE_ERROR(OutOfRange, "too long"); });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().message(), "too long");
  EXPECT_EQ(runs, 5);
}

TEST(Timing, PinnedToTheFirstProcessors) {
  // In a separate thread, because pinning is permanent.
  std::thread([] {
    ASSERT_TRUE(pinToFirstProcessors(1).ok());
    cpu_set_t allowed;
    ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
    EXPECT_EQ(CPU_COUNT(&allowed), 1);
  }).join();
}

} // namespace heddle::tools
