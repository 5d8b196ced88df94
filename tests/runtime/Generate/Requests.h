// SPDX-License-Identifier: Apache-2.0
///
/// Requests for the tests of generation.
#ifndef HEDDLE_TESTS_RUNTIME_GENERATE_REQUESTS_H
#define HEDDLE_TESTS_RUNTIME_GENERATE_REQUESTS_H

#include "runtime/Generate/BatchSearch.h"
#include "tests/runtime/Generate/FakeDecoder.h"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

namespace heddle {

/// Returns a different source for every number.
inline std::vector<int32_t> sourceOf(int number, int64_t vocabulary = 40) {
  std::mt19937_64 random(static_cast<uint64_t>(number) + 1);
  std::vector<int32_t> source(1 + random() % 9);
  for (int32_t &token : source) {
    token = static_cast<int32_t>(3 + random() % static_cast<uint64_t>(vocabulary - 3));
  }
  return source;
}

inline GenerationDefaults hashDefaults() {
  GenerationDefaults defaults;
  defaults.start = {1};
  defaults.end = {2};
  return defaults;
}

inline GenerationLimits limitsOf(const Decoder &decoder) {
  return {.vocabulary = decoder.vocabulary(),
          .sourceVocabulary = decoder.vocabulary(),
          .longestSource = decoder.longestSource(),
          .longestTarget = decoder.longestTarget(),
          .hasSources = decoder.hasSources()};
}

/// Steps until nothing is left; returns the results by number.
inline std::map<int64_t, GenerationResult> finishAll(BatchSearch &search) {
  std::map<int64_t, GenerationResult> results;
  while (!search.idle()) {
    Result<std::vector<GenerationResult>> step = search.step();
    EXPECT_TRUE(step.ok()) << step.status().message();
    if (!step.ok()) {
      break;
    }
    for (GenerationResult &result : *step) {
      EXPECT_FALSE(results.contains(result.id));
      results[result.id] = std::move(result);
    }
  }
  return results;
}

/// Returns the hypotheses of one request, generated alone.
inline std::vector<Hypothesis> generateAlone(Decoder &decoder, GenerationRequest request) {
  BatchSearch search(decoder, hashDefaults(), limitsOf(decoder), 1000);
  Result<int64_t> id = search.add(std::move(request));
  EXPECT_TRUE(id.ok()) << id.status().message();
  if (!id.ok()) {
    return {};
  }
  GenerationResult result = std::move(finishAll(search)[*id]);
  EXPECT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(decoder.blocksInUse(), 0);
  return std::move(result.hypotheses);
}

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_GENERATE_REQUESTS_H
