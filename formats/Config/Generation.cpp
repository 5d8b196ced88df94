// SPDX-License-Identifier: Apache-2.0
///
/// Reads the keys of generation_config.json, which older folders store in config.json.
#include "formats/Config/Generation.h"

#include "formats/Config/Config.h"
#include "heddle/Limits.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace heddle {

namespace {

/// Looks keys up in generation_config.json, then in config.json.
class Settings {
public:
  Settings(const Config &config, const std::optional<Config> &generation, int64_t vocabulary)
      : config(config), generation(generation), vocabulary(vocabulary) {}

  /// Returns the file that has the key, otherwise config.json.
  const Config &of(std::string_view key) const {
    return generation && generation->has(key) ? *generation : config;
  }

  /// Returns a token id; -1 if the key is absent.
  Result<int32_t> token(std::string_view key) const {
    HEDDLE_ASSIGN(const int64_t id, of(key).integerOr(key, 0, vocabulary - 1, -1));
    return static_cast<int32_t>(id);
  }

  /// Returns a token id or a list of them; empty if the key is absent.
  Result<std::vector<int32_t>> tokens(std::string_view key) const {
    const Config &file = of(key);
    if (!file.has(key)) {
      return std::vector<int32_t>();
    }
    HEDDLE_ASSIGN(const std::vector<int64_t> ids, file.integers(key, 0, vocabulary - 1));
    return std::vector<int32_t>(ids.begin(), ids.end());
  }

  Result<int32_t> count(std::string_view key, int64_t min, int64_t absent) const {
    HEDDLE_ASSIGN(const int64_t value, of(key).integerOr(key, min, 1 << 24, absent));
    return static_cast<int32_t>(value);
  }

private:
  const Config &config;
  const std::optional<Config> &generation;
  int64_t vocabulary;
};

} // namespace

/// Reads the tokens that are never generated: "suppress_tokens", and lists of one token in
/// "bad_words_ids".
static Result<std::vector<int32_t>> readSuppressed(const Settings &settings, int64_t vocabulary) {
  HEDDLE_ASSIGN(std::vector<int32_t> suppressed, settings.tokens("suppress_tokens"));
  const Config &file = settings.of("bad_words_ids");
  if (file.has("bad_words_ids")) {
    HEDDLE_ASSIGN(const std::vector<std::vector<int64_t>> words,
                  file.integerLists("bad_words_ids", 0, vocabulary - 1));
    for (const std::vector<int64_t> &word : words) {
      if (word.size() != 1) {
        return HEDDLE_ERROR(
            Unsupported, fmt::format("{}: an item of \"bad_words_ids\" has {} tokens, expected 1",
                                     file.where(), word.size()));
      }
      suppressed.push_back(static_cast<int32_t>(word.front()));
    }
  }
  std::sort(suppressed.begin(), suppressed.end());
  suppressed.erase(std::unique(suppressed.begin(), suppressed.end()), suppressed.end());
  return suppressed;
}

/// Reads "early_stopping", which may be true, false, or "never", which is false without the
/// shortcut.
static Status readEarlyStopping(const Config &file, Generation &result) {
  const Result<bool> value = file.booleanOr("early_stopping", false);
  const Result<std::string> word = file.stringOr("early_stopping", "");
  result.earlyStopping = value.ok() && *value;
  result.neverStopEarly = word.ok() && *word == "never";
  if (!value.ok() && !result.neverStopEarly) {
    return HEDDLE_ERROR(
        Unsupported, fmt::format("{}: \"early_stopping\" is neither true nor false nor \"never\"",
                                 file.where()));
  }
  return {};
}

/// Reads the minimum and maximum length. "max_length" and "min_length" include the start;
/// "max_new_tokens" and "min_new_tokens", which take precedence, do not.
static Status readLengths(const Settings &settings, Generation &result) {
  const auto start = static_cast<int32_t>(result.start.size());
  HEDDLE_ASSIGN(const int32_t most, settings.count("max_length", 0, 0));
  HEDDLE_ASSIGN(const int32_t mostNew, settings.count("max_new_tokens", 0, 0));
  HEDDLE_ASSIGN(const int32_t least, settings.count("min_length", 0, 0));
  HEDDLE_ASSIGN(const int32_t leastNew, settings.count("min_new_tokens", 0, 0));
  // An empty text is useless, so at least one token is generated.
  result.maxLength = most == 0 ? 0 : std::max(most - start, 1);
  result.maxLength = mostNew > 0 ? mostNew : result.maxLength;
  result.minLength = leastNew > 0 ? leastNew : std::max(least - start, 0);
  return {};
}

/// Reads the sampling parameters if the model samples: otherwise Transformers ignores them.
static Status readSampling(const Settings &settings, Generation &result) {
  HEDDLE_ASSIGN(result.sample, settings.of("do_sample").booleanOr("do_sample", false));
  if (!result.sample) {
    return {};
  }
  const auto number = [&](std::string_view key, double least, double most, double absent) {
    return settings.of(key).numberOr(key, least, most, absent);
  };
  // Smaller temperatures mean greedy search, which Transformers does not accept as sampling.
  constexpr double least = 1e-6;
  HEDDLE_ASSIGN(result.temperature, number("temperature", least, 1e6, 1));
  // Transformers' default, which a file may omit.
  HEDDLE_ASSIGN(result.topK, settings.count("top_k", 0, 50));
  HEDDLE_ASSIGN(result.topP, number("top_p", least, 1, 1));
  HEDDLE_ASSIGN(result.minP, number("min_p", 0, 1, 0));
  return {};
}

/// Reads the settings that do not depend on how a target starts.
static Result<Generation> readSearch(const Settings &settings, int64_t vocabulary) {
  Generation result;
  result.rules = "transformers";
  HEDDLE_ASSIGN(result.end, settings.tokens("eos_token_id"));
  HEDDLE_ASSIGN(result.pad, settings.token("pad_token_id"));
  HEDDLE_ASSIGN(result.forcedFirst, settings.token("forced_bos_token_id"));
  HEDDLE_ASSIGN(result.forcedLast, settings.token("forced_eos_token_id"));
  HEDDLE_ASSIGN(result.suppressed, readSuppressed(settings, vocabulary));
  HEDDLE_ASSIGN(const int64_t beams,
                settings.of("num_beams").integerOr("num_beams", 1, mostBeams, 1));
  result.beams = static_cast<int32_t>(beams);
  HEDDLE_ASSIGN(result.lengthPenalty,
                settings.of("length_penalty").numberOr("length_penalty", -1e4, 1e4, 1));
  HEDDLE_TRY(readEarlyStopping(settings.of("early_stopping"), result));
  HEDDLE_ASSIGN(result.noRepeatNgram, settings.count("no_repeat_ngram_size", 0, 0));
  HEDDLE_ASSIGN(result.repetitionPenalty,
                settings.of("repetition_penalty").numberOr("repetition_penalty", 1e-6, 1e6, 1));
  HEDDLE_TRY(readSampling(settings, result));
  return result;
}

Result<Generation> readGeneration(const Config &config, const std::optional<Config> &generation,
                                  int64_t vocabulary) {
  const Settings settings(config, generation, vocabulary);
  HEDDLE_ASSIGN(int32_t start, settings.token("decoder_start_token_id"));
  if (start < 0) {
    HEDDLE_ASSIGN(start, settings.token("bos_token_id"));
  }
  if (start < 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: \"decoder_start_token_id\" and \"bos_token_id\" are "
                                    "missing, expected one of them",
                                    config.where()));
  }
  HEDDLE_ASSIGN(Generation result, readSearch(settings, vocabulary));
  result.start = {start};
  HEDDLE_TRY(readLengths(settings, result));
  return result;
}

Result<Generation> readContinuation(const Config &config, const std::optional<Config> &generation,
                                    int64_t vocabulary) {
  const Settings settings(config, generation, vocabulary);
  HEDDLE_ASSIGN(Generation result, readSearch(settings, vocabulary));
  HEDDLE_ASSIGN(result.maxLength, settings.count("max_new_tokens", 0, 0));
  HEDDLE_ASSIGN(result.minLength, settings.count("min_new_tokens", 0, 0));
  // It only serves for notes, so a value that makes no sense is no reason to refuse a model.
  const Result<int64_t> context =
      config.integerOr("max_position_embeddings", 1, std::numeric_limits<int32_t>::max(), 0);
  result.contextLength = context.ok() ? static_cast<int32_t>(*context) : 0;
  return result;
}

namespace {
/// A number that changes the output of Transformers unless it has its default value.
struct IgnoredNumber {
  std::string_view key;
  double usual;
};
} // namespace

static constexpr IgnoredNumber samplingNumbers[] = {
    {"temperature", 1}, {"top_k", 50}, {"top_p", 1}, {"min_p", 0}};
static constexpr IgnoredNumber ignoredNumbers[] = {
    {"typical_p", 1},
    {"epsilon_cutoff", 0},
    {"eta_cutoff", 0},
    {"num_beam_groups", 1},
    {"diversity_penalty", 0},
    {"num_return_sequences", 1},
    {"penalty_alpha", 0},
    {"encoder_repetition_penalty", 1},
    {"encoder_no_repeat_ngram_size", 0},
    {"guidance_scale", 1},
};
static constexpr std::string_view ignoredSwitches[] = {"renormalize_logits"};
static constexpr std::string_view ignoredLists[] = {
    "begin_suppress_tokens", "sequence_bias", "force_words_ids", "exponential_decay_length_penalty",
    "stop_strings"};

std::vector<std::string> generationNotes(const Config &config,
                                         const std::optional<Config> &generation, bool continues) {
  const Settings settings(config, generation, 0);
  std::vector<std::string> notes;
  const auto note = [&](std::string_view key, std::string_view value) {
    notes.push_back(
        fmt::format("{}: \"{}\" is {}, which is ignored", settings.of(key).where(), key, value));
  };
  for (const std::string_view key : ignoredSwitches) {
    const Result<bool> value = settings.of(key).booleanOr(key, false);
    if (!value.ok() || *value) {
      note(key, value.ok() ? "true" : "neither true nor false");
    }
  }
  constexpr double any = std::numeric_limits<double>::max();
  const auto noteNumber = [&](const IgnoredNumber &number, std::string_view why) {
    const Config &file = settings.of(number.key);
    const Result<double> value = file.numberOr(number.key, -any, any, number.usual);
    if (!value.ok() || *value != number.usual) {
      notes.push_back(fmt::format("{}: \"{}\" is {}, which is ignored{}", file.where(), number.key,
                                  value.ok() ? fmt::format("{}", *value) : "not a number", why));
    }
  };
  for (const IgnoredNumber &number : ignoredNumbers) {
    noteNumber(number, "");
  }
  const Result<bool> samples = settings.of("do_sample").booleanOr("do_sample", false);
  if (samples.ok() && *samples) {
    noteNumber({"num_beams", 1}, ": \"do_sample\" is true, and samples have no beams");
  } else {
    for (const IgnoredNumber &number : samplingNumbers) {
      noteNumber(number, ": \"do_sample\" is not true");
    }
  }
  for (const std::string_view key : {"max_length", "min_length"}) {
    if (continues && settings.of(key).has(key)) {
      notes.push_back(fmt::format("{}: \"{}\" is {}, which is ignored: it counts the text that is "
                                  "continued, expected \"{}_new_tokens\"",
                                  settings.of(key).where(), key, settings.of(key).json(key),
                                  key.substr(0, 3)));
    }
  }
  for (const std::string_view key : ignoredLists) {
    if (settings.of(key).has(key)) {
      note(key, "set");
    }
  }
  return notes;
}

} // namespace heddle
