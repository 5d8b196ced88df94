// SPDX-License-Identifier: Apache-2.0
///
/// Events, scores and shared prompts through the C interface.
#include "heddle/heddle.h"
#include "tests/runtime/Session/DecoderModel.h"

#include <cstddef>
#include <map>
#include <string>

using namespace heddle;

namespace {
/// A generator over the model that continues prompts, which has no texts for generated tokens.
class EventsFromC : public testing::Test {
protected:
  void SetUp() override {
    const std::string path = continuingModel().path();
    const heddle_model_options loading = [] {
      heddle_model_options options = HEDDLE_MODEL_OPTIONS_INIT;
      static const std::string device = onTestDevice().device;
      options.device = device.empty() ? nullptr : device.c_str();
      return options;
    }();
    heddle_model *model = nullptr;
    ASSERT_EQ(heddle_model_load(path.c_str(), &loading, &model), nullptr);
    heddle_generator_options options = HEDDLE_GENERATOR_OPTIONS_INIT;
    options.prompt_tokens = 40;
    ASSERT_EQ(heddle_generator_create(model, &options, &generator), nullptr);
    heddle_model_free(model);
    std::mt19937 random(2);
    prompt = randomTokens(random, 50, fixture::vocabulary);
  }
  void TearDown() override { heddle_generator_free(generator); }

  int64_t add(const heddle_generation_options &options) {
    int64_t id = -1;
    EXPECT_EQ(heddle_generator_add(generator, nullptr, 0, prompt.data(),
                                   static_cast<int64_t>(prompt.size()), &options, &id),
              nullptr);
    return id;
  }

  /// Returns the message with which a request is rejected.
  std::string refusal(const heddle_generation_options &options) {
    int64_t id = -1;
    heddle_error *const error =
        heddle_generator_add(generator, nullptr, 0, prompt.data(), 3, &options, &id);
    const std::string message = heddle_error_message(error);
    heddle_error_free(error);
    return message;
  }

  heddle_generator *generator = nullptr;
  Tokens prompt;
};

/// The events of one sample.
struct Told {
  Tokens tokens;
  std::vector<float> scores;
  std::vector<std::vector<int32_t>> best;
  int32_t finish = HEDDLE_FINISH_NO;
  int withoutText = 0;
};

/// Adds the content of an event.
void listen(const heddle_event *event, Told &one) {
  int64_t tokens = 0, scores = 0;
  const int32_t *const list = heddle_event_tokens(event, &tokens);
  const float *const logs = heddle_event_scores(event, &scores);
  ASSERT_EQ(scores, tokens);
  one.tokens.insert(one.tokens.end(), list, list + tokens);
  one.scores.insert(one.scores.end(), logs, logs + scores);
  for (int64_t place = 0; place < tokens; ++place) {
    int64_t count = 0;
    const heddle_token_score *const best = heddle_event_top_scores(event, place, &count);
    ASSERT_EQ(count, 3);
    EXPECT_GE(best[0].score, best[1].score);
    one.best.push_back({best[0].token, best[1].token, best[2].token});
  }
  EXPECT_EQ(heddle_event_top_scores(event, tokens, nullptr), nullptr);
  one.finish = heddle_event_finish(event);
  // The fixture's tokenizer has few of the model's tokens. Their errors end no answer.
  if (heddle_error *const error = heddle_event_error(event)) {
    EXPECT_NE(std::string(heddle_error_message(error)).find("belongs to no token"),
              std::string::npos);
    EXPECT_STREQ(heddle_event_text(event, nullptr), "");
    heddle_error_free(error);
    ++one.withoutText;
  }
}
} // namespace

TEST_F(EventsFromC, TellWhatIsGenerated) {
  heddle_generation_options options = HEDDLE_GENERATION_OPTIONS_INIT;
  options.sample = 1;
  options.nbest = 2;
  options.max_length = 6;
  options.min_p = 0.01F;
  options.token_scores = 1;
  options.top_scores = 3;
  options.events = 1;
  const int64_t id = add(options);
  std::map<int32_t, Told> told;
  while (heddle_generator_idle(generator) == 0) {
    ASSERT_EQ(heddle_generator_step(generator), nullptr);
    while (heddle_event *const event = heddle_generator_take_event(generator)) {
      EXPECT_EQ(heddle_event_id(event), id);
      ASSERT_NO_FATAL_FAILURE(listen(event, told[heddle_event_sample(event)]));
      heddle_event_free(event);
    }
  }
  EXPECT_TRUE(std::any_of(told.begin(), told.end(),
                          [](const auto &each) { return each.second.withoutText > 0; }));
  heddle_generation *const generation = heddle_generator_take(generator);
  ASSERT_EQ(heddle_generation_count(generation), 2);
  for (int64_t i = 0; i < 2; ++i) {
    const Told &one = told.at(heddle_generation_sample(generation, i));
    int64_t count = 0;
    const int32_t *const tokens = heddle_generation_tokens(generation, i, &count, nullptr);
    EXPECT_EQ(Tokens(tokens + prompt.size(), tokens + count), one.tokens);
    const float *const scores = heddle_generation_scores(generation, i, &count);
    EXPECT_EQ(std::vector<float>(scores, scores + count), one.scores);
    const heddle_token_score *const best = heddle_generation_top_scores(generation, i, 1, &count);
    ASSERT_EQ(count, 3);
    EXPECT_EQ(best[2].token, one.best[1][2]);
    EXPECT_EQ(heddle_generation_top_scores(generation, i, 6, &count), nullptr);
    EXPECT_EQ(heddle_generation_finish(generation, i), one.finish);
    EXPECT_NE(one.finish, HEDDLE_FINISH_NO);
  }
  EXPECT_EQ(heddle_generation_text(generation, 2, nullptr), nullptr);
  EXPECT_EQ(heddle_generation_shared(generation), 0);
  heddle_generation_free(generation);
}

TEST_F(EventsFromC, TellWhatWasRemovedAndWhatIsShared) {
  heddle_generation_options options = HEDDLE_GENERATION_OPTIONS_INIT;
  options.events = 1;
  options.beam = 1;
  options.max_length = 3;
  const int64_t first = add(options);
  ASSERT_EQ(heddle_generator_step(generator), nullptr);
  ASSERT_EQ(heddle_generator_remove(generator, first), nullptr);
  heddle_event *const event = heddle_generator_take_event(generator);
  EXPECT_EQ(heddle_event_finish(event), HEDDLE_FINISH_REMOVED);
  int64_t count = -1;
  EXPECT_EQ(heddle_event_tokens(event, &count), nullptr);
  EXPECT_EQ(count, 0);
  size_t length = 1;
  EXPECT_STREQ(heddle_event_text(event, &length), "");
  EXPECT_EQ(length, 0U);
  heddle_event_free(event);
  EXPECT_EQ(heddle_generator_take_event(generator), nullptr);
  // Two blocks of the first piece.
  uint64_t used = 1, kept = 0, limit = 0;
  ASSERT_EQ(heddle_generator_cache_use(generator, &used, &kept, &limit), nullptr);
  EXPECT_EQ(used, 0U);
  EXPECT_EQ(kept, 2 * blockBytes);
  EXPECT_EQ(limit, uint64_t(1) << 30);
  add(options);
  while (heddle_generator_idle(generator) == 0) {
    ASSERT_EQ(heddle_generator_step(generator), nullptr);
  }
  heddle_generation *const generation = heddle_generator_take(generator);
  EXPECT_EQ(heddle_generation_shared(generation), 32);
  EXPECT_EQ(heddle_generator_shared_tokens(generator), 32);
  heddle_generation_free(generation);
}

/// A request has the same meaning in C and in C++.
TEST_F(EventsFromC, DefaultsAreThoseOfCpp) {
  const heddle_generator_options running = HEDDLE_GENERATOR_OPTIONS_INIT;
  const GeneratorOptions batch;
  EXPECT_EQ(running.threads, batch.session.threads);
  EXPECT_EQ(running.cache_bytes, batch.session.cacheBytes);
  EXPECT_EQ(running.share_prefixes != 0, batch.session.sharePrefixes);
  EXPECT_EQ(running.batch_tokens, batch.batchTokens);
  EXPECT_EQ(running.prompt_tokens, batch.promptTokens);
  EXPECT_EQ(running.prompt_tokens_beside, batch.promptTokensBeside);
  const heddle_generation_options one = HEDDLE_GENERATION_OPTIONS_INIT;
  const GenerationOptions request;
  EXPECT_EQ(one.nbest, request.nbest);
  EXPECT_EQ(one.coverage_penalty, request.coveragePenalty);
  EXPECT_EQ(one.sample == HEDDLE_UNSET, !request.sample.has_value());
  EXPECT_EQ(one.temperature == HEDDLE_UNSET_NUMBER, !request.temperature.has_value());
  EXPECT_EQ(one.top_k == HEDDLE_UNSET, !request.topK.has_value());
  EXPECT_EQ(one.top_p == HEDDLE_UNSET_NUMBER, !request.topP.has_value());
  EXPECT_EQ(one.min_p == HEDDLE_UNSET_NUMBER, !request.minP.has_value());
  EXPECT_EQ(one.seed, request.seed.value_or(0));
  EXPECT_EQ(one.json_schema == nullptr, request.jsonSchema.empty());
  EXPECT_EQ(one.alternatives != 0, request.alternatives);
  EXPECT_EQ(one.token_scores != 0, request.tokenScores);
  EXPECT_EQ(one.top_scores, request.topScores);
  EXPECT_EQ(one.events != 0, request.events);
  EXPECT_EQ(one.stop_count, 0);
  EXPECT_EQ(one.source_language, nullptr);
  EXPECT_EQ(one.target_language, nullptr);
  for (const int32_t unset :
       {one.beam, one.no_repeat_ngram, one.min_length, one.max_length, one.early_stopping}) {
    EXPECT_EQ(unset, HEDDLE_UNSET);
  }
}

TEST_F(EventsFromC, OptionsOfOlderProgramsHaveDefaults) {
  heddle_generation_options options = HEDDLE_GENERATION_OPTIONS_INIT;
  options.max_length = 2;
  options.min_p = 7;
  options.stop_count = -1;
  options.struct_size = offsetof(heddle_generation_options, min_p);
  EXPECT_GE(add(options), 0);
}

TEST_F(EventsFromC, RefuseMisuse) {
  heddle_generation_options options = HEDDLE_GENERATION_OPTIONS_INIT;
  options.beam = 1;
  options.stop_count = 1;
  EXPECT_EQ(refusal(options), "stop is NULL");
  const char *stops[] = {nullptr};
  options.stop = stops;
  EXPECT_EQ(refusal(options), "stop is NULL");
  options.stop_count = -1;
  EXPECT_EQ(refusal(options), "stop_count is -1, expected at least 0");
  options.stop_count = 0;
  options.min_p = 2;
  EXPECT_EQ(refusal(options), "min-p is 2, expected 0 to 1");
  EXPECT_EQ(heddle_generator_take_event(nullptr), nullptr);
  EXPECT_EQ(heddle_event_id(nullptr), -1);
  EXPECT_EQ(heddle_event_finish(nullptr), HEDDLE_FINISH_NO);
  EXPECT_EQ(heddle_generation_finish(nullptr, 0), HEDDLE_FINISH_NO);
  EXPECT_EQ(heddle_generation_scores(nullptr, 0, nullptr), nullptr);
  EXPECT_EQ(heddle_generator_shared_tokens(nullptr), 0);
  heddle_event_free(nullptr);
  for (heddle_error *const error :
       {heddle_event_error(nullptr),
        heddle_generator_cache_use(nullptr, nullptr, nullptr, nullptr)}) {
    EXPECT_EQ(heddle_error_code(error), HEDDLE_STATUS_InvalidArgument);
    heddle_error_free(error);
  }
}
