// SPDX-License-Identifier: Apache-2.0
///
/// Lines of ids, whether input is ready, and the progress of generation.
#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Lines/LineReader.h"
#include "runtime/Tools/Lines/Progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle::tools {

TEST(TokenLine, ReadsAndWrites) {
  EXPECT_EQ(*parseTokenLine(" 5  17\t2 "), (std::vector<int32_t>{5, 17, 2}));
  EXPECT_TRUE(parseTokenLine("  ")->empty());
  EXPECT_EQ(tokenLine(std::vector<int32_t>{5, 17, 2}), "5 17 2");
  EXPECT_EQ(tokenLine({}), "");
}

TEST(TokenLine, CutsWhatIsTooLong) {
  EXPECT_EQ(*parseTokenLine("5 17 2", 2), (std::vector<int32_t>{5, 17}));
  EXPECT_EQ(*parseTokenLine("5 17 2", 3), (std::vector<int32_t>{5, 17, 2}));
  // The truncated part is checked as well.
  EXPECT_EQ(parseTokenLine("5 17 x", 1).status().message(), "word 3 is \"x\", expected a token id");
}

/// A line that is too long waits for its end like any other, in constant memory.
TEST(LineReader, IsNotReadyWithinALineThatIsTooLong) {
  const std::string path = testing::TempDir() + "/line-reader-long";
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const int pipe = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(pipe, 0);
  Result<LineReader> reader = LineReader::open(path);
  ASSERT_TRUE(reader.ok());
  const std::string piece(size_t(1) << 15, 'x');
  for (size_t written = 0; written <= 2 * lineLimit; written += piece.size()) {
    ASSERT_EQ(::write(pipe, piece.data(), piece.size()), static_cast<ssize_t>(piece.size()));
    ASSERT_FALSE(*reader->ready(0));
  }
  ASSERT_EQ(::write(pipe, "\ntwo\n", 5), 5);
  EXPECT_TRUE(*reader->ready(1000));
  EXPECT_TRUE(
      (*reader->next())
          ->status.message()
          .ends_with(":1: the line is longer than 16777216 bytes, expected a shorter text"));
  EXPECT_EQ((*reader->next())->text, "two");
  ::close(pipe);
  ::unlink(path.c_str());
}

TEST(TokenLine, NamesTheWordThatIsNoId) {
  for (const char *word : {"x", "-1", "7.5", "99999999999"}) {
    const Result<std::vector<int32_t>> tokens = parseTokenLine(std::string("5 ") + word);
    EXPECT_EQ(tokens.status().code(), StatusCode::InvalidArgument);
    EXPECT_EQ(tokens.status().message(),
              std::string("word 2 is \"") + word + "\", expected a token id");
  }
}

TEST(LineReader, IsReadyWhenALineIsThere) {
  const std::string path = testing::TempDir() + "/line-reader-ready";
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  // Open both ends, so that opening does not block.
  const int pipe = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(pipe, 0);
  Result<LineReader> reader = LineReader::open(path);
  ASSERT_TRUE(reader.ok());
  EXPECT_FALSE(*reader->ready(0));
  ASSERT_EQ(::write(pipe, "one\ntw", 6), 6);
  EXPECT_TRUE(*reader->ready(1000));
  EXPECT_EQ((*reader->next())->text, "one");
  EXPECT_FALSE(*reader->ready(0));
  ASSERT_EQ(::write(pipe, "o\n", 2), 2);
  EXPECT_TRUE(*reader->ready(1000));
  EXPECT_EQ((*reader->next())->text, "two");
  ::close(pipe);
  // The end of input counts as ready.
  EXPECT_TRUE(*reader->ready(1000));
  EXPECT_FALSE(reader->next()->has_value());
  ::unlink(path.c_str());
}

TEST(GenerationProgress, ShowsSpeedAndTimeLeft) {
  std::string written;
  Progress::Clock::time_point time{};
  Progress progress(
      "sentences", [&] { return time; }, [&](std::string_view text) { written = text; });
  progress.update(1, 10, 100);
  EXPECT_EQ(written, "");
  time += std::chrono::seconds(10);
  progress.update(5, 20, 1000);
  EXPECT_EQ(written, "\r\x1b[K[======                  ] 5 of 20 sentences, 100 tokens a second, "
                     "0:30 left");
  time += std::chrono::seconds(90);
  progress.update(8, std::nullopt, 1000);
  EXPECT_EQ(written, "\r\x1b[K8 sentences, 10 tokens a second");
}

} // namespace heddle::tools
