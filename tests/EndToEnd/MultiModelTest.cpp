// SPDX-License-Identifier: Apache-2.0
///
/// MultiModels from their folders to encoder states, logits and searches, with the command line on
/// the very files that hold what is expected: on every target, with passes and without.
#include "formats/Checkpoint/Checkpoint.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/GeneratedTokens.h"
#include "tests/EndToEnd/OptionalPasses.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/multimodel/";

struct Values {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

Values readTensor(const std::string &path, const std::string &name) {
  auto checkpoint = Checkpoint::open(path);
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  if (!checkpoint.ok() || checkpoint->find(name) == nullptr) {
    ADD_FAILURE() << path << " has no tensor " << name;
    return {};
  }
  const auto &shape = checkpoint->find(name)->shape;
  Values found{{shape.begin(), shape.end()}, {}};
  size_t count = 1;
  for (const int64_t size : found.shape) {
    count *= static_cast<size_t>(size);
  }
  found.values.resize(count);
  // Integers of tokens are exact in f32.
  std::vector<int32_t> integers(count);
  if (checkpoint->readI32(name, integers).ok()) {
    found.values.assign(integers.begin(), integers.end());
    return found;
  }
  EXPECT_TRUE(checkpoint->readF32(name, found.values).ok());
  return found;
}

/// What a binary gives for an oracle's own file, as the path of the outputs.
std::string runOracle(const std::string &binary, const std::string &name, const std::string &isa,
                      int threads, const TemporaryFolder &folder) {
  const std::string output = folder / fmt::format("{}-{}.safetensors", isa, threads);
  const tools::Outcome outcome =
      tools::runHeddle({"run", binary, "--inputs", oracles + name + "/expected.safetensors",
                        "--outputs", output, "--isa", isa, "--threads", std::to_string(threads)});
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  return outcome.code == 0 ? output : std::string();
}

/// The largest difference of [B, T, width] where there are tokens: the first length of each row.
float differenceOfTokens(const Values &found, const Values &expected,
                         const std::vector<int64_t> &lengths) {
  EXPECT_EQ(found.shape, expected.shape);
  float largest = 0;
  const auto width = static_cast<size_t>(expected.shape.back());
  const auto most = static_cast<size_t>(expected.shape[1]);
  for (size_t row = 0; row < lengths.size(); ++row) {
    for (size_t i = 0; i < static_cast<size_t>(lengths[row]) * width; ++i) {
      const size_t at = row * most * width + i;
      largest = std::max(largest, std::abs(found.values.at(at) - expected.values.at(at)));
    }
  }
  return largest;
}

/// How many tokens each row has before its padding, 0.
std::vector<int64_t> lengthsOf(const Values &ids) {
  std::vector<int64_t> lengths;
  for (int64_t row = 0; row < ids.shape[0]; ++row) {
    int64_t length = ids.shape[1];
    while (length > 0 && ids.values[static_cast<size_t>(row * ids.shape[1] + length - 1)] == 0) {
      --length;
    }
    lengths.push_back(length);
  }
  return lengths;
}

void expectOracle(const std::string &name, const std::vector<std::string> &flags) {
  const std::string binary = compileModel(oracles + name, flags);
  ASSERT_FALSE(binary.empty());
  const std::string file = oracles + name + "/expected.safetensors";
  const auto sources = lengthsOf(readTensor(file, "source"));
  const auto targets = lengthsOf(readTensor(file, "target"));
  const TemporaryFolder folder;
  for (const std::string &isa : runnableTargets(binary)) {
    const std::string output = runOracle(binary, name, isa, 1, folder);
    ASSERT_FALSE(output.empty()) << isa;
    EXPECT_LE(
        differenceOfTokens(readTensor(output, "encoder"), readTensor(file, "encoder"), sources),
        2e-4F)
        << isa;
    const Values logits = readTensor(output, "logits");
    EXPECT_LE(differenceOfTokens(logits, readTensor(file, "logits"), targets), 2e-4F) << isa;
    EXPECT_EQ(readTensor(runOracle(binary, name, isa, 2, folder), "logits").values, logits.values);
  }
}

TEST(MultiModel, TextDenseAgreesWithItsOracle) { expectOracle("multimodel-text-dense", {}); }

TEST(MultiModel, TextAgreesWithItsOracle) {
  expectOracle("multimodel-text", {});
  expectOracle("multimodel-text", withoutPasses());
}

TEST(MultiModel, TextDenseAgreesWithItsOracleUnfused) {
  expectOracle("multimodel-text-dense", withoutPasses());
  expectOracle("multimodel-text-dense", {"--disable-pass=fuse-windows"});
}

Tokens unpadded(std::span<const float> ids) {
  Tokens tokens;
  for (const float id : ids) {
    tokens.push_back(static_cast<int32_t>(id));
  }
  while (!tokens.empty() && tokens.back() == 0) {
    tokens.pop_back();
  }
  return tokens;
}

class MultiModelSearch : public testing::TestWithParam<const char *> {};

TEST_P(MultiModelSearch, IsThatOfTheOracleForEveryCommand) {
  const std::string name = GetParam();
  const std::string binary = compileModel(oracles + name);
  ASSERT_FALSE(binary.empty());
  const std::string file = oracles + name + "/expected.safetensors";
  const Values sources = readTensor(file, "source"), commands = readTensor(file, "command");
  const Values greedy = readTensor(file, "greedy.tokens"), beams = readTensor(file, "beam4.tokens");
  const Values scores = readTensor(file, "beam4.scores");
  const auto row = [](const Values &table, size_t i, size_t width) {
    return unpadded(std::span(table.values).subspan(i * width, width));
  };
  for (size_t i = 0; i < commands.values.size(); ++i) {
    const Tokens source = row(sources, i, static_cast<size_t>(sources.shape[1]));
    const std::string line = fmt::format("{}\n", fmt::join(source, " "));
    const std::string command = std::to_string(static_cast<int>(commands.values[i]));
    const std::string most = std::to_string(source.size() + 50);
    const auto first =
        generateTokens(binary, line, {"--beam", "1", "--max-length", most, "--command", command});
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first[0][0]["tokens"].get<Tokens>(),
              row(greedy, i, static_cast<size_t>(greedy.shape[1])));
    const auto found = generateTokens(binary, line,
                                      {"--beam", "4", "--nbest", "4", "--length-penalty", "0.6",
                                       "--max-length", most, "--command", command});
    ASSERT_EQ(found.size(), 1U);
    const auto width = static_cast<size_t>(beams.shape[2]);
    for (size_t k = 0; k < 4; ++k) {
      const float score = scores.values[i * 4 + k];
      if (std::isinf(score)) {
        EXPECT_LE(found[0].size(), k);
        continue;
      }
      EXPECT_EQ(found[0][k]["tokens"].get<Tokens>(), row(beams, i * 4 + k, width));
      EXPECT_NEAR(found[0][k]["score"].get<double>(), static_cast<double>(score), 2e-4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Texts, MultiModelSearch,
                         testing::Values("multimodel-text-dense", "multimodel-text"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// The rows of [B, S, width] or [B, 1, S, width] that are those of sequences, one after the other.
std::vector<float> raggedOf(const Values &padded, const std::vector<int64_t> &lengths) {
  const auto width = static_cast<size_t>(padded.shape.back());
  const auto most = static_cast<size_t>(padded.shape[padded.shape.size() - 2]);
  std::vector<float> rows;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const auto begin = padded.values.begin() + static_cast<std::ptrdiff_t>(i * most * width);
    rows.insert(rows.end(), begin, begin + lengths[i] * static_cast<int64_t>(width));
  }
  return rows;
}

TEST(MultiModel, ClassesAndGatesAreThoseOfTheOracle) {
  const std::string name = "multimodel-text-class", file = oracles + name + "/expected.safetensors";
  Values source = readTensor(file, "source");
  const std::vector<int64_t> lengths = lengthsOf(source);
  source.shape.push_back(1);
  Ragged batch;
  size_t first = 0;
  const std::vector<float> tokens = raggedOf(source, lengths);
  for (const int64_t length : lengths) {
    std::vector<int32_t> sentence(tokens.begin() + static_cast<std::ptrdiff_t>(first),
                                  tokens.begin() + static_cast<std::ptrdiff_t>(first) + length);
    batch.append(sentence);
    first += static_cast<size_t>(length);
  }
  for (const std::vector<std::string> &flags : {std::vector<std::string>{}, withoutPasses()}) {
    const std::string binary = compileModel(oracles + name, flags);
    for (const std::string &isa : runnableTargets(binary)) {
      auto found = runBinary(binary, batch, isa);
      EXPECT_LE(largestDifference(found["encoder"], raggedOf(readTensor(file, "encoder"), lengths)),
                2e-4F);
      EXPECT_LE(largestDifference(found["encoder.gates"],
                                  raggedOf(readTensor(file, "encoder.gates"), lengths)),
                2e-4F);
      EXPECT_LE(largestDifference(found["class.logits"], readTensor(file, "class.logits").values),
                2e-4F);
      EXPECT_EQ(runBinary(binary, batch, isa, 2), found);
    }
  }
}

TEST(MultiModel, CommandsThatThereAreNot) {
  const std::string binary = compileModel(oracles + "multimodel-text-dense");
  const TemporaryFolder folder;
  folder.write("source.txt", "5 6\n");
  const auto messageOf = [&](const std::string &model, const std::string &command) {
    return tools::runHeddle({"generate", model, "--input", folder / "source.txt", "--tokens",
                             "--command", command})
        .error;
  };
  EXPECT_NE(messageOf(binary, "3").find("command is 3, expected 0 to 2"), std::string::npos)
      << messageOf(binary, "3");
  const std::string other = compileModel(HEDDLE_TEST_DATA "/oracles/transformer-post");
  EXPECT_NE(messageOf(other, "0").find("command is 0, expected none: the model has one task"),
            std::string::npos)
      << messageOf(other, "0");
}

} // namespace
} // namespace heddle
