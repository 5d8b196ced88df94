// SPDX-License-Identifier: Apache-2.0
///
/// Searches whose answers conform to schemas: greedy, with beams, samples and alternatives, alone
/// and in batches.
#include "tests/formats/JsonSchema/SchemaSamples.h"
#include "tests/runtime/Generate/Requests.h"

#include <algorithm>

using namespace heddle;

namespace {
/// A vocabulary of JSON for the model of hashes: 0 to 2 are padding, start and end.
std::vector<std::optional<std::string>> jsonTokens() {
  std::vector<std::optional<std::string>> texts = {std::nullopt, std::nullopt, std::nullopt};
  for (const char *text :
       {"{",  "}",  "[",    "]",   "\"",   ":",      ",",   " ",   "-",    ".",    "0",
        "1",  "2",  "7",    "a",   "b",    "n",      "u",   "l",   "t",    "r",    "e",
        "f",  "s",  "name", "age", "\": ", "\", \"", "{\"", "\"}", "null", "true", "12",
        "ab", "ba", "m",    "g",   "\xc3", "\xa4",   "\\",  "],",  "}]"}) {
    texts.emplace_back(text);
  }
  return texts;
}

const char *const schemas[] = {
    R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}, "age":
        {"type": "integer", "minimum": 0, "maximum": 127}}, "required": ["name", "age"],
        "additionalProperties": false})",
    R"({"type": "array", "items": {"enum": ["a", "ab", null, 12, 1]}, "minItems": 2, "maxItems": 5})",
    R"({"anyOf": [{"type": "boolean"}, {"type": "array", "prefixItems": [{"type": "string",
        "maxLength": 3}, {"$ref": "#"}], "items": false, "minItems": 2}]})",
    R"({"type": "integer", "minimum": -120, "maximum": 70})"};

class ConstrainedSearch : public testing::Test {
protected:
  static std::string textOf(const Hypothesis &hypothesis, size_t from = 0) {
    std::string text;
    for (size_t i = from; i < hypothesis.tokens.size(); ++i) {
      text += jsonTokens()[static_cast<size_t>(hypothesis.tokens[i])].value_or("");
    }
    return text;
  }

  GenerationLimits limits(const Decoder &decoder) {
    GenerationLimits limits = limitsOf(decoder);
    limits.constraints = &constraints;
    return limits;
  }

  /// Returns requests of all kinds.
  static GenerationRequest requestOf(int number) {
    GenerationRequest request{.source = sourceOf(number), .options = {.maxLength = 60}};
    GenerationOptions &options = request.options;
    options.rules = static_cast<Rules>(number % 3);
    options.jsonSchema = schemas[number / 2 % 4];
    options.tokenScores = true;
    if (number % 5 == 1) {
      options.beam = 4;
      options.nbest = 3;
    } else if (number % 5 == 2) {
      options.sample = true;
      options.nbest = 3;
      options.topK = number % 2 == 0 ? 5 : 0;
      options.seed = 3;
    } else if (number % 5 == 3) {
      options.alternatives = true;
      options.nbest = 3;
    } else if (number % 5 == 4) {
      options.beam = 2;
      options.repetitionPenalty = 1.25F;
    }
    return request;
  }

  std::vector<Hypothesis> alone(const GenerationRequest &request, int workers = 1) {
    FakeDecoder decoder(HashModel{45, 0}, workers);
    BatchSearch search(decoder, hashDefaults(), limits(decoder), 1000);
    const Result<int64_t> id = search.add(request);
    EXPECT_TRUE(id.ok()) << id.status().message();
    GenerationResult result = std::move(finishAll(search)[id.ok() ? *id : 0]);
    EXPECT_TRUE(result.status.ok()) << result.status.message();
    return std::move(result.hypotheses);
  }

  std::string refusal(const GenerationRequest &request, const GenerationDefaults &defaults) {
    FakeDecoder decoder(HashModel{45, 0});
    return std::string(makeSettings(request, defaults, limits(decoder)).status().message());
  }

  Constraints constraints{[] { return Result(jsonTokens()); }, {2}};
};
} // namespace

TEST_F(ConstrainedSearch, EveryAnswerFollowsItsSchema) {
  ASSERT_EQ(jsonTokens().size(), 45U);
  int whole = 0, all = 0;
  for (int number = 0; number < 120; ++number) {
    SCOPED_TRACE(number);
    const GenerationRequest request = requestOf(number);
    const std::vector<Hypothesis> found = alone(request);
    ASSERT_FALSE(found.empty());
    for (const Hypothesis &hypothesis : found) {
      const std::string text = textOf(hypothesis);
      const bool isAnswered = isAnswer(text, SampleJson::parse(request.options.jsonSchema));
      EXPECT_EQ(hypothesis.finish, isAnswered ? FinishReason::End : FinishReason::Length) << text;
      // An answer that has not ended had no room left.
      EXPECT_TRUE(isAnswered || hypothesis.tokens.size() == 60) << text;
      whole += isAnswered ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GT(whole, all * 3 / 4) << all;
}

TEST_F(ConstrainedSearch, ResultsDoNotDependOnTheBatch) {
  constexpr int count = 40;
  for (const int workers : {1, 3}) {
    FakeDecoder decoder(HashModel{45, 0}, workers);
    BatchSearch search(decoder, hashDefaults(), limits(decoder), 150);
    std::map<int64_t, int> numbers;
    for (int number = 0; number < count; ++number) {
      GenerationRequest request = requestOf(number);
      // Some are unconstrained.
      request.options.jsonSchema = number % 7 == 0 ? "" : request.options.jsonSchema;
      const Result<int64_t> id = search.add(std::move(request));
      ASSERT_TRUE(id.ok()) << id.status().message();
      numbers[*id] = number;
    }
    for (auto &[id, result] : finishAll(search)) {
      GenerationRequest request = requestOf(numbers[id]);
      request.options.jsonSchema = numbers[id] % 7 == 0 ? "" : request.options.jsonSchema;
      EXPECT_EQ(result.hypotheses, alone(request)) << numbers[id];
    }
  }
}

/// Scores are those of the distribution over the tokens that may follow.
TEST_F(ConstrainedSearch, WhatIsCertainHasNoScore) {
  const std::vector<Hypothesis> found = alone({.source = {5},
                                               .options = {.rules = Rules::CTranslate2,
                                                           .maxLength = 20,
                                                           .jsonSchema = R"({"const": "a\\"})",
                                                           .tokenScores = true}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].finish, FinishReason::End);
  EXPECT_EQ(textOf(found[0]).substr(textOf(found[0]).find('"')), R"("a\\")");
  // The only choice left is whether a space precedes it.
  for (size_t i = 1; i < found[0].tokenScores.size(); ++i) {
    EXPECT_NEAR(found[0].tokenScores[i], 0, 1e-6) << i;
  }
}

TEST_F(ConstrainedSearch, ThePrefixOfAnAnswerIsPartOfIt) {
  const auto idsOf = [](std::initializer_list<const char *> texts) {
    std::vector<int32_t> ids;
    const auto all = jsonTokens();
    for (const char *text : texts) {
      ids.push_back(static_cast<int32_t>(std::find(all.begin(), all.end(), text) - all.begin()));
    }
    return ids;
  };
  GenerationRequest request = requestOf(0);
  request.prefix = idsOf({"{\"", "age", "\": "});
  for (const Hypothesis &hypothesis : alone(request)) {
    EXPECT_TRUE(textOf(hypothesis).starts_with("{\"age\": ")) << textOf(hypothesis);
    EXPECT_TRUE(isAnswer(textOf(hypothesis), SampleJson::parse(schemas[0]))) << textOf(hypothesis);
  }
  // A token without a text, such as a language token, is not.
  request.prefix.insert(request.prefix.begin(), 0);
  EXPECT_TRUE(textOf(alone(request).front()).starts_with("{\"age\": "));
  request.prefix = idsOf({"{", "{"});
  EXPECT_EQ(
      refusal(request, hashDefaults()),
      "token 2 of the answer's beginning is 3, which no text that follows the JSON schema has "
      "there");
  request.prefix = {};
  request.options.forcedFirst = idsOf({"["}).front();
  EXPECT_EQ(
      refusal(request, hashDefaults()),
      "token 1 of the answer's beginning is 5, which no text that follows the JSON schema has "
      "there");
  request.options.forcedFirst = idsOf({"{\""}).front();
  EXPECT_TRUE(isAnswer(textOf(alone(request).front()), SampleJson::parse(schemas[0])));
  // A model that continues prompts does not treat them as part of the answer.
  FakeDecoder decoder(HashModel{45, 0});
  decoder.answers = false;
  BatchSearch search(decoder, hashDefaults(), limits(decoder), 1000);
  ASSERT_TRUE(search
                  .add({.prefix = idsOf({"a", "b"}),
                        .options = {.maxLength = 60, .jsonSchema = schemas[1]}})
                  .ok());
  const Hypothesis answer = finishAll(search)[0].hypotheses.front();
  EXPECT_TRUE(isAnswer(textOf(answer, 2), SampleJson::parse(schemas[1]))) << textOf(answer, 2);
}

TEST_F(ConstrainedSearch, WhatEndsAnswersNeedNotBeAToken) {
  GenerationDefaults defaults = hashDefaults();
  defaults.end = {};
  Constraints endless([] { return Result(jsonTokens()); }, {});
  FakeDecoder decoder(HashModel{45, 0});
  GenerationLimits without = limitsOf(decoder);
  without.constraints = &endless;
  BatchSearch search(decoder, defaults, without, 1000);
  ASSERT_TRUE(
      search.add({.source = {5}, .options = {.maxLength = 60, .jsonSchema = schemas[1]}}).ok());
  const Hypothesis answer = finishAll(search)[0].hypotheses.front();
  EXPECT_EQ(answer.finish, FinishReason::End);
  EXPECT_TRUE(isAnswer(textOf(answer), SampleJson::parse(schemas[1]))) << textOf(answer);
  EXPECT_EQ(
      makeSettings({.source = {5}, .options = {.beam = 3, .jsonSchema = "true"}}, defaults, without)
          .status()
          .message(),
      "beam is 3 with a JSON schema, expected 1: the model has no token that ends a text");
}

TEST_F(ConstrainedSearch, RequestsThatCannotBeAnswered) {
  const GenerationRequest request{.source = {5}, .options = {.jsonSchema = "{\"const\": \"x\"}"}};
  FakeDecoder decoder(HashModel{45, 0});
  EXPECT_EQ(makeSettings(request, hashDefaults(), limitsOf(decoder)).status().message(),
            "a JSON schema is given, expected none: the model has no tokenizer");
  EXPECT_EQ(refusal({.source = {5}, .options = {.jsonSchema = "false"}}, hashDefaults()),
            "schema: #: no text satisfies the schema: the schema is false");
  Constraints letters(
      [] { return Result(std::vector<std::optional<std::string>>(45, std::optional("x"))); }, {2});
  GenerationLimits limits = limitsOf(decoder);
  limits.constraints = &letters;
  EXPECT_EQ(makeSettings(request, hashDefaults(), limits).status().message(),
            "no token of the model begins a text that follows the JSON schema");
  // A text that cannot continue, because the vocabulary lacks the required tokens, ends.
  const std::vector<Hypothesis> stuck = alone(request);
  ASSERT_EQ(stuck.size(), 1U);
  EXPECT_EQ(stuck[0].finish, FinishReason::Length);
  EXPECT_LE(stuck[0].tokens.size(), 2U);
}
