// SPDX-License-Identifier: Apache-2.0
///
/// Beam searches as their papers and programs define them, for comparison with the runtime's single
/// search: no caches, chunks or vectors, one function for each, all logits in double.
#ifndef HEDDLE_TESTS_RUNTIME_GENERATE_NAIVESEARCH_H
#define HEDDLE_TESTS_RUNTIME_GENERATE_NAIVESEARCH_H

#include "heddle/Generation.h"
#include "tests/runtime/Generate/FakeDecoder.h"

#include <cstdint>
#include <vector>

namespace heddle {

/// The options of the naive searches.
struct NaiveOptions {
  int32_t beam = 1;
  double lengthPenalty = 1;
  double coveragePenalty = 0;
  int32_t noRepeatNgram = 0;
  double repetitionPenalty = 1;
  int32_t minLength = 0;
  int32_t maxLength = 20;
  bool earlyStopping = false;
  bool never = false;
  int32_t forcedLast = -1;
  std::vector<int32_t> prefix = {};
  std::vector<int32_t> suppressed = {};
};

std::vector<Hypothesis> naivePaper(const HashModel &model, const std::vector<int32_t> &source,
                                   const NaiveOptions &options);
std::vector<Hypothesis> naiveTransformers(const HashModel &model,
                                          const std::vector<int32_t> &source,
                                          const NaiveOptions &options);
std::vector<Hypothesis> naiveCTranslate2(const HashModel &model, const std::vector<int32_t> &source,
                                         const NaiveOptions &options);
/// Takes the best token until the end; the score is divided by `divisor` of the generated tokens.
std::vector<int32_t> naiveGreedy(const HashModel &model, const std::vector<int32_t> &source,
                                 const NaiveOptions &options);

/// Returns the log-probabilities of all tokens after [start, tokens...], with penalties and bans
/// applied to logits or log-probabilities. `withStart`: repetition counts the start.
std::vector<double> naiveScores(const HashModel &model, const std::vector<int32_t> &source,
                                const NaiveOptions &options, const std::vector<int32_t> &tokens,
                                bool afterSoftmax, bool withStart);

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_GENERATE_NAIVESEARCH_H
