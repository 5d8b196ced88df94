// SPDX-License-Identifier: Apache-2.0
///
/// Images of different sizes: in files, from C and C++, alone and in batches, and those that do not
/// fit. MultiModelTest compares the results with the oracles.
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Checkpoint/Safetensors.h"
#include "heddle/Generation.h"
#include "heddle/heddle.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/GeneratedTokens.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <utility>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/multimodel/";

/// Images of three channels in one padded tensor, with tensors of their sizes.
struct Images {
  std::vector<int32_t> heights, widths;
  std::vector<std::vector<float>> pixels;

  Images(std::initializer_list<std::pair<int32_t, int32_t>> sizes) {
    uint32_t state = 5;
    for (const auto &[height, width] : sizes) {
      heights.push_back(height);
      widths.push_back(width);
      std::vector<float> &mine = pixels.emplace_back();
      for (int32_t i = 0; i < height * width * 3; ++i) {
        state = state * 1664525 + 1013904223;
        mine.push_back(static_cast<float>(state >> 8) / (1 << 24));
      }
    }
  }

  /// The padding is NaN.
  std::string write(const TemporaryFolder &folder) const {
    const int64_t lines = *std::ranges::max_element(heights);
    const int64_t columns = *std::ranges::max_element(widths);
    const auto count = static_cast<int64_t>(pixels.size());
    std::vector<float> all(static_cast<size_t>(count * lines * columns * 3),
                           std::numeric_limits<float>::quiet_NaN());
    for (size_t i = 0; i < pixels.size(); ++i) {
      const auto line = static_cast<int64_t>(widths[i]) * 3;
      for (int64_t y = 0; y < heights[i]; ++y) {
        std::copy_n(pixels[i].begin() + y * line, line,
                    all.begin() + (static_cast<int64_t>(i) * lines + y) * columns * 3);
      }
    }
    const auto numbers = [&](const char *name, const std::vector<int32_t> &values) {
      return SafetensorsTensor{name, ElementType::I32, {count}, std::as_bytes(std::span(values))};
    };
    const std::string path = folder / "images.safetensors";
    EXPECT_EQ(
        writeSafetensors(
            path, std::vector<SafetensorsTensor>{{"image",
                                                  ElementType::F32,
                                                  {count, lines, columns, 3},
                                                  std::as_bytes(std::span(std::as_const(all)))},
                                                 numbers("image.length", heights),
                                                 numbers("image.width", widths)})
            .message(),
        "");
    return path;
  }
};

const Images someSizes = {{1, 1}, {40, 23}, {8, 64}, {33, 29}, {2, 5}, {61, 1}};

TEST(MultiModelSizes, ImagesOfAnySizeHaveTheSameBitsInAnyBatch) {
  const std::string binary = compileModel(oracles + "multimodel-image-sizes");
  const TemporaryFolder folder;
  const std::string file = someSizes.write(folder);
  std::vector<std::string> options = {"--beam", "2", "--nbest", "2"};
  const auto together = generateFromFile(binary, file, options);
  ASSERT_EQ(together.size(), someSizes.pixels.size());
  options.insert(options.end(), {"--batch-tokens", "1", "--threads", "2"});
  EXPECT_EQ(generateFromFile(binary, file, options), together);
  for (size_t i = 0; i < together.size(); ++i) {
    Images one = someSizes;
    one.heights = {someSizes.heights[i]};
    one.widths = {someSizes.widths[i]};
    one.pixels = {someSizes.pixels[i]};
    const TemporaryFolder alone;
    EXPECT_EQ(generateFromFile(binary, one.write(alone), {"--beam", "2", "--nbest", "2"})[0],
              together[i]);
  }
  const tools::Outcome info = tools::runHeddle({"info", binary});
  EXPECT_NE(info.output.find("  pixels  any number in a row\n"), std::string::npos) << info.output;
  EXPECT_NE(info.output.find("  rows    at most 4096 of grid(tokens, ?, 8, 8) a sequence\n"),
            std::string::npos)
      << info.output;
  const tools::Outcome timed =
      tools::runHeddle({"bench", binary, "--entry", "encode", "--shapes", "2x96", "--runs", "1"});
  EXPECT_EQ(timed.code, 0) << timed.error;
}

/// Images of one width through a model compiled for any: a folder without the width.
TEST(MultiModelSizes, AModelWithoutAWidthIsTheOneThatHasIt) {
  const std::string folder = oracles + "multimodel-image-class";
  const std::string inputs = folder + "/expected.safetensors";
  const TemporaryFolder ofAny;
  Json config = Json::parse(std::ifstream(folder + "/config.json"), nullptr, false);
  config["input"].erase("width");
  config["input"].erase("height");
  ofAny.write("config.json", config.dump());
  std::filesystem::copy(folder + "/model.safetensors", ofAny / "model.safetensors");
  const auto classesOf = [&](const std::string &model, const std::vector<std::string> &flags) {
    const std::string output = ofAny / "out.safetensors";
    const tools::Outcome outcome = tools::runHeddle(
        {"run", compileModel(model, flags), "--inputs", inputs, "--outputs", output});
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    auto file = Checkpoint::open(output);
    EXPECT_TRUE(file.ok());
    std::vector<float> values(5 * 9);
    EXPECT_EQ(file->readF32("class.logits", values).message(), "");
    return values;
  };
  const std::vector<float> expected = classesOf(folder, {});
  for (const auto &flags : {std::vector<std::string>(), {"--disable-pass=fuse-windows"}}) {
    EXPECT_LE(largestDifference(classesOf(ofAny.path(), flags), expected), 2e-5F);
  }
}

TEST(MultiModelSizes, ImagesOfAnySizeComeFromCToo) {
  const std::string binary = compileModel(oracles + "multimodel-image-sizes");
  const TemporaryFolder folder;
  const auto found = generateFromFile(binary, someSizes.write(folder), {});
  heddle_model *model = nullptr;
  heddle_generator *generator = nullptr;
  ASSERT_EQ(heddle_model_load(binary.c_str(), nullptr, &model), nullptr);
  EXPECT_EQ(heddle_model_entry_image_width(model, 0), 0);
  EXPECT_EQ(heddle_model_entry_image_width(model, 1), 1);
  heddle_port port;
  ASSERT_EQ(heddle_model_port(model, 0, HEDDLE_OUTPUT, 0, &port), nullptr);
  EXPECT_EQ(heddle_dimension_rows_of_image(port.shape[0], 40 * 23, 23), 5 * 3);
  EXPECT_EQ(heddle_dimension_rows_of_image(port.shape[0], 40 * 23, 0), 0);
  ASSERT_EQ(heddle_generator_create(model, nullptr, &generator), nullptr);
  heddle_model_free(model);
  const auto add = [&](size_t i, int32_t width) {
    int64_t id = -1;
    heddle_error *error = heddle_generator_add_image(
        generator, someSizes.pixels[i].data(), static_cast<int64_t>(someSizes.pixels[i].size()),
        width, nullptr, 0, nullptr, &id);
    const std::string message = heddle_error_message(error);
    heddle_error_free(error);
    return message;
  };
  EXPECT_EQ(add(1, 23), "");
  while (heddle_generator_idle(generator) == 0) {
    ASSERT_EQ(heddle_generator_step(generator), nullptr);
  }
  heddle_generation *generation = heddle_generator_take(generator);
  ASSERT_NE(generation, nullptr);
  int64_t count = 0;
  double score = 0;
  const int32_t *tokens = heddle_generation_tokens(generation, 0, &count, &score);
  expectHypothesis(found[1], 0, Tokens(tokens, tokens + count), score, 1e-6);
  heddle_generation_free(generation);
  EXPECT_EQ(add(1, 0),
            "source has a width of 0, expected 1 to 65535, the pixels in a row of the image");
  EXPECT_EQ(add(1, 24), "source has 920 pixels, expected whole rows of 24");
  heddle_generator_free(generator);
}

TEST(MultiModelSizes, SessionsInCTakeWidthsBesideLengths) {
  const std::string binary = compileModel(oracles + "multimodel-image-sizes");
  heddle_model *model = nullptr;
  heddle_session *session = nullptr;
  ASSERT_EQ(heddle_model_load(binary.c_str(), nullptr, &model), nullptr);
  ASSERT_EQ(heddle_session_create(model, nullptr, &session), nullptr);
  heddle_model_free(model);
  const auto run = [&](const std::vector<size_t> &which, const int32_t *widths,
                       std::vector<float> &encoder) {
    std::vector<int32_t> lengths;
    std::vector<float> pixels;
    for (const size_t i : which) {
      lengths.push_back(someSizes.heights[i] * someSizes.widths[i]);
      pixels.insert(pixels.end(), someSizes.pixels[i].begin(), someSizes.pixels[i].end());
    }
    const heddle_input input = {"image", nullptr, static_cast<int64_t>(pixels.size()),
                                pixels.data()};
    const heddle_output output = {"encoder", encoder.data(), static_cast<int64_t>(encoder.size())};
    heddle_error *error =
        heddle_session_run_images(session, "encode", lengths.data(), widths,
                                  static_cast<int64_t>(which.size()), &input, 1, &output, 1);
    const std::string message = heddle_error_message(error);
    heddle_error_free(error);
    return message;
  };
  // 5 x 3 rows of one, 1 x 8 of the other.
  std::vector<float> both((15 + 8) * 24), first(15 * 24), second(8 * 24);
  EXPECT_EQ(run({1, 2}, std::array{23, 64}.data(), both), "");
  EXPECT_EQ(run({1}, std::array{23}.data(), first), "");
  EXPECT_EQ(run({2}, std::array{64}.data(), second), "");
  first.insert(first.end(), second.begin(), second.end());
  EXPECT_EQ(first, both);
  EXPECT_EQ(run({2}, std::array{32}.data(), second), "");
  EXPECT_EQ(run({2}, nullptr, second), "widths is NULL");
  EXPECT_EQ(run({2}, std::array{7}.data(), second),
            "entry \"encode\": sequence 1 has 512 tokens, expected whole rows of 7 pixels");
  EXPECT_EQ(run({2}, std::array{1}.data(), second),
            "entry \"encode\": output \"encoder\" has room for 192 floats, expected 64 rows of 24");
  heddle_session_free(session);
}

TEST(MultiModelSizes, ImagesLargerThanTheModelHasPositionsFor) {
  const std::string binary = compileModel(oracles + "multimodel-image-sizes");
  const Result<Model> model = Model::load(binary);
  ASSERT_EQ(model.status().message(), "");
  Result<Generator> generator = Generator::create(*model);
  ASSERT_EQ(generator.status().message(), "");
  // 64 x 64 rows are as many as there are positions, whatever the number of pixels.
  GenerationRequest request{.rows = std::vector<float>(size_t{64 * 8} * 64 * 8 * 3),
                            .width = 64 * 8};
  EXPECT_EQ(generator->check(request).message(), "");
  request.rows.resize(request.rows.size() + size_t{64} * 8 * 3);
  EXPECT_EQ(generator->check(request).message(),
            "source has 513 x 512 pixels, of which the model makes 4160 rows, expected at most "
            "4096, its positions");
  request = {.rows = std::vector<float>(size_t{40000} * 3), .width = 40000};
  EXPECT_EQ(generator->check(request).message(),
            "source has 1 x 40000 pixels, of which the model makes 5000 rows, expected at most "
            "4096, its positions");
  // Sessions check it too, before any other argument.
  const auto messageOf = [](const Model &loaded, int32_t length, int32_t width) -> std::string {
    Result<Session> session = Session::create(loaded);
    const std::vector<int32_t> lengths = {length}, widths = {width};
    EXPECT_EQ(session.status().message(), "");
    return std::string(session->run("encode", lengths, {}, {}, widths).message());
  };
  EXPECT_EQ(
      messageOf(*model, 40000, 40000),
      "entry \"encode\": sequence 1 has 1 x 40000 pixels, of which the model makes 5000 rows, "
      "expected at most 4096, its positions");
  const Result<Model> texts = Model::load(compileModel(oracles + "multimodel-text-class"));
  ASSERT_EQ(texts.status().message(), "");
  EXPECT_EQ(messageOf(*texts, 6, 3),
            "entry \"encode\": 1 widths for 1 sequences, expected none: they are no images");
  // A model of images of one width knows the width.
  const Result<Model> fixed = Model::load(compileModel(oracles + "multimodel-image-text"));
  ASSERT_EQ(fixed.status().message(), "");
  Result<Generator> other = Generator::create(*fixed);
  ASSERT_EQ(other.status().message(), "");
  request = {.rows = std::vector<float>(size_t{29} * 30 * 3), .width = 30};
  EXPECT_EQ(other->check(request).message(), "source has rows of 30 pixels, the model expects 29");
  request.width = 29;
  EXPECT_EQ(other->check(request).message(), "");
}

} // namespace
} // namespace heddle
