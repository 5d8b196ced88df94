// SPDX-License-Identifier: Apache-2.0
///
/// ONNX decoders with pasts, in graphs that other exporters wrote: one entry processes whole
/// prompts, steps of one token and anything between, with the logits of the graph.
#include "tests/EndToEnd/ContinuedPrompts.h"
#include "tests/EndToEnd/DecodedPairs.h"
#include "tests/EndToEnd/OptionalPasses.h"

#include <algorithm>
#include <random>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/onnx/";
constexpr size_t countOfPrompts = 3;

class OnnxCaches : public testing::TestWithParam<const char *> {
protected:
  static std::string file() { return oracles + GetParam(); }
  static std::string prompts() {
    const std::string name = GetParam();
    return oracles + name.substr(0, name.find('/')) + "/prompts.safetensors";
  }

  /// Compares the logits of each prompt, processed in pieces of this many tokens.
  static void expectLogits(PagedDecoder &decoder, size_t piece) {
    for (size_t i = 0; i < countOfPrompts; ++i) {
      SCOPED_TRACE(fmt::format("prompt {} by {}", i, piece));
      const Tokens ids = readTensor<int32_t>(prompts(), fmt::format("ids.{}", i));
      const auto expected = readTensor<float>(prompts(), fmt::format("logits.{}", i));
      std::vector<size_t> pieces(ids.size() / piece, piece);
      if (ids.size() % piece != 0) {
        pieces.push_back(ids.size() % piece);
      }
      const std::vector<float> found = logitsOf(decoder, {}, ids, pieces);
      ASSERT_EQ(found.size(), expected.size());
      EXPECT_LE(largestDifference(found, expected), 2e-5F);
    }
  }
};

TEST_P(OnnxCaches, ContinueInAnyPieces) {
  const std::string binary = compileModel(file());
  ASSERT_FALSE(binary.empty());
  for (const std::string &isa : runnableTargets(binary)) {
    SCOPED_TRACE(isa);
    const std::unique_ptr<PagedDecoder> decoder = decoderOf(binary, isa, 1);
    for (const size_t piece : {1, 4, 100}) {
      expectLogits(*decoder, piece);
    }
    std::mt19937 random(3);
    const std::vector<Pair> pairs = randomPairs(*decoder, 4, random);
    std::vector<std::vector<float>> whole;
    for (const auto &[source, target] : pairs) {
      whole.push_back(logitsOf(*decoder, source, target, {target.size()}));
    }
    EXPECT_EQ(decodeTogether(*decoder, pairs, random), whole);
  }
  // The tools treat it like any model that continues texts.
  const Tokens ids = readTensor<int32_t>(prompts(), "ids.0");
  const auto found = generateTokens(binary, linesOf({ids}), {"--max-length", "3"});
  ASSERT_EQ(found.size(), 1U);
  const auto expected = readTensor<float>(prompts(), "logits.0");
  const size_t vocabulary = expected.size() / ids.size();
  const auto last = expected.end() - static_cast<int64_t>(vocabulary);
  EXPECT_EQ(found[0][0]["tokens"].get<Tokens>().front(),
            std::max_element(last, expected.end()) - last);
}

TEST_P(OnnxCaches, NeedNoPass) {
  std::vector<std::string> options = withoutPasses();
  options.emplace_back("--target=x86-64-v3");
  const std::string binary = compileModel(file(), options);
  ASSERT_FALSE(binary.empty());
  expectLogits(*decoderOf(binary, "x86-64-v3", 1), 5);
}

INSTANTIATE_TEST_SUITE_P(
    All, OnnxCaches,
    testing::Values("gpt2-past/dynamo-sdpa-op18.onnx", "llama-past/dynamo-eager-op18.onnx",
                    "llama-past/ts-sdpa-op17.onnx"),
    [](const auto &info) {
      std::string name = info.param;
      std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
      return name;
    });

} // namespace
} // namespace heddle
