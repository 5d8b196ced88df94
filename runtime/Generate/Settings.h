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
  /// 0 takes the rules' value.
  int32_t maxLength = 0;
  int32_t beam = 1;
  float lengthPenalty = 1;
  EarlyStopping earlyStopping = EarlyStopping::No;
  int32_t noRepeatNgram = 0;
  float repetitionPenalty = 1;
  /// 0 takes the rules' value.
  int32_t minLength = 0;
  /// Whether tokens are drawn; the numbers are those of any request that draws.
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
  /// The tasks of the model: tokens from `vocabulary` on, which are only read.
  int64_t commands = 0;
  /// The width of a row where the model reads rows of floats instead of ids, and what their number
  /// is a multiple of.
  int64_t sourceWidth = 0;
  int64_t sourceMultiple = 1;
  /// Whether sources are images of any width, and what the model has positions for.
  bool sourceHasWidths = false;
  std::vector<RowLimit> sourceLimits = {};
  /// Whether there are sources. Without, the prefix of a request is what the model continues.
  bool hasSources = true;
  /// Whether there is a tokenizer for what is generated.
  bool hasText = false;
  /// What answers may be asked to look like; null without a tokenizer.
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
  /// What the answer must look like, null: anything; and the tokens of its beginning that belong to
  /// that. A state is found when a search starts: what waits would keep what was forgotten.
  std::shared_ptr<Constraint> constraint;
  std::vector<int32_t> constrained;

  bool isEnd(int32_t token) const;
  /// Where an answer begins within the constraint, if there is one.
  ConstraintState constraintStart() const;
  /// Whether a search has to know which tokens a hypothesis has.
  bool needsHistory() const { return repetitionPenalty != 1 || noRepeatNgram > 0; }
  /// Whether a search needs the model's attention.
  bool needsAttention() const { return attention || coveragePenalty != 0; }
  /// Whether each search has one hypothesis, which only grows.
  bool isSingle() const { return beam == 1 && !alternatives; }
  /// How many answers have events of their own: every sample, else only the best.
  int32_t answers() const { return sample ? nbest : 1; }
  /// The score of `length` tokens with this sum of log-probabilities, without coverage.
  double normalized(double sum, int64_t length) const {
    return sum / rules->divisor(length, lengthPenalty);
  }
};

/// Generator::filledIn().
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
