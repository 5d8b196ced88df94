// SPDX-License-Identifier: Apache-2.0
///
/// `heddle run` and `heddle info` for a model that generates.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Session/DecoderModel.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <cstring>
#include <nlohmann/json.hpp>

namespace heddle::tools {

using fixture::vocabulary;
using fixture::width;
using nlohmann::json;

namespace {
struct RunDecoderTest : testing::Test {
  RunDecoderTest() { write(fixture::generatingModel()); }

  void write(const fixture::ModelSpec &spec) {
    path = folder / ("model" + std::to_string(written++) + ".so");
    EXPECT_EQ(fixture::write(spec, path).message(), "");
  }

  void add(const std::string &name, std::vector<int64_t> shape, const Tokens &values) {
    kept.push_back(std::make_unique<Tokens>(values));
    tensors.push_back(
        {name, ElementType::I32, std::move(shape), std::as_bytes(std::span(*kept.back()))});
  }

  Outcome run(std::vector<std::string> arguments = {}) {
    const std::string inputs = folder / "in.safetensors";
    EXPECT_EQ(writeSafetensors(inputs, tensors).message(), "");
    arguments.insert(arguments.begin(), {"run", path, "--inputs", inputs, "--outputs", output()});
    return runHeddle(arguments);
  }
  std::string output() const { return folder / "out.safetensors"; }

  /// Returns the floats of a written tensor.
  std::vector<float> read(const std::string &name, const std::vector<int64_t> &shape) const {
    const Result<SafetensorsFile> file = SafetensorsFile::open(output());
    EXPECT_EQ(file.status().message(), "");
    for (const SafetensorsTensor &tensor : file->tensors()) {
      if (tensor.name == name) {
        EXPECT_EQ(tensor.shape, shape) << name;
        std::vector<float> values(tensor.bytes.size() / sizeof(float));
        std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
        return values;
      }
    }
    ADD_FAILURE() << "no tensor " << name;
    return {};
  }

  TemporaryFolder folder;
  std::string path;
  int written = 0;
  std::vector<std::unique_ptr<Tokens>> kept;
  std::vector<SafetensorsTensor> tensors;
};
} // namespace

/// Compares rows from `row` on with expected values.
static void expectRows(const std::vector<float> &values, size_t row, size_t columns,
                       const std::vector<float> &expected) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * columns);
  EXPECT_EQ(std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(expected.size())),
            expected)
      << row;
}

TEST_F(RunDecoderTest, PaddedSourcesAndWholeTargets) {
  add("source", {2, 4}, {5, 6, 7, 0, 8, 0, 9, 10});
  add("target", {2, 3}, {1, 11, 0, 1, 1599, 12});
  add("logits", {1}, {3});
  const Outcome outcome = run({"--threads", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(
      outcome.error,
      "heddle: note: tensor \"logits\" is no input of entry \"encode\" or \"decode\": ignored\n");
  const std::unique_ptr<PagedDecoder> decoder = makeDecoder();
  const std::vector<float> logits = read("logits", {2, 3, vocabulary});
  expectRows(logits, 0, vocabulary, logitsOf(*decoder, {5, 6, 7}, {1, 11, 0}, {3}));
  // A pad between tokens is an ordinary token.
  expectRows(logits, 3, vocabulary, logitsOf(*decoder, {8, 0, 9, 10}, {1, 1599, 12}, {3}));
  const std::vector<float> states = read("encoder", {2, 4, width});
  expectRows(states, 3, width, std::vector<float>(width, 0.0f));
  EXPECT_NE(states[4 * width], 0.0f);
}

TEST_F(RunDecoderTest, OneSentenceWithoutPadding) {
  add("source", {3}, {5, 6, 0});
  add("target", {2}, {1, 11});
  const Outcome outcome = run();
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  const std::unique_ptr<PagedDecoder> decoder = makeDecoder();
  expectRows(read("logits", {2, vocabulary}), 0, vocabulary,
             logitsOf(*decoder, {5, 6, 0}, {1, 11}, {2}));
  EXPECT_EQ(read("encoder", {3, width}).size(), 3u * width);
}

TEST_F(RunDecoderTest, NamesOfHuggingFaceHaveAMask) {
  fixture::ModelSpec spec = fixture::generatingModel();
  spec.entries[0].inputs[0].name = "input_ids";
  spec.entries[1].inputs[0].name = "decoder_input_ids";
  write(spec);
  add("input_ids", {2, 2}, {5, 6, 8, 9});
  add("attention_mask", {2, 2}, {1, 0, 1, 1});
  add("decoder_input_ids", {2, 1}, {1, 2});
  Outcome outcome = run();
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(outcome.error, "");
  const std::unique_ptr<PagedDecoder> decoder = makeDecoder();
  expectRows(read("logits", {2, 1, vocabulary}), 0, vocabulary, logitsOf(*decoder, {5}, {1}, {1}));
  // Without a mask, every token except the model's pad counts.
  tensors.erase(tensors.begin() + 1);
  outcome = run();
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  expectRows(read("logits", {2, 1, vocabulary}), 0, vocabulary,
             logitsOf(*decoder, {5, 6}, {1}, {1}));
  tensors.erase(tensors.begin());
  add("input_ids", {2, 2}, {5, 0, 8, 9});
  outcome = run();
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  expectRows(read("logits", {2, 1, vocabulary}), 0, vocabulary, logitsOf(*decoder, {5}, {1}, {1}));
}

TEST_F(RunDecoderTest, RefusesWhatDoesNotFit) {
  add("source", {2, 2}, {5, 6, 0, 0});
  Outcome outcome = run();
  EXPECT_NE(outcome.error.find("tensor \"source\": row 2 is all padding (0), expected at least one "
                               "token"),
            std::string::npos)
      << outcome.error;
  tensors.clear();
  add("source", {2, 2}, {5, 6, 7, 0});
  outcome = run();
  EXPECT_NE(outcome.error.find("no tensor \"target\", which entry \"decode\" needs"),
            std::string::npos)
      << outcome.error;
  add("target", {1, 1}, {1});
  outcome = run();
  EXPECT_NE(outcome.error.find("tensor \"source\" has 2 sequences and tensor \"target\" has 1, "
                               "expected as many"),
            std::string::npos)
      << outcome.error;
  tensors.pop_back();
  add("target", {2, 1}, {1, 1600});
  outcome = run();
  EXPECT_NE(outcome.error.find("tensor \"target\": row 2, column 1 is 1600, expected 0 to 1599"),
            std::string::npos)
      << outcome.error;
  tensors.pop_back();
  add("target", {2, 251}, Tokens(502, 1));
  outcome = run();
  EXPECT_NE(outcome.error.find("in.safetensors: tensor \"target\": sequence 1 has 251 tokens, "
                               "expected at most 250, the positions of the model"),
            std::string::npos)
      << outcome.error;
  tensors.pop_back();
  add("target", {2, 1}, {1, 1});
  outcome = run({"--entry", "decode"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.error.find("--entry \"decode\": "), std::string::npos) << outcome.error;
  EXPECT_NE(outcome.error.find("the entry reads caches, which generation fills"), std::string::npos)
      << outcome.error;
}

TEST_F(RunDecoderTest, TheEncoderRunsAlone) {
  add("source", {2, 2}, {5, 6, 7, 8});
  const Outcome outcome = run({"--entry", "encode"});
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_EQ(read("encoder", {2, 2, width}).size(), 4u * width);
}

TEST_F(RunDecoderTest, InfoShowsCachesAndGeneration) {
  fixture::ModelSpec spec = fixture::generatingModel();
  spec.targetTokenizer = true;
  write(spec);
  const Outcome text = runHeddle({"info", path});
  ASSERT_EQ(text.code, 0) << text.error;
  for (const char *part :
       {"caches  2, 256 bytes a token appended, 0 read",
        "caches  4, 256 bytes a token appended, 256 read",
        "caches      4, f32, 512 bytes a token: 256 of the history, 256 of the memory\n",
        "\n  history  self.key: 128 bytes a token, as keys\n",
        "\n  memory  cross.value: 128 bytes a token, as rows\n",
        "generation  rules paper, start tokens [1], end tokens [2], pad token 0, suppressed tokens "
        "[3], beams 4, length_penalty 0.6, sample false, temperature 1, top_k 0, top_p 1, min_p "
        "0\n",
        "defaults    seed 0, nbest 1, "
        "batch_tokens 4096, prompt_tokens 512, prompt_tokens_beside 16, share_prefixes true, "
        "cache_bytes 1073741824\n",
        "output      WordPiece", "attention: f32 [tokens, 2, longest]"}) {
    EXPECT_NE(text.output.find(part), std::string::npos) << part << "\nin\n" << text.output;
  }
  const Outcome machine = runHeddle({"info", path, "--json"});
  ASSERT_EQ(machine.code, 0) << machine.error;
  const json info = json::parse(machine.output, nullptr, false);
  ASSERT_TRUE(info.is_object());
  EXPECT_EQ(info["generation"]["rules"], "paper");
  EXPECT_EQ(info["defaults"]["prompt_tokens"], 512);
  EXPECT_EQ(info["generation"]["forced_first"], nullptr);
  EXPECT_EQ(info["generation"]["end"], json::array({2}));
  EXPECT_EQ(info["target_tokenizer"]["kind"], "WordPiece");
  EXPECT_EQ(info["entries"][1]["cache_bytes_per_token_read"], 256);
  EXPECT_EQ(info["caches"]["list"].size(), 4u);
  EXPECT_EQ(info["caches"]["history"], 256);
  EXPECT_EQ(info["caches"]["memory"], 256);
  EXPECT_EQ(info["caches"]["bytes_per_token"], 512);
  EXPECT_EQ(info["entries"][1]["caches"][0], (json{{"name", "self.key"},
                                                   {"width", width},
                                                   {"element", "f32"},
                                                   {"written", true},
                                                   {"layout", "keys"}}));
}

} // namespace heddle::tools
