// SPDX-License-Identifier: Apache-2.0
///
/// Binaries whose targets store the matrices of products in different layouts: every target gives
/// the same bits as panels of the usual width, and targets that agree share the stored data.
#include "tests/EndToEnd/CompiledModel.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace heddle {
namespace {

std::string oracle(const std::string &name) { return HEDDLE_TEST_DATA "/oracles/" + name; }

/// The panel widths of both targets: one that does not divide the model's width and one that
/// exceeds it.
const std::vector<std::string> differing = {"--target=x86-64-v3:8,x86-64-v4:112"};

class TargetEncodingsTest : public testing::TestWithParam<const char *> {};

TEST_P(TargetEncodingsTest, GiveTheSameBits) {
  const std::string agreed = compileModel(oracle(GetParam()));
  const std::string different = compileModel(oracle(GetParam()), differing);
  ASSERT_FALSE(different.empty());
  const Ragged batch = randomSentences(7, 19, 60, 5);
  const std::vector<std::string> targets = runnableTargets(different);
  EXPECT_EQ(targets, runnableTargets(agreed));
  for (const std::string &isa : targets) {
    for (int threads : {1, 2}) {
      const auto expected = runBinary(agreed, batch, isa, threads);
      ASSERT_FALSE(expected.empty());
      EXPECT_EQ(runBinary(different, batch, isa, threads), expected)
          << isa << ", " << threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Oracles, TargetEncodingsTest,
                         testing::Values("bert-tiny", "transformer-pre", "weighted"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// A step updates states in columns of work, which are as wide as the target's panels.
TEST(TargetEncodingsGenerationTest, GivesTheSameTokensAndScores) {
  const std::string agreed = compileModel(oracle("san-average"));
  const std::string different = compileModel(oracle("san-average"), differing);
  ASSERT_FALSE(different.empty());
  for (const std::string &isa : runnableTargets(different)) {
    const auto generate = [&](const std::string &binary) {
      std::string text;
      EXPECT_EQ(runCommand("printf '3 4 5\\n6 7\\n' | " HEDDLE_BINARY_DIR "/bin/heddle generate " +
                               binary + " --input - --tokens --beam 3 --nbest 3 --scores --isa " +
                               isa,
                           text),
                0)
          << text;
      return text;
    };
    EXPECT_EQ(generate(different), generate(agreed)) << isa;
  }
}

TEST(TargetEncodingsFileTest, StoresEachEncodingOnce) {
  const auto weights = [](const std::string &targets) {
    const Result<Model> model =
        Model::load(compileModel(oracle("bert-tiny"), {"--target=" + targets}));
    EXPECT_TRUE(model.ok());
    return model.ok() ? model->weightsSize() : 0;
  };
  const uint64_t narrow = weights("x86-64-v3:16"), wide = weights("x86-64-v3:32");
  EXPECT_EQ(weights("x86-64-v3:16,x86-64-v4:16"), narrow);
  // Tables, biases and norms are the same for both.
  const uint64_t both = weights("x86-64-v3:16,x86-64-v4:32");
  EXPECT_GT(both, std::max(narrow, wide));
  EXPECT_LT(both, narrow + wide);
}

} // namespace
} // namespace heddle
