// SPDX-License-Identifier: Apache-2.0
///
/// --precision bf16-weights: half of the file, and the bits that f32 arithmetic gives for a
/// checkpoint whose matrices and tables are rounded to bf16 before it is compiled.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

namespace heddle {
namespace {

/// The nearest bf16 number, ties to even, by the addition that rounds the lower half away.
float nearestBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  bits += 0x7FFF + ((bits >> 16) & 1);
  return std::bit_cast<float>(bits & 0xFFFF0000U);
}

/// A copy of a model folder whose matrices are rounded. Vectors stay: biases and norms are no
/// weights of products.
std::string roundedModel(const std::string &model, const TemporaryFolder &folder) {
  const std::string copy = folder / "rounded";
  std::filesystem::create_directory(copy);
  std::filesystem::copy_file(model + "/config.json", copy + "/config.json");
  auto file = SafetensorsFile::open(model + "/model.safetensors");
  EXPECT_TRUE(file.ok());
  std::vector<std::vector<float>> values;
  std::vector<SafetensorsTensor> tensors;
  for (SafetensorsTensor each : file->tensors()) {
    if (each.shape.size() == 2) {
      std::vector<float> &rounded = values.emplace_back(each.bytes.size() / sizeof(float));
      std::memcpy(rounded.data(), each.bytes.data(), each.bytes.size());
      std::transform(rounded.begin(), rounded.end(), rounded.begin(), nearestBf16);
      each.bytes = std::as_bytes(std::span(rounded));
    }
    tensors.push_back(each);
  }
  EXPECT_TRUE(writeSafetensors(copy + "/model.safetensors", tensors).ok());
  return copy;
}

class NarrowWeightsTest : public testing::TestWithParam<const char *> {};

TEST_P(NarrowWeightsTest, AreThoseOfTheRoundedCheckpoint) {
  const TemporaryFolder folder;
  const std::string model = HEDDLE_TEST_DATA "/oracles/" + std::string(GetParam());
  const std::string wide = compileModel(model);
  const std::string narrow = compileModel(model, {"--precision=bf16-weights"});
  const std::string rounded = compileModel(roundedModel(model, folder));
  const Ragged batch = randomSentences(7, 19, 60, 5);
  for (const std::string &isa : runnableTargets(narrow)) {
    for (int threads : {1, 2}) {
      const auto expected = runBinary(rounded, batch, isa, threads);
      const auto found = runBinary(narrow, batch, isa, threads);
      ASSERT_FALSE(expected.empty());
      EXPECT_EQ(found, expected) << isa << ", " << threads << " threads";
      // The two precisions are not the same by accident.
      EXPECT_NE(found, runBinary(wide, batch, isa, threads));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Oracles, NarrowWeightsTest,
                         testing::Values("bert-tiny", "distilbert-tiny", "transformer-pre", "san"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(NarrowWeightsFileTest, IsAboutHalf) {
  const std::string model = HEDDLE_TEST_DATA "/oracles/bert-tiny";
  const auto wide = std::filesystem::file_size(compileModel(model));
  const std::string binary = compileModel(model, {"--precision=bf16-weights"});
  const auto narrow = std::filesystem::file_size(binary);
  std::string described;
  EXPECT_EQ(runCommand(HEDDLE_BINARY_DIR "/bin/heddle info " + binary, described), 0);
  EXPECT_NE(described.find("bf16-weights"), std::string::npos) << described;
  // Code and manifest stay, and so do biases and norms.
  EXPECT_LT(static_cast<double>(narrow), 0.65 * static_cast<double>(wide));
}

} // namespace
} // namespace heddle
