// SPDX-License-Identifier: Apache-2.0
///
/// A checked request in which every option has a value, so that a search can rely on it.
#ifndef HEDDLE_RUNTIME_GENERATE_SETTINGS_H
#define HEDDLE_RUNTIME_GENERATE_SETTINGS_H

#include "heddle/Generation.h"
#include "runtime/Constraint/Constraints.h"
#include "runtime/Generate/Languages.h"
#include "runtime/Generate/SearchRules.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// A model's defaults for generation (manifest::Generation).
struct GenerationDefaults {
  std::vector<int32_t> start;
  std::vector<int32_t> end;
  int32_t forcedFirst = -1;
  int32_t forcedLast = -1;
  std::vector<int32_t> suppressed = {};
  Rules rules = Rules::Paper;
  /// 0 means the rules' value.
  int32_t maxLength = 0;
  int32_t beam = 1;
  float lengthPenalty = 1;
  EarlyStopping earlyStopping = EarlyStopping::No;
  int32_t noRepeatNgram = 0;
  float repetitionPenalty = 1;
  /// 0 means the rules' value.
  int32_t minLength = 0;
  /// Whether tokens are sampled; the numbers apply to any request that samples.
  bool sample = false;
  float temperature = 1;
  int32_t topK = 0;
  float topP = 1;
  float minP = 0;
  ModelLanguages languages = {};
};

/// Limits for all requests; 0 for no limit.
struct GenerationLimits {
  int64_t vocabulary = 0;
  int64_t sourceVocabulary = 0;
  int64_t longestSource = 0;
  /// Includes start tokens. The last generated token needs no position.
  int64_t longestTarget = 0;
  /// The number of tasks of the model: tokens from `vocabulary` on, which are inputs only.
  int64_t commands = 0;
  /// The width of a row, if the model reads rows of floats instead of ids, and the number that the
  /// number of rows is a multiple of.
  int64_t sourceWidth = 0;
  int64_t sourceMultiple = 1;
  /// Whether sources are images of any width, and the model's limits for them.
  bool sourceHasWidths = false;
  std::vector<RowLimit> sourceLimits = {};
  /// Whether requests have sources. Otherwise the prefix of a request is the prompt to continue.
  bool hasSources = true;
  /// Whether there is a tokenizer for generated tokens.
  bool hasText = false;
  /// The constraints of answers; null without a tokenizer.
  Constraints *constraints = nullptr;
};

/// How much runs together.
struct BatchBounds {
  BatchBounds(int64_t tokens, int64_t promptTokens = GeneratorOptions().promptTokens,
              int64_t promptTokensBeside = GeneratorOptions().promptTokensBeside)
      : tokens(tokens), promptTokens(promptTokens), promptTokensBeside(promptTokensBeside) {}

  /// As in GeneratorOptions.
  int64_t tokens;
  int64_t promptTokens;
  int64_t promptTokensBeside;
  /// Why no step begins before the one before it has ended; empty: steps may.
  std::string_view neverAhead = {};
};

/// The options of one request.
struct Settings {
  const SearchRules *rules = nullptr;
  int32_t beam = 1;
  int32_t nbest = 1;
  double lengthPenalty = 1;
  double coveragePenalty = 0;
  int32_t noRepeatNgram = 0;
  float repetitionPenalty = 1;
  int32_t minLength = 0;
  int32_t maxLength = 0;
  EarlyStopping earlyStopping = EarlyStopping::No;
  bool sample = false;
  float temperature = 1;
  int32_t topK = 0;
  float topP = 1;
  float minP = 0;
  uint64_t seed = 0;
  bool alternatives = false;
  int32_t forcedFirst = -1;
  int32_t forcedLast = -1;
  bool tokenScores = false;
  bool attention = false;
  int32_t topScores = 0;
  bool events = false;
  std::vector<std::string> stop;
  std::vector<int32_t> start;
  std::vector<int32_t> prefix;
  // Sorted and unique.
  std::vector<int32_t> end;
  std::vector<int32_t> suppressed;
  /// Empty: all tokens.
  std::vector<int32_t> shortlist;
  /// The constraint of the answer (null: none), and the tokens of the prefix that belong to the
  /// answer. The state is computed when a search starts, because a waiting request would keep a
  /// state that the constraint has forgotten.
  std::shared_ptr<Constraint> constraint;
  std::vector<int32_t> constrained;

  bool isEnd(int32_t token) const;
  /// Returns the state at the beginning of an answer, if there is a constraint.
  ConstraintState constraintStart() const;
  /// Returns whether a search needs the tokens of each hypothesis.
  bool needsHistory() const { return repetitionPenalty != 1 || noRepeatNgram > 0; }
  /// Returns whether a search needs the model's attention.
  bool needsAttention() const { return attention || coveragePenalty != 0; }
  /// Returns whether each search has one hypothesis, which only grows.
  bool isSingle() const { return beam == 1 && !alternatives; }
  /// Returns the number of answers with their own events: one for each sample, otherwise one for
  /// the best.
  int32_t answers() const { return sample ? nbest : 1; }
  /// Returns the score of `length` tokens with this sum of log-probabilities, without coverage.
  double normalized(double sum, int64_t length) const {
    return sum / rules->divisor(length, lengthPenalty);
  }
};

/// As Generator::filledIn().
GenerationOptions filledIn(GenerationOptions options, const GenerationDefaults &defaults);

/// Checks a request and fills in its unset options.
Result<Settings> makeSettings(const GenerationRequest &request, const GenerationDefaults &defaults,
                              const GenerationLimits &limits);

/// The tokens of a source, or the rows of one of floats.
int64_t sourceLength(std::span<const int32_t> tokens, std::span<const float> rows,
                     const GenerationLimits &limits);

/// Checks that a source is what the model reads: tokens, or rows of floats, `width` of which are
/// side by side in an image.
Status checkSource(std::span<const int32_t> tokens, std::span<const float> rows, int64_t width,
                   const GenerationLimits &limits);

/// Checks that ids are in the vocabulary; otherwise OutOfRange. `what` names them in messages, for
/// example "source".
Status checkTokens(std::string_view what, std::span<const int32_t> tokens, int64_t vocabulary);

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_SETTINGS_H
