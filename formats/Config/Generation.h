// SPDX-License-Identifier: Apache-2.0
///
/// How a model generates text unless a caller says otherwise, as its folder has it.
#ifndef HEDDLE_FORMATS_CONFIG_GENERATION_H
#define HEDDLE_FORMATS_CONFIG_GENERATION_H

#include "formats/Config/Config.h"
#include "heddle/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

struct Generation {
  /// What every target starts with.
  std::vector<int32_t> start;
  /// What ends a target: any of these.
  std::vector<int32_t> end;
  /// -1 for none.
  int32_t pad = 0;
  /// The first token after the start, and the last one of the greatest length; -1 for none.
  int32_t forcedFirst = -1;
  int32_t forcedLast = -1;
  /// Tokens that are never generated, ascending.
  std::vector<int32_t> suppressed;
  /// Whose rules of search: "paper", "transformers" or "ctranslate2".
  std::string rules = "paper";
  /// Tokens generated at most; 0 for no limit but the caller's.
  int32_t maxLength = 0;
  int32_t beams = 1;
  double lengthPenalty = 1;
  bool earlyStopping = false;
  /// Instead: the search goes on as long as anything could become better.
  bool neverStopEarly = false;
  /// No sequence of that many tokens twice; 0 for no such rule.
  int32_t noRepeatNgram = 0;
  double repetitionPenalty = 1;
  /// Tokens before the end at least.
  int32_t minLength = 0;
};

/// The settings of a Hugging Face folder: generation_config.json counts, config.json for what that
/// does not say. Token ids are below `vocabulary`.
/// What Transformers counts with the start tokens is counted without them.
Result<Generation> readGeneration(const Config &config, const std::optional<Config> &generation,
                                  int64_t vocabulary);

/// A note for each setting that is not the usual one of Transformers and that readGeneration() does
/// not take over.
std::vector<std::string> generationNotes(const Config &config,
                                         const std::optional<Config> &generation);

} // namespace heddle

#endif // HEDDLE_FORMATS_CONFIG_GENERATION_H
