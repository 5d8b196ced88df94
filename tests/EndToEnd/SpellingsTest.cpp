// SPDX-License-Identifier: Apache-2.0
///
/// Attention by its algebra: every program in spellings/ is fused, and gives the same results as
/// unfused.
#include "tests/EndToEnd/CompiledModel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace heddle {
namespace {

std::vector<std::string> spellings() {
  std::vector<std::string> names;
  for (const auto &entry :
       std::filesystem::directory_iterator(HEDDLE_TEST_DATA "/EndToEnd/spellings")) {
    if (entry.path().extension() == ".mlir") {
      names.push_back(entry.path().stem());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Spelling : public testing::TestWithParam<std::string> {};

TEST_P(Spelling, IsFusedAndAgreesWithItsUnfusedSelf) {
  std::string program = HEDDLE_TEST_DATA "/EndToEnd/spellings/" + GetParam() + ".mlir", text;
  ASSERT_EQ(runCommand(HEDDLE_BINARY_DIR "/bin/heddlec " + program + " --emit=fused", text), 0)
      << text;
  EXPECT_NE(text.find("transformer.attention"), std::string::npos) << text;
  EXPECT_EQ(text.find("transformer.softmax"), std::string::npos) << text;
  std::string fused = compileModel(program);
  std::string unfused =
      compileModel(program, {"--disable-pass=fuse-attention", "--disable-pass=normalize-heads"});
  ASSERT_FALSE(fused.empty() || unfused.empty());
  Ragged batch = randomSentences(7, 37, 32, 11);
  for (const std::string &isa : runnableTargets(fused)) {
    auto expected = runBinary(unfused, batch, isa), outputs = runBinary(fused, batch, isa);
    ASSERT_FALSE(expected.empty());
    for (const auto &[name, values] : expected) {
      EXPECT_LE(largestDifference(outputs[name], values), 1e-5f) << isa << " " << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Attention, Spelling, testing::ValuesIn(spellings()), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

} // namespace
} // namespace heddle
