// SPDX-License-Identifier: Apache-2.0
///
/// The measured limits of the machine (a roofline), and the least time that work takes within them:
/// a dispatch can be no faster than its operations at the peak rate, and no faster than reading its
/// weights and cached positions.
#ifndef HEDDLE_RUNTIME_TOOLS_MEASURE_MACHINEROOF_H
#define HEDDLE_RUNTIME_TOOLS_MEASURE_MACHINEROOF_H

#include "heddle/Session.h"

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace heddle::tools {

/// The bandwidth that limits an entry. A pass through its dispatches reads all its bytes once
/// before any is needed again: where they fit in a cache, the limit is that of the cache.
struct EntryRoof {
  /// Bytes of weights and cached positions that a pass reads, on average.
  double passBytes = 0;
  /// 10^9 bytes per second, of the threads used together.
  double bandwidth = 0;
};

struct MachineRoof {
  /// 10^9 operations per second, of the threads used together.
  double peak = 0;
  /// The same of products that are not of f32, of those that there are.
  std::map<Arithmetic, double> narrowPeaks = {};
  std::map<std::string, EntryRoof> entries;

  double peakOf(Arithmetic arithmetic) const {
    return arithmetic == Arithmetic::F32 ? peak : narrowPeaks.at(arithmetic);
  }
};

/// The higher of two measurements of the same limits: what disturbs one only makes it lower.
MachineRoof higherOf(const MachineRoof &one, const MachineRoof &other);

/// Whether two measurements of a limit, before and after the work, are so far apart that other work
/// on the machine must have disturbed one of them, and the other or the work perhaps as well.
inline bool isDisturbed(double before, double after) {
  return (before < after ? before / after : after / before) < 0.9;
}

/// The least seconds that operations and reading need; the longer of the two decides.
struct LeastTime {
  double computing = 0;
  double reading = 0;

  double seconds() const { return computing < reading ? reading : computing; }
};

/// The least time of one dispatch, and of all together. The roof has the entry of each.
LeastTime leastTime(const DispatchProfile &dispatch, const MachineRoof &roof);
double leastSeconds(std::span<const DispatchProfile> profile, const MachineRoof &roof);

/// 10^9 bytes per second of reading so many bytes again and again.
using MeasureReading = std::function<Result<double>(uint64_t bytes)>;

/// The roofs of several profiles, in their order, so that what differs between them are the
/// profiles: passes that read about as much are measured once, and one that reads less is held
/// against no lower rate.
Result<std::vector<MachineRoof>>
measureRoofs(std::span<const std::vector<DispatchProfile>> profiles, double peak,
             const MeasureReading &measure);
/// The same on `threads` threads of this machine.
Result<std::vector<MachineRoof>>
measureRoofs(std::span<const std::vector<DispatchProfile>> profiles, double peak, int threads);

/// {"integers": 10^9 operations per second}, of products that are not of f32.
nlohmann::ordered_json narrowPeaksRecord(const MachineRoof &roof);

/// [{"entry", "pass_bytes", "roof_gb_per_s"}].
nlohmann::ordered_json entriesRecord(const MachineRoof &roof);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_MEASURE_MACHINEROOF_H
