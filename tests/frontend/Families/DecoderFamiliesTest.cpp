// SPDX-License-Identifier: Apache-2.0
///
/// The programs of decoder-only families, from committed tiny checkpoints: what each has that the
/// others lack.
#include "tests/frontend/Families/FamilyProgram.h"

namespace heddle {

/// How often a text is part of another.
static size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(LlamaTest, HeadsAreTurnedAndShareKeys) {
  const std::string text = program("llama-tiny");
  EXPECT_EQ(text.find("@encode"), std::string::npos);
  EXPECT_EQ(count(text, "transformer.angles"), 1U);
  EXPECT_TRUE(contains(text, "frequencies = array<f32: 1.000000e+00, 1.000000e-01, "
                             "0.00999999977, 1.000000e-03>"));
  EXPECT_TRUE(contains(text, "transformer.choices %arg1, 8"));
  EXPECT_TRUE(contains(text, "transformer.choices %arg1, 2"));
  // Queries and keys of three layers.
  EXPECT_EQ(count(text, "transformer.join_rows"), 6U);
  EXPECT_TRUE(contains(text, "transformer.repeat_heads"));
  EXPECT_TRUE(contains(text, "transformer.name = \"model.layers.2.self_attn.key\""));
  EXPECT_TRUE(contains(text, "!transformer.cache<16>"));
  EXPECT_TRUE(contains(text, "@lm_head.weight : tensor<?x64xf32> -> tensor<?x109xf32>"));
}

/// Headless models that are tied have no prefix; others lack the output.
TEST(LlamaTest, FrequenciesOfLlama3AreScaled) {
  EXPECT_TRUE(contains(program("llama3-tiny"), "frequencies = array<f32: 1.000000e+00, "));
}

TEST(QwenTest, ProjectionsHaveBiases) {
  const std::string text = program("qwen2-tiny");
  EXPECT_TRUE(contains(text, "@model.layers.0.self_attn.k_proj.bias"));
  EXPECT_FALSE(contains(text, "o_proj.bias"));
  // Tied.
  EXPECT_FALSE(contains(text, "@lm_head.weight"));
}

TEST(QwenTest, HeadsAreNormalizedBeforeTheyTurn) {
  const std::string text = program("qwen3-tiny");
  EXPECT_TRUE(contains(text, "@model.layers.0.self_attn.q_norm.weight : tensor<20xf32>"));
  EXPECT_EQ(count(text, "_norm.weight {epsilon"), 6U + 1U);
}

TEST(QwenTest, ExpertsAreChosenInSomeLayers) {
  const std::string text = program("qwen3-moe-tiny");
  // The first layer is dense.
  EXPECT_TRUE(contains(text, "@model.layers.0.mlp.gate_proj.weight"));
  EXPECT_EQ(count(text, "transformer.top_k"), 2U);
  EXPECT_EQ(count(text, "transformer.chosen_linear"), 6U);
  EXPECT_TRUE(contains(text, "@model.layers.1.mlp.experts.up_proj : tensor<156x44xf32> = "
                             "concat(@model.layers.1.mlp.experts.0.up_proj.weight, "));
}

TEST(MistralTest, KeysHaveAWindow) {
  const std::string text = program("mistral-tiny");
  EXPECT_EQ(count(text, "transformer.mask from i - 10 to i + 1"), 3U);
}

TEST(MixtralTest, ExpertsAreOneParameter) {
  EXPECT_TRUE(contains(program("mixtral-tiny"),
                       "@model.layers.2.block_sparse_moe.experts.w2 : tensor<220x52xf32> = concat("
                       "@model.layers.2.block_sparse_moe.experts.0.w2.weight, "));
}

TEST(Phi3Test, TensorsAreCut) {
  const std::string text = program("phi3-tiny");
  EXPECT_TRUE(contains(text, "@model.layers.0.self_attn.qkv_proj.weight : tensor<?x64xf32> -> "
                             "tensor<?x128xf32>"));
  EXPECT_TRUE(contains(text, "@model.layers.0.mlp.gate_up_proj.up : tensor<88x64xf32> = "
                             "rows(@model.layers.0.mlp.gate_up_proj.weight, 88)"));
  // Twelve of sixteen columns turn.
  EXPECT_TRUE(contains(text, "from 12 : tensor<?x16xf32> -> tensor<?x4xf32>"));
  EXPECT_TRUE(contains(text, "transformer.mask from i - 12 to i + 1"));
}

TEST(GptNeoXTest, EachHeadHasItsProjectionsTogether) {
  const std::string text = program("gpt-neox-tiny");
  EXPECT_TRUE(contains(
      text, "@gpt_neox.layers.0.attention.query_key_value.key.weight.part : tensor<5x720xf32> = "
            "columns(@gpt_neox.layers.0.attention.query_key_value.key.weight.heads, 720)"));
  EXPECT_TRUE(contains(text, "from 4 : tensor<?x12xf32> -> tensor<?x8xf32>"));
}

TEST(GemmaTest, ScoresAndLogitsAreCapped) {
  const std::string text = program("gemma2-tiny");
  // Of four layers, and of the logits.
  EXPECT_EQ(count(text, "activate tanh"), 5U);
  EXPECT_TRUE(contains(text, ", 6.000000e+00 : tensor<?x4x?xf32>"));
  EXPECT_TRUE(contains(text, ", 9.000000e+00 : tensor<?x107xf32>"));
  EXPECT_TRUE(contains(text, ", 0.223606795 : tensor<?x4x?xf32>"));
  EXPECT_EQ(count(text, "transformer.mask from i - 6 to i + 1"), 2U);
  EXPECT_TRUE(contains(text, "@model.norm.weight.plus_one : tensor<48xf32> = "
                             "sum(@model.norm.weight, @model.norm.ones)"));
  EXPECT_TRUE(contains(text, ", 6.92820311 : tensor<?x48xf32>"));
}

TEST(GemmaTest, LocalLayersHaveABaseOfTheirOwn) {
  const std::string text = program("gemma3-tiny");
  EXPECT_EQ(count(text, "transformer.angles"), 2U);
  EXPECT_EQ(count(text, "transformer.mask from i - 5 to i + 1"), 3U);
  EXPECT_EQ(count(text, "transformer.mask causal"), 4U);
  EXPECT_FALSE(contains(text, "activate tanh"));
}

} // namespace heddle
