// SPDX-License-Identifier: Apache-2.0
///
/// The name that was most likely meant by a misspelt one: of an option, a command, a phase, a pass
/// or a key of a configuration.
#ifndef HEDDLE_BASE_NEARESTNAME_H
#define HEDDLE_BASE_NEARESTNAME_H

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The name among `known` that is fewest letters away from `name`, the first of several; before one
/// that is more than a letter away, the shortest that begins with `name`, if that has three
/// letters. Nothing if more than a third of the letters would have to change, though two may in a
/// short name.
std::optional<std::string> nearestName(std::string_view name, std::span<const std::string> known);

/// The `count` names among `known` that a name may stand for, best first: those that begin with it,
/// then those that are fewest letters away.
std::vector<std::string> nearestNames(std::string_view name, std::span<const std::string> known,
                                      size_t count);

/// `; did you mean "encoder"?`, to go on with after what was expected; empty if no name is near.
std::string didYouMean(std::string_view name, std::span<const std::string> known);

} // namespace heddle

#endif // HEDDLE_BASE_NEARESTNAME_H
