// SPDX-License-Identifier: Apache-2.0
///
/// Generation through the C interface: the hypotheses of `heddle generate`, and the message of
/// every misuse.
#include "heddle/heddle.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/GeneratedTokens.h"

namespace heddle {
namespace {

const std::string oracles = HEDDLE_TEST_DATA "/oracles/";

TEST(GenerateFromC, GivesTheSameHypotheses) {
  const std::string binary = compileModel(oracles + "transformer-post");
  heddle_model *model = nullptr;
  heddle_generator *generator = nullptr;
  ASSERT_EQ(heddle_model_load(binary.c_str(), nullptr, &model), nullptr);
  ASSERT_EQ(heddle_generator_create(model, nullptr, &generator), nullptr);
  heddle_model_free(model);
  heddle_generation_options options = HEDDLE_GENERATION_OPTIONS_INIT;
  options.beam = 3;
  options.nbest = 2;
  const Tokens source = {5, 6, 7};
  int64_t first = -1;
  int64_t second = -1;
  ASSERT_EQ(heddle_generator_add(generator, source.data(), 3, nullptr, 0, &options, &first),
            nullptr);
  ASSERT_EQ(heddle_generator_add(generator, source.data(), 2, source.data(), 1, nullptr, &second),
            nullptr);
  ASSERT_EQ(heddle_generator_remove(generator, second), nullptr);
  EXPECT_EQ(heddle_generator_take(generator), nullptr);
  while (heddle_generator_idle(generator) == 0) {
    ASSERT_EQ(heddle_generator_step(generator), nullptr);
  }
  heddle_generation *generation = heddle_generator_take(generator);
  ASSERT_NE(generation, nullptr);
  EXPECT_EQ(heddle_generation_id(generation), first);
  EXPECT_EQ(heddle_generation_error(generation), nullptr);
  EXPECT_EQ(heddle_generation_count(generation), 2);
  const auto found = generateTokens(binary, "5 6 7\n", {"--beam", "3", "--nbest", "2"});
  for (size_t i = 0; i < 2; ++i) {
    int64_t count = 0;
    double score = 0;
    const int32_t *tokens =
        heddle_generation_tokens(generation, static_cast<int64_t>(i), &count, &score);
    ASSERT_NE(tokens, nullptr);
    expectHypothesis(found[0], i, Tokens(tokens, tokens + count), score, 1e-6);
  }
  EXPECT_EQ(heddle_generation_tokens(generation, 2, nullptr, nullptr), nullptr);
  heddle_generation_free(generation);
  heddle_generator_free(generator);
}

/// Returns the message of an error, which is freed.
std::string messageOf(heddle_error *error) {
  const std::string message = heddle_error_message(error);
  heddle_error_free(error);
  return message;
}

TEST(GenerateFromC, RefusesMisuse) {
  const std::string binary = compileModel(oracles + "transformer-post");
  heddle_model *model = nullptr;
  heddle_generator *generator = nullptr;
  ASSERT_EQ(heddle_model_load(binary.c_str(), nullptr, &model), nullptr);
  EXPECT_EQ(messageOf(heddle_generator_create(nullptr, nullptr, &generator)), "model is NULL");
  heddle_generator_options bad = HEDDLE_GENERATOR_OPTIONS_INIT;
  bad.batch_tokens = 0;
  EXPECT_EQ(messageOf(heddle_generator_create(model, &bad, &generator)),
            "batches of 0 tokens, expected at least 1");
  ASSERT_EQ(heddle_generator_create(model, nullptr, &generator), nullptr);
  heddle_model_free(model);
  heddle_generation_options options = HEDDLE_GENERATION_OPTIONS_INIT;
  options.rules = "fairseq";
  const int32_t token = 5;
  int64_t id = 0;
  EXPECT_EQ(messageOf(heddle_generator_add(generator, &token, 1, nullptr, 0, &options, &id)),
            "rules are \"fairseq\", expected paper, transformers or ctranslate2");
  EXPECT_EQ(messageOf(heddle_generator_add(generator, nullptr, 1, nullptr, 0, nullptr, &id)),
            "source is NULL");
  EXPECT_EQ(messageOf(heddle_generator_add(generator, &token, 0, nullptr, 0, nullptr, &id)),
            "source has no tokens, expected at least one");
  EXPECT_EQ(messageOf(heddle_generator_remove(generator, 7)),
            "request 7 is unknown, expected one that waits or runs");
  EXPECT_EQ(messageOf(heddle_generator_step(nullptr)), "generator is NULL");
  EXPECT_EQ(messageOf(heddle_generation_error(nullptr)), "generation is NULL");
  size_t length = 0;
  EXPECT_EQ(messageOf(heddle_generator_decode(generator, &token, 1, nullptr, 0, &length)),
            "the model has no tokenizer, expected one for text: token ids work without");
  const float number = 1;
  EXPECT_EQ(messageOf(heddle_generator_add_rows(generator, nullptr, 1, nullptr, 0, nullptr, &id)),
            "rows is NULL");
  EXPECT_EQ(messageOf(heddle_generator_add_rows(generator, &number, 1, nullptr, 0, nullptr, &id)),
            "source has 1 floats, expected tokens, which the model reads");
  heddle_generation_options task = HEDDLE_GENERATION_OPTIONS_INIT;
  task.command = 1;
  EXPECT_EQ(messageOf(heddle_generator_add(generator, &token, 1, nullptr, 0, &task, &id)),
            "command is 1, expected none: the model has one task");
  heddle_generator_free(generator);
}

} // namespace
} // namespace heddle
