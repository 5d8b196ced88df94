// SPDX-License-Identifier: Apache-2.0
///
/// Means are printed rather than totals: a step that is repeated has whole numbers, and fractions
/// say that steps differ.
#include "runtime/Tools/Measure/CountedLaunches.h"

#include "runtime/Tools/Lines/LineFormats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace heddle::tools {

using Json = nlohmann::ordered_json;

std::vector<CountedLaunches> countedLaunches(int64_t runs, const LaunchUse &use) {
  return {{"run", runs, use}};
}

std::vector<CountedLaunches> countedLaunches(const GenerationLaunches &launches) {
  return {{"encoding", launches.encodings, launches.ofEncodings},
          {"step", launches.steps, launches.ofSteps}};
}

std::vector<CountedLaunches> launchesBetween(const std::vector<CountedLaunches> &before,
                                             std::vector<CountedLaunches> after) {
  for (size_t i = 0; i < after.size(); ++i) {
    after[i].count -= before[i].count;
    after[i].use -= before[i].use;
  }
  return after;
}

/// Returns whether the device was told something.
static bool isTold(const CountedLaunches &launches) {
  return launches.count > 0 && launches.use != LaunchUse();
}

static double mean(int64_t sum, int64_t count) {
  return rounded(static_cast<double>(sum) / static_cast<double>(count), 2);
}

/// Appends "3 copies to the device"; nothing if there are none.
static void addPart(std::vector<std::string> &parts, double count, std::string_view one,
                    std::string_view several, std::string_view more = "") {
  if (count > 0) {
    parts.push_back(fmt::format("{} {}{}", count, count == 1 ? one : several, more));
  }
}

static std::string lineOf(const CountedLaunches &launches) {
  const LaunchUse &use = launches.use;
  const auto each = [&](int64_t sum) { return mean(sum, launches.count); };
  std::vector<std::string> parts;
  if (use.graphs > 0) {
    const double kernels = mean(use.kernelsOfGraphs, use.graphs);
    addPart(parts, each(use.graphs), "graph", "graphs",
            fmt::format(" of {} kernel{}", kernels, kernels == 1 ? "" : "s"));
  }
  addPart(parts, each(use.kernels), use.graphs > 0 ? "single kernel" : "kernel",
          use.graphs > 0 ? "single kernels" : "kernels");
  addPart(parts, each(use.copiesToDevice), "copy", "copies", " to the device");
  addPart(parts, each(use.copiesToHost), "copy", "copies", " to the host");
  addPart(parts, each(use.copiesWithin), "copy", "copies", " within the device");
  addPart(parts, each(use.waits), "wait", "waits");
  return fmt::format("launches a timed {}: {}\n", launches.unit, fmt::join(parts, ", "));
}

std::string launchesText(const std::vector<CountedLaunches> &list) {
  std::string text;
  for (const CountedLaunches &launches : list) {
    text += isTold(launches) ? lineOf(launches) : "";
  }
  return text;
}

Json launchesRecord(const std::vector<CountedLaunches> &list) {
  Json record = Json::object();
  for (const CountedLaunches &launches : list) {
    if (!isTold(launches)) {
      continue;
    }
    Json &counted = record[std::string(launches.unit)] = {{"count", launches.count}};
    for (const auto &[name, sum] : launchCounts) {
      counted[name] = mean(launches.use.*sum, launches.count);
    }
  }
  return record;
}

} // namespace heddle::tools
