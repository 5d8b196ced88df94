// SPDX-License-Identifier: Apache-2.0
///
/// The rows of `heddle profile`: the cost of dispatches, added up by --by, against the limits of
/// the machine.
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

/// Dispatches of one entry, added up.
struct ProfileRow {
  std::string entry;
  /// The name in the checkpoint; a row of several layers has a star in place of the number.
  std::string name;
  /// The function, and the number of functions; of several, the one that took longest.
  std::string kernel;
  size_t kernels = 1;
  uint64_t calls = 0;
  /// Wall time: the seconds of all threads, divided by the number of threads.
  double seconds = 0;
  double flops = 0;
  double weightBytes = 0;
  double cacheBytes = 0;
  /// The least seconds that each dispatch needs by the roofs, added up; and the part of them in
  /// which it is memory that decides.
  double leastSeconds = 0;
  double memorySeconds = 0;
  /// How many rows chose each group of weights, such as those of an expert; empty where none is
  /// chosen, or where dispatches of a row have other numbers of groups.
  std::vector<uint64_t> groupRows = {};

  /// 10^9 operations, and bytes of weights and caches, per second.
  double rate() const { return seconds > 0 ? flops * 1e-9 / seconds : 0; }
  double traffic() const { return seconds > 0 ? (weightBytes + cacheBytes) * 1e-9 / seconds : 0; }
  double ofRoof() const { return seconds > 0 ? leastSeconds / seconds : 0; }
  bool boundByMemory() const { return memorySeconds * 2 > leastSeconds; }
};

/// "decoder.layers.3.ffn.inner": "decoder.layers.*.ffn.inner", "decoder.layers.3". A name without a
/// number is its own name, and its layer the name without its last part.
std::string withoutLayerNumber(std::string_view name);
std::string layerOf(std::string_view name);
/// The family of a kernel: "contract" of "contract_512x2048_relu".
std::string kindOfKernel(std::string_view kernel);

/// The profile of one run that stands for several runs of the same work: each dispatch with the
/// median of its times, which a run that was interrupted does not change.
std::vector<DispatchProfile> medianProfile(std::span<const std::vector<DispatchProfile>> runs);

/// The rows, those that took longest first.
std::vector<ProfileRow> profileRows(std::span<const DispatchProfile> profile, ProfileBy by,
                                    int threads, const MachineRoof &roof);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_PROFILE_PROFILEROWS_H
