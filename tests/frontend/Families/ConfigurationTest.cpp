// SPDX-License-Identifier: Apache-2.0
///
/// Configurations that are refused, and options that are read.
#include "frontend/Families/Family.h"

#include "frontend/Checkpoint/Checkpoint.h"
#include "frontend/Config/Config.h"
#include "tests/frontend/Builder/PrintedModule.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

namespace heddle {

/// One change of a good configuration.
struct ConfigurationCase {
  const char *name;
  const char *folder;
  /// A JSON object that is merged in; null removes a key.
  const char *change;
  /// Begins of the message; with changes that are accepted, a part of the program.
  const char *expected;
};

static Result<std::string> programOf(const ConfigurationCase &item) {
  const std::string folder = std::string(HEDDLE_TEST_DATA "/oracles/") + item.folder;
  HEDDLE_ASSIGN(const Config stored, Config::open(folder + "/config.json"));
  HEDDLE_ASSIGN(const Checkpoint checkpoint, Checkpoint::open(folder));
  nlohmann::json values = nlohmann::json::object();
  for (const std::string &key : stored.keys()) {
    if (stored.integer(key, 0, 1 << 20).ok()) {
      values[key] = *stored.integer(key, 0, 1 << 20);
    } else if (stored.string(key).ok()) {
      values[key] = *stored.string(key);
    }
  }
  values.merge_patch(nlohmann::json::parse(item.change, nullptr, false));
  HEDDLE_ASSIGN(const Config config, Config::fromJson(values, "config.json"));
  mlir::MLIRContext context;
  HEDDLE_ASSIGN(const FamilyModel model, buildFamily(context, {config, checkpoint, std::nullopt}));
  return printed(*model.module);
}

class RefusedConfiguration : public testing::TestWithParam<ConfigurationCase> {};

TEST_P(RefusedConfiguration, GivesItsMessage) {
  const Result<std::string> program = programOf(GetParam());
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().message(), GetParam().expected);
}

static const ConfigurationCase refused[] = {
    {"UnknownModelType", "bert-tiny", R"({"model_type": "llama"})",
     "config.json: \"model_type\" is \"llama\", known are bert, distilbert, roberta"},
    {"Heads", "bert-tiny", R"({"num_attention_heads": 5})",
     "config.json: \"num_attention_heads\" is 5, expected a divisor of \"hidden_size\", 72"},
    {"HeadsOfDistilBert", "distilbert-tiny", R"({"n_heads": 4})",
     "config.json: \"n_heads\" is 4, expected a divisor of \"dim\", 54"},
    {"Decoder", "bert-tiny", R"({"is_decoder": true})",
     "config.json: \"is_decoder\" is true, expected an encoder"},
    {"PositionsOfRoberta", "roberta-tiny", R"({"max_position_embeddings": 2})",
     "config.json: \"max_position_embeddings\" is 2, expected more than 2, the first position "
     "after \"pad_token_id\""},
};
INSTANTIATE_TEST_SUITE_P(All, RefusedConfiguration, testing::ValuesIn(refused),
                         [](const auto &info) { return info.param.name; });

/// Messages whose wording is that of Config; here only the key matters.
TEST(RefusedValues, NameTheirKey) {
  const std::pair<const char *, const char *> cases[] = {
      {"model_type", R"({"model_type": null})"},
      {"model_type", R"({"model_type": 3})"},
      {"hidden_size", R"({"hidden_size": null})"},
      {"hidden_size", R"({"hidden_size": 0})"},
      {"hidden_size", R"({"hidden_size": 1e9})"},
      {"hidden_size", R"({"hidden_size": "72"})"},
      {"vocab_size", R"({"vocab_size": -1})"},
      {"num_hidden_layers", R"({"num_hidden_layers": 0})"},
      {"num_hidden_layers", R"({"num_hidden_layers": 1000000})"},
      {"num_attention_heads", R"({"num_attention_heads": 0})"},
      {"intermediate_size", R"({"intermediate_size": 2.5})"},
      {"max_position_embeddings", R"({"max_position_embeddings": []})"},
      {"type_vocab_size", R"({"type_vocab_size": 0})"},
      {"hidden_act", R"({"hidden_act": "swish"})"},
      {"layer_norm_eps", R"({"layer_norm_eps": -1})"},
      {"layer_norm_eps", R"({"layer_norm_eps": "small"})"},
      {"position_embedding_type", R"({"position_embedding_type": "relative_key"})"},
      {"is_decoder", R"({"is_decoder": "no"})"},
  };
  for (const auto &[key, change] : cases) {
    const Result<std::string> program = programOf({"", "bert-tiny", change, ""});
    ASSERT_FALSE(program.ok()) << change;
    EXPECT_TRUE(contains(program.status().message(), std::string("\"") + key + "\"")) << change;
    EXPECT_TRUE(program.status().message().starts_with("config.json: ")) << change;
  }
}

TEST(AcceptedValues, ReachTheProgram) {
  const ConfigurationCase cases[] = {
      {"", "bert-tiny", R"({"hidden_act": "gelu_new"})", "transformer.activate gelu_new"},
      {"", "bert-tiny", R"({"hidden_act": "gelu_pytorch_tanh"})", "transformer.activate gelu_new"},
      {"", "bert-tiny", R"({"hidden_act": "relu"})", "transformer.activate relu"},
      {"", "bert-tiny", R"({"layer_norm_eps": 0.5})", "epsilon = 5.000000e-01"},
      {"", "bert-tiny", R"({"position_embedding_type": "absolute"})", "transformer.positions"},
      {"", "bert-tiny", R"({"num_attention_heads": 36})", "tensor<?x36x2xf32>"},
      {"", "distilbert-tiny", R"({"activation": "relu"})", "transformer.activate relu"},
      {"", "roberta-tiny", R"({"pad_token_id": 0})", "{offset = 1 : i64}"},
  };
  for (const ConfigurationCase &item : cases) {
    const Result<std::string> program = programOf(item);
    ASSERT_TRUE(program.ok()) << program.status().message();
    EXPECT_TRUE(contains(*program, item.expected)) << item.change;
  }
}

} // namespace heddle
