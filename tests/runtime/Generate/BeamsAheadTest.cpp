// SPDX-License-Identifier: Apache-2.0
///
/// Beam searches whose steps begin before the one before them has ended, over a decoder that orders
/// their hypotheses as a device does: it compares each decision of its own with the search's.
#include "tests/runtime/Generate/AheadTrial.h"

#include <algorithm>

using namespace heddle;

/// Ends after every other token too: finished hypotheses leave places for others.
TEST(BeamsAhead, GiveTheSameResultsAndEvents) {
  constexpr int count = 42;
  for (const HashModel &model : models) {
    for (const bool hasManyEnds : {false, true}) {
      SCOPED_TRACE(testing::Message() << model.vocabulary << " " << hasManyEnds);
      const auto requestOf = [&](int number) {
        GenerationRequest request = beamed(number);
        request.options.beam =
            hasManyEnds ? std::min(*request.options.beam, 6) : request.options.beam;
        return request;
      };
      GenerationDefaults defaults = hashDefaults();
      if (hasManyEnds) {
        defaults.end = {2, 7, 11};
      }
      Trial ahead(model, true, 0, 5000, defaults), usual(model, false, 0, 5000, defaults);
      for (Trial *const run : {&ahead, &usual}) {
        for (int number = 0; number < count; ++number) {
          run->add(requestOf(number));
        }
        run->finishAll();
      }
      expectSame(ahead, usual);
      EXPECT_EQ(ahead.events, usual.events);
      EXPECT_EQ(ahead.decoder.stepsAhead, ahead.decoder.steps - 1);
      EXPECT_GT(ahead.decoder.searchesOrdered, 5 * count);
      EXPECT_TRUE(ahead.search->stepUse().reasons.empty())
          << testing::PrintToString(ahead.search->stepUse().reasons);
    }
  }
}

/// A device may have code that selects, but does not order.
TEST(BeamsAhead, WaitIfTheDecoderDoesNotOrder) {
  Trial ahead(models[0], true), usual(models[0], false);
  ahead.decoder.orders = false;
  for (Trial *const run : {&ahead, &usual}) {
    for (int number = 0; number < 4; ++number) {
      run->add({.source = sourceOf(number),
                .options = {.beam = 1, .minLength = 10, .maxLength = 10, .events = true}});
    }
    run->add({.source = sourceOf(9), .options = {.beam = 2, .minLength = 4, .maxLength = 4}});
    run->finishAll();
  }
  expectSame(ahead, usual);
  EXPECT_EQ(ahead.events, usual.events);
  EXPECT_EQ(ahead.decoder.searchesOrdered, 0);
  EXPECT_EQ(ahead.decoder.stepsAhead, 10 - 4);
  EXPECT_EQ(ahead.search->stepUse().reasons, std::vector<std::string>{"hypotheses are compared"});
}

/// More tokens than one block of a device orders, and more than it selects of a row.
TEST(BeamsAhead, WaitIfTheyAreWide) {
  for (const auto &[beam, reason] :
       {std::pair(12, ""), std::pair(24, "too many hypotheses are compared"),
        std::pair(40, "logits are copied")}) {
    SCOPED_TRACE(beam);
    Trial ahead(models[0], true), usual(models[0], false);
    for (Trial *const run : {&ahead, &usual}) {
      run->decoder.selects = 64;
      run->add({.source = sourceOf(1), .options = {.beam = beam, .minLength = 6, .maxLength = 6}});
      run->finishAll();
    }
    expectSame(ahead, usual);
    const std::vector<std::string> &reasons = ahead.search->stepUse().reasons;
    EXPECT_EQ(reasons,
              *reason == 0 ? std::vector<std::string>() : std::vector<std::string>{reason});
  }
}

/// If there is no memory for a fork, the step begins later.
TEST(BeamsAhead, WaitIfForksFail) {
  for (int before = 0; before < 3; ++before) {
    SCOPED_TRACE(before);
    Trial ahead(models[0], true), usual(models[0], false);
    for (Trial *const run : {&ahead, &usual}) {
      for (int number = 0; number < 4; ++number) {
        run->add(mixed(number));
      }
    }
    for (int step = 0; step < before; ++step) {
      ASSERT_TRUE(ahead.step().ok());
    }
    // The next step does not begin ahead, and the host's own forks fail after it.
    ahead.decoder.refuseForks(1);
    ASSERT_TRUE(ahead.step().ok());
    const std::vector<std::string> &reasons = ahead.search->stepUse().reasons;
    EXPECT_NE(std::ranges::find(reasons, "the cache or memory is full"), reasons.end());
    ahead.finishAll();
    usual.finishAll();
    expectSame(ahead, usual);
  }
}
