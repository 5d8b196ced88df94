// SPDX-License-Identifier: Apache-2.0
///
/// The differences between beam searches, as data for a single implementation. docs/generation.md
/// explains the table.
#ifndef HEDDLE_RUNTIME_GENERATE_SEARCHRULES_H
#define HEDDLE_RUNTIME_GENERATE_SEARCHRULES_H

#include "heddle/Generation.h"

#include <optional>
#include <string_view>

namespace heddle {

/// The divisor of a sum of log-probabilities of n tokens.
enum class Normalization : uint8_t {
  /// ((5 + n) / 6) ^ alpha.
  ShiftedLength,
  /// n ^ alpha.
  Length,
};

/// When the search of a sentence ends, once as many hypotheses are finished as there are beams.
enum class StopRule : uint8_t {
  /// When the best live hypothesis could not beat the worst finished one at the maximum length.
  BoundAtMaximum,
  /// The same, at its current length.
  BoundAtLength,
  /// At once; but without length and coverage penalty, only after the best candidate of some step
  /// ended.
  Count,
};

/// What records and interfaces call the reason for which an answer has ended.
std::string_view finishName(FinishReason reason);

/// The rules of one search. The end counts as a token in every length.
struct SearchRules {
  Rules kind;
  /// The name on command lines and in manifests.
  std::string_view name;
  Normalization normalization;
  StopRule stop;
  /// Whether a bound that equals the worst finished score stops the search.
  bool stopsWhenEqual;
  /// Whether only the first `beam` candidates of a step may finish, instead of any.
  bool onlyBeamFinishes;
  /// Whether every hypothesis in the beam counts as finished at the maximum length. Otherwise live
  /// ones count only if none has finished.
  bool maximumFinishes;
  /// Whether the next candidate outside the beam replaces a finished one. Otherwise the next
  /// candidates move up in order.
  bool refillsPlaces;
  /// Whether penalties and bans in a beam apply to log-probabilities instead of logits.
  bool penaltiesAfterSoftmax;
  /// Whether repetition counts the start token.
  bool historyHasStart;
  /// Whether the result includes the end token.
  bool keepsEnd;
  /// Whether coverage uses the first head instead of the mean of all heads.
  bool firstHeadCovers;
  float lengthPenalty;
  int32_t minLength;
  /// The maximum length; if `maxAddsSource`, in addition to the length of the source.
  int32_t maxLength;
  bool maxAddsSource;

  /// The divisor of a sum of log-probabilities of `length` tokens.
  double divisor(int64_t length, double penalty) const;
};

const SearchRules &searchRules(Rules kind);

/// The rules of that name, if they exist.
std::optional<Rules> parseRules(std::string_view name);

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_SEARCHRULES_H
