// SPDX-License-Identifier: Apache-2.0
///
/// Checks that a compiled model's answers conform to a schema, in every interface.
#ifndef HEDDLE_TESTS_ENDTOEND_SCHEMAANSWERS_H
#define HEDDLE_TESTS_ENDTOEND_SCHEMAANSWERS_H

#include "heddle/Generation.h"
#include "heddle/heddle.h"
#include "tests/EndToEnd/GeneratedTokens.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/formats/JsonSchema/SchemaSamples.h"
#include "tests/runtime/Tools/ChildProcess.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

namespace heddle {

inline constexpr const char *personSchema =
    R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 6},
        "age": {"type": "integer", "minimum": 0, "maximum": 130}, "tags": {"type": "array",
        "items": {"enum": ["a", "b\u00e4", null]}, "maxItems": 2}}, "required": ["name", "age"],
        "additionalProperties": false})";

/// Checks `heddle generate`: greedy, with beams, samples, too few tokens, and unusable files.
inline void expectSchemaInTools(const std::string &binary) {
  const TemporaryFolder folder;
  const Json schema = Json::parse(personSchema);
  const std::string file = folder.write("person.json", personSchema);
  for (const std::vector<std::string> &search : {std::vector<std::string>{"--no-sample"},
                                                 {"--beam", "3", "--nbest", "3"},
                                                 {"--sample", "--seed", "4", "--nbest", "5"},
                                                 {"--alternatives", "--nbest", "2"}}) {
    std::vector<std::string> arguments = {"generate",      binary, "--input",      "-",
                                          "--json-schema", file,   "--max-length", "90",
                                          "--format",      "jsonl"};
    arguments.insert(arguments.end(), search.begin(), search.end());
    const tools::Outcome outcome = tools::runHeddle(arguments, {.input = "Who?\nabc\n"});
    const auto found = hypothesesOf(outcome);
    ASSERT_EQ(found.size(), 2U) << outcome.error;
    for (const Json &hypotheses : found) {
      for (const Json &hypothesis : hypotheses) {
        EXPECT_EQ(hypothesis["finish"], "end") << hypothesis;
        EXPECT_TRUE(isAnswer(hypothesis["text"].get<std::string>(), schema)) << hypothesis;
      }
    }
  }
  const tools::Outcome cut =
      tools::runHeddle({"generate", binary, "--prompt", "Who?", "--json-schema", file,
                        "--max-length", "4", "--format", "jsonl", "--no-sample"});
  EXPECT_EQ(hypothesesOf(cut).at(0).at(0)["finish"], "length") << cut.output;
  const tools::Outcome chat =
      tools::runHeddle({"chat", binary, "--json-schema", file, "--no-sample", "--max-length", "90"},
                       {.input = "Who?\nAnd who?\n"});
  EXPECT_EQ(chat.code, 0) << chat.error;
  std::istringstream lines(chat.output);
  int answers = 0;
  for (std::string line; std::getline(lines, line); ++answers) {
    EXPECT_TRUE(isAnswer(line, schema)) << line;
  }
  EXPECT_EQ(answers, 2);
  const std::string bad = folder.write("bad.json", R"({"items": {"pattern": "x"}})");
  for (const std::vector<std::string> &command :
       {std::vector<std::string>{"generate", binary, "--prompt", "a"}, {"chat", binary}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--json-schema", bad});
    const tools::Outcome refused = tools::runHeddle(arguments, {.input = "a\n"});
    EXPECT_EQ(refused.code, 1);
    EXPECT_EQ(refused.output, "");
    EXPECT_NE(refused.error.find(bad + ": schema: #/items/pattern: \"pattern\" is not supported"),
              std::string::npos)
        << refused.error;
    arguments.back() = folder / "none.json";
    const tools::Outcome missing = tools::runHeddle(arguments, {.input = "a\n"});
    EXPECT_EQ(missing.code, 1);
    EXPECT_NE(missing.error.find("none.json"), std::string::npos) << missing.error;
  }
}

/// Checks that C and C++ give the same answer.
inline void expectSchemaInLibraries(Generator &generator, const std::string &binary,
                                    const std::vector<int32_t> &prompt) {
  const auto id =
      generator.add({.prefix = prompt,
                     .options = {.maxLength = 90, .sample = false, .jsonSchema = personSchema}});
  ASSERT_TRUE(id.ok()) << id.status().message();
  std::vector<int32_t> tokens;
  while (!generator.idle()) {
    const auto results = generator.step();
    ASSERT_TRUE(results.ok()) << results.status().message();
    for (const GenerationResult &result : *results) {
      tokens = result.hypotheses.at(0).tokens;
    }
  }
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()));
  EXPECT_TRUE(isAnswer(*generator.decode(tokens), Json::parse(personSchema)))
      << *generator.decode(tokens);
  heddle_model *model = nullptr;
  heddle_generator *fromC = nullptr;
  ASSERT_EQ(heddle_model_load(binary.c_str(), nullptr, &model), nullptr);
  ASSERT_EQ(heddle_generator_create(model, nullptr, &fromC), nullptr);
  heddle_generation_options options = HEDDLE_GENERATION_OPTIONS_INIT;
  options.max_length = 90;
  options.sample = 0;
  options.json_schema = personSchema;
  int64_t number = 0;
  const auto add = [&] {
    return heddle_generator_add(fromC, nullptr, 0, prompt.data(),
                                static_cast<int64_t>(prompt.size()), &options, &number);
  };
  ASSERT_EQ(add(), nullptr);
  while (heddle_generator_idle(fromC) == 0) {
    ASSERT_EQ(heddle_generator_step(fromC), nullptr);
  }
  heddle_generation *const result = heddle_generator_take(fromC);
  int64_t count = 0;
  const int32_t *const ids = heddle_generation_tokens(result, 0, &count, nullptr);
  EXPECT_EQ(std::vector<int32_t>(ids + prompt.size(), ids + count), tokens);
  heddle_generation_free(result);
  options.json_schema = "{\"enum\": []}";
  heddle_error *const error = add();
  EXPECT_EQ(heddle_error_code(error), HEDDLE_STATUS_InvalidArgument);
  EXPECT_STREQ(heddle_error_message(error),
               "schema: #: no text satisfies the schema: \"enum\" is empty");
  heddle_error_free(error);
  heddle_generator_free(fromC);
  heddle_model_free(model);
}

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_SCHEMAANSWERS_H
