// SPDX-License-Identifier: Apache-2.0
///
/// Runs work with a timer on every dispatch, for `heddle profile` and the Python package.
#ifndef HEDDLE_RUNTIME_TOOLS_PROFILE_MEASUREDWORK_H
#define HEDDLE_RUNTIME_TOOLS_PROFILE_MEASUREDWORK_H

#include "runtime/Tools/Profile/ProfileRows.h"
#include "runtime/Tools/Profile/ProfileWork.h"

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace heddle::tools {

/// The measurements of one piece of work.
struct MeasuredWork {
  std::string title;
  int64_t tokens = 0;
  /// Wall time of a run, and its median.
  RunTimes times;
  double seconds = times.median;
  int64_t runs = 1;
  /// The peak before and after the runs; the roof has the higher one.
  double peaks[2] = {};
  MachineRoof roof = {};
  /// One run, each dispatch with its median time.
  std::vector<ProfileRow> rows = {};
  /// How a GPU selected tokens, in all runs.
  SelectionUse selection = {};
  /// What the last run told the device. Timed launches are told one by one, not as a graph.
  std::vector<CountedLaunches> launches = {};

  /// Returns the wall time outside all dispatches: the search, waiting for other threads, copies.
  double outside() const;
};

/// Runs the work with a profile of each run. `peak` is the machine's peak measured before. `goOn`
/// is called between runs; its failure ends the work.
Result<MeasuredWork> measureWork(
    ProfileWork &work, const ProfileOptions &options, double peak, MeasuredDevice &device,
    const std::function<Status()> &goOn = [] { return Status(); });

/// Returns the record for --json.
nlohmann::ordered_json recordOf(const MeasuredWork &measured);

/// Returns the part of a profile that describes the model and the machine.
nlohmann::ordered_json machineRecord(const Model &model, const ProfileOptions &options, double peak,
                                     double bandwidth);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_PROFILE_MEASUREDWORK_H
