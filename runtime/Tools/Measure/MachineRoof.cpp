// SPDX-License-Identifier: Apache-2.0
///
/// Measures the bandwidth for passes from the largest to the smallest.
#include "runtime/Tools/Measure/MachineRoof.h"

#include "runtime/Tools/Lines/LineFormats.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

namespace heddle::tools {

/// Passes with at least this fraction of a larger one's bytes use the same measurement: two
/// measurements would mostly differ by other work on the machine.
static constexpr double alike = 7.0 / 8;

Result<MeasuredDevice> MeasuredDevice::of(const Model &model, int threads) {
  HEDDLE_ASSIGN(const std::vector<std::shared_ptr<Device>> devices, openDevices(model.device()));
  return MeasuredDevice(devices.front(), std::string(model.isa()), threads);
}

double MeasuredDevice::orInfinite(const Result<double> &measured) {
  if (measured.ok()) {
    return *measured;
  }
  const std::string_view reason = measured.status().message();
  if (noted.emplace(reason).second) {
    fmt::print(stderr, "heddle: note: {}: nothing is held against it\n", reason);
  }
  return std::numeric_limits<double>::infinity();
}

double MeasuredDevice::peak(Arithmetic arithmetic) {
  return orInfinite(device->measurePeak(threads, arithmetic, target));
}

double MeasuredDevice::reading(uint64_t bytes) {
  return orInfinite(device->measureReading(threads, bytes));
}

/// Infinite limits are unknown.
static double higherOf(double one, double other) {
  return std::isinf(one) ? other : std::isinf(other) ? one : std::max(one, other);
}

MachineRoof higherOf(const MachineRoof &one, const MachineRoof &other) {
  MachineRoof higher = one;
  higher.peak = higherOf(one.peak, other.peak);
  for (const auto &[arithmetic, peak] : other.narrowPeaks) {
    double &known = higher.narrowPeaks.emplace(arithmetic, peak).first->second;
    known = higherOf(known, peak);
  }
  for (auto &[name, entry] : higher.entries) {
    const auto found = other.entries.find(name);
    if (found != other.entries.end()) {
      entry.bandwidth = higherOf(entry.bandwidth, found->second.bandwidth);
    }
  }
  return higher;
}

LeastTime leastTime(const DispatchProfile &dispatch, const MachineRoof &roof) {
  const double peak = roof.peakOf(dispatch.arithmetic);
  const double bandwidth = roof.entries.at(dispatch.entry).bandwidth;
  const double bytes = dispatch.weightBytes + dispatch.cacheBytes;
  // With one of two limits, the other would seem to be the one that counts.
  if ((dispatch.flops > 0 && std::isinf(peak)) || (bytes > 0 && std::isinf(bandwidth))) {
    return {};
  }
  return {dispatch.flops * 1e-9 / peak, bytes * 1e-9 / bandwidth};
}

double leastSeconds(std::span<const DispatchProfile> profile, const MachineRoof &roof) {
  return std::accumulate(profile.begin(), profile.end(), 0.0,
                         [&](double sum, const DispatchProfile &dispatch) {
                           return sum + leastTime(dispatch, roof).seconds();
                         });
}

std::vector<MachineRoof> measureRoofs(std::span<const std::vector<DispatchProfile>> profiles,
                                      double peak, const MeasureReading &measure) {
  std::vector<MachineRoof> roofs(profiles.size(), MachineRoof{.peak = peak, .entries = {}});
  for (size_t i = 0; i < profiles.size(); ++i) {
    for (const DispatchProfile &dispatch : profiles[i]) {
      roofs[i].entries[dispatch.entry].passBytes +=
          (dispatch.weightBytes + dispatch.cacheBytes) / static_cast<double>(dispatch.calls);
    }
  }
  std::vector<EntryRoof *> entries;
  for (MachineRoof &roof : roofs) {
    for (auto &[name, entry] : roof.entries) {
      entries.push_back(&entry);
    }
  }
  std::sort(entries.begin(), entries.end(), [](const EntryRoof *one, const EntryRoof *other) {
    return one->passBytes > other->passBytes;
  });
  // The size of the last pass measured, and the highest bandwidth so far: a smaller pass is never
  // assigned a lower bandwidth than a larger one.
  double measured = 0;
  double bandwidth = 0;
  for (EntryRoof *const entry : entries) {
    const double bytes = std::min(entry->passBytes, static_cast<double>(beyondCaches));
    if (bandwidth == 0 || bytes < measured * alike) {
      const double found = measure(static_cast<uint64_t>(bytes));
      bandwidth = bandwidth == 0 ? found : higherOf(bandwidth, found);
      measured = bytes;
    }
    entry->bandwidth = bandwidth;
  }
  return roofs;
}

std::map<Arithmetic, double>
measureNarrowPeaks(std::span<const std::vector<DispatchProfile>> profiles, MeasuredDevice &device) {
  std::map<Arithmetic, double> narrowPeaks;
  for (const std::vector<DispatchProfile> &profile : profiles) {
    for (const DispatchProfile &dispatch : profile) {
      double &narrowPeak = narrowPeaks[dispatch.arithmetic];
      if (narrowPeak == 0 && dispatch.arithmetic != Arithmetic::F32) {
        narrowPeak = device.peak(dispatch.arithmetic);
      }
    }
  }
  narrowPeaks.erase(Arithmetic::F32);
  return narrowPeaks;
}

std::vector<MachineRoof> measureRoofs(std::span<const std::vector<DispatchProfile>> profiles,
                                      double peak, MeasuredDevice &device) {
  std::vector<MachineRoof> roofs =
      measureRoofs(profiles, peak, [&](uint64_t bytes) { return device.reading(bytes); });
  const auto narrowPeaks = measureNarrowPeaks(profiles, device);
  for (MachineRoof &roof : roofs) {
    roof.narrowPeaks = narrowPeaks;
  }
  return roofs;
}

std::string_view nameOf(Arithmetic arithmetic) {
  switch (arithmetic) {
  case Arithmetic::F32:
    return "f32";
  case Arithmetic::Integers:
    return "integers";
  case Arithmetic::Bf16:
    return "bf16";
  case Arithmetic::Tf32:
    return "tf32";
  case Arithmetic::Tf32x3:
    return "tf32x3";
  }
  return "";
}

nlohmann::ordered_json narrowPeaksRecord(const MachineRoof &roof) {
  nlohmann::ordered_json record = nlohmann::ordered_json::object();
  for (const auto &[arithmetic, peak] : roof.narrowPeaks) {
    record[std::string(nameOf(arithmetic))] = rounded(peak, 1);
  }
  return record;
}

nlohmann::ordered_json entriesRecord(const MachineRoof &roof) {
  nlohmann::ordered_json record = nlohmann::ordered_json::array();
  for (const auto &[name, entry] : roof.entries) {
    record.push_back({{"entry", name},
                      {"pass_bytes", rounded(entry.passBytes, 0)},
                      {"roof_gb_per_s", rounded(entry.bandwidth, 2)}});
  }
  return record;
}

} // namespace heddle::tools
