// SPDX-License-Identifier: Apache-2.0
///
/// Keys of generation_config.json, and of config.json where older folders have them.
#include "frontend/Config/Generation.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

namespace {

/// Looks keys up in generation_config.json, then in config.json.
class Settings {
public:
  Settings(const Config &config, const std::optional<Config> &generation, int64_t vocabulary)
      : config(config), generation(generation), vocabulary(vocabulary) {}

  /// The file that has the key, else config.json.
  const Config &of(std::string_view key) const {
    return generation && generation->has(key) ? *generation : config;
  }

  /// A token id, -1 if there is none.
  Result<int32_t> token(std::string_view key) const {
    HEDDLE_ASSIGN(const int64_t id, of(key).integerOr(key, 0, vocabulary - 1, -1));
    return static_cast<int32_t>(id);
  }

  /// A token id or a list of them; empty if the key is absent.
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

/// What a model shall never say: "suppress_tokens", and lists of one token in "bad_words_ids".
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

/// "early_stopping" may be true, false, or "never", which is false without the shortcut.
static Result<bool> readEarlyStopping(const Config &file) {
  const Result<bool> value = file.booleanOr("early_stopping", false);
  if (!value.ok()) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: \"early_stopping\" is neither true nor false, expected "
                                    "one of them",
                                    file.where()));
  }
  return value;
}

Result<Generation> readGeneration(const Config &config, const std::optional<Config> &generation,
                                  int64_t vocabulary) {
  const Settings settings(config, generation, vocabulary);
  Generation result;
  result.rules = "transformers";
  HEDDLE_ASSIGN(result.end, settings.tokens("eos_token_id"));
  HEDDLE_ASSIGN(const int32_t pad, settings.token("pad_token_id"));
  result.pad = std::max(pad, 0);
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
  result.start = {start};
  HEDDLE_ASSIGN(result.forcedFirst, settings.token("forced_bos_token_id"));
  HEDDLE_ASSIGN(result.forcedLast, settings.token("forced_eos_token_id"));
  HEDDLE_ASSIGN(result.suppressed, readSuppressed(settings, vocabulary));
  HEDDLE_ASSIGN(result.maxLength, settings.count("max_length", 0, 0));
  HEDDLE_ASSIGN(result.beams, settings.count("num_beams", 1, 1));
  HEDDLE_ASSIGN(result.lengthPenalty,
                settings.of("length_penalty").numberOr("length_penalty", -1e4, 1e4, 1));
  HEDDLE_ASSIGN(result.earlyStopping, readEarlyStopping(settings.of("early_stopping")));
  HEDDLE_ASSIGN(result.noRepeatNgram, settings.count("no_repeat_ngram_size", 0, 0));
  HEDDLE_ASSIGN(result.repetitionPenalty,
                settings.of("repetition_penalty").numberOr("repetition_penalty", 1e-6, 1e6, 1));
  return result;
}

} // namespace heddle
