// SPDX-License-Identifier: Apache-2.0
///
/// The rows of `heddle profile`: the costs of dispatches, summed according to --by, and compared
/// with the limits of the machine.
#ifndef HEDDLE_RUNTIME_TOOLS_PROFILE_PROFILEROWS_H
#define HEDDLE_RUNTIME_TOOLS_PROFILE_PROFILEROWS_H

#include "heddle/Session.h"
#include "runtime/Tools/Commands.h"
#include "runtime/Tools/Measure/MachineRoof.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// The sum of dispatches of one entry.
struct ProfileRow {
  std::string entry;
  /// The name in the checkpoint; in a row for several layers a star replaces the number.
  std::string name;
  /// The kernel function and the number of functions; if there are several, the one that took
  /// longest.
  std::string kernel;
  size_t kernels = 1;
  uint64_t calls = 0;
  /// Wall time: the seconds of all threads, divided by the number of threads.
  double seconds = 0;
  double flops = 0;
  double weightBytes = 0;
  double cacheBytes = 0;
  /// The sum of the minimum seconds of each dispatch according to the roofs; and the part of it
  /// that is bound by memory.
  double leastSeconds = 0;
  double memorySeconds = 0;
  /// The number of rows that chose each group of weights, such as those of an expert; empty if the
  /// dispatches have no groups or different numbers of groups.
  std::vector<uint64_t> groupRows = {};

  /// Return 10^9 operations, and 10^9 bytes of weights and caches, per second.
  double rate() const { return seconds > 0 ? flops * 1e-9 / seconds : 0; }
  double traffic() const { return seconds > 0 ? (weightBytes + cacheBytes) * 1e-9 / seconds : 0; }
  double ofRoof() const { return seconds > 0 ? leastSeconds / seconds : 0; }
  bool boundByMemory() const { return memorySeconds * 2 > leastSeconds; }
};

/// Return, for "decoder.layers.3.ffn.inner", "decoder.layers.*.ffn.inner" and "decoder.layers.3". A
/// name without a number stays unchanged, and its layer is the name without its last part.
std::string withoutLayerNumber(std::string_view name);
std::string layerOf(std::string_view name);
/// Returns the family of a kernel: "contract" for "contract_512x2048_relu".
std::string kindOfKernel(std::string_view kernel);

/// Returns one profile that represents several runs of the same work: each dispatch with the median
/// of its times, which a single interrupted run does not change.
std::vector<DispatchProfile> medianProfile(std::span<const std::vector<DispatchProfile>> runs);

/// Returns the rows, in descending order of time.
std::vector<ProfileRow> profileRows(std::span<const DispatchProfile> profile, ProfileBy by,
                                    int threads, const MachineRoof &roof);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_PROFILE_PROFILEROWS_H
