// SPDX-License-Identifier: Apache-2.0
///
/// The variables that templates get, according to the template table of a manifest.
#include "runtime/Session/ChatTemplates.h"

#include <chrono>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace heddle;

/// Returns a template's output for a conversation, in a model with one special token.
static Result<std::string> rendered(const char *text, const std::string &conversation) {
  flatbuffers::FlatBufferBuilder builder;
  const auto named = [&](const char *name, const char *content) {
    return manifest::CreateNamedTextDirect(builder, name, content);
  };
  const std::vector templates = {named("default", text)};
  const std::vector tokens = {named("bos_token", "<s>")};
  builder.Finish(manifest::CreateChatDirect(builder, &templates, &tokens));
  return ChatTemplates(flatbuffers::GetRoot<manifest::Chat>(builder.GetBufferPointer()))
      .render(conversation, "");
}

TEST(ChatTemplates, WhatIsNotGivenIsAdded) {
  const char *const text = "{{ [tools, documents, add_generation_prompt, bos_token, x] | tojson }}";
  EXPECT_EQ(*rendered(text, R"({"messages":[{}],"x":1})"), R"([null, null, true, "<s>", 1])");
  EXPECT_EQ(*rendered(text, R"({"messages":[{}],"x":null,"tools":[2],"documents":[3],)"
                            R"("add_generation_prompt":false,"bos_token":"<b>"})"),
            R"([[2], [3], false, "<b>", null])");
}

TEST(ChatTemplates, IntegersOfMoreThan64BitsAreRefusedAndFloatsAreNot) {
  EXPECT_EQ(*rendered("{{ x }}", R"({"messages":[{}],"x":1e308})"), "1e+308");
  EXPECT_EQ(
      rendered("{{ x }}", R"({"messages":[{}],"x":100000000000000000000})").status().message(),
      "conversation: integer \"100000000000000000000\" needs more than 64 bits");
}

TEST(ChatTemplates, AConversationHasMessages) {
  EXPECT_EQ(rendered("{{ 1 }}", R"({"messages":[]})").status().message(),
            "conversation: \"messages\" has no elements, expected at least one message");
}

/// A copy that looks up each key among those before it would exceed the bound.
TEST(ChatTemplates, AHundredThousandKeysTakeLittleTime) {
  std::string conversation = R"({"messages":[{}])";
  for (int i = 0; i < 100'000; ++i) {
    conversation += fmt::format(R"(,"a_long_name_of_a_variable_{}":{})", i, i);
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(*rendered("{{ a_long_name_of_a_variable_99999 }}{{ bos_token }}", conversation + "}"),
            "99999<s>");
  // Generous: sanitizers and busy machines are slow.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}
