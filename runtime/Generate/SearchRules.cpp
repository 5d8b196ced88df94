// SPDX-License-Identifier: Apache-2.0
///
/// The table of search rules.
#include "runtime/Generate/SearchRules.h"

#include "heddle/Limits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace heddle {

/// In the order of Rules.
static constexpr std::array<SearchRules, 3> presets = {{
    {.kind = Rules::Paper,
     .name = ruleNames[0],
     .normalization = Normalization::ShiftedLength,
     .stop = StopRule::BoundAtMaximum,
     .stopsWhenEqual = false,
     .onlyBeamFinishes = false,
     .maximumFinishes = false,
     .refillsPlaces = false,
     .penaltiesAfterSoftmax = false,
     .historyHasStart = false,
     .keepsEnd = true,
     .firstHeadCovers = false,
     .lengthPenalty = 0.6F,
     .minLength = 0,
     .maxLength = 50,
     .maxAddsSource = true},
    {.kind = Rules::Transformers,
     .name = ruleNames[1],
     .normalization = Normalization::Length,
     .stop = StopRule::BoundAtLength,
     .stopsWhenEqual = true,
     .onlyBeamFinishes = true,
     .maximumFinishes = true,
     .refillsPlaces = false,
     .penaltiesAfterSoftmax = true,
     .historyHasStart = true,
     .keepsEnd = true,
     .firstHeadCovers = false,
     .lengthPenalty = 1,
     .minLength = 0,
     .maxLength = 50,
     .maxAddsSource = true},
    {.kind = Rules::CTranslate2,
     .name = ruleNames[2],
     .normalization = Normalization::Length,
     .stop = StopRule::Count,
     .stopsWhenEqual = false,
     .onlyBeamFinishes = true,
     .maximumFinishes = true,
     .refillsPlaces = true,
     .penaltiesAfterSoftmax = false,
     .historyHasStart = false,
     .keepsEnd = false,
     .firstHeadCovers = true,
     .lengthPenalty = 1,
     .minLength = 1,
     .maxLength = 256,
     .maxAddsSource = false},
}};

/// Checks that rules and names are in the order of the enumerators, which index them.
static constexpr bool areInOrder() {
  for (size_t i = 0; i < presets.size(); ++i) {
    if (presets[i].kind != static_cast<Rules>(i)) {
      return false;
    }
  }
  return std::size(ruleNames) == presets.size();
}
static_assert(areInOrder());

double SearchRules::divisor(int64_t length, double penalty) const {
  const auto tokens = static_cast<double>(std::max<int64_t>(length, 1));
  const double base = normalization == Normalization::Length ? tokens : (5 + tokens) / 6;
  return std::pow(base, penalty);
}

const SearchRules &searchRules(Rules kind) { return presets[static_cast<size_t>(kind)]; }

std::optional<Rules> parseRules(std::string_view name) {
  for (const SearchRules &rules : presets) {
    if (rules.name == name) {
      return rules.kind;
    }
  }
  return std::nullopt;
}

std::string_view finishName(FinishReason reason) {
  switch (reason) {
  case FinishReason::End:
    return "end";
  case FinishReason::Stop:
    return "stop";
  case FinishReason::Removed:
    return "removed";
  case FinishReason::Failed:
    return "failed";
  case FinishReason::Length:
    return "length";
  case FinishReason::No:
    return "no";
  }
  return "no";
}

} // namespace heddle
