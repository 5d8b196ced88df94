// SPDX-License-Identifier: Apache-2.0
///
/// The program of a MultiModel, and configurations that are rejected.
#include "tests/frontend/Families/FamilyProgram.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace heddle {

static const std::string folder = HEDDLE_TEST_DATA "/oracles/multimodel/multimodel-text-dense";

/// Returns the program with a change to the configuration, or the message.
static Result<std::string> programWith(const std::string &change) {
  std::ifstream stream(folder + "/config.json");
  nlohmann::json values = nlohmann::json::parse(stream, nullptr, false);
  values.merge_patch(nlohmann::json::parse(change, nullptr, false));
  HEDDLE_ASSIGN(const Config config, Config::fromJson(values, "config.json"));
  HEDDLE_ASSIGN(const Checkpoint checkpoint, Checkpoint::open(folder));
  mlir::MLIRContext context;
  HEDDLE_ASSIGN(const FamilyModel model,
                buildFamily(context, {config, checkpoint, std::nullopt, std::nullopt}));
  return printed(*model.module);
}

TEST(MultiModelTest, AStepIsANormOfAConvolutionOfARectifier) {
  const std::string text = *programWith("{}");
  const auto has = [&](const std::string &part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has("@encoder.0.block.steps.0.parts.elements in(%arg1) window<height = 3> : "
                  "tensor<?x40xf32> -> tensor<?x40xf32>"))
      << text;
  EXPECT_TRUE(has("@encoder.0.block.steps.0.parts.0.pointwise.weight : tensor<?x40xf32> -> "
                  "tensor<?x40xf32>"));
  EXPECT_TRUE(has("window<height = 5, dilationDown = 4>"));
  // Causal, including the rows before a run.
  EXPECT_TRUE(has("window<height = 5, dilationDown = 4, causal = true>"));
  EXPECT_TRUE(has("!transformer.state<640>"));
  // Half of the mixer's groups read the attended values, the other half the target.
  EXPECT_TRUE(has("window<height = 3, causal = true> {groups = 2 : i64} : tensor<?x40xf32> -> "
                  "tensor<?x120xf32>"));
}

TEST(MultiModelTest, OtherFormsAreWritten) {
  EXPECT_EQ(programWith(R"({"mixer": {"separability": 1}})").status().message(), "");
  EXPECT_EQ(programWith(R"({"mixer": {"separability": 0}})").status().message(), "");
  EXPECT_EQ(programWith(R"({"block": {"form": "tensor2tensor"}})").status().message(), "");
  EXPECT_EQ(programWith(R"({"block": {"separabilities": [-2, 2, 1, -4]}})").status().message(), "");
  EXPECT_EQ(programWith(R"({"timing": {"kind": "timescales", "count": 7}})").status().message(),
            "");
  EXPECT_EQ(programWith(R"({"attention": {"kind": "simple", "heads": null}})").status().message(),
            "");
  EXPECT_EQ(programWith(R"({"output": {"modality": "class", "classes": 5, "vocab_size": null},
                            "commands": null, "decoder": null, "mixer": null,
                            "attention": null})")
                .status()
                .message(),
            "");
}

/// An image with 17 pixels per row, which three strides of 2 reduce to 3; a fourth leaves one
/// column.
static const char *const image =
    R"({"input": {"modality": "image", "height": 20, "width": 17, "channels": 2, "stem": [4, 6],
                  "blocks": [8], "vocab_size": null}, "max_target_length": 9})";

TEST(MultiModelTest, AnImageIsRowsOfPixels) {
  const std::string text = *programWith(image);
  const auto has = [&](const std::string &part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has("%arg0: tensor<?x2xf32> {transformer.name = \"image\"}")) << text;
  EXPECT_TRUE(has("transformer.strided %arg1 down 2 right 2 across 17")) << text;
  EXPECT_TRUE(has("down 2 right 2 across 9"));
  EXPECT_TRUE(has("window<height = 3, width = 3, strideDown = 2, strideRight = 2, across = 17> : "
                  "tensor<?x2xf32> -> tensor<?x18xf32>"));
  EXPECT_TRUE(has("transformer.activate rsqrt"));
  // A block of the encoder processes these pixels as one line.
  EXPECT_TRUE(has("window<height = 3> : tensor<?x40xf32> -> tensor<?x40xf32>"));
  EXPECT_EQ(programWith(R"({"input": {"modality": "image", "height": 9, "width": 3, "channels": 1,
                             "stem": [4, 6], "blocks": [8, 8, 8], "vocab_size": null},
                            "max_target_length": 9})")
                .status()
                .message(),
            "");
}

TEST(MultiModelTest, AnImageWithoutAWidthHasItsOwn) {
  const std::string text = *programWith(
      R"({"input": {"modality": "image", "channels": 2, "stem": [4, 6], "blocks": [8],
                    "vocab_size": null}, "max_target_length": 9})");
  const auto has = [&](const std::string &part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has("transformer.strided %arg1 down 2 right 2 across ?")) << text;
  EXPECT_TRUE(has("window<height = 3, width = 3, strideDown = 2, strideRight = 2, across = ?> : "
                  "tensor<?x2xf32> -> tensor<?x18xf32>"))
      << text;
  EXPECT_TRUE(has("window<strideDown = 2, strideRight = 2, across = ?>") ||
              has("window<height = 1, strideDown = 2, strideRight = 2, across = ?>"))
      << text;
}

TEST(MultiModelTest, ASpectrumIsAnImageOfItsBins) {
  const std::string text = *programWith(
      R"({"input": {"modality": "audio", "bins": 7, "blocks": [6], "vocab_size": null},
          "max_target_length": 9})");
  const auto has = [&](const std::string &part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(
      has("%arg0: tensor<?x1xf32> {transformer.name = \"audio\", transformer.pad = 0 : i32}"))
      << text;
  EXPECT_TRUE(has("transformer.strided %arg1 down 2 across 7"));
  EXPECT_TRUE(has("window<height = 3, width = 3, strideDown = 2, across = 7>"));
  EXPECT_EQ(programWith(R"({"input": {"modality": "audio", "bins": 1, "blocks": [],
                             "vocab_size": null}, "max_target_length": 9})")
                .status()
                .message(),
            "");
}

TEST(MultiModelTest, AClassOfASpectrumStridesInTimeAlone) {
  const std::string text = *programWith(
      R"({"input": {"modality": "audio", "bins": 7, "blocks": [6, 8], "vocab_size": null},
          "output": {"modality": "class", "classes": 5, "vocab_size": null},
          "commands": null, "decoder": null, "mixer": null, "attention": null})");
  const auto has = [&](const std::string &part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has("down 4 across 7")) << text;
  EXPECT_TRUE(has("window<height = 5, across = 7, causal = true>")) << text;
  EXPECT_TRUE(has("slide max")) << text;
  EXPECT_TRUE(has("window<height = 5, strideDown = 4, across = 7, causal = true>")) << text;
  // A waveform is a spectrum with one bin: its rows form a line.
  EXPECT_EQ(programWith(R"({"input": {"modality": "audio", "bins": 1, "blocks": [6],
                             "vocab_size": null},
                            "output": {"modality": "class", "classes": 5, "vocab_size": null},
                            "commands": null, "decoder": null, "mixer": null, "attention": null})")
                .status()
                .message(),
            "");
}

struct Refused {
  const char *change;
  const char *message;
};

static constexpr Refused refusedConfigurations[] = {
    {R"({"d_model": 0})", "config.json: \"d_model\" is 0, expected an integer from 4 to 65536"},
    {R"({"d_model": null})",
     "config.json: \"d_model\" is missing, expected an integer from 4 to 65536"},
    {R"({"encoder": ["conv", "mow"]})", "config.json: \"encoder\" has \"mow\" as unit 2, "
                                        "expected \"conv\" or \"moe\""},
    {R"({"decoder": ["moe"], "moe": {"experts": 3, "active": 4, "hidden": 8}})",
     "config.json: \"moe\": \"active\" is 4, expected an integer from 1 to 3"},
    {R"({"decoder": ["moe"], "moe": {"experts": 3, "active": 1, "hidden": 0}})",
     "config.json: \"moe\": \"hidden\" is 0, expected an integer from 1 to 65536"},
    {R"({"input": {"modality": "image", "vocab_size": null}})",
     "config.json: \"input\": \"channels\" is missing, expected an integer from 1 to 65536"},
    {R"({"input": {"modality": "image", "vocab_size": null, "height": 9, "width": 0}})",
     "config.json: \"input\": \"width\" is 0, expected an integer from 1 to 65535"},
    {R"({"input": {"modality": "image", "vocab_size": null, "height": 0, "width": 9}})",
     "config.json: \"input\": \"height\" is 0, expected an integer from 1 to 16777216"},
    {R"({"input": {"modality": "image", "vocab_size": null, "height": 9, "width": 9,
                     "channels": 0}})",
     "config.json: \"input\": \"channels\" is 0, expected an integer from 1 to 65536"},
    {R"({"input": {"modality": "image", "vocab_size": null, "height": 9, "width": 9,
                     "channels": 3, "stem": [4, 4, 4]}})",
     "config.json: \"input\": \"stem\" has 3 items, expected 2, the widths of its steps"},
    {R"({"input": {"modality": "image", "vocab_size": null, "height": 9, "width": 9,
                     "channels": 3, "stem": [4, 4], "blocks": [4, 0]}})",
     "config.json: \"input\": \"blocks\" is a list of 2, expected an integer from 1 to 65536, or "
     "a "
     "list "
     "of them"},
    {R"({"input": {"modality": "image", "vocab_size": null, "height": 9, "width": 9,
                     "channels": 3, "stem": [4, 4], "blocks": [4, 4, 4, 4, 4, 4]}})",
     "config.json: \"input\": \"blocks\" has 6 items, expected at most 5: every block halves the "
     "rows of pixels"},
    {R"({"input": {"modality": "image", "vocab_size": null, "height": 9, "width": 9,
                     "channels": 3, "stem": [4, 4], "blocks": [4], "bins": 3}})",
     "config.json: \"input\": unknown key \"bins\", expected one of the keys of "
     "docs/model-format.md"},
    {R"({"input": {"modality": "image", "vocab_size": null, "height": 9, "width": 9,
                     "channels": 3, "stem": [4, 4], "blocks": [4]}})",
     "config.json: \"max_target_length\" is missing, expected an integer from 1 to 16777216"},
    {R"({"input": {"modality": "audio", "vocab_size": null}})",
     "config.json: \"input\": \"bins\" is missing, expected an integer from 1 to 65535"},
    {R"({"input": {"modality": "audio", "vocab_size": null, "bins": 3,
                     "blocks": [4, 4, 4, 4, 4, 4, 4]}})",
     "config.json: \"input\": \"blocks\" has 7 items, expected at most 6: every block halves the "
     "rows of pixels"},
    {R"({"input": {"modality": "audio", "vocab_size": null, "bins": 3,
                     "blocks": [4, 4, 4, 4, 4]},
           "output": {"modality": "class", "classes": 5, "vocab_size": null}})",
     "config.json: \"input\": \"blocks\" has 5 items, expected at most 4: every block halves the "
     "rows of pixels"},
    {R"({"input": {"modality": "video"}})",
     "config.json: \"input\": \"modality\" is \"video\", expected one of language, image, audio"},
    {R"({"pad_token_id": 27})",
     "config.json: \"pad_token_id\" is 27, expected an integer from 0 to 26"},
    {R"({"block": {"kernels": [3, 3, 5]}})",
     "config.json: \"block\": \"dilations\" has 4 items, expected 3, as \"kernels\" has"},
    {R"({"block": {"separabilities": [0, 0, 0, 0, 0]}})",
     "config.json: \"block\": \"separabilities\" has 5 items, expected 4, as \"kernels\" has"},
    {R"({"block": {"kernels": [3, 4, 5, 5]}})",
     "config.json: \"block\": \"kernels\" has one of 4, expected odd numbers"},
    {R"({"block": {"kernels": [3], "dilations": [1], "separabilities": [0]}})",
     "config.json: \"block\": \"kernels\" has 1 items, expected 4, the steps of a block"},
    {R"({"block": {"separabilities": [0, -3, 0, 0]}})",
     "config.json: \"block\": \"separabilities\" has 3 groups of channels, expected a number "
     "that "
     "divides 40"},
    {R"({"block": {"form": "papers"}})",
     "config.json: \"block\": \"form\" is \"papers\", expected one of paper, tensor2tensor; did "
     "you mean \"paper\"?"},
    {R"({"attention": {"heads": 3}})",
     "config.json: \"attention\": \"heads\" is 3, expected a divisor of \"d_model\", 40"},
    {R"({"mixer": {"separability": 3}})", "config.json: \"mixer\": \"separability\" is 3, "
                                          "expected 0, 1 or an even number that divides "
                                          "\"d_model\", 40"},
    {R"({"timing": {"kind": "timescales", "count": 21}})",
     "config.json: \"timing\": \"count\" is 21, expected an integer from 2 to 20"},
    {R"({"timing": {"kind": "timescales"}})",
     "config.json: \"timing\": \"count\" is missing, expected an integer from 2 to 20"},
    {R"({"d_model": 45, "block": {"separabilities": [0, 0, 0, 0]}})",
     "config.json: \"d_model\" is 45, expected an even number for \"interleaved\" timing"},
    {R"({"commands": 0})",
     "config.json: \"commands\" is 0, expected an integer from 1 to 16777216"},
    {R"({"eos_token_id": 27})",
     "config.json: \"eos_token_id\" is 27, expected an integer from 0 to 26"},
    {R"({"mixer": {"blocks": 1, "seperability": 4}})",
     "config.json: \"mixer\": unknown key \"seperability\", did you mean \"separability\"?"},
    {R"({"d_model": 42, "attention": {"heads": 3}, "block": {"separabilities": [0, 0, 0, 0]},
           "output": {"modality": "class", "classes": 5, "vocab_size": null}})",
     "config.json: \"d_model\" is 42, expected a multiple of 4 for classes"},
};

TEST(MultiModelTest, ConfigurationsAreRefused) {
  for (const Refused &item : refusedConfigurations) {
    const Result<std::string> program = programWith(item.change);
    EXPECT_EQ(program.status().message(), item.message) << item.change;
  }
}

} // namespace heddle
