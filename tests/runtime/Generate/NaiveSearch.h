// SPDX-License-Identifier: Apache-2.0
///
/// Beam searches as their papers and programs define them: without caches, chunks or vectors, one
/// function for each, all logits in double. What the one search of the runtime is compared with.
#ifndef HEDDLE_TESTS_RUNTIME_GENERATE_NAIVESEARCH_H
#define HEDDLE_TESTS_RUNTIME_GENERATE_NAIVESEARCH_H

#include "heddle/Generation.h"
#include "tests/runtime/Generate/FakeDecoder.h"

#include <cstdint>
#include <vector>

namespace heddle {

/// What the naive searches know of options.
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
/// The best token until the end; its score divided by `divisor` of the tokens generated.
std::vector<int32_t> naiveGreedy(const HashModel &model, const std::vector<int32_t> &source,
                                 const NaiveOptions &options);

/// Log-probabilities of all tokens after [start, tokens...], penalties and bans applied to logits
/// or to log-probabilities; `withStart`: the start counts as said before.
std::vector<double> naiveScores(const HashModel &model, const std::vector<int32_t> &source,
                                const NaiveOptions &options, const std::vector<int32_t> &tokens,
                                bool afterSoftmax, bool withStart);

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_GENERATE_NAIVESEARCH_H
