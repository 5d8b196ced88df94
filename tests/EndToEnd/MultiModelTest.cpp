// SPDX-License-Identifier: Apache-2.0
///
/// MultiModels from their folders to encoder states, logits and searches, with the command line on
/// the files that contain the expected results: on every target, with passes and without.
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Checkpoint/Safetensors.h"
#include "heddle/heddle.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/GeneratedTokens.h"
#include "tests/EndToEnd/OptionalPasses.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/TestDevice.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <limits>
#include <span>

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

const std::string expectedFile(const std::string &name) {
  return oracles + name + "/expected.safetensors";
}

bool hasTensor(const std::string &path, const std::string &name) {
  auto checkpoint = Checkpoint::open(path);
  return checkpoint.ok() && checkpoint->find(name) != nullptr;
}

/// Runs a binary on an oracle's own file; returns the path of the outputs.
std::string runOn(const std::string &binary, const std::string &inputs, const std::string &isa,
                  int threads, const TemporaryFolder &folder) {
  const std::string output = folder / fmt::format("{}-{}.safetensors", isa, threads);
  const tools::Outcome outcome =
      tools::runHeddle(withTestDevice({"run", binary, "--inputs", inputs, "--outputs", output,
                                       "--isa", isa, "--threads", std::to_string(threads)}));
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  return outcome.code == 0 ? output : std::string();
}

/// Returns the largest difference of [B, T, width] over the tokens, the first ones of each row.
float differenceOfTokens(const Values &found, const Values &expected,
                         const std::vector<int64_t> &lengths) {
  EXPECT_EQ(found.shape, expected.shape);
  if (found.values.size() != expected.values.size()) {
    return std::numeric_limits<float>::infinity();
  }
  float largest = 0;
  const auto width = static_cast<size_t>(expected.shape.back());
  const auto most = static_cast<size_t>(expected.shape[1]);
  for (size_t row = 0; row < lengths.size(); ++row) {
    const auto tokensOf = [&](const Values &all) {
      return std::span(all.values).subspan(row * most * width, size_t(lengths[row]) * width);
    };
    largest = std::max(largest, largestDifference(tokensOf(found), tokensOf(expected)));
  }
  return largest;
}

/// Returns the number of tokens of each row before its padding, 0.
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

/// Reorders [B, units, S, experts] to the layout of a binary, [B, S, units * experts].
Values sideBySide(const Values &gates) {
  const int64_t batch = gates.shape[0], units = gates.shape[1], rows = gates.shape[2];
  const int64_t experts = gates.shape[3];
  Values turned{{batch, rows, units * experts}, std::vector<float>(gates.values.size())};
  for (int64_t i = 0; i < static_cast<int64_t>(gates.values.size()); ++i) {
    const int64_t expert = i % experts, row = i / experts % rows;
    const int64_t unit = i / experts / rows % units, example = i / experts / rows / units;
    turned.values[static_cast<size_t>(((example * rows + row) * units + unit) * experts + expert)] =
        gates.values[static_cast<size_t>(i)];
  }
  return turned;
}

/// Compares every tensor that the entries give; padding of sources is zero in both.
void expectOutputs(const std::string &output, const std::string &file) {
  for (const std::string name : {"encoder", "encoder.gates", "class.logits"}) {
    if (!hasTensor(file, name)) {
      continue;
    }
    Values wanted = readTensor(file, name);
    wanted = wanted.shape.size() == 4 ? sideBySide(wanted) : wanted;
    const Values found = readTensor(output, name);
    EXPECT_EQ(found.shape, wanted.shape) << name;
    EXPECT_LE(largestDifference(found.values, wanted.values), 2e-4F) << name;
  }
  for (const std::string name : {"mixer", "decoder.gates", "logits"}) {
    if (hasTensor(file, name)) {
      const Values wanted = readTensor(file, name);
      EXPECT_LE(differenceOfTokens(readTensor(output, name),
                                   wanted.shape.size() == 4 ? sideBySide(wanted) : wanted,
                                   lengthsOf(readTensor(file, "target"))),
                2e-4F)
          << name;
    }
  }
}

struct Folder {
  const char *name;
  bool generates;
};

class MultiModelOracle : public testing::TestWithParam<Folder> {};

TEST_P(MultiModelOracle, AgreesWithEveryTensor) {
  const std::string file = expectedFile(GetParam().name);
  for (const std::vector<std::string> &flags :
       {std::vector<std::string>{}, withoutPasses(), {"--disable-pass=fuse-windows"}}) {
    const std::string binary = compileModel(oracles + GetParam().name, flags);
    ASSERT_FALSE(binary.empty());
    const TemporaryFolder folder;
    for (const std::string &isa : runnableTargets(binary)) {
      const std::string output = runOn(binary, file, isa, 1, folder);
      ASSERT_FALSE(output.empty()) << isa;
      expectOutputs(output, file);
      if (testsCpu()) {
        EXPECT_EQ(readBytes(runOn(binary, file, isa, 2, folder)), readBytes(output)) << isa;
      }
    }
  }
}

// --- searches --------------------------------------------------------------------------------

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

/// Returns the row of a table at an index.
Tokens rowOf(const Values &table, size_t row) {
  const auto width = static_cast<size_t>(table.shape.back());
  return unpadded(std::span(table.values).subspan(row * width, width));
}

const std::vector<std::string> greedySearch = {"--beam", "1"};
const std::vector<std::string> beamSearch = {"--beam",           "4",  "--nbest", "4",
                                             "--length-penalty", "0.6"};

void expectSearches(const std::string &file, const std::vector<Json> &greedy,
                    const std::vector<Json> &beams) {
  const Values first = readTensor(file, "greedy.tokens");
  const Values tokens = readTensor(file, "beam4.tokens"), scores = readTensor(file, "beam4.scores");
  const auto examples = static_cast<size_t>(first.shape[0]);
  ASSERT_EQ(greedy.size(), examples);
  ASSERT_EQ(beams.size(), examples);
  for (size_t i = 0; i < examples; ++i) {
    EXPECT_EQ(greedy[i][0]["tokens"].get<Tokens>(), rowOf(first, i));
    for (size_t k = 0; k < 4; ++k) {
      const float score = scores.values[i * 4 + k];
      if (std::isinf(score)) {
        EXPECT_LE(beams[i].size(), k);
        continue;
      }
      expectHypothesis(beams[i], k, rowOf(tokens, i * 4 + k), static_cast<double>(score), 2e-4);
    }
  }
}

TEST_P(MultiModelOracle, SearchesAsItDoesForEveryExample) {
  if (!GetParam().generates) {
    GTEST_SKIP() << "a class is not searched for";
  }
  const std::string file = expectedFile(GetParam().name);
  const std::string binary = compileModel(oracles + GetParam().name);
  ASSERT_FALSE(binary.empty());
  const auto beams = generateFromFile(binary, file, beamSearch);
  expectSearches(file, generateFromFile(binary, file, greedySearch), beams);
  // Each alone, and on two threads: the same bits.
  std::vector<std::string> others = beamSearch;
  others.insert(others.end(), {"--batch-tokens", "1", "--threads", "2"});
  EXPECT_EQ(generateFromFile(binary, file, others), beams);
  const std::string unfused = compileModel(oracles + GetParam().name, withoutPasses());
  expectSearches(file, generateFromFile(unfused, file, greedySearch),
                 generateFromFile(unfused, file, beamSearch));
}

INSTANTIATE_TEST_SUITE_P(
    All, MultiModelOracle,
    testing::Values(Folder{"multimodel-text-dense", true}, Folder{"multimodel-text", true},
                    Folder{"multimodel-text-class", false}, Folder{"multimodel-image-text", true},
                    Folder{"multimodel-image-class", false}, Folder{"multimodel-image-sizes", true},
                    Folder{"multimodel-audio-text", true}, Folder{"multimodel-audio-class", false}),
    [](const auto &info) {
      std::string name = info.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

/// Returns the lines of an oracle's sources, and of its commands.
std::pair<std::string, std::string> linesOf(const std::string &file) {
  const Values sources = readTensor(file, "source"), commands = readTensor(file, "command");
  std::string lines, numbers;
  for (size_t i = 0; i < commands.values.size(); ++i) {
    lines += fmt::format("{}\n", fmt::join(rowOf(sources, i), " "));
    numbers += fmt::format("{}\n", static_cast<int>(commands.values[i]));
  }
  return {lines, numbers};
}

TEST(MultiModel, CommandsOfAFileAreThoseOfItsLines) {
  const std::string file = expectedFile("multimodel-text-dense");
  const std::string binary = compileModel(oracles + "multimodel-text-dense");
  const auto [lines, numbers] = linesOf(file);
  const TemporaryFolder folder;
  folder.write("commands.txt", numbers);
  std::vector<std::string> options = {"--commands", folder / "commands.txt"};
  options.insert(options.end(), greedySearch.begin(), greedySearch.end());
  EXPECT_EQ(generateTokens(binary, lines, options), generateFromFile(binary, file, greedySearch));
  // One for all, instead of the file's commands.
  std::vector<std::string> one = {"--command", "1"};
  one.insert(one.end(), greedySearch.begin(), greedySearch.end());
  EXPECT_EQ(generateTokens(binary, lines, one), generateFromFile(binary, file, one));
}

TEST(MultiModel, CommandsThatThereAreNot) {
  const std::string binary = compileModel(oracles + "multimodel-text-dense");
  const TemporaryFolder folder;
  folder.write("source.txt", "5 6\n7 8\n");
  const auto errorOf = [&](const std::string &model, const std::vector<std::string> &options) {
    std::vector<std::string> all = {"generate", model, "--input", folder / "source.txt",
                                    "--tokens"};
    all.insert(all.end(), options.begin(), options.end());
    return tools::runHeddle(all).error;
  };
  const auto expectError = [&](const std::vector<std::string> &options, const std::string &part) {
    const std::string error = errorOf(binary, options);
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  expectError({"--command", "3"}, "command is 3, expected 0 to 2");
  const std::string commands = folder / "commands.txt";
  folder.write("commands.txt", "1\n3\n");
  expectError({"--commands", commands}, "commands.txt:2: command is 3, expected 0 to 2");
  folder.write("commands.txt", "1\n");
  expectError({"--commands", commands}, "commands.txt: no line for");
  folder.write("commands.txt", "1\n1\n1\n");
  expectError({"--commands", commands}, "commands.txt:3: a line without a source");
  folder.write("commands.txt", "1 2\n1\n");
  expectError({"--commands", commands}, "commands.txt:1: 2 numbers, expected one command");
  folder.write("commands.txt", "\n1\n");
  expectError({"--commands", commands}, "commands.txt:1: 0 numbers, expected one command");
  folder.write("commands.txt", "one\n1\n");
  expectError({"--commands", commands}, "commands.txt:1: word 1 is \"one\", expected a token id");
  const std::string other = compileModel(HEDDLE_TEST_DATA "/oracles/transformer-post");
  EXPECT_NE(errorOf(other, {"--command", "0"})
                .find("command is 0, expected none: the model has one task"),
            std::string::npos);
}

// --- images and spectra ----------------------------------------------------------------------

/// Writes a file of tensors: floats, and lengths of examples.
std::string writeTensors(const TemporaryFolder &folder, const std::string &name,
                         const Values &values, const std::vector<int32_t> &lengths = {}) {
  std::vector<SafetensorsTensor> tensors = {
      {name, ElementType::F32, values.shape, std::as_bytes(std::span(values.values))}};
  if (!lengths.empty()) {
    tensors.push_back({name + ".length",
                       ElementType::I32,
                       {static_cast<int64_t>(lengths.size())},
                       std::as_bytes(std::span(lengths))});
  }
  const std::string path = folder / name + ".safetensors";
  EXPECT_EQ(writeSafetensors(path, tensors).message(), "");
  return path;
}

/// Returns images of this height, with pseudo-random values.
Values imagesOf(int64_t count, int64_t height) {
  Values images{{count, height, 29, 3}, {}};
  uint32_t state = 9;
  for (int64_t i = 0; i < count * height * 29 * 3; ++i) {
    state = state * 1664525 + 1013904223;
    images.values.push_back(static_cast<float>(state >> 8) / (1 << 24));
  }
  return images;
}

TEST(MultiModel, ImagesOfAnyHeightHaveTheSameBitsInAnyBatch) {
  const std::string binary = compileModel(oracles + "multimodel-image-class");
  const TemporaryFolder folder;
  const std::vector<int32_t> heights = {1, 40, 7, 33, 2};
  const Values images = imagesOf(5, 40);
  const std::string all = writeTensors(folder, "image", images, heights);
  for (const std::string &isa : runnableTargets(binary)) {
    const std::string together = runOn(binary, all, isa, 2, folder);
    const Values logits = readTensor(together, "class.logits");
    const Values states = readTensor(together, "encoder");
    EXPECT_EQ(states.shape, (std::vector<int64_t>{5, 6, 40}));
    for (size_t i = 0; i < heights.size(); ++i) {
      const auto pixels = static_cast<size_t>(heights[i]) * 29 * 3;
      Values one{{1, heights[i], 29, 3}, {}};
      const auto begin = images.values.begin() + static_cast<std::ptrdiff_t>(i * 40 * 29 * 3);
      one.values.assign(begin, begin + static_cast<std::ptrdiff_t>(pixels));
      const TemporaryFolder alone;
      const std::string output = runOn(binary, writeTensors(alone, "image", one), isa, 1, alone);
      const std::vector<float> expected(logits.values.begin() + static_cast<std::ptrdiff_t>(i * 9),
                                        logits.values.begin() +
                                            static_cast<std::ptrdiff_t>(i * 9 + 9));
      EXPECT_EQ(readTensor(output, "class.logits").values, expected) << isa << ", " << heights[i];
      for (const float value : expected) {
        EXPECT_TRUE(std::isfinite(value));
      }
    }
  }
}

TEST(MultiModel, ImagesComeFromCToo) {
  const std::string binary = compileModel(oracles + "multimodel-image-text");
  const Values image = imagesOf(1, 6);
  heddle_model *model = nullptr;
  heddle_generator *generator = nullptr;
  ASSERT_EQ(heddle_model_load(binary.c_str(), nullptr, &model), nullptr);
  ASSERT_EQ(heddle_generator_create(model, nullptr, &generator), nullptr);
  heddle_model_free(model);
  int64_t id = -1;
  ASSERT_EQ(heddle_generator_add_rows(generator, image.values.data(),
                                      static_cast<int64_t>(image.values.size()), nullptr, 0,
                                      nullptr, &id),
            nullptr);
  while (heddle_generator_idle(generator) == 0) {
    ASSERT_EQ(heddle_generator_step(generator), nullptr);
  }
  heddle_generation *generation = heddle_generator_take(generator);
  ASSERT_NE(generation, nullptr);
  EXPECT_EQ(heddle_generation_id(generation), id);
  int64_t count = 0;
  double score = 0;
  const int32_t *tokens = heddle_generation_tokens(generation, 0, &count, &score);
  ASSERT_NE(tokens, nullptr);
  const TemporaryFolder folder;
  const auto found = generateFromFile(binary, writeTensors(folder, "image", image), {});
  expectHypothesis(found[0], 0, Tokens(tokens, tokens + count), score, 1e-6);
  heddle_generation_free(generation);
  // Half a pixel is invalid.
  heddle_error *error =
      heddle_generator_add_rows(generator, image.values.data(), 100, nullptr, 0, nullptr, &id);
  EXPECT_STREQ(heddle_error_message(error),
               "source has 100 floats, expected a multiple of 87, at least one");
  heddle_error_free(error);
  heddle_generator_free(generator);
}

TEST(MultiModel, AnImageOfOneValueIsNothing) {
  // Without a deviation, the rest of the mean stays zero.
  const std::string binary = compileModel(oracles + "multimodel-image-class");
  const TemporaryFolder folder;
  Values images = imagesOf(2, 12);
  std::fill_n(images.values.begin(), 12 * 29 * 3, 0.0F);
  std::fill(images.values.begin() + 12 * 29 * 3, images.values.end(), 0.5F);
  const std::string output =
      runOn(binary, writeTensors(folder, "image", images), runnableTargets(binary)[0], 1, folder);
  const Values logits = readTensor(output, "class.logits");
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_TRUE(std::isfinite(logits.values[i]));
    EXPECT_NEAR(logits.values[i], logits.values[9 + i], 1e-4);
  }
}

TEST(MultiModel, WhatIsNoNumberStaysInItsImage) {
  const std::string binary = compileModel(oracles + "multimodel-image-class");
  const TemporaryFolder folder;
  const std::string isa = runnableTargets(binary)[0];
  Values images = imagesOf(3, 20);
  const Values before = readTensor(
      runOn(binary, writeTensors(folder, "image", images), isa, 1, folder), "class.logits");
  images.values[20 * 29 * 3 + 100] = std::numeric_limits<float>::quiet_NaN();
  const Values after = readTensor(
      runOn(binary, writeTensors(folder, "image", images), isa, 1, folder), "class.logits");
  for (size_t i = 0; i < 27; ++i) {
    if (i / 9 == 1) {
      EXPECT_TRUE(std::isnan(after.values[i]));
    } else {
      EXPECT_EQ(after.values[i], before.values[i]);
    }
  }
}

TEST(MultiModel, OneImageThatIsNoNumberLeavesTheOthersTheirAnswers) {
  const std::string binary = compileModel(oracles + "multimodel-image-text");
  const TemporaryFolder folder;
  Values images = imagesOf(3, 20);
  const std::string good = writeTensors(folder, "image", images);
  const tools::Outcome all = tools::runHeddle({"generate", binary, "--inputs", good, "--tokens"});
  ASSERT_EQ(all.code, 0) << all.error;
  images.values[20 * 29 * 3 + 5] = std::numeric_limits<float>::quiet_NaN();
  const std::string bad = writeTensors(folder, "image", images);
  const tools::Outcome others = tools::runHeddle({"generate", binary, "--inputs", bad, "--tokens"});
  EXPECT_EQ(others.code, 1);
  EXPECT_NE(others.error.find(" example 2: source has nan in row 2, expected finite numbers"),
            std::string::npos)
      << others.error;
  const auto second = all.output.find('\n'), third = all.output.find('\n', second + 1);
  EXPECT_EQ(others.output, all.output.substr(0, second + 1) + all.output.substr(third));
  const tools::Outcome stopped =
      tools::runHeddle({"generate", binary, "--inputs", bad, "--tokens", "--on-error", "stop"});
  EXPECT_NE(stopped.code, 0);
  EXPECT_NE(stopped.error.find("expected finite numbers"), std::string::npos) << stopped.error;
}

TEST(MultiModel, ImagesAndSpectraThatDoNotFit) {
  const TemporaryFolder folder;
  const auto expectError = [&](const std::string &name, const std::string &path,
                               const std::string &part) {
    const std::string binary = compileModel(oracles + name);
    const tools::Outcome outcome =
        tools::runHeddle({"generate", binary, "--inputs", path, "--tokens"});
    EXPECT_NE(outcome.code, 0);
    EXPECT_EQ(outcome.output, "");
    EXPECT_NE(outcome.error.find(part), std::string::npos) << outcome.error;
  };
  const std::string ofImages = "multimodel-image-text", ofAudio = "multimodel-audio-text";
  expectError(ofImages, writeTensors(folder, "image", {{2, 0, 29, 3}, {}}),
              "has shape [2, 0, 29, 3], expected at least one row of pixels");
  expectError(ofImages, writeTensors(folder, "image", {{1, 20, 29, 1}, std::vector<float>(580)}),
              "tensor \"image\" has shape [1, 20, 29, 1], expected [sequences, height, 29, 3]");
  expectError(ofImages, writeTensors(folder, "image", {{1, 20, 28, 3}, std::vector<float>(1680)}),
              "tensor \"image\" has shape [1, 20, 28, 3], expected [sequences, height, 29, 3]");
  expectError(ofImages, writeTensors(folder, "image", imagesOf(2, 5), {5, 6}),
              "tensor \"image.length\": sequence 2 has 6, expected 1 to 5");
  expectError(ofImages, writeTensors(folder, "picture", imagesOf(2, 5)),
              "no tensor \"image\", which entry \"encode\" needs");
  const Values spectra{{2, 8, 5}, std::vector<float>(80, 1)};
  expectError(ofAudio, writeTensors(folder, "audio", spectra),
              "no tensor \"audio.length\" [2], expected one beside \"audio\"");
  expectError(ofAudio, writeTensors(folder, "audio", spectra, {8}),
              "tensor \"audio.length\" has shape [1], expected [2]");
  expectError(ofAudio, writeTensors(folder, "audio", {{2, 8, 4}, std::vector<float>(64)}, {8, 8}),
              "tensor \"audio\" has shape [2, 8, 4], expected [sequences, frames, 5]");
  const std::string ofSizes = "multimodel-image-sizes";
  expectError(
      ofSizes, writeTensors(folder, "image", {{1, 20, 28, 1}, std::vector<float>(560)}),
      "tensor \"image\" has shape [1, 20, 28, 1], expected [sequences, height, width, 3], or "
      "[tokens, 3] beside \"lengths\" and \"image.width\"");
  expectError(ofSizes, writeTensors(folder, "image", {{1, 0, 29, 3}, {}}),
              "has shape [1, 0, 29, 3], expected at least one pixel in at least one example");
  expectError(ofSizes, writeTensors(folder, "image", imagesOf(2, 5), {5, 6}),
              "tensor \"image.length\": sequence 2 has 6, expected 1 to 5");
  folder.write("lines.txt", "1 2\n");
  const std::string binary = compileModel(oracles + ofAudio);
  const tools::Outcome lines =
      tools::runHeddle({"generate", binary, "--input", folder / "lines.txt", "--tokens"});
  EXPECT_NE(lines.error.find("entry \"encode\" reads rows of f32, the input \"audio\", expected "
                             "--inputs with a tensor of that name"),
            std::string::npos)
      << lines.error;
  const tools::Outcome timed = tools::runHeddle({"bench", binary, "--cases", "1x1"});
  EXPECT_EQ(timed.code, 2);
  EXPECT_NE(timed.error.find("the sources of \"audio\" are rows of floats, expected a model of "
                             "texts, or --shapes"),
            std::string::npos)
      << timed.error;
}

} // namespace
} // namespace heddle
