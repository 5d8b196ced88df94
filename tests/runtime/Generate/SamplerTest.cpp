// SPDX-License-Identifier: Apache-2.0
///
/// Random tokens have the right distribution and depend only on the sentence and the seed.
#include "runtime/Generate/Sampler.h"
#include "tests/runtime/Generate/Requests.h"

#include <cmath>

using namespace heddle;

static std::vector<ScoredToken> someTokens() {
  std::vector<ScoredToken> tokens;
  for (int32_t token = 0; token < 200; ++token) {
    tokens.push_back({-0.3 * std::abs(token - 90), token});
  }
  return tokens;
}

/// Returns how often each token was drawn.
static std::map<int32_t, int> histogram(double temperature, double topP, int draws,
                                        double minP = 0) {
  std::map<int32_t, int> counts;
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<ScoredToken> tokens = someTokens();
    const double uniform = uniformNumber(1, 2, static_cast<uint64_t>(draw));
    ++counts[drawToken(tokens, {temperature, topP, minP}, uniform).token];
  }
  return counts;
}

TEST(Sampler, NumbersAreEquallyDistributed) {
  std::vector<int> counts(10);
  for (uint64_t step = 0; step < 20000; ++step) {
    const double number = uniformNumber(4, step % 7, step);
    ASSERT_GE(number, 0);
    ASSERT_LT(number, 1);
    ++counts[static_cast<size_t>(number * 10)];
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, 2000, 200);
  }
}

TEST(Sampler, TokensComeAsOftenAsTheirProbability) {
  for (const double temperature : {0.5, 1.0, 2.0}) {
    double total = 0;
    for (const ScoredToken &token : someTokens()) {
      total += std::exp(token.score / temperature);
    }
    const std::map<int32_t, int> counts = histogram(temperature, 1, 20000);
    for (const ScoredToken &token : someTokens()) {
      const double expected = 20000 * std::exp(token.score / temperature) / total;
      const auto found = counts.find(token.token);
      const int count = found == counts.end() ? 0 : found->second;
      EXPECT_NEAR(count, expected, 5 * std::sqrt(expected) + 3) << token.token;
    }
  }
}

TEST(Sampler, TopPKeepsTheFewestThatAddUp) {
  double total = 0;
  for (const ScoredToken &token : someTokens()) {
    total += std::exp(token.score);
  }
  // The best, and the two next to it: the one with the lower number comes first.
  const double two = (1 + std::exp(-0.3)) / total;
  EXPECT_EQ(histogram(1, two * 0.999, 3000).size(), 2U);
  EXPECT_TRUE(histogram(1, two * 0.999, 3000).contains(89));
  EXPECT_EQ(histogram(1, two * 1.001, 3000).size(), 3U);
  EXPECT_EQ(histogram(1, 1e-9, 100).size(), 1U);
}

TEST(Sampler, MinPKeepsThoseNotMuchLessProbableThanTheBest) {
  // One step from the best is e^-0.3, two steps e^-0.6; at temperature 2 they are half as far.
  EXPECT_EQ(histogram(1, 1, 3000, std::exp(-0.3) * 1.001).size(), 1U);
  EXPECT_EQ(histogram(1, 1, 3000, std::exp(-0.3) * 0.999).size(), 3U);
  EXPECT_EQ(histogram(1, 1, 3000, std::exp(-0.6) * 0.999).size(), 5U);
  EXPECT_EQ(histogram(2, 1, 3000, std::exp(-0.3) * 0.999).size(), 5U);
  EXPECT_EQ(histogram(1, 1, 100, 1).size(), 1U);
  // The stricter of the two applies.
  EXPECT_EQ(histogram(1, 1e-9, 100, 0.1).size(), 1U);
  EXPECT_EQ(histogram(1, 0.9, 3000, std::exp(-0.3) * 0.999).size(), 3U);
  // The remaining tokens have the same proportions.
  const std::map<int32_t, int> counts = histogram(1, 1, 20000, std::exp(-0.3) * 0.999);
  EXPECT_NEAR(counts.at(90), 20000 / (1 + 2 * std::exp(-0.3)), 300);
}

TEST(Sampler, AllMassUsedUpStillGivesAToken) {
  std::vector<ScoredToken> tokens = {{0, 4}, {-1000, 5}};
  EXPECT_EQ(drawToken(tokens, {}, std::nextafter(1.0, 0.0)).token, 4);
}

static std::vector<Hypothesis> sampled(const GenerationOptions &options, int number) {
  FakeDecoder decoder(HashModel{});
  GenerationOptions with = options;
  with.sample = true;
  return generateAlone(decoder, {.source = sourceOf(number), .options = with});
}

TEST(Sampler, TheSeedMakesTheText) {
  int different = 0;
  for (int number = 0; number < 10; ++number) {
    EXPECT_EQ(sampled({.seed = 1}, number), sampled({.seed = 1}, number));
    different += sampled({.seed = 1}, number) == sampled({.seed = 2}, number) ? 0 : 1;
  }
  EXPECT_GT(different, 7);
}

TEST(Sampler, SamplesOfASentenceDiffer) {
  const std::vector<Hypothesis> samples = sampled({.nbest = 4, .minLength = 6}, 3);
  ASSERT_EQ(samples.size(), 4U);
  EXPECT_NE(samples[0].tokens, samples[1].tokens);
  EXPECT_GE(samples[0].score, samples[1].score);
}

TEST(Sampler, OneOfOneIsGreedy) {
  for (int number = 0; number < 10; ++number) {
    FakeDecoder decoder(HashModel{});
    const std::vector<Hypothesis> greedy = generateAlone(decoder, {.source = sourceOf(number)});
    for (const GenerationOptions &options :
         {GenerationOptions{.topK = 1}, GenerationOptions{.temperature = 0.001F},
          GenerationOptions{.topP = 0.001F}}) {
      EXPECT_EQ(sampled(options, number)[0].tokens, greedy[0].tokens);
      EXPECT_DOUBLE_EQ(sampled(options, number)[0].score, greedy[0].score);
    }
  }
}

TEST(Sampler, TopKOfEverythingIsTheWholeDistribution) {
  for (int number = 0; number < 10; ++number) {
    EXPECT_EQ(sampled({.topK = 40, .topP = 0.9F}, number)[0].tokens,
              sampled({.topP = 0.9F}, number)[0].tokens);
  }
}
