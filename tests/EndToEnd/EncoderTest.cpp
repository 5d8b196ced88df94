// SPDX-License-Identifier: Apache-2.0
///
/// bert-tiny from its folder to its outputs: against the expected values on every target, with
/// every pass left out, in any batch and on any number of threads.
#include "formats/Checkpoint/Checkpoint.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/OptionalPasses.h"
#include "tests/runtime/Session/TestDevice.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/";
constexpr float unfusedBound = 1e-5f;

/// expected.safetensors of an oracle: its sentences without their padding, and their positions.
struct Expected {
  Ragged batch;
  std::vector<size_t> rows;                          // of the padded values, one for each token
  std::map<std::string, std::vector<float>> outputs; // those of tokens without padding
};

std::vector<float> readValues(const Checkpoint &checkpoint, const std::string &name) {
  const SafetensorsTensor *tensor = checkpoint.find(name);
  size_t count = 1;
  for (auto dimension : tensor->shape) {
    count *= dimension;
  }
  std::vector<float> values(count);
  EXPECT_TRUE(checkpoint.readF32(name, values).ok());
  return values;
}

std::vector<int32_t> readIds(const Checkpoint &checkpoint, const std::string &name, size_t count) {
  std::vector<int32_t> values(count);
  EXPECT_TRUE(checkpoint.readI32(name, values).ok());
  return values;
}

/// Returns the sentences of an oracle, without outputs.
Expected readSentences(const Checkpoint &checkpoint) {
  auto shape = checkpoint.find("input_ids")->shape;
  size_t sentences = shape[0], longest = shape[1];
  auto ids = readIds(checkpoint, "input_ids", sentences * longest);
  auto mask = readIds(checkpoint, "attention_mask", sentences * longest);
  Expected expected;
  for (size_t s = 0; s < sentences; ++s) {
    std::vector<int32_t> sentence;
    for (size_t i = s * longest; i < (s + 1) * longest; ++i) {
      if (mask[i] != 0) {
        sentence.push_back(ids[i]);
        expected.rows.push_back(i);
      }
    }
    expected.batch.append(sentence);
  }
  return expected;
}

Expected readExpected(const std::string &name) {
  auto opened = Checkpoint::open(oracles + name + "/expected.safetensors");
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  const Checkpoint &checkpoint = *opened;
  Expected expected = readSentences(checkpoint);
  auto shape = checkpoint.find("input_ids")->shape;
  std::vector<float> padded = readValues(checkpoint, "last_hidden_state");
  size_t width = padded.size() / size_t(shape[0] * shape[1]);
  for (size_t row : expected.rows) {
    auto first = padded.begin() + row * width;
    auto &values = expected.outputs["last_hidden_state"];
    values.insert(values.end(), first, first + width);
  }
  if (checkpoint.find("pooler_output")) {
    expected.outputs["pooler_output"] = readValues(checkpoint, "pooler_output");
  }
  return expected;
}

void expectOracle(const std::string &name, const std::vector<std::string> &arguments = {},
                  float bound = 2e-5F) {
  std::string binary = compileModel(oracles + name, arguments);
  ASSERT_FALSE(binary.empty());
  Expected expected = readExpected(name);
  for (const std::string &isa : runnableTargets(binary)) {
    auto outputs = runBinary(binary, expected.batch, isa);
    for (const auto &[output, values] : expected.outputs) {
      EXPECT_LE(largestDifference(outputs[output], values), bound) << isa << " " << output;
    }
  }
}

TEST(Encoder, AgreesWithBertTinyInBf16) { expectOracle("bert-tiny", {"--precision=bf16"}, 5e-2F); }
// Its weights are random numbers, which lose more in so few bits than those of real models.
TEST(Encoder, AgreesWithBertTinyInInt8) { expectOracle("bert-tiny", {"--precision=int8"}, 0.1F); }
TEST(Encoder, AgreesWithBertTinyInInt4) { expectOracle("bert-tiny", {"--precision=int4"}, 1.0F); }
TEST(Encoder, AgreesWithBertTinyInTf32) { expectOracle("bert-tiny", {"--precision=tf32"}, 5e-3F); }
TEST(Encoder, AgreesWithBertTinyInThreeOfTf32) {
  expectOracle("bert-tiny", {"--precision=tf32x3"});
}
TEST(Encoder, AgreesWithBertTiny) { expectOracle("bert-tiny"); }
TEST(Encoder, AgreesWithDistilbertTiny) { expectOracle("distilbert-tiny"); }
TEST(Encoder, AgreesWithRobertaTiny) { expectOracle("roberta-tiny"); }
TEST(Encoder, AgreesWithAlbertTiny) { expectOracle("albert-tiny"); }
TEST(Encoder, AgreesWithMpNetTiny) { expectOracle("mpnet-tiny"); }
TEST(Encoder, AgreesWithModernBertTiny) { expectOracle("modernbert-tiny"); }

/// Checks the modules of sentence-transformers: pooling, linear layers, norms.
void expectEmbeddings(const std::string &name) {
  const std::string binary = compileModel(oracles + name);
  ASSERT_FALSE(binary.empty());
  const auto opened = Checkpoint::open(oracles + name + "/expected.safetensors");
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const std::vector<float> values = readValues(*opened, "embedding");
  const Ragged batch = readSentences(*opened).batch;
  for (const std::string &isa : runnableTargets(binary)) {
    auto outputs = runBinary(binary, batch, isa, 1, "embed");
    EXPECT_LE(largestDifference(outputs["embedding"], values), 1e-5f) << isa;
  }
}

TEST(Encoder, AgreesWithDenseModule) { expectEmbeddings("sentence-dense"); }
TEST(Encoder, AgreesWithModulesInTheirOrder) { expectEmbeddings("sentence-modules"); }

TEST(Encoder, ProgramsFindTheWeightsOfModules) {
  const std::string oracle = oracles + "sentence-modules";
  const std::string folder = std::filesystem::path(compileModel(oracle)).parent_path();
  std::string text;
  const std::string program = folder + "/program.mlir";
  // Notes are not part of the program.
  ASSERT_EQ(runCommand("(" HEDDLE_BINARY_DIR "/bin/heddlec " + oracle +
                           " --emit=model 2>/dev/null >" + program + ")",
                       text),
            0);
  const std::string binary = compileModel(program, {"--weights", oracle});
  ASSERT_FALSE(binary.empty());
  const Ragged batch = randomSentences(3, 9, 71, 5);
  EXPECT_EQ(runBinary(binary, batch, "", 1, "embed"),
            runBinary(compileModel(oracle), batch, "", 1, "embed"));
}

TEST(Encoder, NoPassNeedBeRunOfModernBert) {
  const std::string fused = compileModel(oracles + "modernbert-tiny");
  const std::string plain = compileModel(oracles + "modernbert-tiny", withoutPasses());
  ASSERT_FALSE(fused.empty() || plain.empty());
  const Ragged batch = randomSentences(9, 40, 101, 6);
  auto expected = runBinary(fused, batch)["last_hidden_state"];
  for (const std::string &isa : runnableTargets(plain)) {
    auto outputs = runBinary(plain, batch, isa);
    EXPECT_LE(largestDifference(outputs["last_hidden_state"], expected), 5e-5f) << isa;
  }
}

TEST(Encoder, EveryPassMayBeLeftOut) {
  std::string fused = compileModel(oracles + "bert-tiny");
  ASSERT_FALSE(fused.empty());
  Ragged batch = randomSentences(9, 40, 211, 1);
  auto expected = runBinary(fused, batch);
  std::vector<std::vector<std::string>> variants = {withoutPasses()};
  for (const std::string &flag : withoutPassesOf(oracles + "bert-tiny")) {
    variants.push_back({flag});
  }
  for (const auto &variant : variants) {
    std::string binary = compileModel(oracles + "bert-tiny", variant);
    ASSERT_FALSE(binary.empty());
    for (const std::string &isa : runnableTargets(binary)) {
      auto outputs = runBinary(binary, batch, isa);
      for (const auto &[output, values] : expected) {
        EXPECT_LE(largestDifference(outputs[output], values), unfusedBound)
            << variant.front() << " of " << variant.size() << " on " << isa << ": " << output;
      }
    }
  }
}

void expectSameBits(const std::string &name, int vocabulary,
                    const std::vector<std::string> &arguments = {}) {
  std::string binary = compileModel(oracles + name, arguments);
  ASSERT_FALSE(binary.empty());
  // Enough for several blocks of a kernel; the emulated GPU takes long.
  const int count = testsCpu() ? 50 : 16;
  Ragged sentences = randomSentences(count, 40, vocabulary, 2);
  for (const std::string &isa : runnableTargets(binary)) {
    auto model = Model::load(binary, {.isa = isa, .device = anyDevice});
    ASSERT_TRUE(model.ok()) << model.status().message();
    auto alone = Session::create(*model);
    ASSERT_TRUE(alone.ok());
    std::vector<float> expected;
    size_t first = 0;
    for (int32_t length : sentences.lengths) {
      Ragged one;
      one.append(std::span(sentences.ids).subspan(first, length));
      auto values = runModel(*alone, "encode", one)["last_hidden_state"];
      expected.insert(expected.end(), values.begin(), values.end());
      first += length;
    }
    // A GPU has one lane, whatever the threads and the schedule.
    const bool isGpu = isa.starts_with("sm_");
    for (Schedule schedule : {Schedule::Automatic, Schedule::Chunked, Schedule::Cooperative}) {
      for (int threads : {1, 2, 3}) {
        if (isGpu && (threads > 1 || schedule != Schedule::Automatic)) {
          continue;
        }
        auto session = Session::create(*model, {.threads = threads, .schedule = schedule});
        ASSERT_TRUE(session.ok());
        auto together = runModel(*session, "encode", sentences)["last_hidden_state"];
        ASSERT_EQ(together.size(), expected.size());
        EXPECT_EQ(std::memcmp(together.data(), expected.data(), expected.size() * 4), 0)
            << isa << " on " << threads << " threads";
      }
    }
  }
}

TEST(Encoder, SameSentenceSameBits) { expectSameBits("bert-tiny", 211); }
TEST(Encoder, SameSentenceSameBitsInBf16) {
  expectSameBits("bert-tiny", 211, {"--precision=bf16"});
}
TEST(Encoder, SameSentenceSameBitsInInt8) {
  expectSameBits("bert-tiny", 211, {"--precision=int8"});
}
TEST(Encoder, SameSentenceSameBitsInInt4) {
  expectSameBits("bert-tiny", 211, {"--precision=int4"});
}
TEST(Encoder, SameSentenceSameBitsInTf32) {
  expectSameBits("bert-tiny", 211, {"--precision=tf32"});
}

/// In f32, GPUs may multiply in tf32, and processors do not. Kept layers multiply in f32 there, but
/// their attention, which has no weights, follows the precision.
TEST(Encoder, Tf32IsOfGpusAlone) {
  const Ragged batch = randomSentences(9, 40, 211, 4);
  const std::string exact = compileModel(oracles + "bert-tiny");
  const std::string kept = compileModel(
      oracles + "bert-tiny", {"--precision=tf32", "--keep=encoder=f32", "--keep=pooler=f32"});
  ASSERT_FALSE(exact.empty() || kept.empty());
  for (const char *const precision : {"tf32", "tf32x3"}) {
    const std::string rounded =
        compileModel(oracles + "bert-tiny", {std::string("--precision=") + precision});
    ASSERT_FALSE(rounded.empty());
    const Result<Model> model = Model::load(rounded, {.isa = {}, .describeOnly = true});
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_EQ(model->precision(), precision);
    for (const std::string &isa : runnableTargets(rounded)) {
      const bool isGpu = isa.starts_with("sm_");
      const auto expected = runBinary(exact, batch, isa), found = runBinary(rounded, batch, isa);
      EXPECT_EQ(found == expected, !isGpu) << isa << " in " << precision;
      const auto partly = runBinary(kept, batch, isa);
      EXPECT_EQ(partly == expected, !isGpu) << isa;
      EXPECT_EQ(partly == found, !isGpu) << isa << " in " << precision;
    }
  }
}
TEST(Encoder, SameSentenceSameBitsInWindows) { expectSameBits("modernbert-tiny", 101); }

TEST(Encoder, TwoCompilationsGiveTheSameBytes) {
  std::string first = compileByDefault(oracles + "bert-tiny");
  std::string second = compileModel(oracles + "bert-tiny", {"--target=x86-64-v4,x86-64-v3"});
  ASSERT_FALSE(first.empty() || second.empty());
  EXPECT_EQ(readBytes(first), readBytes(second));
}

TEST(Encoder, ProgramsOfEveryPhaseCompileToTheSameCode) {
  std::string folder = std::filesystem::path(compileByDefault(oracles + "bert-tiny")).parent_path();
  Ragged batch = randomSentences(5, 40, 211, 3);
  auto expected = runBinary(compileByDefault(oracles + "bert-tiny"), batch);
  const std::vector<std::pair<std::string, std::string>> phases = {{"model", "fused"},
                                                                   {"fused", "dataflow"},
                                                                   {"dataflow", "kernels"},
                                                                   {"kernels", "llvm"},
                                                                   {"llvm", "asm"}};
  for (const auto &[stop, start] : phases) {
    std::string program = folder + "/" + stop + ".mlir", text;
    std::string command = HEDDLE_BINARY_DIR "/bin/heddlec " + oracles +
                          "bert-tiny --stop-after=" + stop + " -o " + program;
    ASSERT_EQ(runCommand(command, text), 0) << text;
    std::filesystem::copy_file(oracles + "bert-tiny/model.safetensors",
                               folder + "/" + stop + ".safetensors");
    std::string binary = compileByDefault(program, {"--start-at=" + start});
    ASSERT_FALSE(binary.empty());
    EXPECT_EQ(runBinary(binary, batch), expected) << stop;
  }
}

} // namespace
} // namespace heddle
