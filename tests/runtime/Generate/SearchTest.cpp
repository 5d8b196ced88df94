// SPDX-License-Identifier: Apache-2.0
///
/// Compares the single search, under each set of rules, with the naive search that defines the
/// rules.
#include "tests/runtime/Generate/NaiveSearch.h"
#include "tests/runtime/Generate/Requests.h"

#include <algorithm>

using namespace heddle;

namespace {
using Naive = std::vector<Hypothesis> (*)(const HashModel &, const std::vector<int32_t> &,
                                          const NaiveOptions &);
} // namespace

static GenerationOptions optionsOf(Rules rules, const NaiveOptions &naive) {
  GenerationOptions options;
  options.rules = rules;
  options.beam = naive.beam;
  options.nbest = naive.beam;
  options.lengthPenalty = static_cast<float>(naive.lengthPenalty);
  options.coveragePenalty = static_cast<float>(naive.coveragePenalty);
  options.noRepeatNgram = naive.noRepeatNgram;
  options.repetitionPenalty = static_cast<float>(naive.repetitionPenalty);
  options.minLength = naive.minLength;
  options.maxLength = naive.maxLength;
  options.earlyStopping = naive.earlyStopping ? EarlyStopping::Yes
                          : naive.never       ? EarlyStopping::Never
                                              : EarlyStopping::No;
  options.forcedLast = naive.forcedLast;
  options.suppressed = naive.suppressed;
  return options;
}

static void expectEqual(const std::vector<Hypothesis> &got, const std::vector<Hypothesis> &want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].tokens, want[i].tokens) << "hypothesis " << i;
    EXPECT_NEAR(got[i].score, want[i].score, 3e-6) << "hypothesis " << i;
    EXPECT_EQ(got[i].finish, want[i].finish) << "hypothesis " << i;
  }
}

/// Compares many sentences. Options are numbers that float represents exactly.
static void compare(Rules rules, Naive naive, const NaiveOptions &options, int levels = 0,
                    int64_t vocabulary = 40) {
  const HashModel model{vocabulary, levels};
  for (int number = 0; number < 25; ++number) {
    SCOPED_TRACE(testing::Message() << "sentence " << number);
    FakeDecoder decoder(model, 1 + number % 3);
    const std::vector<int32_t> source = sourceOf(number);
    expectEqual(generateAlone(decoder, {.source = source,
                                        .prefix = options.prefix,
                                        .options = optionsOf(rules, options)}),
                naive(model, source, options));
    if (testing::Test::HasFailure()) {
      return;
    }
  }
}

/// Options one at a time and together, for any rules.
static void compareAll(Rules rules, Naive naive) {
  for (const int32_t beam : {2, 3, 4, 8}) {
    SCOPED_TRACE(testing::Message() << "beam " << beam);
    compare(rules, naive, {.beam = beam});
    compare(rules, naive, {.beam = beam, .lengthPenalty = 0});
    compare(rules, naive, {.beam = beam, .lengthPenalty = 0.5, .maxLength = 6});
    compare(rules, naive, {.beam = beam, .lengthPenalty = -0.5});
    compare(rules, naive, {.beam = beam, .minLength = 5});
    compare(rules, naive, {.beam = beam, .noRepeatNgram = 1});
    compare(rules, naive, {.beam = beam, .noRepeatNgram = 2, .minLength = 12});
    compare(rules, naive, {.beam = beam, .repetitionPenalty = 1.5});
    compare(rules, naive, {.beam = beam, .repetitionPenalty = 0.75});
    compare(rules, naive, {.beam = beam, .maxLength = 1});
    compare(rules, naive, {.beam = beam, .minLength = 7, .maxLength = 7});
    compare(rules, naive, {.beam = beam, .prefix = {7, 9, 7}});
    compare(rules, naive, {.beam = beam, .suppressed = {3, 4, 5, 17, 39}});
    compare(rules, naive,
            {.beam = beam,
             .lengthPenalty = 1.25,
             .noRepeatNgram = 2,
             .repetitionPenalty = 1.25,
             .minLength = 3,
             .maxLength = 12,
             .prefix = {8},
             .suppressed = {11, 12}});
  }
  // Three chunks.
  compare(rules, naive, {.beam = 3, .repetitionPenalty = 1.25, .maxLength = 6}, 0, 1700);
}

TEST(Search, PaperIsThatOfThePaper) {
  compareAll(Rules::Paper, naivePaper);
  compare(Rules::Paper, naivePaper, {.beam = 4, .lengthPenalty = 0.5, .earlyStopping = true});
  compare(Rules::Paper, naivePaper, {.beam = 4, .coveragePenalty = 0.25});
}

TEST(Search, TransformersIsThatOfTransformers) {
  compareAll(Rules::Transformers, naiveTransformers);
  for (const int32_t beam : {2, 5}) {
    compare(Rules::Transformers, naiveTransformers, {.beam = beam, .earlyStopping = true});
    compare(Rules::Transformers, naiveTransformers, {.beam = beam, .never = true});
    compare(Rules::Transformers, naiveTransformers,
            {.beam = beam, .lengthPenalty = -1, .never = true});
    compare(Rules::Transformers, naiveTransformers,
            {.beam = beam, .maxLength = 5, .forcedLast = 2});
  }
}

TEST(Search, CTranslate2IsThatOfCTranslate2) {
  compareAll(Rules::CTranslate2, naiveCTranslate2);
  compare(Rules::CTranslate2, naiveCTranslate2, {.beam = 4, .coveragePenalty = 0.25});
  compare(Rules::CTranslate2, naiveCTranslate2,
          {.beam = 4, .lengthPenalty = 0, .coveragePenalty = 0.5});
}

TEST(Search, EqualScoresGoToTheEarlierHypothesisAndTheLowerToken) {
  // Scores that are equal in exact arithmetic are equal in double too if the same numbers were
  // added in the same order, as in the naive searches.
  compare(Rules::Paper, naivePaper, {.beam = 4, .maxLength = 3}, 1);
  compare(Rules::CTranslate2, naiveCTranslate2, {.beam = 4, .maxLength = 3}, 1);
}

TEST(Search, GreedyTakesTheBestTokenUnderAllRules) {
  const HashModel model;
  for (int number = 0; number < 60; ++number) {
    const std::vector<int32_t> source = sourceOf(number);
    NaiveOptions options{.repetitionPenalty = number % 2 == 0 ? 1 : 1.25,
                         .prefix =
                             number % 3 == 0 ? std::vector<int32_t>{5, 6} : std::vector<int32_t>{}};
    for (const Rules rules : {Rules::Paper, Rules::Transformers, Rules::CTranslate2}) {
      // Whether repetition counts the start does not matter: it is never likely here.
      options.repetitionPenalty = rules == Rules::Transformers ? 1 : options.repetitionPenalty;
      std::vector<int32_t> want = naiveGreedy(model, source, options);
      FakeDecoder decoder(model);
      const std::vector<Hypothesis> got = generateAlone(
          decoder,
          {.source = source, .prefix = options.prefix, .options = optionsOf(rules, options)});
      if (rules == Rules::CTranslate2 && want.back() == 2) {
        want.pop_back();
      }
      ASSERT_EQ(got.size(), 1U);
      EXPECT_EQ(got.front().tokens, want) << number;
      EXPECT_EQ(decoder.mostRows, static_cast<int64_t>(1 + options.prefix.size()));
    }
  }
}

TEST(Search, ForcedTokensComeAndAddNothing) {
  FakeDecoder decoder(HashModel{});
  const std::vector<Hypothesis> got = generateAlone(decoder, {.source = {5, 6},
                                                              .options = {.rules = Rules::Paper,
                                                                          .lengthPenalty = 0.0F,
                                                                          .minLength = 3,
                                                                          .maxLength = 4,
                                                                          .forcedFirst = 9,
                                                                          .forcedLast = 11,
                                                                          .tokenScores = true}});
  ASSERT_EQ(got.size(), 1U);
  ASSERT_EQ(got[0].tokens.size(), 4U);
  EXPECT_EQ(got[0].tokens.front(), 9);
  EXPECT_EQ(got[0].tokens.back(), 11);
  EXPECT_EQ(got[0].tokenScores.front(), 0);
  EXPECT_EQ(got[0].tokenScores.back(), 0);
}

TEST(Search, AShortlistIsAllThereIs) {
  const std::vector<int32_t> shortlist = {30, 7, 1500, 9};
  FakeDecoder decoder(HashModel{1700, 0}, 2);
  const std::vector<Hypothesis> got = generateAlone(
      decoder, {.source = {5, 6},
                .shortlist = shortlist,
                .options = {.rules = Rules::Paper, .beam = 3, .nbest = 3, .minLength = 4}});
  ASSERT_EQ(got.size(), 3U);
  for (const Hypothesis &hypothesis : got) {
    for (size_t i = 0; i + 1 < hypothesis.tokens.size(); ++i) {
      EXPECT_NE(std::find(shortlist.begin(), shortlist.end(), hypothesis.tokens[i]),
                shortlist.end());
    }
    EXPECT_EQ(hypothesis.tokens.back(), 2);
  }
}

TEST(Search, AnyTokenSuppressedEndsIt) {
  GenerationOptions options{.rules = Rules::Paper, .beam = 2, .minLength = 3};
  for (int32_t token = 0; token < 10; ++token) {
    options.suppressed.push_back(token);
  }
  FakeDecoder decoder(HashModel{10, 0});
  const std::vector<Hypothesis> got = generateAlone(decoder, {.source = {5}, .options = options});
  ASSERT_EQ(got.size(), 1U);
  EXPECT_TRUE(got[0].tokens.empty());
}

TEST(Search, AlternativesBeginWithTheBestFirstTokens) {
  const HashModel model;
  for (const int32_t beam : {1, 3}) {
    for (int number = 0; number < 20; ++number) {
      const std::vector<int32_t> source = sourceOf(number);
      NaiveOptions options{.beam = beam, .prefix = {6, 4}};
      const std::vector<double> first = naiveScores(model, source, options, {6, 4}, false, false);
      std::vector<int32_t> order(first.size());
      for (size_t i = 0; i < order.size(); ++i) {
        order[i] = static_cast<int32_t>(i);
      }
      std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
        return first[static_cast<size_t>(a)] > first[static_cast<size_t>(b)];
      });
      FakeDecoder decoder(model);
      GenerationOptions wanted = optionsOf(Rules::Paper, options);
      wanted.alternatives = true;
      wanted.nbest = 5;
      const std::vector<Hypothesis> got =
          generateAlone(decoder, {.source = source, .prefix = {6, 4}, .options = wanted});
      ASSERT_EQ(got.size(), 5U);
      std::vector<int32_t> found;
      for (const Hypothesis &hypothesis : got) {
        ASSERT_GE(hypothesis.tokens.size(), 3U);
        found.push_back(hypothesis.tokens[2]);
      }
      std::sort(found.begin(), found.end());
      std::sort(order.begin(), order.begin() + 5);
      EXPECT_TRUE(std::equal(found.begin(), found.end(), order.begin()));
      EXPECT_TRUE(std::is_sorted(got.begin(), got.end(),
                                 [](const auto &a, const auto &b) { return a.score > b.score; }));
    }
  }
}

TEST(Search, TokenScoresAddUpAndAttentionIsThatOfTheModel) {
  const HashModel model;
  FakeDecoder decoder(model);
  const std::vector<int32_t> source = {9, 8, 7};
  const std::vector<Hypothesis> got =
      generateAlone(decoder, {.source = source,
                              .prefix = {4},
                              .options = {.rules = Rules::Transformers,
                                          .beam = 3,
                                          .nbest = 3,
                                          .lengthPenalty = 1.0F,
                                          .tokenScores = true,
                                          .attention = true}});
  ASSERT_EQ(got.size(), 3U);
  for (const Hypothesis &hypothesis : got) {
    const size_t generated = hypothesis.tokens.size() - 1;
    ASSERT_EQ(hypothesis.tokenScores.size(), generated);
    double sum = 0;
    for (const float score : hypothesis.tokenScores) {
      sum += static_cast<double>(score);
    }
    EXPECT_NEAR(sum / static_cast<double>(generated), hypothesis.score, 1e-5);
    ASSERT_EQ(hypothesis.attention.size(), generated * source.size());
    std::vector<int32_t> said = {1, 4};
    for (size_t step = 0; step < generated; ++step) {
      const std::vector<float> weights = model.attention(source, said, 2);
      for (size_t i = 0; i < source.size(); ++i) {
        EXPECT_FLOAT_EQ(hypothesis.attention[step * source.size() + i],
                        (weights[i] + weights[source.size() + i]) / 2);
      }
      said.push_back(hypothesis.tokens[step + 1]);
    }
  }
}
