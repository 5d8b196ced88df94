// SPDX-License-Identifier: Apache-2.0
///
/// One file by several names, and what only looks like it.
#include "base/SameFile.h"

#include "tests/base/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace heddle {
namespace {

namespace fs = std::filesystem;

TEST(SameFileTest, NamesOfOneFile) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "x"), other = folder.write("other", "x");
  fs::create_hard_link(file, folder / "hard");
  fs::create_symlink("file", folder / "soft");
  EXPECT_TRUE(isSameFile(file, file));
  EXPECT_TRUE(isSameFile(file, folder / "./file"));
  EXPECT_TRUE(isSameFile(file, folder / "hard"));
  EXPECT_TRUE(isSameFile(folder / "soft", file));
  EXPECT_FALSE(isSameFile(file, other));
  EXPECT_FALSE(isSameFile(file, folder / "absent"));
}

TEST(SameFileTest, FilesThatAreNotThereYet) {
  const TemporaryFolder folder;
  fs::create_directory_symlink(folder.path(), folder / "link");
  EXPECT_TRUE(isSameFile(folder / "new", folder / "link/new"));
  EXPECT_TRUE(isSameFile(folder / "absent/new", folder / "absent/./new"));
  EXPECT_TRUE(isSameFile("heddle-absent", "./heddle-absent"));
  EXPECT_FALSE(isSameFile(folder / "new", folder / "other"));
  EXPECT_FALSE(isSameFile("", ""));
}

TEST(SameFileTest, WhatIsNeverReplaced) {
  const TemporaryFolder folder;
  EXPECT_FALSE(isSameFile("/dev/null", "/dev/null"));
  EXPECT_FALSE(isSameFile(folder.path(), folder.path()));
}

} // namespace
} // namespace heddle
