// SPDX-License-Identifier: Apache-2.0
///
/// Replaces bytes of a file that is being written.
#include "base/AtomicFile.h"
#include "base/MappedFile.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace heddle;

static std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Overwrite, ReplacesBytes) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("heddle-overwrite-" + std::to_string(::getpid())))
          .string();
  Result<AtomicFile> file = AtomicFile::open(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("head and body").ok());
  ASSERT_TRUE(file->overwrite(0, bytesOf("HEAD")).ok());
  ASSERT_TRUE(file->write("!").ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(MappedFile::open(path)->text(), "HEAD and body!");
  EXPECT_EQ(file->overwrite(0, bytesOf("x")).message(), path + ": written to after it was closed");
  std::filesystem::remove(path);
}

TEST(Overwrite, FailsOnAFullDisk) {
  Result<AtomicFile> file = AtomicFile::open("/dev/full");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->overwrite(0, bytesOf("x")).code(), StatusCode::InputOutput);
}
