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

/// The condition that ends the search of a sentence once as many hypotheses are finished as there
/// are beams.
enum class StopRule : uint8_t {
  /// When the best live hypothesis could not beat the worst finished one at the maximum length.
  BoundAtMaximum,
  /// The same, at its current length.
  BoundAtLength,
  /// Immediately; but without length and coverage penalty, only after the best candidate of some
  /// step has ended.
  Count,
};

/// Returns the name of a finish reason in records and interfaces.
std::string_view finishName(FinishReason reason);

/// The rules of one search. Every length counts the end token.
struct SearchRules {
  Rules kind;
  /// The name on command lines and in manifests.
  std::string_view name;
  Normalization normalization;
  StopRule stop;
  /// Whether the search stops if the bound equals the worst finished score.
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
  /// The maximum length; if `maxAddsSource`, the length of the source is added.
  int32_t maxLength;
  bool maxAddsSource;

  /// Returns the divisor of a sum of log-probabilities of `length` tokens.
  double divisor(int64_t length, double penalty) const;
};

const SearchRules &searchRules(Rules kind);

/// Returns the rules of that name; nullopt if there are none.
std::optional<Rules> parseRules(std::string_view name);

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_SEARCHRULES_H
