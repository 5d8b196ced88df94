// SPDX-License-Identifier: Apache-2.0
///
/// heddlec and its library: the same request gives the same binary, and a program that links both
/// compiler and runtime runs what it has compiled.
#include "compiler/Compile.h"

#include "frontend/Builder/ModelBuilder.h"
#include "tests/EndToEnd/BuiltModel.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <map>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/";

TEST(HeddlecLibraryTest, GivesTheBinaryOfHeddlec) {
  for (const std::string model : {"bert-tiny", "marian-tiny"}) {
    const std::string path = compileByDefault(oracles + model);
    const Result<Model> loaded = Model::load(path, {.describeOnly = true});
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    CompileRequest request;
    request.path = oracles + model;
    request.producer = std::string(loaded->producer());
    const CompileResult result = compile(request);
    ASSERT_TRUE(result.status.ok()) << result.status.message();
    EXPECT_TRUE(result.binary == readBytes(path)) << model;
  }
}

TEST(HeddlecLibraryTest, RunsWhatItCompiled) {
  ModelBuilder model("test");
  Entry entry = model.entry("encode");
  const Tensor x = model.scope().gather("words", entry.input("input_ids"), 3, 2);
  entry.output("y",
               model.scope().linear("map", x, 2, Bias::No).activate(transformer::Activation::Relu));
  const std::vector<float> words = {1, 2, 3, 4, 5, 6};
  const std::vector<float> map = {1, 1, 1, -2};
  TemporaryFolder folder;
  const std::string path =
      compileText(folder / "model.so", model.text(),
                  {{"words.weight", {3, 2}, words}, {"map.weight", {2, 2}, map}});
  Ragged batch;
  batch.append(std::vector<int32_t>{2, 0});
  EXPECT_EQ(runBinary(path, batch)["y"], (std::vector<float>{11, 0, 3, 0}));
}

/// Returns the files of a folder and when they were written.
std::map<std::string, std::filesystem::file_time_type> filesOf(const std::string &folder) {
  std::map<std::string, std::filesystem::file_time_type> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    files[entry.path()] = entry.last_write_time();
  }
  return files;
}

TEST(HeddlecLibraryTest, TakesCodeFromItsCache) {
  TemporaryFolder folder;
  CompileRequest request;
  request.path = oracles + "bert-tiny";
  const std::string alone = compile(request).binary;
  ASSERT_FALSE(alone.empty());
  request.codeCache = folder / "code";
  EXPECT_TRUE(compile(request).binary == alone);
  const auto files = filesOf(request.codeCache);
  EXPECT_GT(files.size(), 20U);

  EXPECT_TRUE(compile(request).binary == alone);
  EXPECT_EQ(filesOf(request.codeCache), files) << "something was compiled again";

  // Only damaged or missing code is compiled again.
  const std::string damaged = files.begin()->first;
  const std::string gone = files.rbegin()->first;
  std::filesystem::resize_file(damaged, std::filesystem::file_size(damaged) - 1);
  std::filesystem::remove(gone);
  EXPECT_TRUE(compile(request).binary == alone);
  auto mended = filesOf(request.codeCache);
  EXPECT_EQ(mended.size(), files.size());
  mended[damaged] = files.at(damaged);
  mended[gone] = files.at(gone);
  EXPECT_EQ(mended, files);

  // Another program reuses the code that it has in common with this one.
  request.disabledPasses = {"fold-epilogues"};
  const std::string other = compile(request).binary;
  const size_t both = filesOf(request.codeCache).size();
  EXPECT_LT(both, 2 * files.size());
  request.codeCache.clear();
  EXPECT_TRUE(compile(request).binary == other);
}

TEST(HeddlecLibraryTest, SaysThatACacheIsNoFolder) {
  TemporaryFolder folder;
  CompileRequest request;
  request.path = oracles + "bert-tiny";
  request.codeCache = folder.write("file", "x") + "/code";
  const CompileResult result = compile(request);
  EXPECT_EQ(result.status.code(), StatusCode::InputOutput);
  EXPECT_EQ(result.status.message(),
            "codeCache: " + request.codeCache + ": cannot be made a folder: Not a directory");
  EXPECT_TRUE(result.binary.empty());
}

} // namespace
} // namespace heddle
