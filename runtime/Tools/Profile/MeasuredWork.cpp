// SPDX-License-Identifier: Apache-2.0
///
/// Measures the machine before and after the runs, takes the median of each dispatch, and writes
/// all numbers as JSON.
#include "runtime/Tools/Profile/MeasuredWork.h"

#include "runtime/Tools/Lines/LineFormats.h"
#include "runtime/Tools/Models/ModelEntries.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

namespace heddle::tools {

using Json = nlohmann::ordered_json;

double MeasuredWork::outside() const {
  double sum = 0;
  for (const ProfileRow &row : rows) {
    sum += row.seconds;
  }
  return std::max(0.0, seconds - sum);
}

/// Measures the limits of the machine for the work of a profile.
static MachineRoof measureRoof(const std::vector<DispatchProfile> &profile, double peak,
                               MeasuredDevice &device) {
  return std::move(measureRoofs({&profile, 1}, peak, device).front());
}

Result<MeasuredWork> measureWork(ProfileWork &work, const ProfileOptions &options, double peak,
                                 MeasuredDevice &device, const std::function<Status()> &goOn) {
  work.resetProfile();
  HEDDLE_TRY(work.run());
  const MachineRoof before = measureRoof(work.profile(), peak, device);
  std::vector<double> seconds;
  std::vector<std::vector<DispatchProfile>> profiles;
  std::vector<CountedLaunches> launchesBefore;
  for (int64_t run = 0; run < options.runs; ++run) {
    work.resetProfile();
    launchesBefore = work.launches();
    const auto begin = std::chrono::steady_clock::now();
    HEDDLE_TRY(work.run());
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    seconds.push_back(time.count());
    profiles.push_back(work.profile());
    HEDDLE_TRY(goOn());
  }
  const std::vector<CountedLaunches> launches = launchesBetween(launchesBefore, work.launches());
  const std::vector<DispatchProfile> profile = medianProfile(profiles);
  const double peakAfter = device.peak();
  const MachineRoof after = measureRoof(profile, peakAfter, device);
  MeasuredWork measured = {
      .title = work.title(), .tokens = work.tokens(), .times = RunTimes(seconds)};
  measured.runs = options.runs;
  measured.peaks[0] = peak;
  measured.peaks[1] = peakAfter;
  measured.roof = higherOf(before, after);
  measured.rows = profileRows(profile, options.by, device.lanes(), measured.roof);
  measured.selection = work.selection();
  measured.launches = launches;
  return measured;
}

Json recordOf(const MeasuredWork &measured) {
  Json rows = Json::array();
  for (const ProfileRow &row : measured.rows) {
    rows.push_back({{"entry", row.entry},
                    {"name", row.name},
                    {"kernel", row.kernel},
                    {"kernels", row.kernels},
                    {"calls", row.calls},
                    {"ms", rounded(row.seconds * 1e3, 6)},
                    {"share", rounded(row.seconds / measured.seconds, 6)},
                    {"flops", row.flops},
                    {"weight_bytes", row.weightBytes},
                    {"cache_bytes", row.cacheBytes},
                    {"gflops", rounded(row.rate(), 3)},
                    {"gb_per_s", rounded(row.traffic(), 3)},
                    {"fraction_of_roof", rounded(row.ofRoof(), 4)},
                    {"bound", row.boundByMemory() ? "memory" : "compute"}});
    if (!row.groupRows.empty()) {
      rows.back()["group_rows"] = row.groupRows;
    }
  }
  const SelectionUse &use = measured.selection;
  Json selection = Json::object();
  if (use.selected + use.copied > 0) {
    selection = {{"selected", use.selected}, {"copied", use.copied}, {"reasons", use.reasons}};
  }
  return {{"work", measured.title},
          {"tokens", measured.tokens},
          {"runs", measured.runs},
          {"times", "median"},
          {"ms", rounded(measured.seconds * 1e3, 6)},
          {"least_ms", rounded(measured.times.least * 1e3, 6)},
          {"most_ms", rounded(measured.times.most * 1e3, 6)},
          {"spread", rounded(measured.times.spread(), 3)},
          {"outside_ms", rounded(measured.outside() * 1e3, 6)},
          {"peak_gflops_before", rounded(measured.peaks[0], 1)},
          {"peak_gflops_after", rounded(measured.peaks[1], 1)},
          {"narrow_peaks_gflops", narrowPeaksRecord(measured.roof)},
          {"disturbed", isDisturbed(measured.peaks[0], measured.peaks[1])},
          {"entries", entriesRecord(measured.roof)},
          {"selection", std::move(selection)},
          {"launches", launchesRecord(measured.launches)},
          {"rows", std::move(rows)}};
}

Json machineRecord(const Model &model, const ProfileOptions &options, double peak,
                   double bandwidth) {
  Json record = {{"model", options.model}, {"isa", model.isa()}, {"precision", model.precision()}};
  if (const std::vector<std::string> kept = keptLayersOf(model); !kept.empty()) {
    record["kept"] = kept;
  }
  record["cache_precision"] = model.cachePrecision();
  record["threads"] = options.threads;
  record["peak_gflops"] = rounded(peak, 1);
  record["bandwidth_gb_per_s"] = rounded(bandwidth, 2);
  return record;
}

} // namespace heddle::tools
