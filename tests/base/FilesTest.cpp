// SPDX-License-Identifier: Apache-2.0
///
/// Mapped input files and atomic output files, with every way in which the system can reject them.
#include "base/AtomicFile.h"
#include "base/MappedFile.h"
#include "base/PartialNames.h"
#include "base/ScratchFolder.h"

#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle {
namespace {

namespace fs = std::filesystem;

/// A separate folder for every test.
class FilesTest : public testing::Test {
protected:
  FilesTest() {
    std::string pattern = (fs::temp_directory_path() / "heddle-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  ~FilesTest() override { fs::remove_all(folder); }

  std::string at(const std::string &name) const { return folder + "/" + name; }
  std::string put(const std::string &name, std::string_view text) const {
    std::ofstream(at(name), std::ios::binary) << text;
    return at(name);
  }
  std::string get(const std::string &name) const {
    std::ifstream stream(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  ptrdiff_t count() const { return std::distance(fs::directory_iterator(folder), {}); }

  std::string folder;
};

TEST_F(FilesTest, MapsAndReleases) {
  std::string text(100000, 'x');
  text.back() = 'y';
  Result<MappedFile> opened = MappedFile::open(put("a", text));
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  MappedFile file = *std::move(opened);
  EXPECT_EQ(file.path(), at("a"));
  EXPECT_EQ(file.text(), text);
  file.releasePages(file.bytes());
  file.releasePages(file.bytes().subspan(5000, 3));
  file.releasePages({});
  EXPECT_EQ(file.text(), text);
  // The view stays valid when its owner moves.
  const std::string_view view = file.text();
  MappedFile moved = std::move(file);
  EXPECT_EQ(view, text);
  MappedFile other = *MappedFile::open(put("b", "b"));
  other = std::move(moved);
  EXPECT_EQ(other.text(), text);
}

TEST_F(FilesTest, MapRefusals) {
  const auto message = [](const std::string &path) {
    return std::string(MappedFile::open(path).status().message());
  };
  EXPECT_EQ(message(at("no")), at("no: cannot open: No such file or directory"));
  EXPECT_EQ(MappedFile::open(at("no")).status().code(), StatusCode::NotFound);
  EXPECT_EQ(message(put("file", "x") + "/below"), at("file/below: cannot open: Not a directory"));
  EXPECT_EQ(message(folder), folder + ": is a directory, expected a file");
  EXPECT_EQ(message(put("empty", "")), at("empty: the file is empty"));
  EXPECT_EQ(message("/dev/null"), "/dev/null: is a device or pipe, expected a regular file");
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(message(at("pipe")), at("pipe: is a device or pipe, expected a regular file"));
  const std::string longName(300, 'n');
  EXPECT_EQ(message(at(longName)), at(longName) + ": cannot open: File name too long");
}

TEST_F(FilesTest, WritesBesideAndRenames) {
  put("a", "old");
  {
    Result<AtomicFile> file = AtomicFile::open(at("a"));
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(file->path(), at("a"));
    ASSERT_TRUE(file->write("new ").ok());
    ASSERT_TRUE(file->write("text").ok());
    EXPECT_EQ(get("a"), "old");
    EXPECT_EQ(count(), 2);
    const Status status = file->commit();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(file->write("x").message(), at("a: written to after it was closed"));
    EXPECT_EQ(file->commit().message(), at("a: committed after it was closed"));
  }
  EXPECT_EQ(get("a"), "new text");
  EXPECT_EQ(count(), 1);
}

TEST_F(FilesTest, WhatIsUnfinishedCanBeKept) {
  put("a", "old");
  AtomicFile file = *AtomicFile::open(at("a"));
  ASSERT_TRUE(file.write("new").ok());
  const Result<std::string> kept = file.keepPartial();
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  EXPECT_EQ(fs::path(*kept).filename(), "a.partial");
  EXPECT_EQ(get("a"), "old");
  EXPECT_EQ(get("a.partial"), "new");
  EXPECT_EQ(count(), 2);
  EXPECT_EQ(file.keepPartial().status().message(), at("a: kept after it was closed"));
  // A device has no partial file to keep.
  AtomicFile device = *AtomicFile::open("/dev/null");
  EXPECT_EQ(*device.keepPartial(), "");
}

/// Files kept earlier are preserved, whatever they are, and nothing is lost if all short names are
/// taken.
TEST_F(FilesTest, WhatWasKeptBeforeStays) {
  const auto keep = [&] {
    AtomicFile file = *AtomicFile::open(at("a"));
    EXPECT_TRUE(file.write("new").ok());
    const Result<std::string> kept = file.keepPartial();
    EXPECT_TRUE(kept.ok()) << kept.status().message();
    return fs::path(*kept).filename().string();
  };
  fs::create_directory(at("a.partial"));
  put("a.partial-2", "older");
  EXPECT_EQ(keep(), "a.partial-3");
  EXPECT_EQ(get("a.partial-2"), "older");
  EXPECT_EQ(get("a.partial-3"), "new");
  for (int number = 4; number <= 99; ++number) {
    put(fmt::format("a.partial-{}", number), "older");
  }
  const std::string kept = keep();
  EXPECT_TRUE(kept.starts_with(fmt::format("a.partial-{}-", ::getpid()))) << kept;
  removePartialFiles();
  EXPECT_EQ(get(kept), "new");
}

/// As in a signal handler: unfinished files are removed, finished ones are kept.
TEST_F(FilesTest, PartialFilesCanBeRemovedAtOnce) {
  AtomicFile finished = *AtomicFile::open(at("finished"));
  ASSERT_TRUE(finished.write("x").ok() && finished.commit().ok());
  AtomicFile first = *AtomicFile::open(at("first"));
  AtomicFile second = *AtomicFile::open(at("second"));
  AtomicFile moved = std::move(first);
  ASSERT_TRUE(moved.write("x").ok() && second.write("x").ok());
  EXPECT_EQ(count(), 3);
  removePartialFiles();
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(get("finished"), "x");
  removePartialFiles();
  EXPECT_FALSE(second.commit().ok());
}

/// More names than the list can hold: the files are still written.
TEST_F(FilesTest, ManyPartialFiles) {
  std::vector<AtomicFile> files;
  for (int i = 0; i < 100; ++i) {
    files.push_back(*AtomicFile::open(at(std::to_string(i))));
    ASSERT_TRUE(files.back().write("x").ok());
  }
  for (AtomicFile &file : files) {
    ASSERT_TRUE(file.commit().ok());
  }
  EXPECT_EQ(count(), 100);
  AtomicFile later = *AtomicFile::open(at("later"));
  removePartialFiles();
  EXPECT_EQ(count(), 100);
}

TEST_F(FilesTest, WithoutCommitNothingChanges) {
  put("a", "old");
  {
    AtomicFile file = *AtomicFile::open(at("a"));
    ASSERT_TRUE(file.write("new").ok());
    AtomicFile moved = std::move(file);
    AtomicFile second = *AtomicFile::open(at("b"));
    second = std::move(moved);
  }
  EXPECT_EQ(get("a"), "old");
  EXPECT_EQ(count(), 1);
}

TEST_F(FilesTest, LinksAreFollowed) {
  put("a", "old");
  fs::create_symlink(at("a"), at("link"));
  AtomicFile file = *AtomicFile::open(at("link"));
  ASSERT_TRUE(file.write("new").ok());
  ASSERT_TRUE(file.commit().ok());
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(get("a"), "new");
}

TEST_F(FilesTest, ReplacedFilesKeepTheirPermissions) {
  const auto modeAfter = [&](unsigned before, unsigned asked) {
    EXPECT_EQ(::chmod(put("a", "old").c_str(), before), 0);
    AtomicFile file = *AtomicFile::open(at("a"), asked);
    EXPECT_TRUE(file.write("new").ok());
    EXPECT_TRUE(file.commit().ok());
    struct stat information;
    EXPECT_EQ(::stat(at("a").c_str(), &information), 0);
    return information.st_mode & 0777U;
  };
  EXPECT_EQ(modeAfter(0600, 0666), 0600U);
  EXPECT_EQ(modeAfter(0664, 0666), 0664U);
  // For those who may read it.
  EXPECT_EQ(modeAfter(0640, 0777), 0750U);
  EXPECT_EQ(modeAfter(0755, 0666), 0755U);
}

TEST_F(FilesTest, NewFilesHaveThePermissionsAskedFor) {
  AtomicFile file = *AtomicFile::open(at("a"), 0700);
  ASSERT_TRUE(file.write("new").ok());
  ASSERT_TRUE(file.commit().ok());
  struct stat information;
  ASSERT_EQ(::stat(at("a").c_str(), &information), 0);
  EXPECT_EQ(information.st_mode & 0777U, 0700U);
}

TEST_F(FilesTest, DevicesAreWrittenDirectly) {
  AtomicFile null = *AtomicFile::open("/dev/null");
  ASSERT_TRUE(null.write("x").ok());
  ASSERT_TRUE(null.commit().ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  AtomicFile full = *AtomicFile::open("/dev/full");
  EXPECT_EQ(full.write("x").message(), "/dev/full: cannot write: No space left on device");
}

TEST_F(FilesTest, OpenRefusals) {
  const auto message = [](const std::string &path) {
    return std::string(AtomicFile::open(path).status().message());
  };
  EXPECT_EQ(message(folder), folder + ": is a directory, expected a file to write");
  EXPECT_EQ(message(at("no/a")), at("no/a: cannot create: No such file or directory"));
  EXPECT_EQ(message(put("file", "x") + "/a"), at("file/a: cannot create: Not a directory"));
  EXPECT_EQ(message(""), "the path of a file to write is empty");
}

TEST_F(FilesTest, FullDisk) {
  // A limit on file sizes simulates a full disk: a short write, then an error.
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  put("a", "old");
  {
    AtomicFile file = *AtomicFile::open(at("a"));
    rlimit small = before;
    small.rlim_cur = 10000;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const Status status = file.write(std::string(20000, 'x'));
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(status.message(), at("a: cannot write: File too large"));
    EXPECT_EQ(status.code(), StatusCode::InputOutput);
  }
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(get("a"), "old");
  EXPECT_EQ(count(), 1);
}

TEST_F(FilesTest, RenameFails) {
  AtomicFile file = *AtomicFile::open(at("a"));
  ASSERT_TRUE(file.write("x").ok());
  fs::create_directory(at("a"));
  EXPECT_EQ(file.commit().message(),
            at("a: cannot rename the finished file to its name: Is a directory"));
  EXPECT_EQ(count(), 1);
}

} // namespace
TEST(ScratchFolder, IsGoneWithItsOwner) {
  std::string file;
  {
    const Result<ScratchFolder> folder = ScratchFolder::create("heddle-test", "a test");
    ASSERT_TRUE(folder.ok()) << folder.status().message();
    file = *folder / "file";
    std::ofstream(file) << "text";
    EXPECT_TRUE(fs::exists(file));
  }
  EXPECT_FALSE(fs::exists(fs::path(file).parent_path()));
}

TEST(ScratchFolder, IsGoneWithTheProgram) {
  const Result<ScratchFolder> folder = ScratchFolder::create("heddle-test", "a test");
  ASSERT_TRUE(folder.ok()) << folder.status().message();
  // More than one system call lists.
  for (int i = 0; i < 500; ++i) {
    std::ofstream(*folder / fmt::format("a-file-with-a-name-that-is-not-short-{}", i)) << i;
  }
  removePartialFiles();
  EXPECT_FALSE(fs::exists(fs::path(*folder / "file").parent_path()));
}

} // namespace heddle
