// SPDX-License-Identifier: Apache-2.0
///
/// Readers and checks for settings that several families share.
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

/// Larger sizes mean a damaged file.
inline constexpr int64_t widthLimit = 1 << 16;
inline constexpr int64_t layerLimit = 1 << 10;
inline constexpr int64_t tableLimit = 1 << 24;

/// The activation with this name in Hugging Face Transformers.
Result<transformer::Activation> readActivation(const Config &config, std::string_view key,
                                               std::string_view absent);

/// Checks that the number of heads divides the width.
Status checkHeads(const Config &config, std::string_view headsKey, int64_t heads,
                  std::string_view widthKey, int64_t width);

/// Refuses a configuration that has this key, because it changes what the model computes.
Status refuseOption(const Config &config, std::string_view key);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_FAMILYCONFIG_H
