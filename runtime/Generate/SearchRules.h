// SPDX-License-Identifier: Apache-2.0
///
/// What beam searches differ in, as data: one search reads it. docs/generation.md is this table in
/// words.
#ifndef HEDDLE_RUNTIME_GENERATE_SEARCHRULES_H
#define HEDDLE_RUNTIME_GENERATE_SEARCHRULES_H

#include "heddle/Generation.h"

#include <optional>
#include <string_view>

namespace heddle {

/// What a sum of log-probabilities of n tokens is divided by.
enum class Normalization : uint8_t {
  /// ((5 + n) / 6) ^ alpha.
  ShiftedLength,
  /// n ^ alpha.
  Length,
};

/// When a sentence with as many finished hypotheses as beams ends.
enum class StopRule : uint8_t {
  /// When the best hypothesis alive would not beat the worst finished one at the maximum length.
  BoundAtMaximum,
  /// The same at the length it has now.
  BoundAtLength,
  /// At once; without length and coverage penalty only after the best candidate ended at some step.
  Count,
};

/// The rules of one search. The end counts as a token in every length.
struct SearchRules {
  Rules kind;
  /// As it is written on command lines and in manifests.
  std::string_view name;
  Normalization normalization;
  StopRule stop;
  /// Whether a bound that equals the worst finished score stops the search.
  bool stopsWhenEqual;
  /// Whether only the first `beam` candidates of a step may finish, or any.
  bool onlyBeamFinishes;
  /// Whether all within the beam is finished at the maximum length. Otherwise what is still alive
  /// then counts only when nothing has finished.
  bool maximumFinishes;
  /// Whether the place of a finished candidate is taken by the next one outside the beam.
  /// Otherwise those that go on close ranks.
  bool refillsPlaces;
  /// Whether penalties and bans in a beam apply to log-probabilities, or to logits.
  bool penaltiesAfterSoftmax;
  /// Whether repetitions of the start token count.
  bool historyHasStart;
  /// Whether the end is one of the result's tokens.
  bool keepsEnd;
  /// Whether coverage is that of the first head, or the mean of all.
  bool firstHeadCovers;
  float lengthPenalty;
  int32_t minLength;
  /// Tokens at most; when `maxAddsSource`, more than the source has.
  int32_t maxLength;
  bool maxAddsSource;

  /// What a sum of log-probabilities of `length` tokens is divided by.
  double divisor(int64_t length, double penalty) const;
};

const SearchRules &searchRules(Rules kind);

/// The rules of that name, if there are any.
std::optional<Rules> parseRules(std::string_view name);

} // namespace heddle

#endif // HEDDLE_RUNTIME_GENERATE_SEARCHRULES_H
