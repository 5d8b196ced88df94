// SPDX-License-Identifier: Apache-2.0
///
/// What configurations of several families say in the same way.
#ifndef HEDDLE_FRONTEND_FAMILIES_FAMILYCONFIG_H
#define HEDDLE_FRONTEND_FAMILIES_FAMILYCONFIG_H

#include "heddle/Status.h"

#include <cstdint>
#include <string_view>

namespace heddle {

class Checkpoint;
class Config;

namespace transformer {
enum class Activation : uint32_t;
} // namespace transformer

/// Sizes beyond these are no model but a damaged file.
inline constexpr int64_t widthLimit = 1 << 16;
inline constexpr int64_t layerLimit = 1 << 10;
inline constexpr int64_t tableLimit = 1 << 24;

/// The function that Hugging Face calls by this name.
Result<transformer::Activation> readActivation(const Config &config, std::string_view key,
                                               std::string_view absent);

/// Heads divide the width: each has the same share of it.
Status checkHeads(const Config &config, std::string_view headsKey, int64_t heads,
                  std::string_view widthKey, int64_t width);

/// Refuses an option that changes what the model computes, naming it, if it is there.
Status refuseOption(const Config &config, std::string_view key);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_FAMILYCONFIG_H
