// SPDX-License-Identifier: Apache-2.0
///
/// Defaults of requests, and every invalid request.
#include "runtime/Generate/Settings.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace heddle;

static const GenerationLimits limits{
    .vocabulary = 100, .sourceVocabulary = 50, .longestSource = 20, .longestTarget = 30};

static GenerationDefaults defaults() {
  GenerationDefaults defaults;
  defaults.start = {1};
  defaults.end = {2};
  defaults.rules = Rules::Transformers;
  defaults.maxLength = 25;
  defaults.beam = 4;
  defaults.lengthPenalty = 0.75F;
  defaults.earlyStopping = EarlyStopping::Yes;
  defaults.forcedLast = 2;
  defaults.suppressed = {7, 3};
  return defaults;
}

static std::string refusal(const GenerationRequest &request,
                           StatusCode code = StatusCode::InvalidArgument) {
  const Result<Settings> settings = makeSettings(request, defaults(), limits);
  EXPECT_FALSE(settings.ok());
  EXPECT_EQ(settings.status().code(), code);
  return std::string(settings.status().message());
}

static Settings accepted(const GenerationRequest &request) {
  Result<Settings> settings = makeSettings(request, defaults(), limits);
  EXPECT_TRUE(settings.ok()) << settings.status().message();
  return settings.ok() ? *settings : Settings();
}

TEST(Settings, AreThoseOfTheBinary) {
  const Settings settings = accepted({.source = {5}});
  EXPECT_EQ(settings.rules->name, "transformers");
  EXPECT_EQ(settings.beam, 4);
  EXPECT_EQ(settings.maxLength, 25);
  EXPECT_EQ(settings.lengthPenalty, 0.75);
  EXPECT_EQ(settings.earlyStopping, EarlyStopping::Yes);
  EXPECT_EQ(settings.forcedLast, 2);
  EXPECT_EQ(settings.suppressed, (std::vector<int32_t>{3, 7}));
}

TEST(Settings, AreThoseOfOtherRules) {
  const Settings settings = accepted({.source = {5}, .options = {.rules = Rules::Paper}});
  EXPECT_FLOAT_EQ(static_cast<float>(settings.lengthPenalty), 0.6F);
  // The source plus 50 would exceed the positions.
  EXPECT_EQ(settings.maxLength, 30);
  EXPECT_EQ(settings.earlyStopping, EarlyStopping::No);
  EXPECT_EQ(settings.forcedLast, -1);
  GenerationLimits none = limits;
  none.longestTarget = 0;
  GenerationRequest request{.source = {5, 6, 7}, .options = {.rules = Rules::Paper}};
  EXPECT_EQ(makeSettings(request, defaults(), none)->maxLength, 53);
  request.options.rules = Rules::CTranslate2;
  EXPECT_EQ(makeSettings(request, defaults(), none)->maxLength, 256);
  EXPECT_EQ(makeSettings(request, defaults(), none)->minLength, 1);
}

TEST(Settings, TheMinimumOfTheBinaryGivesWay) {
  GenerationDefaults own = defaults();
  own.minLength = 6;
  own.earlyStopping = EarlyStopping::Never;
  GenerationRequest request{.source = {5}};
  EXPECT_EQ(makeSettings(request, own, limits)->minLength, 6);
  EXPECT_EQ(makeSettings(request, own, limits)->earlyStopping, EarlyStopping::Never);
  request.options.maxLength = 4;
  EXPECT_EQ(makeSettings(request, own, limits)->minLength, 4);
  request.options.minLength = 2;
  EXPECT_EQ(makeSettings(request, own, limits)->minLength, 2);
  EXPECT_EQ(
      makeSettings({.source = {5}, .options = {.rules = Rules::Paper}}, own, limits)->minLength, 0);
}

TEST(Settings, AShortlistHasTheEnd) {
  const Settings settings = accepted({.source = {5}, .shortlist = {9, 4, 9}});
  EXPECT_EQ(settings.shortlist, (std::vector<int32_t>{2, 4, 9}));
}

TEST(Settings, RefuseCountsThatMakeNoSense) {
  EXPECT_EQ(refusal({.source = {5}, .options = {.beam = 0}}), "beam is 0, expected 1 to 1024");
  EXPECT_EQ(refusal({.source = {5}, .options = {.beam = 2000}}),
            "beam is 2000, expected 1 to 1024");
  EXPECT_EQ(refusal({.source = {5}, .options = {.nbest = 0}}), "nbest is 0, expected 1 to 1024");
  EXPECT_EQ(refusal({.source = {5}, .options = {.beam = 2, .nbest = 3}}),
            "nbest is 3, expected at most the beam, 2");
  EXPECT_EQ(refusal({.source = {5}, .options = {.beam = 2, .sample = true}}),
            "beam is 2 with sampling, expected 1: nbest gives several samples");
  EXPECT_EQ(refusal({.source = {5}, .options = {.sample = true, .alternatives = true}}),
            "sampling and alternatives are both requested, expected one of them");
  EXPECT_EQ(refusal({.source = {5}, .options = {.noRepeatNgram = -1}}),
            "no-repeat n-gram size is -1, expected at least 0");
}

TEST(Settings, RefuseNumbersThatMakeNoSense) {
  EXPECT_EQ(refusal({.source = {5}, .options = {.lengthPenalty = INFINITY}}),
            "length penalty is inf, expected -10000 to 10000");
  EXPECT_EQ(refusal({.source = {5}, .options = {.coveragePenalty = -1}}),
            "coverage penalty is -1, expected a finite number, at least 0");
  EXPECT_EQ(refusal({.source = {5}, .options = {.repetitionPenalty = 0.0F}}),
            "repetition penalty is 0, expected 1e-06 to 1000000");
  EXPECT_EQ(refusal({.source = {5}, .options = {.repetitionPenalty = 2e6F}}),
            "repetition penalty is 2000000, expected 1e-06 to 1000000");
  EXPECT_EQ(refusal({.source = {5}, .options = {.temperature = 0}}),
            "temperature is 0, expected a finite number above 0");
  EXPECT_EQ(refusal({.source = {5}, .options = {.topK = -2}}),
            "top-k is -2, expected at least 1, or 0 for all tokens");
  EXPECT_EQ(refusal({.source = {5}, .options = {.topP = 0}}),
            "top-p is 0, expected more than 0 and at most 1");
  EXPECT_EQ(refusal({.source = {5}, .options = {.topP = 1.5F}}),
            "top-p is 1.5, expected more than 0 and at most 1");
}

TEST(Settings, RefuseLengthsThatMakeNoSense) {
  EXPECT_EQ(refusal({.source = {5}, .options = {.minLength = -1}}),
            "minimum length is -1, expected at least 0");
  EXPECT_EQ(refusal({.source = {5}, .options = {.maxLength = 0}}),
            "maximum length is 0, expected at least 1");
  EXPECT_EQ(refusal({.source = {5}, .options = {.minLength = 9, .maxLength = 8}}),
            "minimum length is 9, expected at most the maximum, 8");
  EXPECT_EQ(refusal({.source = {5}, .options = {.maxLength = 31}}, StatusCode::OutOfRange),
            "maximum length is 31, expected at most 30: the positions of the model");
  EXPECT_EQ(refusal({.source = {5}, .prefix = std::vector<int32_t>(30, 4)}, StatusCode::OutOfRange),
            "prefix has 30 tokens, expected at most 29, the positions of the model");
}

TEST(Settings, SourcesAreWhatTheModelReads) {
  GenerationLimits rows = limits;
  rows.sourceVocabulary = 0;
  rows.sourceWidth = 3;
  rows.sourceMultiple = 2;
  rows.longestSource = 4;
  const auto message = [&](const GenerationRequest &request) {
    return std::string(makeSettings(request, defaults(), rows).status().message());
  };
  EXPECT_EQ(message({.rows = std::vector<float>(12)}), "");
  EXPECT_EQ(message({.rows = {0, 0, 0, 0, HUGE_VALF, 0}}),
            "source has inf in row 2, expected finite numbers");
  EXPECT_EQ(message({.source = {5, 6}}),
            "source has 2 tokens, expected rows of 3 floats, which the model reads");
  EXPECT_EQ(message({}), "source has 0 floats, expected a multiple of 6, at least one");
  EXPECT_EQ(message({.rows = std::vector<float>(9)}),
            "source has 9 floats, expected a multiple of 6, at least one");
  EXPECT_EQ(message({.rows = std::vector<float>(18)}),
            "source has 6 rows, expected at most 4, the positions of the model");
  EXPECT_EQ(refusal({.source = {5}, .rows = {1, 2}}),
            "source has 2 floats, expected tokens, which the model reads");
  EXPECT_EQ(refusal({.source = {5}, .width = 3}),
            "source has rows of 3 pixels, the model expects no images");
}

TEST(Settings, TheUsualMaximumCountsTheRowsOfASource) {
  GenerationLimits rows;
  rows.vocabulary = 40;
  rows.sourceWidth = 3;
  GenerationDefaults rules = defaults();
  rules.rules = Rules::Transformers;
  rules.maxLength = 0;
  const Result<Settings> settings = makeSettings({.rows = std::vector<float>(60)}, rules, rows);
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(settings->maxLength, 20 + settings->rules->maxLength);
}

TEST(Settings, AModelWithoutSourcesContinuesAPrefix) {
  GenerationLimits own = limits;
  own.hasSources = false;
  GenerationDefaults continuing = defaults();
  continuing.start.clear();
  const auto message = [&](const GenerationRequest &request) {
    return std::string(makeSettings(request, continuing, own).status().message());
  };
  EXPECT_EQ(message({.prefix = {5}}), "");
  // Nothing precedes the prefix, and the last token needs no position.
  EXPECT_EQ(message({.prefix = {5, 6}, .options = {.maxLength = 29}}), "");
  EXPECT_EQ(message({.prefix = {5, 6}, .options = {.maxLength = 30}}),
            "maximum length is 30, expected at most 29: the positions of the model");
  EXPECT_EQ(message({}), "prefix has no tokens, expected at least one: the model continues it");
  EXPECT_EQ(message({.source = {5}, .prefix = {5}}),
            "source has 1 tokens, expected none: the model has no sources, it continues a prefix");
  EXPECT_EQ(message({.prefix = {5}, .rows = {1, 2}}),
            "source has 2 floats, expected none: the model has no sources, it continues a prefix");
  EXPECT_EQ(message({.prefix = {5}, .options = {.attention = true}}),
            "attention to the source is requested, the model has no sources");
  EXPECT_EQ(message({.prefix = {5}, .options = {.coveragePenalty = 1}}),
            "coverage penalty is set, expected none: the model has no sources");
  EXPECT_EQ(message({.prefix = std::vector<int32_t>(31, 4)}),
            "prefix has 31 tokens, expected at most 30, the positions of the model");
}

TEST(Settings, RefuseStopStringsThatNothingCouldEndWith) {
  GenerationLimits own = limits;
  const auto message = [&](const GenerationOptions &options) {
    return std::string(
        makeSettings({.source = {5}, .options = options}, defaults(), own).status().message());
  };
  EXPECT_EQ(message({.beam = 1, .stop = {"x"}}),
            "stop strings are given, expected none: the model has no tokenizer");
  own.hasText = true;
  EXPECT_EQ(message({.beam = 1, .stop = {"x", "\n\n"}}), "");
  EXPECT_EQ(message({.nbest = 3, .sample = true, .stop = {"x"}}), "");
  EXPECT_EQ(message({.beam = 3, .stop = {"x"}}),
            "beam is 3 with stop strings, expected 1: they end a text as it is made");
  EXPECT_EQ(message({.beam = 1, .nbest = 2, .alternatives = true, .stop = {"x"}}),
            "stop strings and alternatives are both requested, expected one of them");
  EXPECT_EQ(message({.beam = 1, .stop = {"x", ""}}), "stop string 2 is empty, expected a text");
  EXPECT_EQ(message({.beam = 1, .stop = {"a\xff"}}),
            "stop string 1: byte 2 is 0xff, expected UTF-8");
}

TEST(Settings, RefuseWhatSamplesAndScoresCannotBe) {
  EXPECT_EQ(refusal({.source = {5}, .options = {.minP = -0.5F}}), "min-p is -0.5, expected 0 to 1");
  EXPECT_EQ(refusal({.source = {5}, .options = {.minP = 1.5F}}), "min-p is 1.5, expected 0 to 1");
  EXPECT_EQ(refusal({.source = {5}, .options = {.minP = std::nanf("")}}),
            "min-p is nan, expected 0 to 1");
  EXPECT_EQ(refusal({.source = {5}, .options = {.topScores = 101}}),
            "scores of the best 101 tokens, expected 0 to 100");
  EXPECT_EQ(refusal({.source = {5}, .options = {.topScores = -1}}),
            "scores of the best -1 tokens, expected 0 to 100");
}

TEST(Settings, RefuseTokensOutsideTheVocabulary) {
  EXPECT_EQ(refusal({}), "source has no tokens, expected at least one");
  EXPECT_EQ(refusal({.source = {5, 60}}, StatusCode::OutOfRange),
            "source: token 2 is 60, expected 0 to 49");
  EXPECT_EQ(refusal({.source = std::vector<int32_t>(21, 5)}, StatusCode::OutOfRange),
            "source has 21 tokens, expected at most 20, the positions of the model");
  EXPECT_EQ(refusal({.source = {5}, .prefix = {-1}}, StatusCode::OutOfRange),
            "prefix: token 1 is -1, expected 0 to 99");
  EXPECT_EQ(refusal({.source = {5}, .shortlist = {100}}, StatusCode::OutOfRange),
            "shortlist: token 1 is 100, expected 0 to 99");
  EXPECT_EQ(refusal({.source = {5}, .options = {.suppressed = {1000}}}, StatusCode::OutOfRange),
            "suppressed: token 3 is 1000, expected 0 to 99");
  EXPECT_EQ(refusal({.source = {5}, .options = {.forcedFirst = 100}}, StatusCode::OutOfRange),
            "forced: token 1 is 100, expected 0 to 99");
}

/// A model may sample by default, unless a request asks for another search.
TEST(Settings, SamplingIsTheModelsUnlessAskedOtherwise) {
  GenerationDefaults sampling = defaults();
  sampling.sample = true;
  sampling.temperature = 0.5F;
  sampling.topK = 20;
  sampling.topP = 0.75F;
  sampling.minP = 0.125F;
  const auto with = [&](const GenerationOptions &options) {
    return *makeSettings({.source = {5}, .options = options}, sampling, limits);
  };
  const Settings usual = with({});
  EXPECT_TRUE(usual.sample);
  EXPECT_EQ(usual.beam, 1);
  EXPECT_EQ(usual.temperature, 0.5F);
  EXPECT_EQ(usual.topK, 20);
  EXPECT_EQ(usual.topP, 0.75F);
  EXPECT_EQ(usual.minP, 0.125F);
  EXPECT_EQ(usual.seed, 0U);
  const Settings own =
      with({.nbest = 3, .temperature = 2.0F, .topK = 0, .topP = 1.0F, .minP = 0.0F, .seed = 7});
  EXPECT_TRUE(own.sample);
  EXPECT_EQ(own.nbest, 3);
  EXPECT_EQ(own.temperature, 2);
  EXPECT_EQ(own.topK, 0);
  EXPECT_EQ(own.topP, 1);
  EXPECT_EQ(own.minP, 0);
  EXPECT_EQ(own.seed, 7U);
  EXPECT_FALSE(with({.sample = false}).sample);
  EXPECT_EQ(with({.sample = false}).beam, 4);
  EXPECT_FALSE(with({.beam = 1}).sample);
  EXPECT_FALSE(with({.alternatives = true}).sample);
  EXPECT_TRUE(with({.beam = 1, .sample = true}).sample);
  // A model that does not sample may still have parameters, for requests that do.
  sampling.sample = false;
  EXPECT_FALSE(with({}).sample);
  EXPECT_EQ(with({}).beam, 4);
  EXPECT_EQ(with({.sample = true}).temperature, 0.5F);
  const GenerationOptions filled = filledIn({.maxLength = 3, .stop = {"x"}}, sampling);
  EXPECT_EQ(filled.sample, false);
  EXPECT_EQ(filled.beam, 4);
  EXPECT_EQ(filled.rules, Rules::Transformers);
  EXPECT_EQ(filled.lengthPenalty, 0.75F);
  EXPECT_EQ(filled.maxLength, 3);
  EXPECT_EQ(filled.minLength, std::nullopt);
  EXPECT_EQ(filled.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(filledIn({}, sampling).maxLength, 25);
  EXPECT_EQ(filledIn({.rules = Rules::Paper}, sampling).maxLength, std::nullopt);
}

TEST(SearchRules, HaveNames) {
  for (const Rules kind : {Rules::Paper, Rules::Transformers, Rules::CTranslate2}) {
    EXPECT_EQ(searchRules(kind).kind, kind);
    EXPECT_EQ(parseRules(searchRules(kind).name), kind);
  }
  EXPECT_EQ(parseRules("fairseq"), std::nullopt);
}
