// SPDX-License-Identifier: Apache-2.0
///
/// The places where folders store chat templates, and their precedence.
#include "formats/Config/ChatSettings.h"

#include "tests/base/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace heddle;

static std::vector<std::string> pairsOf(const std::vector<NamedText> &texts) {
  std::vector<std::string> pairs;
  for (const NamedText &each : texts) {
    pairs.push_back(each.name + "=" + each.text);
  }
  return pairs;
}

using Pairs = std::vector<std::string>;

TEST(ChatSettings, AFolderWithoutATemplateHasNone) {
  const TemporaryFolder folder;
  EXPECT_FALSE(readChatSettings(folder.path())->has_value());
  folder.write("tokenizer_config.json", R"({"bos_token": "<s>", "chat_template": null})");
  EXPECT_FALSE(readChatSettings(folder.path())->has_value());
}

TEST(ChatSettings, OneTemplateAndTheTokens) {
  const TemporaryFolder folder;
  folder.write("tokenizer_config.json",
               R"({"chat_template": "{{ a }}", "bos_token": "<s>", "eos_token": {"content": "</s>"},
                   "unk_token": null, "add_bos_token": true})");
  folder.write("special_tokens_map.json", R"({"bos_token": "other", "pad_token": "<pad>"})");
  const auto settings = readChatSettings(folder.path());
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(pairsOf((*settings)->templates), Pairs({"default={{ a }}"}));
  EXPECT_EQ(pairsOf((*settings)->tokens),
            Pairs({"bos_token=<s>", "eos_token=</s>", "pad_token=<pad>"}));
}

TEST(ChatSettings, NamedTemplates) {
  const TemporaryFolder folder;
  folder.write("tokenizer_config.json",
               R"({"chat_template": [{"name": "rag", "template": "r"},
                                     {"name": "default", "template": "d"}]})");
  EXPECT_EQ(pairsOf((*readChatSettings(folder.path()))->templates), Pairs({"default=d", "rag=r"}));
}

TEST(ChatSettings, FilesTakePrecedence) {
  const TemporaryFolder folder;
  folder.write("tokenizer_config.json", R"({"chat_template": "old"})");
  folder.write("chat_template.jinja", "new\n");
  folder.write("additional_chat_templates/tool_use.jinja", "tools");
  folder.write("additional_chat_templates/readme.txt", "no template");
  EXPECT_EQ(pairsOf((*readChatSettings(folder.path()))->templates),
            Pairs({"default=new\n", "tool_use=tools"}));
}

TEST(ChatSettings, WhatIsNoTemplateIsSaid) {
  const TemporaryFolder folder;
  const auto failureOf = [&](const char *text) {
    folder.write("tokenizer_config.json", text);
    const auto settings = readChatSettings(folder.path());
    return std::string(settings.status().message());
  };
  const std::string path = folder / "tokenizer_config.json";
  EXPECT_EQ(failureOf(R"({"chat_template": 3})"),
            path + ": \"chat_template\" is 3, expected a string");
  EXPECT_EQ(failureOf(R"({"chat_template": ["a"]})").substr(0, path.size()), path);
  EXPECT_NE(failureOf(R"({"chat_template": [{"name": "a"}]})").find("\"template\""),
            std::string::npos);
  EXPECT_NE(failureOf(R"({"chat_template": [{"name": "a", "template": "x"},
                                            {"name": "a", "template": "y"}]})")
                .find("two templates are called \"a\""),
            std::string::npos);
}
