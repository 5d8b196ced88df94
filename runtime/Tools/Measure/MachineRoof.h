// SPDX-License-Identifier: Apache-2.0
///
/// The measured limits of a device (a roofline), and the minimum time of work within them: a
/// dispatch takes at least as long as its operations at the peak rate, and as reading its weights
/// and cached positions.
#ifndef HEDDLE_RUNTIME_TOOLS_MEASURE_MACHINEROOF_H
#define HEDDLE_RUNTIME_TOOLS_MEASURE_MACHINEROOF_H

#include "heddle/Session.h"
#include "runtime/Device/Device.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::tools {

/// The bandwidth that limits an entry. A pass through its dispatches reads all its bytes once
/// before any is needed again: if they fit in a cache, the limit is that of the cache.
struct EntryRoof {
  /// The bytes of weights and cached positions that a pass reads, on average.
  double passBytes = 0;
  /// 10^9 bytes per second, of the threads used together.
  double bandwidth = 0;
};

struct MachineRoof {
  /// 10^9 operations per second, of the threads used together; infinite if it is not known.
  double peak = 0;
  /// The same for the types of products other than f32 that occur.
  std::map<Arithmetic, double> narrowPeaks = {};
  std::map<std::string, EntryRoof> entries;

  double peakOf(Arithmetic arithmetic) const {
    return arithmetic == Arithmetic::F32 ? peak : narrowPeaks.at(arithmetic);
  }
};

/// The device that a model runs on, as far as it can be measured, and as the target that runs uses
/// it. If a measurement fails, a note on standard error says why, each reason once, and the limit
/// is infinite: nothing is held against it.
class MeasuredDevice {
public:
  static Result<MeasuredDevice> of(const Model &model, int threads);

  /// Returns 10^9 operations per second of all threads together.
  double peak(Arithmetic arithmetic = Arithmetic::F32);
  /// Returns 10^9 bytes per second for repeated reads of `bytes` bytes.
  double reading(uint64_t bytes);
  /// Returns over how many lanes the times of dispatches are spread: a GPU is one, whatever the
  /// number of threads.
  int lanes() const { return device->sharesHostMemory() ? threads : 1; }
  std::string_view vectors() const { return device->vectors(target); }

private:
  MeasuredDevice(std::shared_ptr<Device> device, std::string target, int threads)
      : device(std::move(device)), target(std::move(target)), threads(threads) {}
  double orInfinite(const Result<double> &measured);

  std::shared_ptr<Device> device;
  std::string target;
  int threads;
  std::set<std::string, std::less<>> noted;
};

/// Returns the higher of two measurements of the same limits: disturbances only lower a
/// measurement. One that has failed does not count.
MachineRoof higherOf(const MachineRoof &one, const MachineRoof &other);

/// Returns whether two measurements of a limit, before and after the work, differ so much that
/// other work on the machine must have disturbed one of them, and possibly the work itself.
inline bool isDisturbed(double before, double after) {
  return std::isfinite(before) && std::isfinite(after) &&
         (before < after ? before / after : after / before) < 0.9;
}

/// The minimum seconds for operations and for reading; the longer of the two is the bound.
struct LeastTime {
  double computing = 0;
  double reading = 0;

  double seconds() const { return computing < reading ? reading : computing; }
};

/// Return the minimum time of one dispatch, and of all together; no time for one that needs a limit
/// that could not be measured. The roof must have the entry of each.
LeastTime leastTime(const DispatchProfile &dispatch, const MachineRoof &roof);
double leastSeconds(std::span<const DispatchProfile> profile, const MachineRoof &roof);

/// Measures 10^9 bytes per second for repeated reads of `bytes` bytes.
using MeasureReading = std::function<double(uint64_t bytes)>;

/// Returns the roofs of several profiles, in order. To keep the profiles comparable, passes that
/// read similar amounts are measured once, and a pass that reads less never gets a lower rate.
std::vector<MachineRoof> measureRoofs(std::span<const std::vector<DispatchProfile>> profiles,
                                      double peak, const MeasureReading &measure);
/// As above, measured on a device.
std::vector<MachineRoof> measureRoofs(std::span<const std::vector<DispatchProfile>> profiles,
                                      double peak, MeasuredDevice &device);

/// The peaks of the products in profiles that are not of f32.
std::map<Arithmetic, double>
measureNarrowPeaks(std::span<const std::vector<DispatchProfile>> profiles, MeasuredDevice &device);

/// Returns the name of a type of products for users: "integers", "bf16", "tf32".
std::string_view nameOf(Arithmetic arithmetic);

/// {"integers": 10^9 operations per second}, of products that are not of f32.
nlohmann::ordered_json narrowPeaksRecord(const MachineRoof &roof);

/// Returns [{"entry", "pass_bytes", "roof_gb_per_s"}].
nlohmann::ordered_json entriesRecord(const MachineRoof &roof);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_MEASURE_MACHINEROOF_H
