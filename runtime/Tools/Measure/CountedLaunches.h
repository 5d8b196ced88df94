// SPDX-License-Identifier: Apache-2.0
///
/// What a run, or a step of generation, tells a GPU: the numbers of launches, copies and waits that
/// `heddle bench` and `heddle profile` print.
#ifndef HEDDLE_RUNTIME_TOOLS_MEASURE_COUNTEDLAUNCHES_H
#define HEDDLE_RUNTIME_TOOLS_MEASURE_COUNTEDLAUNCHES_H

#include "heddle/LaunchUse.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

/// The sum of what `count` units of work told a device.
struct CountedLaunches {
  /// "run", "encoding" or "step".
  std::string_view unit;
  int64_t count = 0;
  LaunchUse use = {};

  bool operator==(const CountedLaunches &) const = default;
};

/// Return what runs of an entry, or generation, told a device.
std::vector<CountedLaunches> countedLaunches(int64_t runs, const LaunchUse &use);
std::vector<CountedLaunches> countedLaunches(const GenerationLaunches &launches);

/// Returns what was told between two calls of one of these functions.
std::vector<CountedLaunches> launchesBetween(const std::vector<CountedLaunches> &before,
                                             std::vector<CountedLaunches> after);

/// Returns the mean of each unit of a profile, one per line: "launches a timed step: 14 kernels, 3
/// copies to the device, 1 copy to the host, 1 wait\n". Empty if the device was told nothing, as on
/// a CPU.
std::string launchesText(const std::vector<CountedLaunches> &list);

/// Returns the same numbers by unit; an empty object if the device was told nothing.
nlohmann::ordered_json launchesRecord(const std::vector<CountedLaunches> &list);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_MEASURE_COUNTEDLAUNCHES_H
