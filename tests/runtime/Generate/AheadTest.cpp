// SPDX-License-Identifier: Apache-2.0
///
/// Searches whose steps begin before the one before them has ended: the same results and events as
/// without, whatever ends, joins, leaves and fails in between.
#include "tests/runtime/Generate/AheadTrial.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <new>

using namespace heddle;

TEST(Ahead, GivesTheSameResultsAndEvents) {
  constexpr int count = 40;
  for (const HashModel &model : models) {
    SCOPED_TRACE(model.vocabulary);
    Trial ahead(model, true), usual(model, false);
    for (Trial *const run : {&ahead, &usual}) {
      for (int number = 0; number < count; ++number) {
        run->add(greedy(number));
      }
      run->finishAll();
    }
    expectSame(ahead, usual);
    EXPECT_EQ(ahead.events, usual.events);
    EXPECT_EQ(usual.decoder.stepsAhead, 0);
    EXPECT_EQ(usual.search->stepUse().reasons, std::vector<std::string>{std::string(theReason)});
    // All steps but the first.
    EXPECT_EQ(ahead.decoder.stepsAhead, ahead.decoder.steps - 1);
    EXPECT_EQ(ahead.search->stepUse().steps, ahead.decoder.steps);
    EXPECT_EQ(ahead.search->stepUse().ahead, ahead.decoder.stepsAhead);
    EXPECT_TRUE(ahead.search->stepUse().reasons.empty())
        << testing::PrintToString(ahead.search->stepUse().reasons);
    for (int number = 0; number < count; ++number) {
      // From logits.
      FakeDecoder decoder(model);
      if (greedy(number).options.stop.empty()) {
        EXPECT_EQ(generateAlone(decoder, greedy(number)), ahead.results.at(number).hypotheses);
      }
    }
  }
}

/// Prompts in pieces: steps with pieces are followed by the next piece, the others run ahead.
TEST(Ahead, FollowsPrompts) {
  std::map<bool, std::map<int64_t, std::vector<Hypothesis>>> found;
  for (const bool isAhead : {true, false}) {
    FakeDecoder decoder(models[0]);
    decoder.answers = false;
    decoder.selects = 24;
    BatchBounds bounds(1000, 4, 2);
    bounds.neverAhead = isAhead ? "" : theReason;
    BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), bounds);
    for (int number = 0; number < 6; ++number) {
      ASSERT_TRUE(search
                      .add({.prefix = sourceOf(number),
                            .options = {.beam = 1, .minLength = 30, .maxLength = 30}})
                      .ok());
    }
    for (auto &[id, result] : finishAll(search)) {
      found[isAhead][id] = std::move(result.hypotheses);
    }
    if (isAhead) {
      EXPECT_GT(decoder.stepsAhead, 5);
      EXPECT_EQ(search.stepUse().reasons, std::vector<std::string>{"prompts are computed"});
    }
  }
  EXPECT_EQ(found[true], found[false]);
}

/// The last token needs no position: no step goes beyond the model's, nor beyond the maximum.
TEST(Ahead, EndsAtTheLastPosition) {
  for (const int32_t length : {1, 2, 99, 100}) {
    SCOPED_TRACE(length);
    Trial run(models[0], true);
    for (int number = 0; number < 3; ++number) {
      const int32_t own = std::max(1, length - number % 2);
      run.add(
          {.source = sourceOf(number), .options = {.beam = 1, .minLength = own, .maxLength = own}});
    }
    run.finishAll();
    for (const auto &[id, result] : run.results) {
      EXPECT_EQ(result.status.message(), "");
      EXPECT_GE(result.hypotheses.front().tokens.size(), size_t(length - 1));
    }
    EXPECT_EQ(run.decoder.steps, length);
    EXPECT_EQ(run.decoder.stepsAhead, length - 1);
    EXPECT_EQ(run.decoder.stepsDropped, 0);
  }
}

/// A step ahead takes positions of sentences that have ended, but nobody fails because of it.
TEST(Ahead, AFullCacheIsRespected) {
  int64_t waited = 0;
  for (int64_t capacity = 5; capacity < 90; ++capacity) {
    SCOPED_TRACE(capacity);
    Trial ahead(models[0], true, capacity), usual(models[0], false, capacity);
    for (Trial *const run : {&ahead, &usual}) {
      for (int number = 0; number < 8; ++number) {
        run->add(mixed(number, 12));
      }
      run->finishAll();
    }
    expectSame(ahead, usual);
    const std::vector<std::string> &reasons = ahead.search->stepUse().reasons;
    waited += std::ranges::find(reasons, "the cache or memory is full") == reasons.end() ? 0 : 1;
  }
  EXPECT_GT(waited, 10);
}

namespace {
struct Case {
  const char *name;
  const char *reason;
  std::function<void(GenerationRequest &)> set;
};
const Case cases[] = {
    {"top", "tokens are drawn",
     [](auto &request) {
       request.options.sample = true;
       request.options.topK = 5;
     }},
    {"ngrams", "bans or penalties depend on the last token",
     [](auto &request) { request.options.noRepeatNgram = 2; }},
    {"penalty", "bans or penalties depend on the last token",
     [](auto &request) { request.options.repetitionPenalty = 1.2F; }},
    {"shortlist", "logits are copied", [](auto &request) { request.shortlist = {4, 5, 6, 7}; }},
    {"attention", "attention is read", [](auto &request) { request.options.attention = true; }}};
} // namespace

class AheadReasons : public testing::TestWithParam<Case> {};

/// One sentence that cannot go on without the host lets all of them wait, until it has ended.
TEST_P(AheadReasons, AreTold) {
  Trial ahead(models[0], true), usual(models[0], false);
  for (Trial *const run : {&ahead, &usual}) {
    for (int number = 0; number < 4; ++number) {
      run->add({.source = sourceOf(number),
                .options = {.beam = 1, .minLength = 10, .maxLength = 10, .events = true}});
    }
    GenerationRequest request{.source = sourceOf(9), .options = {.beam = 1, .maxLength = 4}};
    request.options.minLength = 4;
    GetParam().set(request);
    run->add(std::move(request));
    run->finishAll();
  }
  expectSame(ahead, usual);
  EXPECT_EQ(ahead.events, usual.events);
  EXPECT_EQ(ahead.search->stepUse().reasons, std::vector<std::string>{GetParam().reason});
  // Its last step is followed by one that does without it; with attention, by none.
  const int64_t waiting = std::string_view(GetParam().name) == "attention" ? 5 : 4;
  EXPECT_EQ(ahead.decoder.stepsAhead, 10 - waiting);
}

INSTANTIATE_TEST_SUITE_P(Of, AheadReasons, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Ahead, FollowsForcedTokensByTheHost) {
  for (const int32_t first : {-1, 9}) {
    for (const int32_t last : {-1, 11}) {
      SCOPED_TRACE(testing::Message() << first << " " << last);
      std::vector<Hypothesis> found[2];
      for (const bool isAhead : {true, false}) {
        FakeDecoder decoder(models[0]);
        decoder.selects = 24;
        GenerationDefaults defaults = hashDefaults();
        defaults.forcedFirst = first;
        defaults.forcedLast = last;
        BatchBounds bounds = 1000;
        bounds.neverAhead = isAhead ? "" : theReason;
        BatchSearch search(decoder, defaults, limitsOf(decoder), bounds);
        ASSERT_TRUE(
            search.add({.source = {5, 6}, .options = {.beam = 1, .minLength = 7, .maxLength = 8}})
                .ok());
        found[isAhead ? 1 : 0] = finishAll(search)[0].hypotheses;
        EXPECT_EQ(decoder.steps, 8);
        EXPECT_EQ(decoder.stepsAhead, !isAhead ? 0 : first < 0 ? 7 : 6);
      }
      EXPECT_EQ(found[0], found[1]);
    }
  }
}

/// Alternatives are greedy searches from the second step on.
TEST(Ahead, AlternativesRunAheadOnceTheyHaveParted) {
  Trial ahead(models[0], true), usual(models[0], false);
  for (Trial *const run : {&ahead, &usual}) {
    GenerationRequest request{.source = {5, 6},
                              .options = {.beam = 1, .nbest = 4, .maxLength = 12, .events = true}};
    request.options.alternatives = true;
    run->add(request);
    run->finishAll();
  }
  expectSame(ahead, usual);
  EXPECT_EQ(ahead.events, usual.events);
  EXPECT_EQ(ahead.decoder.stepsAhead, ahead.decoder.steps - 2);
  EXPECT_EQ(ahead.search->stepUse().reasons, std::vector<std::string>{"alternatives part"});
}

/// Requests wait one step at most, and those that have no room let the others run ahead.
TEST(Ahead, RequestsJoin) {
  Trial run(models[0], true, 0, 20);
  run.add({.source = {5, 6, 7}, .options = {.beam = 1, .minLength = 20, .maxLength = 20}});
  for (int step = 0; step < 3; ++step) {
    ASSERT_TRUE(run.step().ok());
  }
  EXPECT_EQ(run.decoder.stepsAhead, 3);
  run.add({.source = {8, 9}, .options = {.beam = 1, .minLength = 5, .maxLength = 5}});
  // The step that has begun ends without it, then it joins.
  ASSERT_TRUE(run.step().ok());
  EXPECT_EQ(run.search->waiting(), 1);
  ASSERT_TRUE(run.step().ok());
  EXPECT_EQ(run.search->waiting(), 0);
  EXPECT_EQ(run.search->stepUse().reasons, std::vector<std::string>{"requests join the batch"});
  const int64_t before = run.decoder.steps - run.decoder.stepsAhead;
  run.add({.source = std::vector<int32_t>(18, 5), .options = {.beam = 1, .maxLength = 3}});
  ASSERT_TRUE(run.step().ok());
  ASSERT_TRUE(run.step().ok());
  EXPECT_EQ(run.search->waiting(), 1);
  EXPECT_EQ(run.decoder.steps - run.decoder.stepsAhead, before);
  run.finishAll();
  EXPECT_EQ(run.results.size(), 3U);
}

TEST(Ahead, RemovedRequestsLeaveNothing) {
  Trial run(models[0], true);
  for (int number = 0; number < 3; ++number) {
    run.add({.source = sourceOf(number),
             .options = {.beam = 1, .minLength = 9, .maxLength = 9, .events = true}});
  }
  ASSERT_TRUE(run.step().ok());
  ASSERT_TRUE(run.search->remove(1).ok());
  ASSERT_TRUE(run.step().ok());
  ASSERT_TRUE(run.search->remove(0).ok());
  ASSERT_TRUE(run.search->remove(2).ok());
  // A step is under way, of which nothing is needed.
  EXPECT_TRUE(run.search->idle());
  EXPECT_EQ(run.decoder.blocksInUse(), 0);
  EXPECT_EQ(run.decoder.stepsDropped, 0);
  run.add({.source = {5, 6}, .options = {.beam = 1, .maxLength = 9}});
  run.finishAll();
  EXPECT_EQ(run.decoder.stepsDropped, 1);
  FakeDecoder alone(models[0]);
  EXPECT_EQ(run.results.at(3).hypotheses,
            generateAlone(alone, {.source = {5, 6}, .options = {.beam = 1, .maxLength = 9}}));
}

TEST(Ahead, ASearchThatEndsEarlyDropsItsStep) {
  Trial run(models[0], true);
  run.add({.source = {5, 6}, .options = {.beam = 1, .minLength = 9, .maxLength = 9}});
  ASSERT_TRUE(run.step().ok());
  run.search.reset();
  EXPECT_EQ(run.decoder.stepsDropped, 1);
  EXPECT_EQ(run.decoder.blocksInUse(), 0);
}

/// A failure of the device is the caller's; what was found before it is not lost.
TEST(Ahead, FailuresAreTold) {
  Trial run(models[0], true);
  run.add(
      {.source = {5, 6}, .options = {.beam = 1, .minLength = 9, .maxLength = 9, .events = true}});
  ASSERT_TRUE(run.step().ok());
  run.decoder.nextFailure = HEDDLE_ERROR(Internal, "the device is gone");
  EXPECT_EQ(run.step().message(), "the device is gone");
  EXPECT_EQ(run.events.size(), 1U);
  EXPECT_EQ(run.search->running(), 1);
  EXPECT_EQ(run.decoder.stepsDropped, 1);
  // For good: the decoder's hypotheses have tokens that the search does not know.
  EXPECT_EQ(run.step().message(), "the device is gone");
  EXPECT_EQ(run.events.size(), 1U);
}

/// If memory runs out at the end of a step, all sentences start again, with the same results.
TEST(Ahead, MemoryMayRunOutAtTheEndOfAStep) {
  for (int failing = 0; failing < 12; ++failing) {
    SCOPED_TRACE(failing);
    Trial run(models[0], true), usual(models[0], false);
    for (Trial *const each : {&run, &usual}) {
      for (int number = 0; number < 5; ++number) {
        each->add(mixed(number));
      }
    }
    for (int step = 0; step < failing; ++step) {
      ASSERT_TRUE(run.step().ok());
    }
    run.decoder.nextFailure = HEDDLE_ERROR(ResourceExhausted, "out of memory");
    run.finishAll();
    usual.finishAll();
    ASSERT_EQ(run.results.size(), 5U);
    int failed = 0;
    for (const auto &[id, result] : usual.results) {
      const GenerationResult &found = run.results.at(id);
      failed += found.status.ok() ? 0 : 1;
      EXPECT_TRUE(!found.status.ok() || found.hypotheses == result.hypotheses) << id;
    }
    EXPECT_LE(failed, 1);
  }
}

/// Memory may run out in any call; a step that cannot begin ahead begins later.
TEST(Ahead, NothingIsLostWhenMemoryRunsOut) {
  Trial usual(models[0], false);
  for (int number = 0; number < 10; ++number) {
    usual.add(mixed(number));
  }
  usual.finishAll();
  int thrown = 0;
  for (int calls = 0; calls < 40; ++calls) {
    SCOPED_TRACE(calls);
    Trial run(models[0], true, 0, 25);
    for (int number = 0; number < 10; ++number) {
      run.add(mixed(number));
    }
    run.decoder.throwAfter(calls);
    while (!run.search->idle()) {
      try {
        ASSERT_TRUE(run.step().ok());
      } catch (const std::bad_alloc &) {
        ++thrown;
      }
    }
    expectSame(run, usual);
    EXPECT_EQ(run.decoder.blocksInUse(), 0);
  }
  EXPECT_GT(thrown, 10);
  EXPECT_LT(thrown, 40);
}

/// Requests are added and removed at random, with and without room in the cache, and mixed with
/// searches that do not run ahead.
TEST(Ahead, Soak) {
  constexpr int kinds = 50;
  const auto kindOf = [](int number) {
    GenerationRequest request = mixed(number);
    request.options.events = true;
    if (number % 10 == 7) {
      request.options.stop.clear();
      request.options.beam = 3;
      request.options.noRepeatNgram = 2;
    }
    return request;
  };
  Trial usual(models[0], false);
  for (int number = 0; number < kinds; ++number) {
    usual.add(kindOf(number));
  }
  usual.finishAll();
  int64_t ahead = 0, dropped = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Trial run(models[0], true, seed % 3 == 0 ? 0 : static_cast<int64_t>(70 + random() % 60),
              static_cast<int64_t>(10 + random() % 60));
    std::map<int64_t, int> running;
    std::map<int64_t, std::vector<int32_t>> told;
    for (int call = 0; call < 400; ++call) {
      const uint64_t what = random() % 16;
      if (what < 2 && running.size() < 8) {
        const int number = static_cast<int>(random() % kinds);
        const Result<int64_t> id = run.search->add(kindOf(number));
        ASSERT_TRUE(id.ok());
        running[*id] = number;
      } else if (what == 2 && !running.empty()) {
        const auto some = std::next(running.begin(), std::ptrdiff_t(random() % running.size()));
        ASSERT_TRUE(run.search->remove(some->first).ok());
        running.erase(some);
      } else {
        const Result<std::vector<GenerationResult>> step = run.search->step();
        ASSERT_TRUE(step.ok()) << step.status().message();
        for (const TokenEvent &event : run.search->takeEvents()) {
          std::vector<int32_t> &tokens = told[event.id];
          tokens.insert(tokens.end(), event.tokens.begin(), event.tokens.end());
        }
        for (const GenerationResult &result : *step) {
          ASSERT_TRUE(running.contains(result.id));
          const GenerationResult &expected = usual.results.at(running.at(result.id));
          ASSERT_EQ(result.status.message(), "");
          ASSERT_EQ(result.hypotheses, expected.hypotheses) << running.at(result.id);
          // Events have what follows the prefix.
          const std::vector<int32_t> &tokens = result.hypotheses.front().tokens;
          ASSERT_EQ(told[result.id],
                    std::vector<int32_t>(tokens.begin() + result.prefix, tokens.end()));
          running.erase(result.id);
        }
      }
    }
    ahead += run.decoder.stepsAhead;
    run.search.reset();
    EXPECT_EQ(run.decoder.blocksInUse(), 0);
    dropped += run.decoder.stepsDropped;
  }
  EXPECT_GT(ahead, 1000);
  EXPECT_GT(dropped, 30);
}

/// Two logits may differ by less than their scores can: the better token is that of the logits,
/// which a device has taken, however many are asked for.
TEST(Ahead, EqualScoresAreInTheOrderOfLogits) {
  std::vector<float> logits(40, -50);
  logits[7] = 1e-30F;
  logits[9] = 2e-30F;
  for (const int64_t count : {1, 2, 5}) {
    const RowQuery query{.candidates = count};
    Candidates candidates;
    candidates.prepare({&query, 1});
    candidates.begin(1, 40, 1);
    candidates.deliver(0, 0, 40, logits.data(), 40);
    std::vector<ScoredToken> best;
    ASSERT_TRUE(candidates.collect(0, best).ok());
    ASSERT_EQ(best.size(), static_cast<size_t>(count));
    EXPECT_EQ(best.front().token, 9);
    if (count > 1) {
      EXPECT_EQ(best[1].token, 7);
      EXPECT_EQ(best[1].score, best[0].score);
    }
  }
}
