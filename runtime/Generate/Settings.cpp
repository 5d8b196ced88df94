// SPDX-License-Identifier: Apache-2.0
///
/// Checks requests and applies defaults.
#include "runtime/Generate/Settings.h"

#include "base/Utf8.h"
#include "heddle/Limits.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace heddle {

bool Settings::isEnd(int32_t token) const {
  return std::binary_search(end.begin(), end.end(), token);
}

Status checkTokens(std::string_view what, std::span<const int32_t> tokens, int64_t vocabulary) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocabulary) {
      return HEDDLE_ERROR(OutOfRange, fmt::format("{}: token {} is {}, expected 0 to {}", what,
                                                  i + 1, tokens[i], vocabulary - 1));
    }
  }
  return {};
}

static std::vector<int32_t> sortedOnce(std::vector<int32_t> tokens) {
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

template <typename Value> static void fill(std::optional<Value> &option, Value value) {
  option = option.value_or(value);
}

GenerationOptions filledIn(GenerationOptions options, const GenerationDefaults &defaults) {
  fill(options.rules, defaults.rules);
  const SearchRules &rules = searchRules(*options.rules);
  const bool own = rules.kind == defaults.rules;
  // A request for beams or alternatives overrides the model's default of sampling.
  fill(options.sample, defaults.sample && !options.beam && !options.alternatives);
  // Samples and alternatives use several hypotheses in other ways than beams.
  fill(options.beam, *options.sample ? 1 : defaults.beam);
  fill(options.lengthPenalty, own ? defaults.lengthPenalty : rules.lengthPenalty);
  fill(options.noRepeatNgram, defaults.noRepeatNgram);
  fill(options.repetitionPenalty, defaults.repetitionPenalty);
  fill(options.earlyStopping, own ? defaults.earlyStopping : EarlyStopping::No);
  fill(options.temperature, defaults.temperature);
  fill(options.topK, defaults.topK);
  fill(options.topP, defaults.topP);
  fill(options.minP, defaults.minP);
  fill(options.seed, uint64_t(0));
  fill(options.forcedFirst, defaults.forcedFirst);
  fill(options.forcedLast, own ? defaults.forcedLast : -1);
  if (own && defaults.maxLength > 0) {
    fill(options.maxLength, defaults.maxLength);
  }
  if (own && defaults.minLength > 0) {
    fill(options.minLength, defaults.minLength);
  }
  return options;
}

/// Returns the settings of a request except its lengths.
static Settings settingsOf(const GenerationRequest &request, const GenerationDefaults &defaults) {
  const GenerationOptions options = filledIn(request.options, defaults);
  Settings settings;
  settings.rules = &searchRules(*options.rules);
  settings.beam = *options.beam;
  settings.nbest = options.nbest;
  settings.lengthPenalty = static_cast<double>(*options.lengthPenalty);
  settings.coveragePenalty = static_cast<double>(options.coveragePenalty);
  settings.noRepeatNgram = *options.noRepeatNgram;
  settings.repetitionPenalty = *options.repetitionPenalty;
  settings.earlyStopping = *options.earlyStopping;
  settings.sample = *options.sample;
  settings.temperature = *options.temperature;
  settings.topK = *options.topK;
  settings.topP = *options.topP;
  settings.minP = *options.minP;
  settings.seed = *options.seed;
  settings.alternatives = options.alternatives;
  settings.forcedFirst = *options.forcedFirst;
  settings.forcedLast = *options.forcedLast;
  settings.tokenScores = options.tokenScores;
  settings.attention = options.attention;
  settings.topScores = options.topScores;
  settings.events = options.events;
  settings.stop = options.stop;
  settings.start = defaults.start;
  // An invalid command is rejected with the other tokens.
  if (!settings.start.empty()) {
    settings.start.front() = static_cast<int32_t>(
        std::min<int64_t>(int64_t(settings.start.front()) + options.command.value_or(0),
                          std::numeric_limits<int32_t>::max()));
  }
  settings.prefix = request.prefix;
  settings.end = sortedOnce(defaults.end);
  settings.suppressed = defaults.suppressed;
  settings.suppressed.insert(settings.suppressed.end(), options.suppressed.begin(),
                             options.suppressed.end());
  settings.suppressed = sortedOnce(std::move(settings.suppressed));
  if (!request.shortlist.empty()) {
    settings.shortlist = request.shortlist;
    settings.shortlist.insert(settings.shortlist.end(), defaults.end.begin(), defaults.end.end());
    settings.shortlist = sortedOnce(std::move(settings.shortlist));
  }
  return settings;
}

/// Begins targets with the token of their language: as their start, as the forced first token of
/// the answer, or before the prefix, which follows it.
static Status setTargetLanguage(const GenerationRequest &request,
                                const GenerationDefaults &defaults, Settings &settings) {
  const GenerationOptions &options = request.options;
  HEDDLE_ASSIGN(const int32_t token, targetLanguage(defaults.languages, options.targetLanguage));
  if (token < 0) {
    return {};
  }
  if (defaults.languages->startsTarget) {
    settings.start = {token};
    return {};
  }
  if (options.forcedFirst) {
    return options.targetLanguage.empty()
               ? Status()
               : HEDDLE_ERROR(InvalidArgument,
                              "target language and forced first token are both given, expected one "
                              "of them");
  }
  if (settings.prefix.empty()) {
    settings.forcedFirst = token;
    return {};
  }
  settings.forcedFirst = -1;
  if (!isLanguage(defaults.languages, settings.prefix.front())) {
    settings.prefix.insert(settings.prefix.begin(), token);
  }
  return {};
}

static Status checkCounts(const Settings &settings) {
  if (settings.beam < 1 || settings.beam > mostBeams) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("beam is {}, expected 1 to {}", settings.beam, mostBeams));
  }
  if (settings.nbest < 1 || settings.nbest > mostBeams) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("nbest is {}, expected 1 to {}", settings.nbest, mostBeams));
  }
  if (settings.sample && settings.beam > 1) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("beam is {} with sampling, expected 1: nbest gives several "
                                    "samples",
                                    settings.beam));
  }
  if (settings.sample && settings.alternatives) {
    return HEDDLE_ERROR(InvalidArgument, "sampling and alternatives are both requested, expected "
                                         "one of them");
  }
  if (!settings.sample && !settings.alternatives && settings.nbest > settings.beam) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("nbest is {}, expected at most the beam, {}",
                                                     settings.nbest, settings.beam));
  }
  if (settings.noRepeatNgram < 0) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("no-repeat n-gram size is {}, expected at least 0", settings.noRepeatNgram));
  }
  return {};
}

static Status checkNumbers(const Settings &settings) {
  constexpr auto exponent = static_cast<double>(largestLengthPenalty);
  if (!(settings.lengthPenalty >= -exponent && settings.lengthPenalty <= exponent)) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("length penalty is {}, expected {} to {}",
                                                     settings.lengthPenalty, -exponent, exponent));
  }
  if (!(settings.coveragePenalty >= 0) || !std::isfinite(settings.coveragePenalty)) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("coverage penalty is {}, expected a finite "
                                                     "number, at least 0",
                                                     settings.coveragePenalty));
  }
  if (!(settings.repetitionPenalty >= leastRepetitionPenalty &&
        settings.repetitionPenalty <= largestRepetitionPenalty)) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("repetition penalty is {}, expected {} to {}",
                                    settings.repetitionPenalty, leastRepetitionPenalty,
                                    largestRepetitionPenalty));
  }
  if (!(settings.temperature > 0) || !std::isfinite(settings.temperature)) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("temperature is {}, expected a finite number above 0", settings.temperature));
  }
  if (settings.topK < 0) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("top-k is {}, expected at least 1, or 0 for all tokens", settings.topK));
  }
  if (!(settings.topP > 0) || settings.topP > 1) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("top-p is {}, expected more than 0 and at most 1", settings.topP));
  }
  if (!(settings.minP >= 0 && settings.minP <= 1)) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("min-p is {}, expected 0 to 1", settings.minP));
  }
  if (settings.topScores < 0 || settings.topScores > mostTopScores) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("scores of the best {} tokens, expected 0 to {}",
                                    settings.topScores, mostTopScores));
  }
  return {};
}

static Status checkStop(const Settings &settings, const GenerationLimits &limits) {
  if (settings.stop.empty()) {
    return {};
  }
  if (!limits.hasText) {
    return HEDDLE_ERROR(InvalidArgument, "stop strings are given, expected none: the model has no "
                                         "tokenizer");
  }
  if (!settings.isSingle()) {
    return HEDDLE_ERROR(InvalidArgument,
                        settings.alternatives
                            ? "stop strings and alternatives are both requested, expected one of "
                              "them"
                            : fmt::format("beam is {} with stop strings, expected 1: they end a "
                                          "text as it is made",
                                          settings.beam));
  }
  for (size_t i = 0; i < settings.stop.size(); ++i) {
    if (settings.stop[i].empty()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("stop string {} is empty, expected a text", i + 1));
    }
    const std::string problem = describeInvalidUtf8(settings.stop[i]);
    if (!problem.empty()) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("stop string {}: {}", i + 1, problem));
    }
  }
  return {};
}

/// Checks an image of `rows` pixels.
static Status checkWidth(int64_t rows, int64_t width, const GenerationLimits &limits) {
  if (!limits.sourceHasWidths) {
    return width == 0 || width == limits.sourceMultiple
               ? Status()
               : HEDDLE_ERROR(
                     InvalidArgument,
                     fmt::format("source has rows of {} pixels, the model expects {}", width,
                                 limits.sourceMultiple > 1 ? std::to_string(limits.sourceMultiple)
                                                           : "no images"));
  }
  if (width < 1 || width > GridSize::mostAcross) {
    return HEDDLE_ERROR(OutOfRange, fmt::format("source has a width of {}, expected 1 to {}, the "
                                                "pixels in a row of the image",
                                                width, GridSize::mostAcross));
  }
  if (rows % width != 0) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("source has {} pixels, expected whole rows of {}", rows, width));
  }
  for (const RowLimit &limit : limits.sourceLimits) {
    if (const int64_t made = limit.rows.rowsOf(rows, width); made > limit.most) {
      return HEDDLE_ERROR(OutOfRange,
                          fmt::format("source has {} x {} pixels, of which the model makes {} "
                                      "rows, expected at most {}, its positions",
                                      rows / width, width, made, limit.most));
    }
  }
  return {};
}

static Status checkRows(std::span<const int32_t> tokens, std::span<const float> rows, int64_t width,
                        const GenerationLimits &limits) {
  if (!tokens.empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("source has {} tokens, expected rows of {} floats, which the "
                                    "model reads",
                                    tokens.size(), limits.sourceWidth));
  }
  const int64_t floats = limits.sourceWidth * limits.sourceMultiple;
  if (rows.empty() || static_cast<int64_t>(rows.size()) % floats != 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("source has {} floats, expected a multiple of {}, at least one",
                                    rows.size(), floats));
  }
  HEDDLE_TRY(checkWidth(static_cast<int64_t>(rows.size()) / limits.sourceWidth, width, limits));
  // Searches compare numbers, so NaN must be rejected.
  const auto wrong =
      std::find_if(rows.begin(), rows.end(), [](float value) { return !std::isfinite(value); });
  if (wrong != rows.end()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("source has {} in row {}, expected finite numbers", *wrong,
                                    (wrong - rows.begin()) / limits.sourceWidth + 1));
  }
  return {};
}

int64_t sourceLength(std::span<const int32_t> tokens, std::span<const float> rows,
                     const GenerationLimits &limits) {
  return limits.sourceWidth > 0 ? static_cast<int64_t>(rows.size()) / limits.sourceWidth
                                : static_cast<int64_t>(tokens.size());
}

Status checkSource(std::span<const int32_t> tokens, std::span<const float> rows, int64_t width,
                   const GenerationLimits &limits) {
  if (!limits.hasSources) {
    return tokens.empty() && rows.empty() && width == 0
               ? Status()
               : HEDDLE_ERROR(InvalidArgument,
                              fmt::format("source has {} {}, expected none: the model has no "
                                          "sources, it continues a prefix",
                                          rows.empty() ? tokens.size() : rows.size(),
                                          rows.empty() ? "tokens" : "floats"));
  }
  const bool readsRows = limits.sourceWidth > 0;
  if (readsRows) {
    HEDDLE_TRY(checkRows(tokens, rows, width, limits));
  } else if (!rows.empty()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("source has {} floats, expected tokens, which "
                                                     "the model reads",
                                                     rows.size()));
  } else if (tokens.empty()) {
    return HEDDLE_ERROR(InvalidArgument, "source has no tokens, expected at least one");
  }
  const int64_t count = sourceLength(tokens, rows, limits);
  if (!readsRows) {
    HEDDLE_TRY(checkWidth(count, width, limits));
  }
  if (limits.longestSource > 0 && count > limits.longestSource) {
    return HEDDLE_ERROR(OutOfRange,
                        fmt::format("source has {} {}, expected at most {}, the positions of the "
                                    "model",
                                    count, readsRows ? "rows" : "tokens", limits.longestSource));
  }
  return limits.sourceVocabulary > 0 ? checkTokens("source", tokens, limits.sourceVocabulary)
                                     : Status();
}

static Status checkAllTokens(const GenerationRequest &request, const Settings &settings,
                             const GenerationLimits &limits) {
  HEDDLE_TRY(checkSource(request.source, request.rows, request.width, limits));
  HEDDLE_TRY(checkTokens("prefix", request.prefix, limits.vocabulary));
  if (settings.start.empty() && request.prefix.empty()) {
    return HEDDLE_ERROR(InvalidArgument, "prefix has no tokens, expected at least one: the model "
                                         "continues it");
  }
  HEDDLE_TRY(checkTokens("shortlist", request.shortlist, limits.vocabulary));
  HEDDLE_TRY(checkTokens("suppressed", settings.suppressed, limits.vocabulary));
  if (const std::optional<int32_t> command = request.options.command) {
    if (limits.commands == 0) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("command is {}, expected none: the model has "
                                      "one task",
                                      *command));
    }
    if (*command < 0 || *command >= limits.commands) {
      return HEDDLE_ERROR(OutOfRange, fmt::format("command is {}, expected 0 to {}", *command,
                                                  limits.commands - 1));
    }
  }
  if (!limits.hasSources && settings.needsAttention()) {
    return HEDDLE_ERROR(InvalidArgument,
                        settings.attention
                            ? "attention to the source is requested, the model has no sources"
                            : "coverage penalty is set, expected none: the model has no sources");
  }
  for (const int32_t forced : {settings.forcedFirst, settings.forcedLast}) {
    if (forced != -1) {
      HEDDLE_TRY(checkTokens("forced", {&forced, 1}, limits.vocabulary));
    }
  }
  return {};
}

/// Sets the minimum and maximum length from the request, the binary, the rules and the positions.
static Status setLengths(const GenerationRequest &request, const GenerationDefaults &defaults,
                         const GenerationLimits &limits, Settings &settings) {
  const GenerationOptions &options = request.options;
  const SearchRules &rules = *settings.rules;
  const bool own = rules.kind == defaults.rules;
  const auto before = static_cast<int64_t>(settings.start.size() + settings.prefix.size());
  const int64_t room = limits.longestTarget > 0 ? limits.longestTarget - before + 1
                                                : int64_t(std::numeric_limits<int32_t>::max());
  if (room < 1) {
    return HEDDLE_ERROR(OutOfRange, fmt::format("prefix has {} tokens, expected at most {}, the "
                                                "positions of the model",
                                                settings.prefix.size(),
                                                limits.longestTarget -
                                                    static_cast<int64_t>(settings.start.size())));
  }
  int64_t most = rules.maxLength;
  if (defaults.maxLength > 0 && own) {
    most = defaults.maxLength;
  } else if (rules.maxAddsSource) {
    most += sourceLength(request.source, request.rows, limits);
  }
  most = std::min(most, room);
  if (options.maxLength) {
    most = *options.maxLength;
    if (most < 1) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("maximum length is {}, expected at least 1", most));
    }
    if (most > room) {
      return HEDDLE_ERROR(OutOfRange, fmt::format("maximum length is {}, expected at most {}: the "
                                                  "positions of the model",
                                                  most, room));
    }
  }
  const int64_t usual = own && defaults.minLength > 0 ? defaults.minLength : rules.minLength;
  const int64_t least =
      options.minLength.value_or(static_cast<int32_t>(std::min<int64_t>(usual, most)));
  if (least < 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("minimum length is {}, expected at least 0", least));
  }
  if (least > most) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("minimum length is {}, expected at most the maximum, {}", least, most));
  }
  settings.minLength = static_cast<int32_t>(least);
  settings.maxLength = static_cast<int32_t>(most);
  return {};
}

ConstraintState Settings::constraintStart() const {
  if (constraint == nullptr) {
    return {};
  }
  ConstraintState state = constraint->start();
  for (const int32_t token : constrained) {
    // They were found to fit when the request was checked.
    state = constraint->follow(state, token).value_or(ConstraintState());
  }
  return state;
}

/// Sets the constraint of the answer. The prefix, if it is part of the answer, and a forced first
/// token must conform to it.
static Status setConstraint(const GenerationRequest &request, const GenerationLimits &limits,
                            Settings &settings) {
  if (request.options.jsonSchema.empty()) {
    return {};
  }
  if (limits.constraints == nullptr) {
    return HEDDLE_ERROR(InvalidArgument, "a JSON schema is given, expected none: the model has no "
                                         "tokenizer");
  }
  if (settings.end.empty() && !settings.isSingle()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("beam is {} with a JSON schema, expected 1: the model has no "
                                    "token that ends a text",
                                    settings.beam));
  }
  HEDDLE_ASSIGN(settings.constraint, limits.constraints->find(request.options.jsonSchema));
  Constraint &constraint = *settings.constraint;
  ConstraintState state = constraint.start();
  std::vector<int32_t> &beginning = settings.constrained;
  beginning = limits.hasSources ? settings.prefix : std::vector<int32_t>();
  if (settings.forcedFirst >= 0) {
    beginning.push_back(settings.forcedFirst);
  }
  for (size_t i = 0; i < beginning.size(); ++i) {
    const auto next = constraint.follow(state, beginning[i]);
    if (!next) {
      return HEDDLE_ERROR(
          InvalidArgument,
          fmt::format("token {} of the answer's beginning is {}, which no text that "
                      "follows the JSON schema has there",
                      i + 1, beginning[i]));
    }
    state = *next;
  }
  const std::shared_ptr<const TokenMask> mask = constraint.mask(state);
  if (!constraint.isWhole(state) &&
      std::all_of(mask->begin(), mask->end(), [](uint64_t word) { return word == 0; })) {
    return HEDDLE_ERROR(InvalidArgument,
                        "no token of the model begins a text that follows the JSON "
                        "schema");
  }
  // A forced last token would be written where the text is not complete.
  settings.forcedLast = -1;
  return {};
}

Result<Settings> makeSettings(const GenerationRequest &request, const GenerationDefaults &defaults,
                              const GenerationLimits &limits) {
  Settings settings = settingsOf(request, defaults);
  HEDDLE_TRY(setTargetLanguage(request, defaults, settings));
  HEDDLE_TRY(checkCounts(settings));
  HEDDLE_TRY(checkNumbers(settings));
  HEDDLE_TRY(checkStop(settings, limits));
  HEDDLE_TRY(checkAllTokens(request, settings, limits));
  HEDDLE_TRY(setLengths(request, defaults, limits, settings));
  HEDDLE_TRY(setConstraint(request, limits, settings));
  return settings;
}

} // namespace heddle
