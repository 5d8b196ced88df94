// SPDX-License-Identifier: Apache-2.0
///
/// The output of commands: records, matrices, files that are complete or absent, and progress.
#include "runtime/Tools/Commands.h"
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/OutputStream.h"
#include "runtime/Tools/Lines/Progress.h"
#include "tests/base/TemporaryFolder.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

namespace heddle::tools {

TEST(JsonRecord, Lines) {
  std::string lines;
  const std::vector<int32_t> tokens = {101, 7, 102};
  appendRecord(lines, "a \"b\"\n\xc3\xa9", tokens);
  appendRecord(lines, "", {}, std::vector<float>{0.5F, -1.0F, 1e-9F});
  EXPECT_EQ(lines, "{\"text\": \"a \\\"b\\\"\\n\xc3\xa9\", \"tokens\": [101, 7, 102]}\n"
                   "{\"text\": \"\", \"tokens\": [], \"embedding\": [0.5, -1, 1e-09]}\n");
}

TEST(JsonRecord, WhatIsNotFiniteIsNull) {
  std::string line;
  const std::vector<float> values = {std::numeric_limits<float>::infinity(), std::nanf("")};
  appendRecord(line, "x", {}, values);
  EXPECT_EQ(line, "{\"text\": \"x\", \"tokens\": [], \"embedding\": [null, null]}\n");
}

TEST(JsonRecord, FloatsReadBackTheSame) {
  std::mt19937 random(1);
  std::vector<float> values = {0.0F, -0.0F, std::numeric_limits<float>::denorm_min(),
                               std::numeric_limits<float>::max(), 1.0F / 3.0F};
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::generate_n(std::back_inserter(values), 2000, [&] { return uniform(random); });
  std::string line;
  appendRecord(line, "x", {}, values);
  const nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
  ASSERT_TRUE(record.is_object());
  EXPECT_EQ(record["embedding"].get<std::vector<float>>(), values);
}

TEST(Npy, HeaderOfVersionOne) {
  const std::string header = npyHeader(3, 384);
  EXPECT_EQ(header.size() % 64, 0U);
  EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const auto low = static_cast<unsigned char>(header[8]);
  const auto high = static_cast<unsigned char>(header[9]);
  EXPECT_EQ(low + 256U * high, header.size() - 10);
  EXPECT_EQ(header.substr(10, 61), "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 384), }");
  EXPECT_EQ(header.back(), '\n');
  EXPECT_EQ(npyHeader(123456789012, 1234567).size() % 64, 0U);
}

TEST(OutputStream, FilesAreWholeOrAbsent) {
  const TemporaryFolder folder;
  folder.write("kept", "old");
  {
    Result<OutputStream> stream = OutputStream::open(folder / "kept");
    ASSERT_TRUE(stream.ok());
    ASSERT_TRUE(stream->write("half").ok());
  }
  EXPECT_EQ(folder.read("kept"), "old");
  Result<OutputStream> stream = OutputStream::open(folder / "kept");
  ASSERT_TRUE(stream.ok());
  ASSERT_TRUE(stream->write("whole").ok());
  ASSERT_TRUE(stream->finish().ok());
  EXPECT_EQ(folder.read("kept"), "whole");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"kept"});
}

namespace {
/// A clock that is set manually, and the output.
struct Screen {
  Progress::Clock::time_point time;
  std::vector<std::string> lines;

  Progress progress() {
    return Progress(
        "texts", [this] { return time; },
        [this](std::string_view line) { lines.emplace_back(line); });
  }
};
} // namespace

TEST(Progress, NothingInTheFirstSecond) {
  Screen screen;
  {
    Progress progress = screen.progress();
    screen.time += std::chrono::milliseconds(999);
    progress.update(10, std::nullopt);
  }
  EXPECT_TRUE(screen.lines.empty());
}

TEST(Progress, FiveLinesASecondThenGone) {
  Screen screen;
  {
    Progress progress = screen.progress();
    screen.time += std::chrono::seconds(2);
    progress.update(10, std::nullopt);
    screen.time += std::chrono::milliseconds(100);
    progress.update(20, std::nullopt);
    screen.time += std::chrono::milliseconds(400);
    progress.update(50, 100);
  }
  const std::vector<std::string> expected = {"\r\x1b[K10 texts, 5 texts a second",
                                             "\r\x1b[K50 of 100 texts, 20 texts a second",
                                             "\r\x1b[K"};
  EXPECT_EQ(screen.lines, expected);
}

TEST(Progress, QuietWritesNothing) {
  Progress progress("texts", true);
  progress.update(10, std::nullopt);
}

} // namespace heddle::tools
