// SPDX-License-Identifier: Apache-2.0
///
/// Finds the name that a misspelt one most likely stands for: that of an option, a command, a
/// phase, a pass or a key of a configuration.
#ifndef HEDDLE_BASE_NEARESTNAME_H
#define HEDDLE_BASE_NEARESTNAME_H

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// Returns the first of the names in `known` with the minimum edit distance to `name`. The shortest
/// one that begins with `name` takes precedence over names at a distance above 1, if `name` has
/// three letters. Nullopt if the distance exceeds both two and a third of the letters.
std::optional<std::string> nearestName(std::string_view name, std::span<const std::string> known);

/// Returns the `count` names in `known` that a name may stand for, best first: those that begin
/// with it, then those with the smallest edit distance.
std::vector<std::string> nearestNames(std::string_view name, std::span<const std::string> known,
                                      size_t count);

/// Returns `; did you mean "encoder"?`, to append to a message; empty if no name is near.
std::string didYouMean(std::string_view name, std::span<const std::string> known);

} // namespace heddle

#endif // HEDDLE_BASE_NEARESTNAME_H
