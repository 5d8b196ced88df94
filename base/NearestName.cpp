// SPDX-License-Identifier: Apache-2.0
///
/// Computes the edit distance of two names, row by row of the table of their prefixes.
#include "base/NearestName.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <tuple>
#include <vector>

namespace heddle {

/// Names that users type are shorter; a longer one is near no name.
static constexpr size_t longestName = 200;

/// Returns the minimum number of letters to insert, remove or replace to convert one name to the
/// other. Swapping two adjacent letters, the most common mistake, counts as one.
static size_t distanceOf(std::string_view one, std::string_view other) {
  // The rows for the prefixes of `one` that are one and two letters shorter than the current one.
  std::vector<size_t> before(other.size() + 1);
  std::vector<size_t> earlier(other.size() + 1);
  std::vector<size_t> row(other.size() + 1);
  std::iota(before.begin(), before.end(), size_t(0));
  for (size_t i = 1; i <= one.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= other.size(); ++j) {
      const size_t changed = one[i - 1] == other[j - 1] ? 0 : 1;
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, before[j - 1] + changed});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1]) {
        row[j] = std::min(row[j], earlier[j - 2] + 1);
      }
    }
    earlier.swap(before);
    before.swap(row);
  }
  return before[other.size()];
}

/// Returns the shortest known name that begins with a name.
static std::optional<std::string> shortestBeginningWith(std::string_view name,
                                                        std::span<const std::string> known) {
  constexpr size_t leastLetters = 3;
  const size_t dashes = std::min(name.find_first_not_of('-'), name.size());
  std::optional<std::string> shortest;
  for (const std::string &candidate : known) {
    const bool isLonger = name.size() - dashes >= leastLetters && candidate.starts_with(name);
    if (isLonger && (!shortest || candidate.size() < shortest->size())) {
      shortest = candidate;
    }
  }
  return shortest;
}

std::optional<std::string> nearestName(std::string_view name, std::span<const std::string> known) {
  if (name.size() > longestName) {
    return std::nullopt;
  }
  std::optional<std::string> nearest;
  // A name of which every letter has to change was not meant.
  size_t distance = std::min(std::max<size_t>(2, name.size() / 3) + 1, name.size());
  for (const std::string &candidate : known) {
    if (candidate.size() > longestName) {
      continue;
    }
    if (const size_t other = distanceOf(name, candidate); other < distance) {
      distance = other;
      nearest = candidate;
    }
  }
  const bool isTypingMistake = nearest && distance <= 1;
  const auto longer = isTypingMistake ? std::nullopt : shortestBeginningWith(name, known);
  return longer ? longer : nearest;
}

std::vector<std::string> nearestNames(std::string_view name, std::span<const std::string> known,
                                      size_t count) {
  struct Near {
    bool isLonger;
    size_t distance;
    const std::string *name;
  };
  std::vector<Near> order;
  const std::string_view typed = name.substr(0, longestName);
  for (const std::string &candidate : known) {
    const bool isLonger = !typed.empty() && candidate.starts_with(typed);
    order.push_back({isLonger, distanceOf(typed, candidate), &candidate});
  }
  std::sort(order.begin(), order.end(), [](const Near &one, const Near &other) {
    return std::tuple(!one.isLonger, one.distance, one.name) <
           std::tuple(!other.isLonger, other.distance, other.name);
  });
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(count, order.size()); ++i) {
    names.push_back(*order[i].name);
  }
  return names;
}

std::string didYouMean(std::string_view name, std::span<const std::string> known) {
  const std::optional<std::string> nearest = nearestName(name, known);
  return nearest ? fmt::format("; did you mean {}?", quote(*nearest)) : std::string();
}

} // namespace heddle
