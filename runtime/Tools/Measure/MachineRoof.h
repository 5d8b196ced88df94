// SPDX-License-Identifier: Apache-2.0
///
/// The measured limits of a device (a roofline), and the least time that work takes within them:
/// a dispatch can be no faster than its operations at the peak rate, and no faster than reading its
/// weights and cached positions.
#ifndef HEDDLE_RUNTIME_TOOLS_MEASURE_MACHINEROOF_H
#define HEDDLE_RUNTIME_TOOLS_MEASURE_MACHINEROOF_H

#include "heddle/Session.h"
#include "runtime/Device/Device.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

/// The device that a model runs on, as far as it can be measured. Where Heddle cannot do that yet,
/// a note on standard error says so once, and the limit is infinite: nothing is held against it.
class MeasuredDevice {
public:
  static Result<MeasuredDevice> of(const Model &model, int threads);

  /// 10^9 operations a second of all threads together.
  Result<double> peak(Arithmetic arithmetic = Arithmetic::F32);
  /// 10^9 bytes a second of reading so many bytes again and again.
  Result<double> reading(uint64_t bytes);
  std::string_view vectors() const { return device->vectors(); }

private:
  MeasuredDevice(std::shared_ptr<Device> device, int threads)
      : device(std::move(device)), threads(threads) {}
  Result<double> orInfinite(Result<double> measured);

  std::shared_ptr<Device> device;
  int threads;
  bool hasNoted = false;
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
/// The same of a device.
Result<std::vector<MachineRoof>>
measureRoofs(std::span<const std::vector<DispatchProfile>> profiles, double peak,
             MeasuredDevice &device);

/// {"integers": 10^9 operations per second}, of products that are not of f32.
nlohmann::ordered_json narrowPeaksRecord(const MachineRoof &roof);

/// [{"entry", "pass_bytes", "roof_gb_per_s"}].
nlohmann::ordered_json entriesRecord(const MachineRoof &roof);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_MEASURE_MACHINEROOF_H
