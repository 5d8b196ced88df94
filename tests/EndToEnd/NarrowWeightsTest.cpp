// SPDX-License-Identifier: Apache-2.0
///
/// Weights in f16 and bf16: --precision bf16-weights, half of the file and the bits that f32
/// arithmetic gives for a checkpoint whose matrices and tables are rounded before it is compiled;
/// and checkpoints that are stored so, which give the bits of the same numbers in f32.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <list>

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

uint16_t bf16Bits(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(nearestBf16(value)) >> 16);
}
uint16_t f16Bits(float value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }
float f16Value(float value) { return static_cast<float>(static_cast<_Float16>(value)); }

/// A copy of a model folder with every tensor in another type: `convert` is a value's.
template <typename T, typename Convert>
std::string storedModel(const std::string &model, const std::string &copy, ElementType type,
                        Convert convert) {
  std::filesystem::create_directory(copy);
  for (const auto &each : std::filesystem::directory_iterator(model)) {
    if (each.path().extension() == ".json") {
      std::filesystem::copy_file(each.path(), copy + "/" + each.path().filename().string());
    }
  }
  auto file = SafetensorsFile::open(model + "/model.safetensors");
  EXPECT_TRUE(file.ok());
  std::list<std::vector<T>> converted;
  std::vector<SafetensorsTensor> tensors;
  for (SafetensorsTensor each : file->tensors()) {
    std::vector<float> values(each.bytes.size() / sizeof(float));
    std::memcpy(values.data(), each.bytes.data(), each.bytes.size());
    std::vector<T> &kept = converted.emplace_back(values.size());
    std::transform(values.begin(), values.end(), kept.begin(), convert);
    each.dtype = type;
    each.bytes = std::as_bytes(std::span(kept));
    tensors.push_back(each);
  }
  EXPECT_TRUE(writeSafetensors(copy + "/model.safetensors", tensors).ok());
  return copy;
}

using Outputs = std::vector<std::map<std::string, std::vector<float>>>;

/// The outputs on every target of this machine.
Outputs outputsOf(const std::string &binary) {
  Outputs outputs;
  for (const std::string &isa : runnableTargets(binary)) {
    outputs.push_back(runBinary(binary, randomSentences(7, 19, 60, 5), isa));
    EXPECT_FALSE(outputs.back().empty());
  }
  return outputs;
}

class NarrowCheckpointTest : public testing::TestWithParam<const char *> {};

// f16 and bf16 are widened exactly; bf16 weights are those of the file, and f16 ones are rounded
// once.
TEST_P(NarrowCheckpointTest, GivesTheBitsOfTheSameNumbersInF32) {
  const TemporaryFolder folder;
  const std::string model = HEDDLE_TEST_DATA "/oracles/" + std::string(GetParam());
  const auto same = [](float value) { return value; };
  const std::string halves =
      storedModel<uint16_t>(model, folder / "f16", ElementType::F16, f16Bits);
  const std::string uppers =
      storedModel<uint16_t>(model, folder / "bf16", ElementType::BF16, bf16Bits);
  const std::string ofHalves =
      storedModel<float>(model, folder / "of-f16", ElementType::F32, f16Value);
  const std::string ofUppers =
      storedModel<float>(model, folder / "of-bf16", ElementType::F32, nearestBf16);
  const Outputs exact =
      outputsOf(compileModel(storedModel<float>(model, folder / "same", ElementType::F32, same)));
  for (const std::vector<std::string> &arguments :
       {std::vector<std::string>{}, {"--precision=bf16-weights"}}) {
    const std::string fromHalves = compileModel(halves, arguments);
    const std::string fromUppers = compileModel(uppers, arguments);
    EXPECT_EQ(outputsOf(fromHalves), outputsOf(compileModel(ofHalves, arguments)));
    EXPECT_EQ(outputsOf(fromUppers), outputsOf(compileModel(ofUppers, arguments)));
    EXPECT_NE(outputsOf(fromHalves), exact);
    EXPECT_NE(outputsOf(fromUppers), exact);
    // What they are stored as is a matter of the precision, not of the checkpoint.
    EXPECT_EQ(std::filesystem::file_size(fromHalves), std::filesystem::file_size(fromUppers));
  }
  EXPECT_LT(std::filesystem::file_size(compileModel(uppers, {"--precision=bf16-weights"})),
            std::filesystem::file_size(compileModel(uppers)));
  // The weights of f32 arithmetic on a bf16 checkpoint are bf16 numbers already.
  EXPECT_EQ(outputsOf(compileModel(uppers)),
            outputsOf(compileModel(uppers, {"--precision=bf16-weights"})));
}

INSTANTIATE_TEST_SUITE_P(Oracles, NarrowCheckpointTest,
                         testing::Values("bert-tiny", "transformer-pre"), [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// The program says what the checkpoint has, and asks for that when it is compiled itself.
TEST(NarrowCheckpointProgramTest, NamesTheTypeOfTheFile) {
  const TemporaryFolder folder;
  const std::string model = HEDDLE_TEST_DATA "/oracles/bert-tiny";
  const std::string halves =
      storedModel<uint16_t>(model, folder / "f16", ElementType::F16, f16Bits);
  const std::string heddlec = HEDDLE_BINARY_DIR "/bin/heddlec ";
  std::string text;
  ASSERT_EQ(
      runCommand("(" + heddlec + halves + " --emit=model > " + (folder / "m.mlir") + ")", text), 0)
      << text;
  const std::string program = readBytes(folder / "m.mlir");
  EXPECT_NE(program.find("transformer.parameter @embeddings.word_embeddings.weight.f16 : "
                         "tensor<211x72xf16> from \"embeddings.word_embeddings.weight\""),
            std::string::npos)
      << program.substr(0, 2000);
  EXPECT_NE(program.find("= convert(@embeddings.word_embeddings.weight.f16)"), std::string::npos);
  EXPECT_EQ(outputsOf(compileModel(folder / "m.mlir", {"--weights=" + halves})),
            outputsOf(compileModel(halves)));
  EXPECT_EQ(
      runCommand(heddlec + (folder / "m.mlir") + " --weights " + model + " -o " + (folder / "m.so"),
                 text),
      1);
  EXPECT_NE(text.find("/oracles/bert-tiny/model.safetensors: tensor "
                      "\"embeddings.word_embeddings.weight\" has type F32, expected F16\n"),
            std::string::npos)
      << text;
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
