// SPDX-License-Identifier: Apache-2.0
///
/// Cached code is found by what it was compiled from, and damaged code is not used.
#include "compiler/Link/CodeCache.h"

#include "tests/base/TemporaryFolder.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace heddle {
namespace {

CodeUnit unitOf(llvm::StringRef source) { return {"unit", Code(source.begin(), source.end())}; }

class CodeCacheTest : public testing::Test {
protected:
  CodeCacheTest() : cache(CodeCache::open(folder / "code/below")) {
    EXPECT_TRUE(cache.ok()) << cache.status().message();
  }

  std::string path(const std::string &key) const { return folder / "code/below/" + key + ".o"; }

  TemporaryFolder folder;
  Result<CodeCache> cache;
  const Code code = unitOf("code of an object").source;
};

TEST_F(CodeCacheTest, FindsWhatWasStored) {
  const std::string key = CodeCache::keyOf("compiler", unitOf("source"));
  EXPECT_FALSE(cache->find(key).has_value());
  ASSERT_TRUE(cache->store(key, code).ok());
  EXPECT_EQ(cache->find(key), code);
  const Result<CodeCache> again = CodeCache::open(folder / "code/below");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->find(key), code);
}

TEST_F(CodeCacheTest, NamesFollowFromSourceAndCompiler) {
  const std::string key = CodeCache::keyOf("compiler", unitOf("source"));
  EXPECT_EQ(key.size(), 32U);
  EXPECT_EQ(key, CodeCache::keyOf("compiler", unitOf("source")));
  EXPECT_NE(key, CodeCache::keyOf("compiler", unitOf("sourcf")));
  EXPECT_NE(key, CodeCache::keyOf("compiler 2", unitOf("source")));
  EXPECT_NE(key, CodeCache::keyOf("compilers", unitOf("ource")));
  CodeUnit renamed = unitOf("source");
  renamed.name = "another";
  EXPECT_EQ(key, CodeCache::keyOf("compiler", renamed));
}

TEST_F(CodeCacheTest, DamageIsNoCode) {
  const std::string key = CodeCache::keyOf("compiler", unitOf("source"));
  ASSERT_TRUE(cache->store(key, code).ok());
  const auto size = std::filesystem::file_size(path(key));
  for (const size_t kept : {size - 1, size_t(16), size_t(15), size_t(0)}) {
    std::filesystem::resize_file(path(key), kept);
    EXPECT_FALSE(cache->find(key).has_value()) << kept;
  }
  ASSERT_TRUE(cache->store(key, code).ok());
  for (const size_t changed : {size_t(0), size_t(16), size - 1}) {
    std::fstream file(path(key), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(changed));
    file.put('\0');
    file.close();
    EXPECT_FALSE(cache->find(key).has_value()) << changed;
    ASSERT_TRUE(cache->store(key, code).ok());
    EXPECT_EQ(cache->find(key), code);
  }
}

TEST_F(CodeCacheTest, SaysWhatIsNoFolder) {
  folder.write("file", "x");
  const Result<CodeCache> none = CodeCache::open(folder / "file/code");
  EXPECT_EQ(none.status().code(), StatusCode::InputOutput);
  EXPECT_EQ(none.status().message(),
            (folder / "file/code") + ": cannot be made a folder: Not a directory");
}

TEST_F(CodeCacheTest, AFileIsNoFolder) {
  const std::string file = folder.write("file", "x");
  const Result<CodeCache> none = CodeCache::open(file);
  EXPECT_EQ(none.status().code(), StatusCode::InputOutput);
  EXPECT_EQ(none.status().message(), file + ": is a file, expected a folder");
}

TEST_F(CodeCacheTest, SaysWhatCannotBeStored) {
  std::filesystem::remove_all(folder / "code");
  const Status status = cache->store("key", code);
  EXPECT_EQ(status.code(), StatusCode::InputOutput);
  EXPECT_NE(status.message().find(path("key") + ": "), std::string_view::npos) << status.message();
}

} // namespace
} // namespace heddle
