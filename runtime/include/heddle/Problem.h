// SPDX-License-Identifier: Apache-2.0
///
/// The tasks of classifiers. Frontend, IR, manifest and tools use this one table,
/// heddle/Problems.def.
#ifndef HEDDLE_PROBLEM_H
#define HEDDLE_PROBLEM_H

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace heddle {

/// The task that a classifier was trained for; the table says what its scores mean.
enum class Problem : uint8_t {
#define HEDDLE_PROBLEM(Name, name, label, published) Name,
#include "heddle/Problems.def"
};

/// One line of the table.
struct ProblemInfo {
  std::string_view name;
  std::string_view label;
  std::string_view published;
};

/// The table, in the order of the enumerators.
inline constexpr ProblemInfo problemTable[] = {
#define HEDDLE_PROBLEM(Name, name, label, published) {name, label, published},
#include "heddle/Problems.def"
};

/// Returns the table's line for `problem`, which must be one of the enumerators.
constexpr const ProblemInfo &infoOf(Problem problem) {
  return problemTable[static_cast<size_t>(problem)];
}

/// Returns the problem whose `field` is `name`; nullopt if there is none.
constexpr std::optional<Problem> findProblem(std::string_view ProblemInfo::*field,
                                             std::string_view name) {
  for (size_t i = 0; i < std::size(problemTable); ++i) {
    if (problemTable[i].*field == name) {
      return static_cast<Problem>(i);
    }
  }
  return std::nullopt;
}

} // namespace heddle

#endif // HEDDLE_PROBLEM_H
