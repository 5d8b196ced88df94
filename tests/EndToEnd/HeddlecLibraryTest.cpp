// SPDX-License-Identifier: Apache-2.0
///
/// heddlec and the library behind it: the same request gives the same binary, and a program that
/// links both halves runs what it has compiled.
#include "compiler/Compile.h"

#include "frontend/Builder/ModelBuilder.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/";

TEST(HeddlecLibraryTest, GivesTheBinaryOfHeddlec) {
  for (const std::string model : {"bert-tiny", "marian-tiny"}) {
    const std::string path = compileModel(oracles + model);
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
  CompileRequest request;
  request.program = *model.text();
  request.tensors = {{"words.weight", {3, 2}, words}, {"map.weight", {2, 2}, map}};
  request.output = folder / "model.so";
  const CompileResult result = compile(request);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  Ragged batch;
  batch.append(std::vector<int32_t>{2, 0});
  EXPECT_EQ(runBinary(request.output, batch)["y"], (std::vector<float>{11, 0, 3, 0}));
}

} // namespace
} // namespace heddle
