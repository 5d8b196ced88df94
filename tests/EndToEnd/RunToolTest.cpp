// SPDX-License-Identifier: Apache-2.0
///
/// `heddle run` on the files that contain its expected results.
#include "formats/Checkpoint/Checkpoint.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace heddle {
namespace {

std::vector<float> valuesOf(const Checkpoint &checkpoint, const std::string &name,
                            const std::vector<int64_t> &shape) {
  const SafetensorsTensor *tensor = checkpoint.find(name);
  EXPECT_NE(tensor, nullptr) << name;
  if (tensor == nullptr || tensor->shape != shape) {
    ADD_FAILURE() << name << " has another shape than expected";
    return {};
  }
  std::vector<float> values(tensor->bytes.size() / sizeof(float));
  EXPECT_TRUE(checkpoint.readF32(name, values).ok());
  return values;
}

/// Sets the rows of padding, which are not specified, to zero.
void clearPadding(std::vector<float> &states, const std::vector<int32_t> &mask) {
  size_t width = states.size() / mask.size();
  for (size_t row = 0; row < mask.size(); ++row) {
    if (mask[row] == 0) {
      std::fill_n(states.begin() + row * width, width, 0.0f);
    }
  }
}

TEST(RunTool, AgreesWithBertTinyOnItsOwnFile) {
  const std::string oracle = HEDDLE_TEST_DATA "/oracles/bert-tiny/";
  std::string binary = compileModel(oracle);
  ASSERT_FALSE(binary.empty());
  auto expected = Checkpoint::open(oracle + "expected.safetensors");
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  auto shape = expected->find("input_ids")->shape;
  int64_t width = expected->find("pooler_output")->shape[1];
  std::vector<int32_t> mask(shape[0] * shape[1]);
  ASSERT_TRUE(expected->readI32("attention_mask", mask).ok());
  ASSERT_GT(std::count(mask.begin(), mask.end(), 0), 0);
  std::vector<int64_t> stateShape = {shape[0], shape[1], width}, pooledShape = {shape[0], width};
  auto states = valuesOf(*expected, "last_hidden_state", stateShape);
  auto pooled = valuesOf(*expected, "pooler_output", pooledShape);
  clearPadding(states, mask);
  TemporaryFolder folder;
  for (const std::string &isa : runnableTargets(binary)) {
    std::string output = folder / isa + ".safetensors";
    auto outcome = tools::runHeddle({"run", binary, "--inputs", oracle + "expected.safetensors",
                                     "--outputs", output, "--isa", isa});
    ASSERT_EQ(outcome.code, 0) << outcome.error;
    for (const char *name : {"last_hidden_state", "pooler_output"}) {
      EXPECT_NE(outcome.error.find("heddle: note: tensor \"" + std::string(name) +
                                   "\" is no input of entry \"encode\": ignored\n"),
                std::string::npos)
          << outcome.error;
    }
    auto written = Checkpoint::open(output);
    ASSERT_TRUE(written.ok()) << written.status().message();
    auto found = valuesOf(*written, "last_hidden_state", stateShape);
    EXPECT_LE(largestDifference(found, states), 2e-5f) << isa;
    EXPECT_LE(largestDifference(valuesOf(*written, "pooler_output", pooledShape), pooled), 2e-5f)
        << isa;
    auto cleared = found;
    clearPadding(cleared, mask);
    EXPECT_EQ(found, cleared) << isa << ": rows of padding are not zero";
  }
}

TEST(RunTool, TargetsMayBeRaggedAndEntriesMayShareNames) {
  const TemporaryFolder folder;
  const std::string binary = compileModel(HEDDLE_TEST_DATA "/EndToEnd/Inputs/same-names.mlir");
  ASSERT_FALSE(binary.empty());
  const std::vector<int32_t> source = {5, 6, 7, 8, 9, 4}, target = {1, 2, 1, 3}, lengths = {1, 2};
  const auto tensor = [](std::string_view name, std::vector<int64_t> shape,
                         const std::vector<int32_t> &values) {
    return SafetensorsTensor{std::string(name), ElementType::I32, std::move(shape),
                             std::as_bytes(std::span(values))};
  };
  const std::vector<SafetensorsTensor> tensors = {tensor("source", {2, 3}, source),
                                                  tensor("target", {2, 2}, target),
                                                  tensor("target.length", {2}, lengths)};
  const std::string inputs = folder / "in.safetensors", outputs = folder / "out.safetensors";
  ASSERT_EQ(writeSafetensors(inputs, tensors).message(), "");
  const auto outcome = tools::runHeddle({"run", binary, "--inputs", inputs, "--outputs", outputs});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.error, "heddle: note: output \"mean\" of entry \"decode\" has no row for each "
                           "token: left out\n");
  auto written = Checkpoint::open(outputs);
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(written->find("mean"), nullptr);
  valuesOf(*written, "hidden", {2, 3, 8});
  // The second position of the first target is padding; all others are sums of ones.
  std::vector<float> expected(32, 1.0F);
  std::fill_n(expected.begin() + 8, 8, 0.0F);
  EXPECT_EQ(valuesOf(*written, "decode.hidden", {2, 2, 8}), expected);
  const auto logits = valuesOf(*written, "logits", {2, 2, 30});
  ASSERT_EQ(logits.size(), 120U);
  EXPECT_EQ(logits[0], 8);
  EXPECT_EQ(logits[30], 0);
  EXPECT_EQ(logits[60], 8);
}

} // namespace
} // namespace heddle
