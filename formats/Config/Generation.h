// SPDX-License-Identifier: Apache-2.0
///
/// A model's default settings of generation, as stored in its folder.
#ifndef HEDDLE_FORMATS_CONFIG_GENERATION_H
#define HEDDLE_FORMATS_CONFIG_GENERATION_H

#include "heddle/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

class Config;

/// The settings of generation. Token ids are those of the vocabulary of what is generated.
struct Generation {
  /// The tokens that every target starts with.
  std::vector<int32_t> start;
  /// Any of these tokens ends a target.
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
  /// The most tokens generated; 0 for no limit but the caller's.
  int32_t maxLength = 0;
  int32_t beams = 1;
  double lengthPenalty = 1;
  bool earlyStopping = false;
  /// Instead of `earlyStopping`: the search goes on as long as any hypothesis could still improve.
  bool neverStopEarly = false;
  /// No sequence of this many tokens occurs twice; 0 turns the rule off.
  int32_t noRepeatNgram = 0;
  double repetitionPenalty = 1;
  /// The fewest tokens before the end.
  int32_t minLength = 0;
  /// Whether tokens are drawn, and how if they are: at a temperature, from the topK most probable
  /// (0: all), from the fewest whose probabilities add up to topP, and from those with at least
  /// minP times the probability of the best.
  bool sample = false;
  double temperature = 1;
  int32_t topK = 0;
  double topP = 1;
  double minP = 0;
};

/// Reads the settings of a Hugging Face folder from generation_config.json, or from config.json for
/// keys absent there. Token ids must be below `vocabulary`. Lengths exclude the start tokens, which
/// Transformers includes. Numbers of sampling are read if "do_sample" is true.
Result<Generation> readGeneration(const Config &config, const std::optional<Config> &generation,
                                  int64_t vocabulary);

/// The same for a model that continues a text instead of answering a source: nothing starts a
/// target, and lengths that count the text, "max_length" and "min_length", are not read.
Result<Generation> readContinuation(const Config &config, const std::optional<Config> &generation,
                                    int64_t vocabulary);

/// A note for each setting that differs from Transformers' default and that readGeneration() or,
/// where the model `continues` a text, readContinuation() ignores.
std::vector<std::string> generationNotes(const Config &config,
                                         const std::optional<Config> &generation, bool continues);

} // namespace heddle

#endif // HEDDLE_FORMATS_CONFIG_GENERATION_H
