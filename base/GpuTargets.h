// SPDX-License-Identifier: Apache-2.0
///
/// The GPUs that code is compiled for: the compiler has a target for each row, and the runtime
/// loads by them.
#ifndef HEDDLE_BASE_GPUTARGETS_H
#define HEDDLE_BASE_GPUTARGETS_H

#include <algorithm>
#include <iterator>
#include <string_view>

namespace heddle {

/// A target whose code runs on a GPU of NVIDIA. Compute capabilities are 10 * major + minor.
struct GpuTarget {
  /// The name in PTX.
  std::string_view name;
  /// The capability whose instructions the code may use.
  int capability;
  /// Whether the code runs on this capability only: it may use instructions that later ones drop.
  /// Otherwise it runs on this one and all later ones.
  bool isExact;
  /// Whether four warps together multiply matrices in shared memory (wgmma).
  bool hasWarpgroups;

  constexpr bool runsOn(int capabilityOfGpu) const {
    return isExact ? capabilityOfGpu == capability : capabilityOfGpu >= capability;
  }
};

/// All targets, the least capable first.
inline constexpr GpuTarget gpuTargets[] = {
    {"sm_80", 80, /*isExact=*/false, /*hasWarpgroups=*/false},
    {"sm_90a", 90, /*isExact=*/true, /*hasWarpgroups=*/true},
};

/// Returns null if no GPU target has the name.
constexpr const GpuTarget *findGpuTarget(std::string_view name) {
  const auto *const found = std::ranges::find(gpuTargets, name, &GpuTarget::name);
  return found == std::end(gpuTargets) ? nullptr : found;
}

} // namespace heddle

#endif // HEDDLE_BASE_GPUTARGETS_H
