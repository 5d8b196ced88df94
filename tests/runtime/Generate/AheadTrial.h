// SPDX-License-Identifier: Apache-2.0
///
/// Searches whose steps may begin before the one before them has ended, over a decoder that selects
/// tokens as a device with its own memory does.
#ifndef HEDDLE_TESTS_RUNTIME_GENERATE_AHEADTRIAL_H
#define HEDDLE_TESTS_RUNTIME_GENERATE_AHEADTRIAL_H

#include "tests/runtime/Generate/PieceTexts.h"
#include "tests/runtime/Generate/Requests.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

inline constexpr std::string_view theReason = "the test says so";

/// A decoder that selects, and a search over it.
struct Trial {
  Trial(HashModel model, bool isAhead, int64_t capacity = 0, BatchBounds bounds = 1000,
        const GenerationDefaults &defaults = hashDefaults())
      : decoder(selecting(FakeDecoder(model, 1, capacity))) {
    bounds.neverAhead = isAhead ? "" : theReason;
    GenerationLimits limits = limitsOf(decoder);
    limits.hasText = true;
    search.emplace(decoder, defaults, limits, bounds,
                   [] { return std::make_unique<PieceStream>(); });
  }

  static FakeDecoder selecting(FakeDecoder decoder) {
    decoder.selects = 24;
    return decoder;
  }

  void add(GenerationRequest request) {
    const Result<int64_t> id = search->add(std::move(request));
    ASSERT_TRUE(id.ok()) << id.status().message();
  }

  /// Takes a step, and its results and events.
  Status step() {
    Result<std::vector<GenerationResult>> step = search->step();
    for (const TokenEvent &event : search->takeEvents()) {
      std::string line = std::to_string(event.id) + ":";
      for (const int32_t token : event.tokens) {
        line += " " + std::to_string(token);
      }
      events.push_back(line + " '" + event.text + "' " + std::string(finishName(event.finish)));
    }
    if (!step.ok()) {
      return step.status();
    }
    for (GenerationResult &result : *step) {
      EXPECT_FALSE(results.contains(result.id));
      results[result.id] = std::move(result);
    }
    return {};
  }
  void finishAll() {
    while (!search->idle()) {
      const Status status = step();
      ASSERT_TRUE(status.ok()) << status.message();
    }
    EXPECT_EQ(decoder.blocksInUse(), 0);
  }

  FakeDecoder decoder;
  std::optional<BatchSearch> search;
  std::map<int64_t, GenerationResult> results;
  std::vector<std::string> events;
};

/// Expects the same statuses and hypotheses.
inline void expectSame(const Trial &found, const Trial &expected) {
  ASSERT_EQ(found.results.size(), expected.results.size());
  for (const auto &[id, result] : expected.results) {
    SCOPED_TRACE(id);
    EXPECT_EQ(found.results.at(id).status.message(), result.status.message());
    EXPECT_EQ(found.results.at(id).hypotheses, result.hypotheses);
  }
}

/// Returns greedy searches of all kinds whose tokens a device selects. They end at different steps.
inline GenerationRequest greedy(int number, int32_t maxLength = 15) {
  GenerationRequest request{.source = sourceOf(number)};
  GenerationOptions &options = request.options;
  options.beam = 1;
  options.rules = static_cast<Rules>(number % 3);
  options.maxLength = maxLength - number % 4;
  options.events = number % 5 != 0;
  options.tokenScores = number % 2 == 0;
  options.topScores = number % 4;
  if (number % 4 == 1) {
    request.prefix = {5, static_cast<int32_t>(3 + number % 30)};
  }
  if (number % 6 == 2) {
    options.minLength = 6;
  }
  if (number % 7 == 3) {
    options.suppressed = {4, 7, 9};
  }
  if (number % 5 == 4) {
    options.stop = {"ba", "a a", "c"};
  }
  return request;
}

/// Returns beam searches whose hypotheses a device orders.
inline GenerationRequest beamed(int number, int32_t maxLength = 15) {
  GenerationRequest request = greedy(number, maxLength);
  request.options.stop.clear();
  request.options.beam = 2 + number % 7;
  request.options.nbest = 1 + number % 2;
  request.options.lengthPenalty = 0.5F * static_cast<float>(number % 4);
  request.options.earlyStopping = static_cast<EarlyStopping>(number % 3);
  return request;
}

/// Returns both kinds.
inline GenerationRequest mixed(int number, int32_t maxLength = 15) {
  return number % 3 == 1 ? beamed(number, maxLength) : greedy(number, maxLength);
}

/// Two models, one with pieces and one with ties in its logits.
inline constexpr HashModel models[] = {{.vocabulary = 1600}, {.vocabulary = 40, .levels = 2}};

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_GENERATE_AHEADTRIAL_H
