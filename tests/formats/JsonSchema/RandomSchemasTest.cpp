// SPDX-License-Identifier: Apache-2.0
///
/// Random schemas: every walk through the automaton ends in a text that a parser and an independent
/// validator accept, and every text that conforms to a schema is a walk.
#include "formats/JsonSchema/JsonAutomaton.h"
#include "tests/formats/JsonSchema/SchemaSamples.h"

#include <gtest/gtest.h>

using namespace heddle;

/// Returns the automaton of a schema, or null if no text satisfies it.
static std::unique_ptr<JsonAutomaton> automatonOf(const SampleJson &schema) {
  Result<JsonGrammar> grammar = JsonGrammar::read(schema.dump());
  if (!grammar.ok()) {
    EXPECT_NE(grammar.status().message().find("no text satisfies the schema"), std::string::npos)
        << grammar.status().message() << "\n"
        << schema;
    return nullptr;
  }
  return std::make_unique<JsonAutomaton>(std::make_shared<const JsonGrammar>(*std::move(grammar)));
}

static std::vector<uint8_t> bytesThatFollow(JsonAutomaton &automaton, JsonAutomaton::State state) {
  std::vector<uint8_t> bytes;
  for (int byte = 0; byte < 256; ++byte) {
    if (automaton.next(state, static_cast<uint8_t>(byte)) != JsonAutomaton::dead) {
      bytes.push_back(static_cast<uint8_t>(byte));
    }
  }
  return bytes;
}

/// Returns a text of random valid bytes; after a while, bytes that end a value are preferred.
static std::string walk(JsonAutomaton &automaton, std::mt19937_64 &random) {
  constexpr std::string_view ends = "}]\"0ntf-:,";
  JsonAutomaton::State state = automaton.start();
  std::string text;
  while (text.size() < 600) {
    const std::vector<uint8_t> bytes = bytesThatFollow(automaton, state);
    const bool isWhole = automaton.isWhole(state);
    // Every prefix can be completed.
    EXPECT_TRUE(isWhole || !bytes.empty()) << text;
    if (bytes.empty() || (isWhole && (text.size() > 60 || random() % 3 == 0))) {
      return isWhole ? text : "";
    }
    uint8_t byte = bytes[random() % bytes.size()];
    for (const char end : ends) {
      const bool follows = std::find(bytes.begin(), bytes.end(), end) != bytes.end();
      if (follows && (text.size() > 60 || random() % 4 == 0)) {
        byte = static_cast<uint8_t>(end);
        break;
      }
    }
    text += static_cast<char>(byte);
    state = automaton.next(state, byte);
  }
  return "";
}

TEST(RandomSchemas, EveryWalkEndsInAnAnswer) {
  std::mt19937_64 random(1);
  int ended = 0, all = 0, satisfied = 0;
  for (int number = 0; number < 3000; ++number) {
    const SampleJson schema = randomSchema(random);
    const auto automaton = automatonOf(schema);
    if (automaton == nullptr) {
      continue;
    }
    ++satisfied;
    for (int i = 0; i < 6; ++i, ++all) {
      const std::string text = walk(*automaton, random);
      ended += text.empty() ? 0 : 1;
      ASSERT_TRUE(text.empty() || isAnswer(text, schema)) << text << "\n" << schema;
    }
  }
  // Most random schemas can be satisfied, and most walks end before they get too long.
  EXPECT_GT(satisfied, 2000);
  EXPECT_GT(ended, all * 9 / 10) << all;
}

TEST(RandomSchemas, EveryAnswerIsAWalk) {
  std::mt19937_64 random(2);
  int found = 0;
  for (int number = 0; number < 4000; ++number) {
    const SampleJson schema = randomSchema(random);
    const auto automaton = automatonOf(schema);
    for (int i = 0; i < 6; ++i) {
      const std::optional<std::string> text = randomAnswer(schema, random);
      if (!text) {
        continue;
      }
      ASSERT_TRUE(isAnswer(*text, schema)) << *text << "\n" << schema;
      ASSERT_NE(automaton, nullptr) << *text << "\n" << schema;
      JsonAutomaton::State state = automaton->start();
      for (const char byte : *text) {
        state = automaton->next(state, static_cast<uint8_t>(byte));
        ASSERT_NE(state, JsonAutomaton::dead) << *text << "\n" << schema;
      }
      ASSERT_TRUE(automaton->isWhole(state)) << *text << "\n" << schema;
      ++found;
    }
  }
  EXPECT_GT(found, 10000);
}
