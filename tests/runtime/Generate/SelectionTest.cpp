// SPDX-License-Identifier: Apache-2.0
///
/// Searches over a decoder that selects tokens as a device with its own memory does: the same
/// hypotheses, bit for bit, as from logits, under all rules and options, and whose logits are used.
#include "tests/runtime/Generate/Requests.h"

#include <functional>

using namespace heddle;

/// The tokens that a device selects in these tests.
static constexpr int64_t selects = 24;

/// Two models, one with pieces and one with ties in its logits.
static const HashModel models[] = {{.vocabulary = 1600}, {.vocabulary = 1100, .levels = 2}};

namespace {
/// A request, and whether its search needs no logits.
struct Case {
  const char *name;
  std::function<void(GenerationRequest &)> set;
  bool isSelected = true;
  const char *reason = "";
};
} // namespace

static const Case cases[] = {
    {"greedy", [](GenerationRequest &) {}},
    {"beams", [](GenerationRequest &request) { request.options.beam = 4; }},
    {"minimum",
     [](GenerationRequest &request) {
       request.options.beam = 3;
       request.options.minLength = 5;
     }},
    {"suppressed",
     [](GenerationRequest &request) {
       request.options.beam = 2;
       request.options.suppressed = {0, 7, 8, 39};
     }},
    {"ngrams",
     [](GenerationRequest &request) {
       request.options.beam = 2;
       request.options.noRepeatNgram = 1;
     }},
    {"coverage",
     [](GenerationRequest &request) {
       request.options.beam = 3;
       request.options.coveragePenalty = 0.5F;
     }},
    {"top",
     [](GenerationRequest &request) {
       request.options.sample = true;
       request.options.topK = 10;
       request.options.topP = 0.9F;
     }},
    {"scores",
     [](GenerationRequest &request) {
       request.options.topScores = 20;
       request.options.tokenScores = true;
     }},
    {"alternatives",
     [](GenerationRequest &request) {
       request.options.alternatives = true;
       request.options.nbest = 5;
     }},
    {"prefix", [](GenerationRequest &request) { request.prefix = {9, 4, 30}; }},
    {"nucleus",
     [](GenerationRequest &request) {
       request.options.sample = true;
       request.options.topK = 0;
       request.options.topP = 0.5F;
     },
     false, "samples are drawn from all tokens"},
    {"repetition", [](GenerationRequest &request) { request.options.repetitionPenalty = 1.5F; },
     false, "repeated tokens are penalised"},
    {"shortlist", [](GenerationRequest &request) { request.shortlist = {3, 5, 8, 13, 21, 34}; },
     false, "a shortlist allows some tokens only"},
    {"many",
     [](GenerationRequest &request) {
       for (int32_t token = 10; token < 1040; ++token) {
         request.options.suppressed.push_back(token);
       }
     },
     false, "too many tokens are banned"},
    {"wide", [](GenerationRequest &request) { request.options.topScores = 30; }, false,
     "too many best tokens are needed"}};

/// Runs the requests of a case for some sentences together, under some rules.
static std::vector<std::vector<Hypothesis>> generate(FakeDecoder &decoder, const Case &each,
                                                     Rules rules, SelectionUse &use) {
  BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 1000);
  for (int number = 0; number < 5; ++number) {
    GenerationRequest request{.source = sourceOf(number)};
    request.options.rules = rules;
    request.options.maxLength = 12;
    each.set(request);
    EXPECT_TRUE(search.add(std::move(request)).ok());
  }
  std::vector<std::vector<Hypothesis>> found;
  for (auto &[id, result] : finishAll(search)) {
    EXPECT_EQ(result.status.message(), "");
    found.push_back(std::move(result.hypotheses));
  }
  use = search.selectionUse();
  return found;
}

class Selection : public testing::TestWithParam<Case> {};

TEST_P(Selection, GivesTheSameHypotheses) {
  for (const HashModel &model : models) {
    for (const Rules rules : {Rules::Paper, Rules::Transformers, Rules::CTranslate2}) {
      SCOPED_TRACE(testing::Message() << model.vocabulary << ", rules " << int(rules));
      SelectionUse use;
      FakeDecoder ofLogits(model), ofSelections(model);
      ofSelections.selects = selects;
      const auto expected = generate(ofLogits, GetParam(), rules, use);
      EXPECT_EQ(use.selected + use.copied, 0);
      EXPECT_EQ(generate(ofSelections, GetParam(), rules, use), expected);
      EXPECT_EQ(use.selected, ofSelections.selectedRows);
      EXPECT_EQ(use.copied, ofSelections.deliveredRows);
      if (GetParam().isSelected) {
        EXPECT_GT(use.selected, 0);
        EXPECT_EQ(use.copied, 0) << testing::PrintToString(use.reasons);
      } else if (use.copied > 0) {
        EXPECT_EQ(use.reasons, std::vector<std::string>{GetParam().reason});
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Selection, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

/// Rows that need logits and rows that do not are in one step.
TEST(MixedSelection, ResultsDoNotDependOnTheBatch) {
  for (const HashModel &model : models) {
    std::vector<std::vector<Hypothesis>> alone, together(std::size(cases));
    const auto requestOf = [](const Case &each) {
      GenerationRequest request{.source = sourceOf(3)};
      request.options.maxLength = 12;
      each.set(request);
      return request;
    };
    for (const Case &each : cases) {
      FakeDecoder decoder(model);
      alone.push_back(generateAlone(decoder, requestOf(each)));
    }
    FakeDecoder decoder(model, 2);
    decoder.selects = selects;
    BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 1000);
    for (const Case &each : cases) {
      ASSERT_TRUE(search.add(requestOf(each)).ok());
    }
    for (auto &[id, result] : finishAll(search)) {
      together[static_cast<size_t>(id)] = std::move(result.hypotheses);
    }
    EXPECT_EQ(together, alone);
    EXPECT_GT(search.selectionUse().selected, 0);
    EXPECT_EQ(search.selectionUse().reasons.size(), 5U);
  }
}

/// NaN fails its sentence alone, with the message for logits.
TEST(MixedSelection, NanFailsItsSentenceAlone) {
  FakeDecoder decoder(models[0]);
  decoder.selects = selects;
  decoder.damage(sourceOf(1));
  BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 1000);
  for (int number = 0; number < 3; ++number) {
    ASSERT_TRUE(search.add({.source = sourceOf(number)}).ok());
  }
  auto results = finishAll(search);
  EXPECT_EQ(results[0].status.message(), "");
  EXPECT_EQ(results[1].status.code(), StatusCode::DataLoss);
  EXPECT_NE(results[1].status.message().find("are not finite"), std::string::npos);
  EXPECT_EQ(results[2].status.message(), "");
}
