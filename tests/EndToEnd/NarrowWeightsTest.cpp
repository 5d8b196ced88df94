// SPDX-License-Identifier: Apache-2.0
///
/// Weights in f16, bf16 and i8: --precision bf16-weights and int8-weights give half and a quarter
/// of the file size and the bits of f32 arithmetic on a checkpoint whose matrices and tables are
/// rounded before compilation; checkpoints that are stored in fewer bits give the bits of the same
/// numbers in f32.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <list>
#include <ostream>

namespace heddle {
namespace {

/// Returns the nearest bf16 number, ties to even, by an addition that rounds the lower half away.
float nearestBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  bits += 0x7FFF + ((bits >> 16) & 1);
  return std::bit_cast<float>(bits & 0xFFFF0000U);
}

/// Applies the rounding of int8-weights to values that share a scale.
void quantizeTogether(std::span<float> values) {
  float most = 0;
  for (const float value : values) {
    most = std::max(most, std::fabs(value));
  }
  const float scale = most / 127;
  for (float &value : values) {
    value = scale == 0 ? 0 : std::nearbyint(value / scale) * scale;
  }
}

using Rounding = std::function<void(const std::string &name, int64_t columns, std::span<float>)>;

void roundToBf16(const std::string &, int64_t, std::span<float> values) {
  std::ranges::transform(values, values.begin(), nearestBf16);
}

/// Tables are scaled by row, matrices by 64 elements of a row.
void roundToInt8(const std::string &name, int64_t columns, std::span<float> values) {
  bool isTable = false;
  for (const char *part : {"embed", "positions", "shared"}) {
    isTable |= name.find(part) != std::string::npos;
  }
  // Segment types have too few rows.
  if (isTable && values.size() / columns < 16) {
    return;
  }
  if (name.find("position") != std::string::npos) {
    return roundToBf16(name, columns, values);
  }
  for (size_t row = 0; row < values.size(); row += columns) {
    const int64_t group = isTable ? columns : 64;
    for (int64_t begin = 0; begin < columns; begin += group) {
      quantizeTogether(values.subspan(row + begin, std::min(group, columns - begin)));
    }
  }
}

/// Returns a copy of a model folder whose matrices are rounded. Vectors stay unchanged: biases and
/// norms are not weights of products.
std::string roundedModel(const std::string &model, const TemporaryFolder &folder,
                         const Rounding &round) {
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
      round(std::string(each.name), each.shape.back(), rounded);
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

/// Returns a copy of a model folder with every tensor in another type; `convert` converts a value.
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

/// Returns the outputs on every target of this machine.
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
    // The stored type depends on the precision, not on the checkpoint.
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

// The program names the type in the checkpoint, and requires it when it is compiled itself.
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

struct NarrowCase {
  const char *model;
  const char *precision;
};

void PrintTo(const NarrowCase &each, std::ostream *stream) {
  *stream << each.model << " " << each.precision;
}

class NarrowWeightsTest : public testing::TestWithParam<NarrowCase> {};

TEST_P(NarrowWeightsTest, AreThoseOfTheRoundedCheckpoint) {
  const TemporaryFolder folder;
  const std::string model = HEDDLE_TEST_DATA "/oracles/" + std::string(GetParam().model);
  const std::string precision = GetParam().precision;
  const std::string wide = compileModel(model);
  const std::string narrow = compileModel(model, {"--precision=" + precision});
  const std::string rounded = compileModel(
      roundedModel(model, folder, precision == "bf16-weights" ? roundToBf16 : roundToInt8));
  const Ragged batch = randomSentences(7, 19, 60, 5);
  for (const std::string &isa : runnableTargets(narrow)) {
    for (int threads : {1, 2}) {
      const auto expected = runBinary(rounded, batch, isa, threads);
      const auto found = runBinary(narrow, batch, isa, threads);
      ASSERT_FALSE(expected.empty());
      EXPECT_EQ(found, expected) << isa << ", " << threads << " threads";
      // The two precisions do not agree by accident.
      EXPECT_NE(found, runBinary(wide, batch, isa, threads));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Oracles, NarrowWeightsTest,
                         testing::Values(NarrowCase{"bert-tiny", "bf16-weights"},
                                         NarrowCase{"distilbert-tiny", "bf16-weights"},
                                         NarrowCase{"transformer-pre", "bf16-weights"},
                                         NarrowCase{"san", "bf16-weights"},
                                         NarrowCase{"bert-tiny", "int8-weights"},
                                         NarrowCase{"distilbert-tiny", "int8-weights"},
                                         NarrowCase{"transformer-pre", "int8-weights"},
                                         NarrowCase{"san", "int8-weights"}),
                         [](const auto &info) {
                           std::string name =
                               std::string(info.param.model) + "_" + info.param.precision;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// Returns the bytes of the weights of a binary.
double weightBytes(const std::string &binary) {
  const Result<Model> model = Model::load(binary, {.isa = {}, .describeOnly = true});
  EXPECT_TRUE(model.ok()) << model.status().message();
  return static_cast<double>(model->weightsSize());
}

// Biases and norms stay unchanged, rows of 72 elements have two scales, and panels are padded.
TEST(NarrowWeightsFileTest, IsAboutHalfOrAQuarter) {
  const std::string model = HEDDLE_TEST_DATA "/oracles/bert-tiny";
  const double wide = weightBytes(compileModel(model));
  for (const auto &[precision, most] :
       {std::pair("bf16-weights", 0.53), std::pair("int8-weights", 0.4)}) {
    const std::string binary = compileModel(model, {"--precision=" + std::string(precision)});
    std::string described;
    EXPECT_EQ(runCommand(HEDDLE_BINARY_DIR "/bin/heddle info " + binary, described), 0);
    EXPECT_NE(described.find(precision), std::string::npos) << described;
    EXPECT_LT(weightBytes(binary), most * wide) << precision;
  }
}

// A group with a NaN element is NaN, in every row that reads it.
TEST(NarrowWeightsFileTest, WhatIsNoNumberStaysNone) {
  const std::string model = HEDDLE_TEST_DATA "/oracles/bert-tiny";
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const Rounding spoil = [&](const std::string &name, int64_t, std::span<float> values) {
      if (name.find("layer.1.output.dense.weight") != std::string::npos) {
        values[100] = bad;
      }
    };
    const TemporaryFolder folder;
    const std::string spoilt = roundedModel(model, folder, spoil);
    const Outputs outputs = outputsOf(compileModel(spoilt, {"--precision=int8-weights"}));
    for (const auto &output : outputs) {
      for (const auto &[name, values] : output) {
        EXPECT_TRUE(std::ranges::all_of(values, [](float value) { return std::isnan(value); }))
            << name;
      }
    }
  }
}

} // namespace
} // namespace heddle
