// SPDX-License-Identifier: Apache-2.0
///
/// ONNX graphs of encoder and decoder without pasts: they are decoded token by token nevertheless,
/// and translate if their settings are in files next to them.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/ContinuedPrompts.h"
#include "tests/EndToEnd/DecodedPairs.h"
#include "tests/EndToEnd/OptionalPasses.h"

#include <algorithm>
#include <filesystem>
#include <random>

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/onnx/";

class OnnxWholeTransformers : public testing::TestWithParam<const char *> {
protected:
  static std::string file() {
    return oracles + "transformer-whole/" + GetParam() + std::string(".onnx");
  }
};

TEST_P(OnnxWholeTransformers, DecodeInAnyPieces) {
  const std::string binary = compileModel(file());
  ASSERT_FALSE(binary.empty());
  for (const std::string &isa : runnableTargets(binary)) {
    SCOPED_TRACE(isa);
    const std::unique_ptr<PagedDecoder> decoder = decoderOf(binary, isa, 1);
    std::mt19937 random(5);
    const std::vector<Pair> pairs = randomPairs(*decoder, 5, random);
    std::vector<std::vector<float>> whole;
    for (const auto &[source, target] : pairs) {
      whole.push_back(logitsOf(*decoder, source, target, {target.size()}));
      EXPECT_EQ(logitsOf(*decoder, source, target, randomPieces(target.size(), random)),
                whole.back());
    }
    EXPECT_EQ(decodeTogether(*decoder, pairs, random), whole);
  }
}

TEST_P(OnnxWholeTransformers, TranslateWithTheSettingsBesideThem) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(file(), folder / "model.onnx");
  folder.write("config.json", R"({"eos_token_id": 40, "decoder_start_token_id": 9})");
  const std::string binary = compileModel(folder / "model.onnx");
  ASSERT_FALSE(binary.empty());
  const Tokens source = {15, 9, 15, 14, 4}, start = {9};
  const auto found = generateTokens(binary, linesOf({source}), {"--max-length", "3"});
  ASSERT_EQ(found.size(), 1U);
  const std::unique_ptr<PagedDecoder> decoder =
      decoderOf(binary, runnableTargets(binary).back(), 1);
  const std::vector<float> logits = logitsOf(*decoder, source, start, {1});
  EXPECT_EQ(found[0][0]["tokens"].get<Tokens>().front(),
            std::max_element(logits.begin(), logits.end()) - logits.begin());
}

INSTANTIATE_TEST_SUITE_P(All, OnnxWholeTransformers,
                         testing::Values("dynamo-own-op18", "ts-own-op14"), [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// Returns the message of `heddle run` about a mask of three rows of a source; empty if it runs.
std::string messageAbout(const std::vector<int32_t> &mask) {
  const std::string binary = compileModel(oracles + "marian-decoder/dynamo-sdpa-op18.onnx");
  const TemporaryFolder folder;
  const std::vector<int32_t> ids = {7, 8};
  const std::vector<float> states(3 * 24, 0.5F);
  const std::vector<SafetensorsTensor> tensors = {
      {"input_ids", ElementType::I32, {1, 2}, std::as_bytes(std::span(ids))},
      {"encoder_hidden_states", ElementType::F32, {1, 3, 24}, std::as_bytes(std::span(states))},
      {"encoder_attention_mask", ElementType::I32, {1, 3}, std::as_bytes(std::span(mask))}};
  EXPECT_TRUE(writeSafetensors(folder / "in.safetensors", tensors).ok());
  const tools::Outcome outcome =
      tools::runHeddle({"run", binary, "--inputs", folder / "in.safetensors", "--outputs",
                        folder / "out.safetensors"});
  return outcome.code == 0 ? std::string() : outcome.error;
}

TEST(OnnxSources, HavePaddingAfterTheirTokens) {
  EXPECT_EQ(messageAbout({1, 1, 0}), "");
  const std::string hole = messageAbout({1, 0, 1});
  EXPECT_NE(hole.find(": row 1 has padding in column 2 and a token in column 3, expected padding "
                      "after all tokens"),
            std::string::npos)
      << hole;
  // The graph compares the number with 0.
  EXPECT_EQ(messageAbout({1, 2, 0}), "");
}

} // namespace
} // namespace heddle
