// SPDX-License-Identifier: Apache-2.0
///
/// A model's default generation settings, as stored in its folder.
#ifndef HEDDLE_FORMATS_CONFIG_GENERATION_H
#define HEDDLE_FORMATS_CONFIG_GENERATION_H

#include "heddle/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

class Config;

/// The generation settings. Token ids are those of the vocabulary of generated tokens.
struct Generation {
  /// The tokens that every target starts with.
  std::vector<int32_t> start;
  /// The tokens that end a target.
  std::vector<int32_t> end;
  /// -1 for none.
  int32_t pad = 0;
  /// Forced tokens: the first after the start, and the last one at the length limit; -1 for none.
  int32_t forcedFirst = -1;
  int32_t forcedLast = -1;
  /// Tokens that are never generated, ascending.
  std::vector<int32_t> suppressed;
  /// The rules of search: "paper", "transformers" or "ctranslate2".
  std::string rules = "paper";
  /// The maximum number of generated tokens; 0 for no limit but the caller's.
  int32_t maxLength = 0;
  int32_t beams = 1;
  double lengthPenalty = 1;
  bool earlyStopping = false;
  /// Instead of `earlyStopping`: the search continues as long as any hypothesis could still
  /// improve.
  bool neverStopEarly = false;
  /// The size of token n-grams that may not occur twice; 0 disables the rule.
  int32_t noRepeatNgram = 0;
  double repetitionPenalty = 1;
  /// The minimum number of tokens before the end.
  int32_t minLength = 0;
  /// Whether tokens are sampled, and how: at a temperature, from the topK most probable tokens (0:
  /// all), from the smallest set whose probabilities sum to topP, and from tokens with at least
  /// minP times the probability of the best.
  bool sample = false;
  double temperature = 1;
  int32_t topK = 0;
  double topP = 1;
  double minP = 0;
  /// The number of tokens of a text and its continuation that the model was trained for; 0:
  /// unknown.
  int32_t contextLength = 0;
};

/// Reads the settings of a Hugging Face folder from generation_config.json, or from config.json for
/// keys absent there. Token ids must be less than `vocabulary`. Lengths exclude the start tokens,
/// which Transformers includes. Sampling parameters are read if "do_sample" is true.
Result<Generation> readGeneration(const Config &config, const std::optional<Config> &generation,
                                  int64_t vocabulary);

/// As readGeneration(), for a model that continues a text instead of answering a source: targets
/// have no start token, and lengths that include the text, "max_length" and "min_length", are not
/// read. Reads the context length.
Result<Generation> readContinuation(const Config &config, const std::optional<Config> &generation,
                                    int64_t vocabulary);

/// Returns a note for each setting that differs from Transformers' default and that
/// readGeneration() ignores, or readContinuation() if the model `continues` a text.
std::vector<std::string> generationNotes(const Config &config,
                                         const std::optional<Config> &generation, bool continues);

} // namespace heddle

#endif // HEDDLE_FORMATS_CONFIG_GENERATION_H
