// SPDX-License-Identifier: Apache-2.0
///
/// The programs of decoder-only families, from committed tiny checkpoints: the features that
/// distinguish them.
#include "tests/frontend/Families/FamilyProgram.h"

#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

namespace heddle {

static nlohmann::json storedConfig(const std::string &name) {
  std::ifstream file(HEDDLE_TEST_DATA "/oracles/" + name + "/config.json");
  return nlohmann::json::parse(file, nullptr, false);
}

/// Returns the program of a folder under tests/oracles with another configuration.
static Result<std::string> programWith(const std::string &name, const nlohmann::json &values) {
  const std::string folder = HEDDLE_TEST_DATA "/oracles/" + name;
  HEDDLE_ASSIGN(const Config config, Config::fromJson(values, "config.json"));
  HEDDLE_ASSIGN(const Checkpoint checkpoint, Checkpoint::open(folder));
  mlir::MLIRContext context;
  HEDDLE_ASSIGN(const FamilyModel model,
                buildFamily(context, {config, checkpoint, std::nullopt, std::nullopt}));
  HEDDLE_TRY(checkConfigKeys(config, model.keys, false).status());
  std::string text = printed(*model.module);
  for (const std::string &note : model.notes) {
    text += "note: " + note + "\n";
  }
  return text;
}

/// Like programWith(), with a JSON object merged into the stored configuration; null removes a key.
static Result<std::string> changed(const std::string &name, const std::string &change) {
  nlohmann::json values = storedConfig(name);
  values.merge_patch(nlohmann::json::parse(change, nullptr, false));
  return programWith(name, values);
}

/// Like changed(), but a null value is kept.
static Result<std::string> updated(const std::string &name, const std::string &change) {
  nlohmann::json values = storedConfig(name);
  values.update(nlohmann::json::parse(change, nullptr, false));
  return programWith(name, values);
}

/// Returns the number of occurrences of a part in a text.
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

TEST(LlamaTest, FrequenciesOfLlama3AreScaled) {
  // Frequencies in between are interpolated; the last one, 5000^(-8/9), is divided by 8.
  const std::string text = program("llama3-tiny");
  EXPECT_TRUE(contains(text, "frequencies = array<f32: 0.947417914, 0.103159115, 0.0188328773, "));
  EXPECT_TRUE(contains(text, ", 6.44075335E-5>} : tensor<?x9xf32>"));
}

TEST(QwenTest, ProjectionsHaveBiases) {
  const std::string text = program("qwen2-tiny");
  EXPECT_TRUE(contains(text, "@model.layers.0.self_attn.k_proj.bias"));
  EXPECT_FALSE(contains(text, "o_proj.bias"));
  // The embeddings are tied.
  EXPECT_FALSE(contains(text, "@lm_head.weight"));
}

TEST(QwenTest, HeadsAreNormalizedBeforeTheyTurn) {
  const std::string text = program("qwen3-tiny");
  EXPECT_TRUE(contains(text, "@model.layers.0.self_attn.q_norm.weight : tensor<20xf32>"));
  EXPECT_EQ(count(text, "_norm.weight {epsilon"), 6U);
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
  // Twelve of sixteen columns are rotated.
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
  // One for each of four layers, and one for the logits.
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

// --- Options ---------------------------------------------------------------------------------

/// One change to a configuration, and the expected message or part of the program.
struct DecoderOption {
  const char *name;
  const char *folder;
  const char *change;
  const char *expected;
  friend void PrintTo(const DecoderOption &option, std::ostream *out) { *out << option.name; }
};

class DecoderRefusal : public testing::TestWithParam<DecoderOption> {};

TEST_P(DecoderRefusal, GivesItsMessage) {
  EXPECT_EQ(changed(GetParam().folder, GetParam().change).status().message(), GetParam().expected);
}

static const DecoderOption refused[] = {
    {"KeyHeads", "llama-tiny", R"({"num_key_value_heads": 3})",
     "config.json: \"num_key_value_heads\" is 3, expected a divisor of \"num_attention_heads\", 8"},
    {"Heads", "llama-tiny",
     R"({"head_dim": null, "num_attention_heads": 7, "num_key_value_heads": 7})",
     "config.json: \"num_attention_heads\" is 7, expected a divisor of \"hidden_size\", 64"},
    {"ManyHeads", "llama-tiny", R"({"num_attention_heads": 256})",
     "config.json: \"num_attention_heads\" is 256, expected an integer from 1 to 255"},
    {"Slices", "llama-tiny", R"({"pretraining_tp": 2})",
     "config.json: \"pretraining_tp\" is 2, expected 1"},
    {"Layers", "qwen2-tiny", R"({"layer_types": ["full_attention"]})",
     "config.json: \"layer_types\" names 1 layers, expected 3"},
    {"LayerType", "qwen2-tiny",
     R"({"layer_types": ["full_attention", "full_attention", "linear_attention"]})",
     "config.json: \"layer_types\" has \"linear_attention\", expected \"full_attention\" or "
     "\"sliding_attention\""},
    {"NoWindow", "qwen2-tiny",
     R"({"layer_types": ["full_attention", "full_attention", "sliding_attention"]})",
     "config.json: \"layer_types\" has \"sliding_attention\", but there is no "
     "\"sliding_window\""},
    {"MistralLayerTypes", "mistral-tiny", R"({"layer_types": ["full_attention"]})",
     "config.json: \"layer_types\" is a list of 1, expected a model without"},
    {"Experts", "mixtral-tiny", R"({"num_experts_per_tok": 6})",
     "config.json: \"num_experts_per_tok\" is 6, expected at most 5"},
    {"NeoXHeads", "gpt-neox-tiny", R"({"num_key_value_heads": 1})",
     "config.json: \"num_key_value_heads\" or \"head_dim\" is set, expected a model without"},
    {"BothWays", "gemma3-tiny", R"({"use_bidirectional_attention": true})",
     "config.json: \"use_bidirectional_attention\" is true, expected false"},
    {"Phi3Biases", "phi3-tiny", R"({"attention_bias": true})",
     "config.json: \"attention_bias\" is true, expected false"},
    {"GemmaScaling", "gemma3-tiny", R"({"rope_scaling": {"rope_type": "proportional"}})",
     "config.json: \"rope_scaling\": \"rope_type\" is \"proportional\", expected one of default, "
     "linear, dynamic, llama3, yarn, longrope"},
};

INSTANTIATE_TEST_SUITE_P(All, DecoderRefusal, testing::ValuesIn(refused),
                         [](const auto &info) { return info.param.name; });

TEST(DecoderOptions, ReachTheProgram) {
  const DecoderOption options[] = {
      {"biases of attention", "llama-tiny", R"({"attention_bias": true})",
       "@model.layers.1.self_attn.o_proj.bias"},
      {"biases of feed-forward layers", "llama-tiny", R"({"mlp_bias": true})",
       "@model.layers.1.mlp.down_proj.bias"},
      {"a tied output", "llama-tiny", R"({"tie_word_embeddings": true})",
       "@model.embed_tokens.weight : tensor<?x64xf32> -> tensor<?x109xf32>"},
      {"another activation", "llama-tiny", R"({"hidden_act": "gelu"})", "activate gelu"},
      {"a limit of lengths", "llama-tiny",
       R"({"rope_parameters": {"rope_type": "dynamic", "factor": 2}})", "most = 96 : i64"},
      {"the note of that", "llama-tiny",
       R"({"rope_parameters": {"rope_type": "dynamic", "factor": 2}})",
       "note: config.json: rotary positions are \"dynamic\": texts have at most 96 tokens, since "},
      {"a factor of sines", "qwen2-tiny",
       R"({"rope_scaling": {"type": "yarn", "factor": 4, "attention_factor": 1.5,
           "original_max_position_embeddings": 24}})",
       ", 1.500000e+00 : tensor<?x3xf32>"},
      {"the length that Phi-3 always has", "phi3-tiny",
       R"({"max_position_embeddings": 16384, "original_max_position_embeddings": null,
           "rope_scaling": {"type": "su", "original_max_position_embeddings": 24,
           "short_factor": [1, 1, 1, 1, 1, 1], "long_factor": [1, 1, 1, 1, 1, 2]}})",
       "most = 4096 : i64"},
      {"windows of some layers", "qwen2-tiny",
       R"({"use_sliding_window": true, "sliding_window": 5, "max_window_layers": 2})",
       "transformer.mask from i - 4 to i + 1"},
      {"the first window", "mistral-tiny", R"({"sliding_window": null})",
       "transformer.mask from i - 4095 to i + 1"},
      {"weights of all experts", "qwen3-moe-tiny", R"({"norm_topk_prob": false})",
       "transformer.row_softmax %"},
      {"dense layers", "qwen3-moe-tiny", R"({"decoder_sparse_step": 3})",
       "@model.layers.1.mlp.up_proj.weight"},
      {"one sub-layer after the other", "gpt-neox-tiny", R"({"use_parallel_residual": false})",
       "post_attention_layernorm"},
      {"no biases", "gpt-neox-tiny", R"({"attention_bias": false})",
       "query_key_value.query.weight.rows : tensor<?x60xf32>"},
      {"a layer that sees all", "gemma2-tiny",
       R"({"layer_types": ["full_attention", "full_attention", "full_attention",
           "sliding_attention"]})",
       "transformer.mask from i - 6 to i + 1"},
      {"a pattern of layers", "gemma3-tiny", R"({"sliding_window_pattern": 2})",
       "transformer.mask from i - 5 to i + 1"},
  };
  for (const DecoderOption &option : options) {
    const Result<std::string> text = changed(option.folder, option.change);
    ASSERT_TRUE(text.ok()) << option.name << ": " << text.status().message();
    EXPECT_TRUE(contains(*text, option.expected)) << option.name << "\n" << *text;
    EXPECT_NE(*text, program(option.folder)) << option.name;
  }
}

/// Null disables a cap; an absent key selects the value that the model was published with.
TEST(DecoderOptions, AbsentIsNotNull) {
  // The merge removes keys with the value null.
  const Result<std::string> absent = changed("gemma2-tiny", R"({"attn_logit_softcapping": null})");
  ASSERT_TRUE(absent.ok());
  EXPECT_TRUE(contains(*absent, ", 5.000000e+01 : tensor<?x4x?xf32>"));
  EXPECT_FALSE(contains(program("gemma3-tiny"), "activate tanh"));
}

/// Null means as many key heads as query heads, also for families with a default for an absent key.
TEST(DecoderOptions, NullIsAsManyKeyHeadsAsHeads) {
  for (const char *name : {"mistral-tiny", "mixtral-tiny", "qwen2-tiny", "qwen3-tiny"}) {
    const int64_t heads = storedConfig(name)["num_attention_heads"].get<int64_t>();
    const Result<std::string> null = updated(name, R"({"num_key_value_heads": null})");
    const Result<std::string> same =
        changed(name, fmt::format(R"({{"num_key_value_heads": {}}})", heads));
    ASSERT_TRUE(null.ok() && same.ok()) << name << ": " << null.status().message();
    EXPECT_EQ(*null, *same) << name;
    EXPECT_NE(*null, program(name)) << name;
  }
  const Result<std::string> absent = changed("mistral-tiny", R"({"num_key_value_heads": null,
      "num_attention_heads": 24})");
  ASSERT_TRUE(absent.ok()) << absent.status().message();
  EXPECT_TRUE(contains(*absent, "transformer.choices %arg1, 8"));
}

/// Layers of a kind with windows require one; Qwen's layers have no window where it is null.
TEST(DecoderOptions, LocalLayersNeedAWindow) {
  for (const char *name : {"gemma2-tiny", "gemma3-tiny"}) {
    const Result<std::string> local =
        updated(name, R"({"sliding_window": null, "layer_types": null})");
    EXPECT_EQ(local.status().message(),
              "config.json: \"sliding_window\" is null, expected an integer, the window of layer 0")
        << name;
  }
  const Result<std::string> global =
      updated("gemma3-tiny", R"({"sliding_window": null, "sliding_window_pattern": 1})");
  ASSERT_TRUE(global.ok()) << global.status().message();
  EXPECT_FALSE(contains(*global, "transformer.mask from"));
  const Result<std::string> qwen =
      updated("qwen2-tiny",
              R"({"use_sliding_window": true, "sliding_window": null, "max_window_layers": 1})");
  ASSERT_TRUE(qwen.ok()) << qwen.status().message();
  EXPECT_EQ(*qwen, program("qwen2-tiny"));
}

} // namespace heddle
