// SPDX-License-Identifier: Apache-2.0
///
/// Templates compared with Jinja: those of tests/oracles/chat-templates, as transformers renders
/// them, and random ones (make_expressions.py).
#include "formats/Template/Template.h"

#include "formats/Config/Json.h"

#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

using namespace heddle;
using chat::Template;
using Json = nlohmann::ordered_json;

static std::vector<Json> linesOf(const std::string &path) {
  std::ifstream file(path);
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(*parseOrderedJson(line, path));
  }
  return lines;
}

static const std::string oracles = HEDDLE_TEST_DATA "/oracles/chat-templates/";

/// Returns the variables that transformers passes to a template.
static Json variablesOf(const Json &golden) {
  Json variables = golden["kwargs"];
  for (const char *name :
       {"messages", "tools", "documents", "add_generation_prompt", "bos_token", "eos_token"}) {
    variables[name] = golden[name];
  }
  return variables;
}

/// Checks a failure against the golden: the text of raise_exception, or the kind of the error.
static void expectFailure(const Status &failure, const std::string &expected) {
  ASSERT_FALSE(failure.ok());
  const std::string message(failure.message());
  EXPECT_TRUE(message.starts_with("line ")) << message;
  if (expected == "type") {
    EXPECT_NE(message.find("has no meaning for"), std::string::npos) << message;
  } else if (expected == "undefined") {
    EXPECT_NE(message.find("undefined"), std::string::npos) << message;
  } else {
    EXPECT_TRUE(message.ends_with(": the template says: " + expected)) << message;
  }
}

TEST(TemplateGolden, conversationsAreThoseOfTransformers) {
  std::map<std::string, Template> templates;
  size_t rendered = 0, refused = 0;
  for (const Json &golden : linesOf(oracles + "golden.jsonl")) {
    const std::string name = golden["template"];
    SCOPED_TRACE(name + ", " + golden["case"].get<std::string>());
    if (templates.find(name) == templates.end()) {
      std::ostringstream text;
      text << std::ifstream(oracles + name).rdbuf();
      const Result<Template> parsed = Template::parse(text.str());
      ASSERT_TRUE(parsed.ok()) << parsed.status().message();
      templates.emplace(name, *parsed);
    }
    const Result<std::string> prompt = templates.at(name).render(variablesOf(golden));
    if (golden.contains("error")) {
      expectFailure(prompt.status(), golden["error"]);
      ++refused;
      continue;
    }
    ASSERT_TRUE(prompt.ok()) << prompt.status().message();
    EXPECT_EQ(*prompt, golden["rendered"].get<std::string>());
    ++rendered;
  }
  EXPECT_EQ(templates.size(), 8U);
  EXPECT_EQ(rendered, 149U);
  EXPECT_EQ(refused, 18U);
}

/// Numbers at the ends of 64 bits, and keys; the answers are those of Jinja.
TEST(TemplateGolden, numbersAndKeysAreThoseOfJinja) {
  const std::pair<std::string, std::string> cases[] = {
      {"'ab'.center(-9223372036854775807 - 1)", "ab"},
      {"'ab'.ljust(-9223372036854775807 - 1)", "ab"},
      {"'ab'.rjust(-9223372036854775807 - 1)", "ab"},
      {"'ab'.zfill(-9223372036854775807 - 1)", "ab"},
      {"'ab'.zfill(4) ~ 'ab'.center(5)", "00ab  ab "},
      {"-9223372036854775808.0 | int", "-9223372036854775808"},
      {"'1e400' | int(7)", "7"},
      {"'nan' | int(7)", "7"},
      {"'٣' | int", "3"},
      {"'-१२' | int", "-12"},
      {"'𝟙𝟘' | int", "10"},
      {"'٣.٥' | float", "3.5"},
      {"9007199254740993 == 9007199254740992.0", "False"},
      {"9007199254740993 > 9007199254740992.0", "True"},
      {"9007199254740992.0 < 9007199254740993", "True"},
      {"9223372036854775807 < 9223372036854775808.0", "True"},
      {"9223372036854775807 == 9223372036854775808.0", "False"},
      {"-9223372036854775808.0 == -9223372036854775807 - 1", "True"},
      {"[1 < 1.5, 2 > 1.5, -1 < -1.5, -2 < -1.5, 1.5 < 2, 1.5 < 1]",
       "[True, True, False, True, True, False]"},
      {"1 < 'nan' | float, 1 > 'nan' | float, 1 == 'nan' | float", "(False, False, False)"},
      {"1 < 'inf' | float, 1 < '-inf' | float", "(True, False)"},
      {"{4611686018427387904: 1}[4611686018427387904.0]", "1"},
      {"{('a', 1): 2}[('a', 1.0)]", "2"},
      {"('a', 1) in {'a': 1}", "False"},
      {"{(1, (2, 3)): 4, ((1, 2), 3): 5}[((1, 2), 3)]", "5"},
      {"{('ab', 'c'): 1, ('a', 'bc'): 2} | length", "2"},
      {"{'a': 1, 'b': 1}.items() | unique | list | length", "2"},
      {"[(1, 2), (1, 2), (2, 1)] | unique | list", "[(1, 2), (2, 1)]"},
  };
  for (const auto &[expression, expected] : cases) {
    SCOPED_TRACE(expression);
    const Result<Template> parsed = Template::parse("{{ " + expression + " }}");
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    const Result<std::string> text = parsed->render(Json::object());
    ASSERT_TRUE(text.ok()) << text.status().message();
    EXPECT_EQ(*text, expected);
  }
}

TEST(TemplateGolden, randomTemplatesAreThoseOfJinja) {
  const std::vector<Json> lines = linesOf(HEDDLE_TEST_DATA "/formats/Template/expressions.jsonl");
  ASSERT_EQ(lines.size(), 601U);
  for (size_t i = 1; i < lines.size(); ++i) {
    SCOPED_TRACE(lines[i]["template"].get<std::string>());
    const Result<Template> parsed = Template::parse(lines[i]["template"].get<std::string>());
    const Result<std::string> text =
        parsed.ok() ? parsed->render(lines[0]["variables"]) : Result<std::string>(parsed.status());
    if (lines[i].contains("error")) {
      EXPECT_FALSE(text.ok());
    } else {
      ASSERT_TRUE(text.ok()) << text.status().message();
      EXPECT_EQ(*text, lines[i]["rendered"].get<std::string>());
    }
  }
}
