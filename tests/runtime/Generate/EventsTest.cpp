// SPDX-License-Identifier: Apache-2.0
///
/// Events of unfinished answers: together they are the answer, whatever the batch.
#include "tests/runtime/Generate/PieceTexts.h"
#include "tests/runtime/Generate/Requests.h"

#include <algorithm>
#include <cmath>

using namespace heddle;

namespace {
/// All events of one answer.
struct Heard {
  std::vector<int32_t> tokens;
  std::vector<float> scores;
  std::vector<std::vector<TokenScore>> topScores;
  std::string text;
  FinishReason finish = FinishReason::No;
  Status status;
  size_t events = 0;
};
using Answers = std::map<std::pair<int64_t, int32_t>, Heard>;

std::unique_ptr<TextPieces> newText() { return std::make_unique<PieceStream>(); }

GenerationLimits textLimits(const Decoder &decoder) {
  GenerationLimits limits = limitsOf(decoder);
  limits.hasText = true;
  return limits;
}

void hear(BatchSearch &search, Answers &answers) {
  for (const TokenEvent &event : search.takeEvents()) {
    Heard &heard = answers[{event.id, event.sample}];
    EXPECT_EQ(heard.finish, FinishReason::No) << "something was told after the end";
    EXPECT_TRUE(!event.tokens.empty() || !event.text.empty() || event.finish != FinishReason::No);
    heard.tokens.insert(heard.tokens.end(), event.tokens.begin(), event.tokens.end());
    heard.scores.insert(heard.scores.end(), event.scores.begin(), event.scores.end());
    heard.topScores.insert(heard.topScores.end(), event.topScores.begin(), event.topScores.end());
    heard.text += event.text;
    heard.finish = event.finish;
    heard.status = event.status;
    ++heard.events;
  }
}

/// Runs until nothing is left; returns the results by number.
std::map<int64_t, GenerationResult> listen(BatchSearch &search, Answers &answers) {
  std::map<int64_t, GenerationResult> results;
  while (!search.idle()) {
    Result<std::vector<GenerationResult>> step = search.step();
    EXPECT_TRUE(step.ok()) << step.status().message();
    for (GenerationResult &result : *step) {
      results[result.id] = std::move(result);
    }
    hear(search, answers);
  }
  return results;
}

/// Returns greedy searches, samples, beams and alternatives, some with a prefix.
GenerationRequest requestOf(int number) {
  GenerationRequest request{.source = sourceOf(number), .options = {.maxLength = 15}};
  GenerationOptions &options = request.options;
  options.rules = static_cast<Rules>(number % 3);
  options.events = number % 11 != 0;
  options.tokenScores = number % 2 == 0;
  options.topScores = number % 5;
  if (number % 4 == 1) {
    request.prefix = {5, static_cast<int32_t>(3 + number % 30)};
  }
  options.beam = number % 3 == 0 ? 3 : 1;
  options.nbest = *options.beam;
  options.alternatives = number % 9 == 3;
  options.sample = number % 3 == 1;
  if (*options.sample) {
    options.nbest = 1 + number % 4;
    options.topK = number % 2 == 0 ? 7 : 0;
    options.seed = 3;
  }
  return request;
}

/// Checks that the events of an answer add up to it.
void expectHeard(const Heard &heard, const Hypothesis &answer, size_t prefix) {
  const auto begin = answer.tokens.begin() + static_cast<std::ptrdiff_t>(prefix);
  EXPECT_EQ(heard.tokens, std::vector<int32_t>(begin, answer.tokens.end()));
  EXPECT_EQ(heard.scores, answer.tokenScores);
  EXPECT_EQ(heard.topScores, answer.topScores);
  EXPECT_EQ(heard.text, textOfPieces(heard.tokens));
  EXPECT_EQ(heard.finish, answer.finish);
}
} // namespace

/// Even if the cache is full occasionally, and answers start again.
TEST(Events, TellEveryAnswerOnce) {
  constexpr int count = 60;
  for (const int64_t capacity : {0, 140, 250}) {
    FakeDecoder decoder(HashModel{}, 1, capacity);
    BatchSearch search(decoder, hashDefaults(), textLimits(decoder), {200, 5, 2}, newText);
    for (int number = 0; number < count; ++number) {
      ASSERT_TRUE(search.add(requestOf(number)).ok());
    }
    Answers answers;
    for (const auto &[id, result] : listen(search, answers)) {
      SCOPED_TRACE(testing::Message() << "request " << id << " of " << capacity);
      ASSERT_TRUE(result.status.ok()) << result.status.message();
      const GenerationRequest request = requestOf(static_cast<int>(id));
      if (!request.options.events) {
        EXPECT_FALSE(answers.contains({id, 0}));
        continue;
      }
      if (!*request.options.sample) {
        expectHeard(answers[{id, 0}], result.hypotheses.front(), request.prefix.size());
        continue;
      }
      EXPECT_EQ(result.hypotheses.size(), static_cast<size_t>(request.options.nbest));
      for (const Hypothesis &hypothesis : result.hypotheses) {
        expectHeard(answers[{id, hypothesis.sample}], hypothesis, request.prefix.size());
      }
    }
  }
}

TEST(Events, ComeWithEveryTokenOfAGreedySearch) {
  FakeDecoder decoder(HashModel{});
  BatchSearch search(decoder, hashDefaults(), textLimits(decoder), 100);
  ASSERT_TRUE(
      search.add({.source = {5, 6}, .options = {.beam = 1, .maxLength = 9, .events = true}}).ok());
  Answers answers;
  const auto results = listen(search, answers);
  const Heard &heard = answers.at({0, 0});
  EXPECT_EQ(heard.events, heard.tokens.size());
  EXPECT_EQ(heard.tokens, results.at(0).hypotheses.front().tokens);
  // Without a tokenizer.
  EXPECT_EQ(heard.text, "");
}

TEST(Events, TellOfRequestsThatAreRemovedOrFail) {
  FakeDecoder decoder(HashModel{});
  decoder.damage({9, 9});
  BatchSearch search(decoder, hashDefaults(), textLimits(decoder), 2);
  const GenerationOptions options = {.beam = 1, .minLength = 9, .events = true};
  for (const int32_t token : {4, 9, 5}) {
    ASSERT_TRUE(search.add({.source = {token, token}, .options = options}).ok());
  }
  ASSERT_TRUE(search.step().ok());
  ASSERT_TRUE(search.remove(0).ok());
  ASSERT_TRUE(search.remove(2).ok());
  Answers answers;
  const auto results = listen(search, answers);
  EXPECT_EQ(answers.at({0, 0}).tokens.size(), 1U);
  EXPECT_EQ(answers.at({0, 0}).finish, FinishReason::Removed);
  EXPECT_EQ(answers.at({2, 0}).finish, FinishReason::Removed);
  EXPECT_TRUE(answers.at({2, 0}).tokens.empty());
  EXPECT_EQ(answers.at({1, 0}).finish, FinishReason::Failed);
  EXPECT_EQ(answers.at({1, 0}).status.message(), results.at(1).status.message());
  EXPECT_EQ(answers.at({1, 0}).status.code(), StatusCode::DataLoss);
}

/// Whenever the request is removed: in the queue, and after some samples have ended.
TEST(Events, EndEverySampleOnce) {
  const GenerationRequest request{
      .source = {5, 6},
      .options = {
          .beam = 1, .nbest = 4, .maxLength = 30, .sample = true, .seed = 1, .events = true}};
  FakeDecoder decoder(HashModel{});
  std::vector<size_t> lengths;
  for (const Hypothesis &hypothesis : generateAlone(decoder, request)) {
    lengths.push_back(hypothesis.tokens.size());
  }
  const auto [first, last] = std::minmax_element(lengths.begin(), lengths.end());
  ASSERT_LT(*first, *last) << "the samples should end at different steps";
  for (size_t steps = 0; steps < *last; ++steps) {
    SCOPED_TRACE(steps);
    BatchSearch search(decoder, hashDefaults(), textLimits(decoder), 100, newText);
    ASSERT_TRUE(search.add(request).ok());
    Answers answers;
    for (size_t step = 0; step < steps; ++step) {
      ASSERT_TRUE(search.step().ok());
      hear(search, answers);
    }
    size_t ended = 0;
    for (const auto &[answer, heard] : answers) {
      ended += heard.finish != FinishReason::No ? 1 : 0;
    }
    ASSERT_TRUE(search.remove(0).ok());
    hear(search, answers);
    ASSERT_EQ(answers.size(), 4U);
    const auto removed = std::count_if(answers.begin(), answers.end(), [](const auto &each) {
      return each.second.finish == FinishReason::Removed;
    });
    EXPECT_EQ(static_cast<size_t>(removed), 4 - ended);
    EXPECT_EQ(decoder.blocksInUse(), 0);
  }
}

TEST(Events, TellWhyEverySampleFails) {
  FakeDecoder decoder(HashModel{});
  decoder.damage({9, 9});
  BatchSearch search(decoder, hashDefaults(), textLimits(decoder), 100);
  ASSERT_TRUE(search
                  .add({.source = {9, 9},
                        .options = {.beam = 1, .nbest = 3, .sample = true, .events = true}})
                  .ok());
  Answers answers;
  const auto results = listen(search, answers);
  ASSERT_EQ(answers.size(), 3U);
  for (int32_t sample = 0; sample < 3; ++sample) {
    EXPECT_EQ(answers.at({0, sample}).finish, FinishReason::Failed);
    EXPECT_EQ(answers.at({0, sample}).status.message(), results.at(0).status.message());
    EXPECT_NE(answers.at({0, sample}).status.message(), "");
  }
}

/// Compared with the same answers without stop strings.
TEST(Events, AnswersEndBeforeStopStrings) {
  const std::vector<std::string> stops = {"ba", "a a", "東"};
  int stopped = 0;
  for (int number = 0; number < 60; ++number) {
    SCOPED_TRACE(number);
    GenerationRequest request{.source = sourceOf(number),
                              .options = {.beam = 1,
                                          .nbest = 1 + number % 3,
                                          .minLength = 10,
                                          .maxLength = 15,
                                          .sample = true,
                                          .seed = 5,
                                          .events = true}};
    FakeDecoder decoder(HashModel{});
    const std::vector<Hypothesis> whole = generateAlone(decoder, request);
    request.options.stop = stops;
    BatchSearch search(decoder, hashDefaults(), textLimits(decoder), 100, newText);
    ASSERT_TRUE(search.add(request).ok());
    Answers answers;
    const GenerationResult result = std::move(listen(search, answers)[0]);
    ASSERT_EQ(result.hypotheses.size(), whole.size());
    for (const Hypothesis &each : whole) {
      const auto found = std::find_if(result.hypotheses.begin(), result.hypotheses.end(),
                                      [&](const Hypothesis &h) { return h.sample == each.sample; });
      ASSERT_NE(found, result.hypotheses.end());
      size_t first = std::string::npos, count = 0;
      while (first == std::string::npos && count < each.tokens.size()) {
        const std::string text = textOfPieces(std::span(each.tokens).first(++count));
        for (const std::string &stop : stops) {
          first = std::min(first, text.find(stop));
        }
      }
      const bool stops = first != std::string::npos;
      stopped += stops ? 1 : 0;
      EXPECT_EQ(found->tokens,
                std::vector<int32_t>(each.tokens.begin(),
                                     each.tokens.begin() + static_cast<std::ptrdiff_t>(count)));
      EXPECT_EQ(found->finish, stops ? FinishReason::Stop : each.finish);
      EXPECT_EQ(found->text, textOfPieces(found->tokens).substr(0, first));
      const Heard &heard = answers[{0, each.sample}];
      EXPECT_EQ(heard.text, found->text);
      EXPECT_EQ(heard.tokens, found->tokens);
      EXPECT_EQ(heard.finish, found->finish);
    }
    EXPECT_EQ(decoder.blocksInUse(), 0);
  }
  EXPECT_GT(stopped, 20);
}

/// A model whose tokens the tokenizer lacks answers, but does not support stop strings.
TEST(Events, NeedTextsOnlyForStopStrings) {
  const NewText refuses = [] { return std::make_unique<UnknownPieces>(); };
  FakeDecoder decoder(HashModel{});
  BatchSearch search(decoder, hashDefaults(), textLimits(decoder), 100, refuses);
  ASSERT_TRUE(search.add({.source = {5}, .options = {.beam = 1, .events = true}}).ok());
  ASSERT_TRUE(search.add({.source = {5}, .options = {.beam = 1, .stop = {"x"}}}).ok());
  Answers answers;
  const auto results = listen(search, answers);
  EXPECT_TRUE(results.at(0).status.ok());
  EXPECT_EQ(answers.at({0, 0}).tokens, results.at(0).hypotheses.front().tokens);
  EXPECT_EQ(results.at(1).status.message(), "no token has the id");
  EXPECT_EQ(decoder.blocksInUse(), 0);
}

/// Each of them once, even if the cache is full occasionally.
TEST(Events, TellWhichTokensHaveNoText) {
  const NewText padded = [] { return std::make_unique<PaddedPieces>(); };
  size_t lacking = 0;
  for (const int64_t capacity : {0, 140}) {
    FakeDecoder decoder(HashModel{}, 1, capacity);
    BatchSearch search(decoder, hashDefaults(), textLimits(decoder), {200, 5, 2}, padded);
    for (int number = 0; number < 30; ++number) {
      GenerationRequest request = requestOf(number);
      request.options.events = true;
      ASSERT_TRUE(search.add(std::move(request)).ok());
    }
    while (!search.idle()) {
      const auto results = search.step();
      ASSERT_TRUE(results.ok());
      for (const GenerationResult &result : *results) {
        EXPECT_TRUE(result.status.ok());
      }
      for (const TokenEvent &event : search.takeEvents()) {
        const bool lacks =
            std::any_of(event.tokens.begin(), event.tokens.end(), PaddedPieces::lacks);
        std::string text;
        for (const int32_t token : event.tokens) {
          text += PaddedPieces::lacks(token) ? "" : std::to_string(token) + " ";
        }
        EXPECT_EQ(event.status.message(), lacks ? "no token has the id" : "");
        EXPECT_EQ(event.text, text);
        lacking += lacks ? 1 : 0;
      }
    }
  }
  EXPECT_GT(lacking, 100U);
}

TEST(Events, TopScoresAreTheBestOfTheModel) {
  const std::vector<int32_t> source = {5, 6};
  const HashModel model;
  FakeDecoder decoder(model);
  for (const bool samples : {false, true}) {
    const std::vector<Hypothesis> found = generateAlone(decoder, {.source = {5, 6},
                                                                  .prefix = {7},
                                                                  .options = {.beam = 1,
                                                                              .maxLength = 8,
                                                                              .sample = samples,
                                                                              .topK = 2,
                                                                              .forcedFirst = 9,
                                                                              .tokenScores = true,
                                                                              .topScores = 5}});
    ASSERT_EQ(found.size(), 1U);
    const Hypothesis &answer = found.front();
    ASSERT_EQ(answer.topScores.size(), answer.tokens.size() - 1);
    // The token was forced there.
    EXPECT_TRUE(answer.topScores.front().empty());
    for (size_t i = 1; i < answer.topScores.size(); ++i) {
      std::vector<int32_t> before = {1};
      before.insert(before.end(), answer.tokens.begin(),
                    answer.tokens.begin() + static_cast<std::ptrdiff_t>(i + 1));
      const std::vector<float> logits = model.logits(source, before);
      double sum = 0;
      for (const float logit : logits) {
        sum += std::exp(static_cast<double>(logit));
      }
      ASSERT_EQ(answer.topScores[i].size(), 5U);
      std::vector<float> sorted = logits;
      std::sort(sorted.rbegin(), sorted.rend());
      for (size_t rank = 0; rank < 5; ++rank) {
        const TokenScore &top = answer.topScores[i][rank];
        EXPECT_EQ(logits[static_cast<size_t>(top.token)], sorted[rank]);
        EXPECT_NEAR(top.score, static_cast<double>(sorted[rank]) - std::log(sum), 1e-5);
      }
      const size_t chosen = static_cast<size_t>(answer.tokens[i + 1]);
      EXPECT_NEAR(answer.tokenScores[i], static_cast<double>(logits[chosen]) - std::log(sum), 1e-5);
    }
  }
}
