// SPDX-License-Identifier: Apache-2.0
///
/// Readers and checks for settings that several families share.
#ifndef HEDDLE_FRONTEND_FAMILIES_FAMILYCONFIG_H
#define HEDDLE_FRONTEND_FAMILIES_FAMILYCONFIG_H

#include "heddle/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// The activations that configurations may name, by the dialect's names and by others that Hugging
/// Face Transformers has for them; and the one of such a name.
std::vector<std::string> activationNames();
std::optional<transformer::Activation> parseActivation(std::string_view name);

/// The activation that a key names; `absent`, which is such a name, without the key.
Result<transformer::Activation> readActivation(const Config &config, std::string_view key,
                                               std::string_view absent);

/// Checks that the number of heads divides the width.
Status checkHeads(const Config &config, std::string_view headsKey, int64_t heads,
                  std::string_view widthKey, int64_t width);

/// Refuses a configuration that has this key, because it changes what the model computes.
Status refuseOption(const Config &config, std::string_view key);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_FAMILYCONFIG_H
