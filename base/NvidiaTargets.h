// SPDX-License-Identifier: Apache-2.0
///
/// The GPUs of NVIDIA that code is compiled for: the compiler has a target for each row, and the
/// runtime loads by them.
#ifndef HEDDLE_BASE_NVIDIATARGETS_H
#define HEDDLE_BASE_NVIDIATARGETS_H

#include <algorithm>
#include <iterator>
#include <string_view>

namespace heddle {

/// A target whose code runs on such a GPU. Compute capabilities are 10 * major + minor.
struct NvidiaTarget {
  /// The name in PTX.
  std::string_view name;
  /// The capability whose instructions the code may use.
  int capability;
  /// Whether the code runs on this capability only: it may use instructions that later ones drop.
  /// Otherwise it runs on this one and all later ones.
  bool isExact;

  constexpr bool runsOn(int capabilityOfGpu) const {
    return isExact ? capabilityOfGpu == capability : capabilityOfGpu >= capability;
  }
};

/// All targets, the least capable first.
inline constexpr NvidiaTarget nvidiaTargets[] = {
    {"sm_80", 80, /*isExact=*/false},
    {"sm_90a", 90, /*isExact=*/true},
};

static_assert(std::ranges::is_sorted(nvidiaTargets, {}, &NvidiaTarget::capability));

/// Returns null if no target has the name.
constexpr const NvidiaTarget *findNvidiaTarget(std::string_view name) {
  const auto *const found = std::ranges::find(nvidiaTargets, name, &NvidiaTarget::name);
  return found == std::end(nvidiaTargets) ? nullptr : found;
}

} // namespace heddle

#endif // HEDDLE_BASE_NVIDIATARGETS_H
