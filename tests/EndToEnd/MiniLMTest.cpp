// SPDX-License-Identifier: Apache-2.0
///
/// all-MiniLM-L6-v2, a widely used model, from its folder to embeddings of texts. The model is not
/// part of the sources: it is at $HEDDLE_MINILM or where `./dev test` and `./dev demo` put it.
#include "runtime/Tools/Compare/Comparison.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <sstream>

namespace heddle {
namespace {

using nlohmann::json;
using Embedding = std::vector<float>;

constexpr float bound = 1e-5f;
constexpr size_t width = 384;
constexpr int batchCount = 50;
constexpr size_t mostTexts = 16;
const std::string oracle = HEDDLE_TEST_DATA "/oracles/minilm/embeddings.jsonl";
const std::vector<std::string> unfused = {
    "--disable-pass=fuse-attention", "--disable-pass=fuse-projections",
    "--disable-pass=fuse-embedding", "--disable-pass=fold-epilogues"};

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_ADDRESS_SANITIZER 1
#endif
#endif

/// Returns the objects of a file with one per line.
std::vector<json> recordsOf(const std::string &text) {
  std::vector<json> records;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    records.push_back(json::parse(line, nullptr, false));
    EXPECT_TRUE(records.back().is_object()) << line;
  }
  return records;
}

/// The model's folder, the texts, and the expected results.
class MiniLM : public testing::Test {
protected:
  void SetUp() override {
    const char *given = std::getenv("HEDDLE_MINILM");
    model = given != nullptr ? given : HEDDLE_BINARY_DIR "/models/all-MiniLM-L6-v2";
    if (!std::filesystem::exists(model + "/config.json")) {
      GTEST_SKIP() << model << " is not there; ./dev test fetches it, or set HEDDLE_MINILM to the "
                   << "folder of all-MiniLM-L6-v2";
    }
    expected = recordsOf(readBytes(oracle));
    ASSERT_EQ(expected.size(), 55u);
  }

  /// Returns the records that `heddle embed` writes for the texts of the oracle.
  std::vector<json> embedTexts(const std::string &binary, const std::string &isa) {
    auto outcome = tools::runHeddle({"embed", binary, "--input", oracle, "--isa", isa});
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    return recordsOf(outcome.output);
  }

  /// Returns the ids of one text.
  std::vector<int32_t> idsOf(size_t text) const {
    return expected[text]["ids"].get<std::vector<int32_t>>();
  }

  /// Returns the embeddings of the texts at these indices, as one batch.
  std::vector<float> embed(Session &session, std::span<const size_t> texts) const {
    Ragged batch;
    for (size_t text : texts) {
      batch.append(idsOf(text));
    }
    return runModel(session, "embed", batch)["embedding"];
  }

  /// Returns the embeddings of all texts, each computed alone.
  std::vector<float> embedAlone(Session &session) const {
    std::vector<float> alone;
    for (size_t text = 0; text < expected.size(); ++text) {
      auto one = embed(session, {&text, 1});
      alone.insert(alone.end(), one.begin(), one.end());
    }
    return alone;
  }

  std::string model;
  std::vector<json> expected;
  TemporaryFolder folder;
};

Session sessionOf(const std::string &binary, const std::string &isa, int threads) {
  auto loaded = Model::load(binary, {.isa = isa});
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  auto session = Session::create(*loaded, {.threads = threads});
  EXPECT_TRUE(session.ok()) << session.status().message();
  return *std::move(session);
}

TEST_F(MiniLM, AgreesWithTheGoldenEmbeddings) {
  std::string binary = compileModel(model);
  ASSERT_FALSE(binary.empty());
  for (const std::string &isa : runnableTargets(binary)) {
    std::vector<json> records = embedTexts(binary, isa);
    ASSERT_EQ(records.size(), expected.size());
    float largest = 0;
    for (size_t text = 0; text < records.size(); ++text) {
      EXPECT_EQ(records[text]["text"], expected[text]["text"]);
      EXPECT_EQ(records[text]["tokens"], expected[text]["ids"]) << expected[text]["text"];
      float difference = largestDifference(records[text]["embedding"].get<Embedding>(),
                                           expected[text]["embedding"].get<Embedding>());
      EXPECT_LE(difference, bound) << isa << ": " << expected[text]["text"];
      largest = std::max(largest, difference);
    }
    std::printf("%s: at most %.2g from the golden embeddings\n", isa.c_str(), largest);
  }
}

/// A precision, the required closeness of its embeddings to the golden ones, and the maximum size
/// of its file.
struct PrecisionCase {
  const char *precision;
  double leastCosine, meanCosine;
  uintmax_t mostBytes;
  /// Whether codes are calibrated with texts.
  bool isCalibrated = false;
};

// The bounds hold for the 55 texts of the oracle. Files of int8-g128 have an additional tenth of a
// megabyte for the code of a third target.
TEST_F(MiniLM, IsNearAndSmallInFewerBits) {
  for (const PrecisionCase &each : {PrecisionCase{"bf16-weights", 0.9999, 0.99995, 47'000'000},
                                    PrecisionCase{"int8-weights", 0.998, 0.9995, 25'000'000},
                                    PrecisionCase{"bf16", 0.9999, 0.99995, 47'000'000},
                                    PrecisionCase{"int8", 0.9925, 0.998, 25'000'000},
                                    PrecisionCase{"int8-g128", 0.997, 0.9992, 25'100'000},
                                    PrecisionCase{"int4", 0.89, 0.957, 20'000'000},
                                    PrecisionCase{"int4", 0.90, 0.973, 20'000'000, true}}) {
    std::vector<std::string> options = {"--precision=" + std::string(each.precision)};
    if (each.isCalibrated) {
      options.push_back("--calibration=" HEDDLE_TEST_DATA "/EndToEnd/Inputs/texts.txt");
    }
    const std::string binary = compileModel(model, options);
    ASSERT_FALSE(binary.empty());
    EXPECT_LE(std::filesystem::file_size(binary), each.mostBytes) << each.precision;
    for (const std::string &isa : runnableTargets(binary)) {
      Session session = sessionOf(binary, isa, 1);
      const std::vector<float> found = embedAlone(session);
      ASSERT_EQ(found.size(), expected.size() * width);
      double least = 1;
      double sum = 0;
      for (size_t text = 0; text < expected.size(); ++text) {
        const auto golden = expected[text]["embedding"].get<Embedding>();
        const double cosine = tools::cosineOf({&found[text * width], width}, golden);
        least = std::min(least, cosine);
        sum += cosine;
      }
      const double mean = sum / static_cast<double>(expected.size());
      std::printf("%s%s, %s: cosine least %.5f, mean %.5f\n", each.precision,
                  each.isCalibrated ? " calibrated" : "", isa.c_str(), least, mean);
      EXPECT_GE(least, each.leastCosine) << each.precision << " " << isa;
      EXPECT_GE(mean, each.meanCosine) << each.precision << " " << isa;
    }
  }
}

TEST_F(MiniLM, SameSentenceSameBits) {
  std::string binary = compileModel(model);
  ASSERT_FALSE(binary.empty());
  for (const std::string &isa : runnableTargets(binary)) {
    Session single = sessionOf(binary, isa, 1);
    std::vector<float> alone = embedAlone(single);
    ASSERT_EQ(alone.size(), expected.size() * width);
    for (int threads : {1, 2}) {
      Session session = sessionOf(binary, isa, threads);
      std::mt19937 random(7);
      for (int number = 0; number < batchCount; ++number) {
        std::vector<size_t> texts(expected.size());
        std::iota(texts.begin(), texts.end(), size_t(0));
        std::shuffle(texts.begin(), texts.end(), random);
        // All of them once, then a few.
        texts.resize(number == 0 ? texts.size() : 1 + random() % mostTexts);
        std::vector<float> together = embed(session, texts);
        ASSERT_EQ(together.size(), texts.size() * width);
        for (size_t place = 0; place < texts.size(); ++place) {
          EXPECT_EQ(std::memcmp(&together[place * width], &alone[texts[place] * width],
                                width * sizeof(float)),
                    0)
              << isa << " on " << threads << " threads, batch " << number << ", text "
              << texts[place];
        }
      }
    }
  }
}

TEST_F(MiniLM, FusedAndUnfusedAgree) {
  std::string fused = compileModel(model), plain = compileModel(model, unfused);
  ASSERT_FALSE(fused.empty() || plain.empty());
  for (const std::string &isa : runnableTargets(fused)) {
    Session one = sessionOf(fused, isa, 1), other = sessionOf(plain, isa, 1);
    EXPECT_LE(largestDifference(embedAlone(one), embedAlone(other)), bound) << isa;
  }
}

TEST_F(MiniLM, TwoCompilationsGiveTheSameBytes) {
  std::string first = compileByDefault(model);
  // Another command line, so that it is compiled again.
  std::string second = compileModel(model, {"--target=x86-64-v4,x86-64-v3"});
  ASSERT_FALSE(first.empty() || second.empty());
  EXPECT_TRUE(readBytes(first) == readBytes(second));
}

TEST_F(MiniLM, CompilesInLittleMemory) {
  auto outcome = tools::runProgram("heddlec", {model, "-o", folder / "minilm.so"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  std::printf("heddlec took %ld MB\n", outcome.peakKilobytes / 1000);
#ifndef HEDDLE_ADDRESS_SANITIZER
  EXPECT_LE(outcome.peakKilobytes, 350'000);
#endif
}

TEST_F(MiniLM, NpyHasTheSameNumbers) {
  std::string binary = compileModel(model);
  ASSERT_FALSE(binary.empty());
  std::string output = folder / "embeddings.npy";
  auto outcome = tools::runHeddle({"embed", binary, "--input", oracle, "--output", output});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  std::string bytes = readBytes(output);
  ASSERT_GT(bytes.size(), 10u);
  size_t header = 10 + static_cast<unsigned char>(bytes[8]) +
                  (size_t(static_cast<unsigned char>(bytes[9])) << 8);
  EXPECT_NE(bytes.substr(0, header).find("'shape': (55, 384)"), std::string::npos);
  std::vector<float> matrix(expected.size() * width);
  ASSERT_EQ(bytes.size(), header + matrix.size() * sizeof(float));
  std::memcpy(matrix.data(), bytes.data() + header, matrix.size() * sizeof(float));
  std::vector<float> lines;
  for (const json &record : embedTexts(binary, runnableTargets(binary).front())) {
    auto embedding = record["embedding"].get<Embedding>();
    lines.insert(lines.end(), embedding.begin(), embedding.end());
  }
  EXPECT_EQ(matrix, lines);
}

TEST_F(MiniLM, IsVerified) {
  std::string binary = compileModel(model);
  ASSERT_FALSE(binary.empty());
  auto outcome = tools::runHeddle({"verify", binary});
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.error, "");
}

/// Copies the model's text, its weights and its tokenizer into one folder, as a user would.
TEST_F(MiniLM, ItsTextGivesTheSameEmbeddings) {
  const auto printed = tools::runProgram("heddlec", {model, "--emit=model"});
  ASSERT_EQ(printed.code, 0) << printed.error;
  const std::string program = folder.write("model.mlir", printed.output);
  for (const char *file : {"model.safetensors", "tokenizer.json"}) {
    std::filesystem::create_symlink(std::filesystem::absolute(model + "/" + file), folder / file);
  }
  // Longer than the model allows: the tokenizer's own limit differs.
  std::string longText;
  for (int word = 0; word < 400; ++word) {
    longText += "word " + std::to_string(word) + " ";
  }
  const std::string texts = folder.write("texts.txt", "A cat sat on the mat.\n" + longText + "\n");
  std::vector<std::string> found;
  for (const std::string &binary : {compileModel(model), compileModel(program)}) {
    ASSERT_FALSE(binary.empty());
    const std::string output = folder / "embeddings.npy";
    const auto outcome = tools::runHeddle({"embed", binary, "--input", texts, "--output", output});
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    found.push_back(readBytes(output));
  }
  EXPECT_TRUE(found[0] == found[1]);
}

} // namespace
} // namespace heddle
