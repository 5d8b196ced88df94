// SPDX-License-Identifier: Apache-2.0
///
/// sentence-transformers folders, published ones and invalid ones.
#include "formats/Config/SentenceTransformers.h"

#include "tests/base/TemporaryFolder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle {
namespace {

/// Returns a module list of (type, path) pairs; "idx" counts up.
std::string moduleList(const std::vector<std::pair<std::string, std::string>> &modules) {
  std::string text = "[";
  for (size_t i = 0; i < modules.size(); ++i) {
    text += fmt::format(R"({}{{"idx":{},"name":"{}","path":"{}","type":"{}"}})", i == 0 ? "" : ",",
                        i, i, modules[i].second, modules[i].first);
  }
  return text + "]";
}

const std::string fullList =
    moduleList({{"sentence_transformers.models.Transformer", ""},
                {"sentence_transformers.models.Pooling", "1_Pooling"},
                {"sentence_transformers.models.Normalize", "2_Normalize"}});

constexpr const char *meanPooling =
    R"({"word_embedding_dimension":384,"pooling_mode_cls_token":false,)"
    R"("pooling_mode_mean_tokens":true,"pooling_mode_max_tokens":false,)"
    R"("pooling_mode_mean_sqrt_len_tokens":false})";

std::string messageOf(const TemporaryFolder &folder) {
  return std::string(readSentenceTransformers(folder.path()).status().message());
}

TEST(SentenceTransformersTest, Full) {
  const TemporaryFolder folder;
  folder.write("modules.json", fullList);
  folder.write("1_Pooling/config.json", meanPooling);
  folder.write("sentence_bert_config.json", R"({"max_seq_length":256,"do_lower_case":true})");
  const auto read = readSentenceTransformers(folder.path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_TRUE(read->has_value());
  const SentenceTransformers &found = **read;
  EXPECT_EQ(found.encoderFolder, folder.path());
  EXPECT_EQ(found.pooling, Pooling::Mean);
  EXPECT_EQ(found.width, 384);
  ASSERT_EQ(found.modules.size(), 1u);
  EXPECT_EQ(found.modules[0].kind, SentenceModule::Kind::Normalize);
  EXPECT_FALSE(found.modules[0].hasWeights());
  EXPECT_EQ(found.maxSequenceLength, 256);
  EXPECT_TRUE(found.lowerCase);
}

TEST(SentenceTransformersTest, LeastAndInFolders) {
  const TemporaryFolder folder;
  folder.write("modules.json", moduleList({{"Transformer", "0_Transformer"}, {"Pooling", "p/q"}}));
  folder.write("p/q/config.json", R"({"pooling_mode_max_tokens":true,"include_prompt":true})");
  auto read = readSentenceTransformers(folder.path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ((*read)->encoderFolder, folder / "0_Transformer");
  EXPECT_EQ((*read)->pooling, Pooling::Max);
  EXPECT_FALSE((*read)->width.has_value());
  EXPECT_TRUE((*read)->modules.empty());
  EXPECT_FALSE((*read)->maxSequenceLength.has_value());
  EXPECT_FALSE((*read)->lowerCase);
  folder.write("p/q/config.json", R"({"pooling_mode_cls_token":true})");
  folder.write("0_Transformer/sentence_bert_config.json", R"({"max_seq_length":null})");
  read = readSentenceTransformers(folder.path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ((*read)->pooling, Pooling::Cls);
  EXPECT_FALSE((*read)->maxSequenceLength.has_value());
}

TEST(SentenceTransformersTest, NoModules) {
  const TemporaryFolder folder;
  const auto read = readSentenceTransformers(folder.path());
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->has_value());
}

TEST(SentenceTransformersTest, BadModules) {
  const TemporaryFolder folder;
  const std::string path = folder / "modules.json";
  const auto message = [&](const std::string &text) {
    folder.write("modules.json", text);
    return messageOf(folder);
  };
  EXPECT_EQ(message(""), path + ": the file is empty");
  EXPECT_EQ(message("{}"), path + ": is an object of 0, expected a list of modules");
  EXPECT_EQ(message("[1]"), path + ": module 1: is 1, expected an object");
  EXPECT_EQ(message(R"([{"path":""}])"),
            path + R"(: module 1: "type" is missing, expected a string)");
  EXPECT_EQ(message(R"([{"type":"Transformer"}])"),
            path + R"(: module 1: "path" is missing, expected a string)");
  EXPECT_EQ(message(R"([{"idx":1,"type":"Transformer","path":""}])"),
            path + R"(: module 1: "idx" is 1, expected 0, its position in the list)");
  EXPECT_EQ(message(R"([{"idx":"0","type":"Transformer","path":""}])"),
            path + R"(: module 1: "idx" is "0", expected an integer from 0 to 1000)");
  EXPECT_EQ(message(moduleList({{"sentence_transformers.models.LSTM", "2_LSTM"}})),
            path + R"(: module 1: "type" is "sentence_transformers.models.LSTM", expected one of )"
                   "Transformer, Pooling, Dense, LayerNorm, Normalize");
  for (const char *outside : {"../x", "/etc", "a/../../b", "..", "a\\\\b", "a\\u0000"}) {
    EXPECT_NE(message(moduleList({{"Transformer", outside}}))
                  .find("expected a path inside the model's folder"),
              std::string::npos)
        << outside;
  }
  EXPECT_EQ(message(moduleList({{"Transformer", "../x"}})),
            path + R"(: module 1: "path" is "../x", expected a path inside the model's folder)");
  const std::string expected =
      "], expected Transformer, Pooling, then any of Dense, LayerNorm and Normalize";
  EXPECT_EQ(message("[]"), path + ": the modules are [" + expected);
  EXPECT_EQ(message(moduleList({{"Transformer", ""}})),
            path + ": the modules are [Transformer" + expected);
  EXPECT_EQ(message(moduleList({{"Pooling", "p"}, {"Transformer", ""}})),
            path + ": the modules are [Pooling, Transformer" + expected);
  EXPECT_EQ(message(moduleList({{"Transformer", ""}, {"Normalize", "n"}, {"Pooling", "p"}})),
            path + ": the modules are [Transformer, Normalize, Pooling" + expected);
  EXPECT_EQ(message(moduleList({{"Transformer", ""}, {"Pooling", "p"}, {"Pooling", "q"}})),
            path + ": the modules are [Transformer, Pooling, Pooling" + expected);
}

/// Returns the message for a folder whose third module is a Dense with this configuration.
std::string denseMessage(const TemporaryFolder &folder, const std::string &config,
                         const std::string &place = "2_Dense") {
  folder.write("modules.json",
               moduleList({{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Dense", place}}));
  folder.write("1_Pooling/config.json", meanPooling);
  folder.write(place.empty() ? "config.json" : place + "/config.json", config);
  return messageOf(folder);
}

TEST(SentenceTransformersTest, ModulesAfterThePooling) {
  const TemporaryFolder folder;
  EXPECT_EQ(denseMessage(folder, R"({"in_features":384,"out_features":7,"bias":false,)"
                                 R"("activation_function":"torch.nn.modules.activation.GELU",)"
                                 R"("module_input_name":null,"warmup":3})"),
            "");
  folder.write("modules.json", moduleList({{"Transformer", ""},
                                           {"Pooling", "1_Pooling"},
                                           {"Normalize", "2_Normalize"},
                                           {"x.LayerNorm", "a/b"},
                                           {"x.y.Dense", "2_Dense"}}));
  folder.write("a/b/config.json", R"({"dimension":384})");
  const auto read = readSentenceTransformers(folder.path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  const std::vector<SentenceModule> &modules = (*read)->modules;
  ASSERT_EQ(modules.size(), 3u);
  EXPECT_EQ(modules[0].kind, SentenceModule::Kind::Normalize);
  EXPECT_EQ(modules[1].kind, SentenceModule::Kind::LayerNorm);
  EXPECT_EQ(modules[1].name, "a.b");
  EXPECT_EQ(modules[1].folder, folder / "a/b");
  EXPECT_EQ(modules[1].inputs, 384);
  EXPECT_EQ(modules[2].kind, SentenceModule::Kind::Dense);
  EXPECT_EQ(modules[2].inputs, 384);
  EXPECT_EQ(modules[2].outputs, 7);
  EXPECT_FALSE(modules[2].hasBias);
  EXPECT_EQ(modules[2].activation, "gelu");
  EXPECT_EQ((*read)->warnings, std::vector<std::string>{folder / "2_Dense/config.json" +
                                                        ": unknown key \"warmup\", its value 3 is "
                                                        "ignored"});
}

TEST(SentenceTransformersTest, BadDense) {
  const TemporaryFolder folder;
  const std::string path = folder / "2_Dense/config.json";
  EXPECT_EQ(denseMessage(folder, "{}"),
            path + ": \"in_features\" is missing, expected an integer from 1 to 65536");
  EXPECT_EQ(denseMessage(folder, R"({"in_features":3,"out_features":4,"bias":1})"),
            path + ": \"bias\" is 1, expected true or false");
  EXPECT_EQ(denseMessage(folder, R"({"in_features":3,"out_features":4,)"
                                 R"("activation_function":"torch.nn.modules.activation.Mish"})"),
            path +
                ": \"activation_function\" is \"torch.nn.modules.activation.Mish\", expected one "
                "of Identity, Tanh, ReLU, GELU, SiLU, Sigmoid, Softplus");
  EXPECT_EQ(denseMessage(folder, R"({"in_features":3,"out_features":4,)"
                                 R"("module_input_name":"token_embeddings"})"),
            path + ": \"module_input_name\" is \"token_embeddings\", expected one of "
                   "sentence_embedding");
  EXPECT_EQ(denseMessage(folder, R"({"in_features":3,"out_features":4})", ""),
            folder / "config.json" +
                ": a module Dense is in the folder of the model, expected one of its own");
}

TEST(SentenceTransformersTest, BadPooling) {
  const TemporaryFolder folder;
  folder.write("modules.json", fullList);
  const std::string path = folder / "1_Pooling/config.json";
  EXPECT_EQ(messageOf(folder), path + ": cannot open: No such file or directory");
  const auto message = [&](const std::string &text) {
    folder.write("1_Pooling/config.json", text);
    return messageOf(folder);
  };
  EXPECT_EQ(message("{}"), path + ": the enabled pooling modes are [], expected a single one");
  EXPECT_EQ(message(R"({"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":true})"),
            path + ": the enabled pooling modes are [pooling_mode_cls_token, "
                   "pooling_mode_mean_tokens], expected a single one");
  for (const char *mode : {"pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens",
                           "pooling_mode_lasttoken"}) {
    EXPECT_EQ(message(fmt::format(R"({{"{}":true}})", mode)),
              fmt::format("{}: \"{}\" is not supported, expected pooling_mode_cls_token, "
                          "pooling_mode_mean_tokens or pooling_mode_max_tokens",
                          path, mode));
  }
  EXPECT_EQ(message(R"({"pooling_mode_mean_tokens":1})"),
            path + R"(: "pooling_mode_mean_tokens" is 1, expected true or false)");
  EXPECT_EQ(message(R"({"pooling_mode_mean_tokens":true,"word_embedding_dimension":0})"),
            path + R"(: "word_embedding_dimension" is 0, expected an integer from 1 to )"
                   "1073741824");
}

TEST(SentenceTransformersTest, BadLimits) {
  const TemporaryFolder folder;
  folder.write("modules.json", fullList);
  folder.write("1_Pooling/config.json", meanPooling);
  const std::string path = folder / "sentence_bert_config.json";
  const auto message = [&](const std::string &text) {
    folder.write("sentence_bert_config.json", text);
    return messageOf(folder);
  };
  EXPECT_EQ(message("[]"), path + ": is a list of 0, expected an object");
  EXPECT_EQ(message(R"({"max_seq_length":0})"),
            path + R"(: "max_seq_length" is 0, expected an integer from 1 to 1073741824)");
  EXPECT_EQ(message(R"({"do_lower_case":"no"})"),
            path + R"(: "do_lower_case" is "no", expected true or false)");
}

} // namespace
} // namespace heddle
