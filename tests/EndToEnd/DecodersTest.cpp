// SPDX-License-Identifier: Apache-2.0
///
/// Every family of models that continue prompts, each from its folder: the logits, texts and beams
/// that Transformers computed, with passes and without.
#include "heddle/Generation.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/ContinuedPrompts.h"
#include "tests/EndToEnd/DecodedPairs.h"
#include "tests/EndToEnd/OptionalPasses.h"
#include "tests/runtime/Session/TestDevice.h"

#include <filesystem>
#include <map>
#include <ostream>
#include <random>

namespace heddle {
namespace {

/// A folder of tests/oracles, its number of prompts, and its end tokens.
struct Decoder {
  std::string name;
  size_t prompts;
  Tokens ends;
  std::string folder() const { return HEDDLE_TEST_DATA "/oracles/" + name; }
  friend void PrintTo(const Decoder &decoder, std::ostream *out) { *out << decoder.name; }
};

const Decoder decoders[] = {
    {"gemma2-tiny", 4, {2}},    {"gemma3-tiny", 4, {2}},   {"gpt-neox-tiny", 4, {2}},
    {"llama3-tiny", 3, {5, 2}}, {"mistral-tiny", 3, {2}},  {"mixtral-tiny", 4, {2}},
    {"phi3-tiny", 4, {2}},      {"qwen2-tiny", 3, {3, 1}}, {"qwen3-moe-tiny", 4, {2}},
    {"qwen3-tiny", 4, {2}},
};

class Decoders : public testing::TestWithParam<Decoder> {
protected:
  /// Compares the logits of a binary with Transformers', on a target.
  void expectLogits(const std::string &binary, const std::string &isa) const {
    const std::string oracle = GetParam().folder();
    const auto expected = readTensor<float>(oracle + "/expected.safetensors", "logits");
    EXPECT_LE(largestDifference(logitsFor(binary, oracle, isa), expected), 1e-4f) << isa;
  }

  /// Compares the hypotheses of a search for `most` tokens, and their scores unless it is greedy.
  void expectSearch(const std::string &binary, const std::string &search, size_t most,
                    std::vector<std::string> options) const {
    SCOPED_TRACE(search);
    const std::string oracle = GetParam().folder();
    const std::vector<Tokens> prompts = promptsOf(oracle, GetParam().prompts);
    const bool isGreedy = search == "greedy";
    const auto scores =
        isGreedy ? std::vector<float>(prompts.size())
                 : readTensor<float>(oracle + "/expected.safetensors", search + ".scores");
    const size_t copies = scores.size() / prompts.size();
    auto rows = generatedBy(oracle, search + ".sequences", prompts, copies, GetParam().ends);
    options.insert(options.end(), {"--max-length", std::to_string(most)});
    const auto found = generateTokens(binary, linesOf(prompts), options);
    ASSERT_EQ(found.size(), prompts.size());
    for (size_t i = 0; i < scores.size(); ++i) {
      SCOPED_TRACE(i);
      const Json &hypotheses = found[i / copies];
      const double score = isGreedy ? hypotheses[0]["score"].get<double>() : double(scores[i]);
      // Sequences that reach the limit before those of longer prompts are padded.
      rows[i].resize(std::min(rows[i].size(), most));
      expectHypothesis(hypotheses, i % copies, rows[i], score, 1e-4);
    }
  }
};

TEST_P(Decoders, LogitsAreThoseOfTransformers) {
  const std::string binary = compileModel(GetParam().folder());
  ASSERT_FALSE(binary.empty());
  for (const std::string &isa : runnableTargets(binary)) {
    expectLogits(binary, isa);
  }
}

TEST_P(Decoders, TextsAndBeamsAreThoseOfTransformers) {
  const std::string binary = compileModel(GetParam().folder());
  ASSERT_FALSE(binary.empty());
  expectSearch(binary, "greedy", 20, {"--no-sample"});
  expectSearch(binary, "beam4", 18, {"--beam", "4", "--nbest", "4", "--length-penalty", "1"});
  expectSearch(binary, "beam5lp", 12,
               {"--beam", "5", "--nbest", "2", "--length-penalty", "0.6", "--early-stopping"});
}

/// Without any pass, as primitive mathematics.
TEST_P(Decoders, NoPassIsNeeded) {
  std::vector<std::string> options = withoutPasses();
  options.emplace_back("--target=x86-64-v3");
  const std::string binary = compileModel(GetParam().folder(), options);
  ASSERT_FALSE(binary.empty());
  expectLogits(binary, "x86-64-v3");
}

INSTANTIATE_TEST_SUITE_P(All, Decoders, testing::ValuesIn(decoders), [](const auto &info) {
  std::string name = info.param.name;
  std::erase(name, '-');
  return name;
});

/// The first of the family: two prompts of one length, searched greedily.
TEST(LlamaTest, LogitsAndTextsAreThoseOfTransformers) {
  const std::string oracle = HEDDLE_TEST_DATA "/oracles/llama-tiny";
  const std::string binary = compileModel(oracle);
  ASSERT_FALSE(binary.empty());
  const auto expected = readTensor<float>(oracle + "/expected.safetensors", "logits");
  for (const std::string &isa : runnableTargets(binary)) {
    EXPECT_LE(largestDifference(logitsFor(binary, oracle, isa), expected), 1e-4f) << isa;
  }
  const std::vector<Tokens> prompts = rowsOf(oracle, "input_ids", 2);
  const std::vector<Tokens> texts = generatedBy(oracle, "greedy.sequences", prompts, 1, {108});
  const auto found = generateTokens(binary, linesOf(prompts), {"--max-length", "24"});
  ASSERT_EQ(found.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found[i][0]["tokens"].get<Tokens>(), texts[i]);
  }
}

/// Rotations, norms of heads, experts and windows: prompts in any pieces, batch and number of
/// threads have the same bits.
TEST(DecoderBits, AreTheSameInAnyPieces) {
  for (const char *const name : {"gemma3-tiny", "mixtral-tiny", "phi3-tiny"}) {
    const std::string binary = compileModel(HEDDLE_TEST_DATA "/oracles/" + std::string(name));
    ASSERT_FALSE(binary.empty());
    for (const std::string &isa : runnableTargets(binary)) {
      SCOPED_TRACE(fmt::format("{} {}", name, isa));
      std::mt19937 random(7);
      const std::unique_ptr<PagedDecoder> one = decoderOf(binary, isa, 1);
      const std::unique_ptr<PagedDecoder> two = decoderOf(binary, isa, 2);
      const std::vector<Pair> pairs = randomPairs(*one, 6, random);
      std::vector<std::vector<float>> whole;
      for (const auto &[source, target] : pairs) {
        whole.push_back(logitsOf(*one, source, target, {target.size()}));
        const std::vector<size_t> steps(target.size(), 1);
        EXPECT_EQ(logitsOf(*two, source, target, steps), whole.back());
      }
      EXPECT_EQ(decodeTogether(*one, pairs, random), whole);
    }
  }
}

/// Texts longer than those of a model's first training: weights of another oracle, with rotary
/// positions that depend on the length of a text.
class LongTexts : public testing::Test {
protected:
  static std::string oracleOf(const std::string &name) {
    return HEDDLE_TEST_DATA "/oracles/long-texts/" + name;
  }

  /// Compiles an oracle's configuration with the weights of another.
  static std::string compileWith(const std::string &name, const std::string &weights,
                                 const std::vector<std::string> &options) {
    const TemporaryFolder folder;
    for (const auto &[from, file] :
         {std::pair(oracleOf(name), "config.json"), std::pair(weights, "model.safetensors")}) {
      std::filesystem::copy_file(from + "/" + file, folder / file);
    }
    return compileModel(folder.path(), options);
  }

  static void expectLogits(const std::string &binary, const std::string &name) {
    const auto expected = readTensor<float>(oracleOf(name) + "/expected.safetensors", "logits");
    for (const std::string &isa : runnableTargets(binary)) {
      EXPECT_LE(largestDifference(logitsFor(binary, oracleOf(name), isa), expected), 1e-4f) << isa;
    }
  }

  /// Checks that a text of one token more than the binary's maximum is rejected.
  static void expectTooLong(const std::string &binary, size_t most) {
    const tools::Outcome outcome = tools::runHeddle(
        withTestDevice({"generate", binary, "--input", "-", "--tokens", "--max-length", "1"}),
        {.input = linesOf({Tokens(most + 1, 9)})});
    EXPECT_EQ(outcome.code, 1);
    const std::string message = fmt::format(
        "prefix has {} tokens, expected at most {}, the positions of the model", most + 1, most);
    EXPECT_NE(outcome.error.find(message), std::string::npos) << outcome.error << outcome.output;
  }

  const std::string phi3 = HEDDLE_TEST_DATA "/oracles/phi3-tiny";
  const std::string llama = HEDDLE_TEST_DATA "/oracles/llama-tiny";
};

TEST_F(LongTexts, LongropeHasTheFrequenciesOfTheChosenLength) {
  const std::string shorts = compileWith("longrope", phi3, {});
  ASSERT_FALSE(shorts.empty());
  expectLogits(shorts, "longrope-short");
  expectTooLong(shorts, 24);
  const std::string longs = compileWith("longrope", phi3, {"--text-length", "53"});
  ASSERT_FALSE(longs.empty());
  expectLogits(longs, "longrope");
  expectTooLong(longs, 53);
  const std::string oracle = oracleOf("longrope");
  const std::vector<Tokens> prompts = promptsOf(oracle, 3);
  const std::vector<Tokens> texts = generatedBy(oracle, "greedy.sequences", prompts, 1, {2});
  const auto found = generateTokens(longs, linesOf(prompts), {"--max-length", "12", "--no-sample"});
  ASSERT_EQ(found.size(), prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(found[i][0]["tokens"].get<Tokens>(), texts[i]) << i;
  }
}

TEST_F(LongTexts, DynamicHasTheFrequenciesOfTheLongestText) {
  const std::string binary = compileWith("dynamic", llama, {"--text-length", "45"});
  ASSERT_FALSE(binary.empty());
  expectLogits(binary, "dynamic");
  expectTooLong(binary, 45);
}

/// Every precision and kind of cache compiles, and preserves texts without near-ties.
TEST(DecoderPrecision, KeepsTheText) {
  const std::string oracle = HEDDLE_TEST_DATA "/oracles/qwen2-tiny";
  const std::vector<Tokens> prompts = promptsOf(oracle, 3);
  const std::vector<Tokens> texts = generatedBy(oracle, "greedy.sequences", prompts, 1, {3, 1});
  const std::vector<std::vector<std::string>> variants = {{"--precision=bf16", "--cache=bf16"},
                                                          {"--precision=int8", "--cache=int8"},
                                                          {"--precision=int4"}};
  for (const auto &options : variants) {
    const std::string binary = compileModel(oracle, options);
    ASSERT_FALSE(binary.empty());
    const auto found =
        generateTokens(binary, linesOf(prompts), {"--max-length", "20", "--no-sample"});
    ASSERT_EQ(found.size(), prompts.size());
    for (size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_EQ(found[i][0]["tokens"].get<Tokens>(), texts[i]) << options.front();
    }
  }
}

} // namespace
} // namespace heddle
