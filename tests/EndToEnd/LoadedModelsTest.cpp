// SPDX-License-Identifier: Apache-2.0
///
/// Models of several files in one process: each runs the code of its own file, whatever names the
/// files have had.
#include "frontend/Builder/ModelBuilder.h"
#include "heddle/Session.h"
#include "tests/EndToEnd/BuiltModel.h"
#include "tests/base/TemporaryFolder.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <optional>

namespace heddle {
namespace {

constexpr int64_t width = 16;

class LoadedModelsTest : public testing::Test {
protected:
  /// A model that multiplies rows by `factor`, in a kernel that has the same name for any.
  static void compileScale(const std::string &path, double factor) {
    ModelBuilder model("test");
    Entry entry = model.entry("encode");
    entry.output("rows", entry.input("features", width) * factor);
    compileText(path, model.text(), {});
  }

  static Model load(const std::string &path) {
    Result<Model> model = Model::load(path);
    EXPECT_EQ(model.status().message(), "");
    return *std::move(model);
  }

  /// What a model makes of 1.
  static float factorOf(const Model &model) {
    Result<Session> session = Session::create(model);
    EXPECT_EQ(session.status().message(), "");
    const std::vector<float> ones(width, 1.0f);
    std::vector<float> rows(width);
    const Input input("features", ones);
    const Output output("rows", rows);
    const std::vector<int32_t> lengths = {1};
    EXPECT_EQ(session->run("encode", lengths, {&input, 1}, {&output, 1}).message(), "");
    return rows[0];
  }

  const TemporaryFolder folder;
  const std::string path = folder / "model.so";
};

TEST_F(LoadedModelsTest, RunTheirOwnCodeAfterTheirFileWasReplaced) {
  compileScale(path, 2);
  const Model old = load(path);
  compileScale(path, 3);
  EXPECT_EQ(factorOf(load(path)), 3);
  EXPECT_EQ(factorOf(old), 2);
}

TEST_F(LoadedModelsTest, RunTheirOwnCodeWhereRelativePathsAreEqual) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::vector<Model> models;
  for (const int factor : {2, 3}) {
    const std::string own = folder / std::to_string(factor);
    std::filesystem::create_directory(own);
    std::filesystem::current_path(own);
    compileScale("model.so", factor);
    models.push_back(load("model.so"));
  }
  std::filesystem::current_path(before);
  EXPECT_EQ(factorOf(models[0]), 2);
  EXPECT_EQ(factorOf(models[1]), 3);
}

TEST_F(LoadedModelsTest, RunTheirOwnCodeBehindALinkThatMoves) {
  compileScale(folder / "2.so", 2);
  compileScale(folder / "3.so", 3);
  std::filesystem::create_symlink(folder / "2.so", path);
  const Model first = load(path);
  std::filesystem::remove(path);
  std::filesystem::create_symlink(folder / "3.so", path);
  EXPECT_EQ(factorOf(load(path)), 3);
  EXPECT_EQ(factorOf(first), 2);
}

// The second model of a file gives the loader another name for it, which must not become the name
// of the next file when the first model is gone.
TEST_F(LoadedModelsTest, RunTheirOwnCodeAfterOthersOfAFileAreGone) {
  compileScale(folder / "2.so", 2);
  compileScale(folder / "3.so", 3);
  std::optional<Model> first = load(folder / "2.so");
  const Model second = load(folder / "2.so");
  first.reset();
  EXPECT_EQ(factorOf(load(folder / "3.so")), 3);
  EXPECT_EQ(factorOf(second), 2);
}

TEST_F(LoadedModelsTest, RunWhenTheirFileIsGone) {
  compileScale(path, 2);
  const Model model = load(path);
  std::filesystem::remove(path);
  EXPECT_EQ(factorOf(model), 2);
  EXPECT_EQ(Model::load(path).status().code(), StatusCode::NotFound);
}

} // namespace
} // namespace heddle
