// SPDX-License-Identifier: Apache-2.0
///
/// Compares scores of given targets with the model, queried token by token.
#include "runtime/Generate/Scoring.h"
#include "tests/runtime/Generate/NaiveSearch.h"
#include "tests/runtime/Generate/Requests.h"

#include <cmath>

using namespace heddle;

static Result<std::vector<std::vector<float>>> scoresOf(Decoder &decoder,
                                                        std::span<const ScoringRequest> requests,
                                                        const BatchBounds &bounds = 1000) {
  return scoreTargets(decoder, hashDefaults(), limitsOf(decoder), bounds, requests);
}

static std::vector<ScoringRequest> someRequests() {
  std::vector<ScoringRequest> requests;
  for (int number = 0; number < 20; ++number) {
    requests.push_back({sourceOf(number), sourceOf(number + 100)});
  }
  requests.push_back({{5}, {}});
  requests.push_back({{5}, {7, 2}});
  return requests;
}

TEST(Scoring, IsThatOfTheModel) {
  const HashModel model{900, 0};
  const std::vector<ScoringRequest> requests = someRequests();
  FakeDecoder decoder(model, 2);
  const Result<std::vector<std::vector<float>>> scores = scoresOf(decoder, requests);
  ASSERT_TRUE(scores.ok()) << scores.status().message();
  ASSERT_EQ(scores->size(), requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    std::vector<int32_t> target = requests[i].target;
    if (target.empty() || target.back() != 2) {
      target.push_back(2);
    }
    ASSERT_EQ((*scores)[i].size(), target.size());
    for (size_t token = 0; token < target.size(); ++token) {
      const std::vector<int32_t> before(target.begin(),
                                        target.begin() + static_cast<std::ptrdiff_t>(token));
      const std::vector<double> want =
          naiveScores(model, requests[i].source, {}, before, false, false);
      EXPECT_NEAR(static_cast<double>((*scores)[i][token]),
                  want[static_cast<size_t>(target[token])], 3e-6);
    }
  }
  EXPECT_EQ(decoder.blocksInUse(), 0);
}

TEST(Scoring, DoesNotDependOnTheBatch) {
  const std::vector<ScoringRequest> requests = someRequests();
  FakeDecoder decoder(HashModel{});
  const Result<std::vector<std::vector<float>>> together = scoresOf(decoder, requests);
  FakeDecoder small(HashModel{}, 1, 60);
  const Result<std::vector<std::vector<float>>> crowded = scoresOf(small, requests);
  ASSERT_TRUE(together.ok() && crowded.ok());
  EXPECT_EQ(*together, *crowded);
  EXPECT_EQ(small.blocksInUse(), 0);
  EXPECT_EQ(*scoresOf(decoder, requests, 1), *together);
}

TEST(Scoring, StepsHaveAsManyTokensAsPromptsMay) {
  const std::vector<ScoringRequest> requests = someRequests();
  FakeDecoder decoder(HashModel{});
  const auto all = scoresOf(decoder, requests);
  ASSERT_TRUE(all.ok());
  EXPECT_GT(decoder.mostRows, 7);
  FakeDecoder bounded(HashModel{});
  const auto pieces = scoresOf(bounded, requests, {1000, /*promptTokens=*/7});
  ASSERT_TRUE(pieces.ok());
  EXPECT_EQ(bounded.mostRows, 7);
  EXPECT_EQ(*pieces, *all);
}

static std::string refusal(const ScoringRequest &request, StatusCode code) {
  FakeDecoder decoder(HashModel{}, 1, 60);
  const Result<std::vector<std::vector<float>>> scores = scoresOf(decoder, {&request, 1});
  EXPECT_EQ(scores.status().code(), code);
  EXPECT_EQ(decoder.blocksInUse(), 0);
  return std::string(scores.status().message());
}

TEST(Scoring, RefusesWhatDoesNotFit) {
  EXPECT_EQ(refusal({{}, {5}}, StatusCode::InvalidArgument),
            "request 1: source has no tokens, expected at least one");
  EXPECT_EQ(refusal({std::vector<int32_t>(101, 5), {5}}, StatusCode::OutOfRange),
            "request 1: source has 101 tokens, expected at most 100, the positions of the model");
  EXPECT_EQ(refusal({{5}, std::vector<int32_t>(100, 5)}, StatusCode::OutOfRange),
            "request 1: target has 101 tokens with its start, expected at most 100, the positions "
            "of the model");
  EXPECT_EQ(refusal({{40}, {5}}, StatusCode::OutOfRange),
            "request 1: source: token 1 is 40, expected 0 to 39");
  EXPECT_EQ(refusal({{5}, {5}, {40}}, StatusCode::OutOfRange),
            "request 1: prefix: token 1 is 40, expected 0 to 39");
  EXPECT_EQ(refusal({{5}, std::vector<int32_t>(60, 5), std::vector<int32_t>(40, 5)},
                    StatusCode::OutOfRange),
            "request 1: target has 101 tokens with its prefix, expected at most 100, the "
            "positions of the model");
  EXPECT_EQ(refusal({{5}, {5, -1}}, StatusCode::OutOfRange),
            "request 1: target: token 2 is -1, expected 0 to 39");
  EXPECT_EQ(refusal({std::vector<int32_t>(70, 5), {5}}, StatusCode::ResourceExhausted),
            "request 1: the cache is full");
}

// --- single texts ------------------------------------------------------------------------------

/// Returns the log-probability of a token after others, for a model without sources.
static double scoreAfter(const HashModel &model, std::span<const int32_t> before, int32_t token) {
  const std::vector<float> logits = model.logits({}, before);
  double sum = 0;
  for (const float logit : logits) {
    sum += std::exp(static_cast<double>(logit));
  }
  return static_cast<double>(logits[static_cast<size_t>(token)]) - std::log(sum);
}

/// The decoder has 100 positions.
TEST(Scoring, TextsAreScoredInWindows) {
  const HashModel model{50, 0};
  for (const size_t start : {0U, 1U}) {
    for (const int64_t stride : {0, 1, 37, 99}) {
      SCOPED_TRACE(testing::Message() << "start " << start << ", stride " << stride);
      FakeDecoder decoder(model);
      decoder.answers = false;
      GenerationDefaults defaults = hashDefaults();
      defaults.start.resize(start);
      std::vector<std::vector<int32_t>> texts;
      for (const size_t length : {2U, 3U, 100U, 101U, 102U, 260U}) {
        std::mt19937_64 random(length);
        std::vector<int32_t> &text = texts.emplace_back(length);
        for (int32_t &token : text) {
          token = static_cast<int32_t>(3 + random() % 47);
        }
      }
      const auto scores = scoreTexts(decoder, defaults, limitsOf(decoder), 300, texts, stride);
      ASSERT_EQ(scores.status().message(), "");
      const size_t window = 100 - start;
      const size_t step = stride == 0 ? (window + 1) / 2 : static_cast<size_t>(stride);
      for (size_t i = 0; i < texts.size(); ++i) {
        const std::vector<int32_t> &text = texts[i];
        ASSERT_EQ((*scores)[i].size(), text.size() - (1 - start));
        for (size_t token = 1 - start; token < text.size(); ++token) {
          // The first window whose positions include the token before it.
          size_t begin = 0;
          while (token > begin + window) {
            begin += step;
          }
          std::vector<int32_t> before(start, 1);
          before.insert(before.end(), text.begin() + static_cast<std::ptrdiff_t>(begin),
                        text.begin() + static_cast<std::ptrdiff_t>(token));
          ASSERT_NEAR((*scores)[i][token - (1 - start)], scoreAfter(model, before, text[token]),
                      3e-6)
              << "text " << i << ", token " << token;
        }
      }
      EXPECT_EQ(decoder.blocksInUse(), 0);
    }
  }
}

TEST(Scoring, RefusesTextsThatHaveNoScore) {
  FakeDecoder decoder(HashModel{});
  GenerationDefaults defaults = hashDefaults();
  defaults.start.clear();
  const auto message = [&](const std::vector<int32_t> &text, int64_t stride = 0) {
    return std::string(checkText(text, stride, defaults, limitsOf(decoder)).message());
  };
  EXPECT_EQ(message({5, 6}), "texts alone are scored, the model answers sources: expected sources "
                             "and targets");
  decoder.answers = false;
  EXPECT_EQ(message({5, 6}), "");
  EXPECT_EQ(message({5}), "text has 1 token, expected at least 2: nothing is before the first");
  EXPECT_EQ(message({}), "text has 0 tokens, expected at least 2: nothing is before the first");
  EXPECT_EQ(message({5, 40}), "text: token 2 is 40, expected 0 to 39");
  EXPECT_EQ(message({5, 6}, 100), "");
  EXPECT_EQ(message({5, 6}, 101), "stride is 101, expected 1 to 100, the positions of the model");
  EXPECT_EQ(message({5, 6}, -1), "stride is -1, expected 1 to 100, the positions of the model");
  GenerationLimits endless = limitsOf(decoder);
  endless.longestTarget = 0;
  const std::vector<int32_t> two = {5, 6};
  EXPECT_TRUE(checkText(two, 0, defaults, endless).ok());
  for (const int64_t stride : {-1, 1}) {
    EXPECT_EQ(checkText(two, stride, defaults, endless).message(),
              "stride is " + std::to_string(stride) +
                  ", and the model has no limit of positions, expected no stride");
  }
  defaults.start = {1};
  EXPECT_EQ(message({5}), "");
  EXPECT_EQ(message({}), "text has 0 tokens, expected at least 1");
  const std::vector<std::vector<int32_t>> texts = {{5, 6}, {}};
  EXPECT_EQ(scoreTexts(decoder, defaults, limitsOf(decoder), 300, texts, 0).status().message(),
            "text 2: text has 0 tokens, expected at least 1");
}
