// SPDX-License-Identifier: Apache-2.0
///
/// Removes layer numbers from names, and sums dispatches.
#include "runtime/Tools/Profile/ProfileRows.h"

#include "runtime/Tools/Measure/Workload.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

namespace heddle::tools {

namespace {
/// The position of a layer's number in a name: its first numeric part.
struct NumberPlace {
  size_t begin = std::string_view::npos;
  size_t end = std::string_view::npos;
};
} // namespace

static bool isNumber(std::string_view part) {
  return !part.empty() &&
         std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

static NumberPlace layerNumber(std::string_view name) {
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    if (isNumber(name.substr(begin, end - begin))) {
      return {begin, end};
    }
    begin = end + 1;
  }
  return {};
}

std::string withoutLayerNumber(std::string_view name) {
  const NumberPlace number = layerNumber(name);
  if (number.begin == std::string_view::npos) {
    return std::string(name);
  }
  return std::string(name.substr(0, number.begin)) + "*" + std::string(name.substr(number.end));
}

std::string layerOf(std::string_view name) {
  const NumberPlace number = layerNumber(name);
  if (number.begin != std::string_view::npos) {
    return std::string(name.substr(0, number.end));
  }
  const size_t dot = name.rfind('.');
  return std::string(name.substr(0, dot == std::string_view::npos ? name.size() : dot));
}

std::string kindOfKernel(std::string_view kernel) {
  // Words, then sizes: attention_weights_8x64.
  for (size_t at = kernel.find('_'); at != std::string_view::npos; at = kernel.find('_', at + 1)) {
    if (at + 1 < kernel.size() && kernel[at + 1] >= '0' && kernel[at + 1] <= '9') {
      return std::string(kernel.substr(0, at));
    }
  }
  return std::string(kernel);
}

/// Returns the grouping key of a dispatch's row.
static std::tuple<std::string, std::string, std::string> keyOf(const DispatchProfile &dispatch,
                                                               ProfileBy by) {
  switch (by) {
  case ProfileBy::Dispatch:
    return {dispatch.entry, dispatch.name, dispatch.kernel};
  case ProfileBy::Layer:
    return {dispatch.entry, layerOf(dispatch.name), ""};
  case ProfileBy::Kind:
    return {dispatch.entry, kindOfKernel(dispatch.kernel), ""};
  case ProfileBy::Name:
    break;
  }
  return {dispatch.entry, withoutLayerNumber(dispatch.name), dispatch.kernel};
}

static void add(ProfileRow &row, const DispatchProfile &dispatch, double seconds,
                const MachineRoof &roof) {
  const LeastTime least = leastTime(dispatch, roof);
  if (row.calls == 0) {
    row.groupRows = dispatch.groupRows;
  } else if (row.groupRows.size() == dispatch.groupRows.size()) {
    std::transform(row.groupRows.begin(), row.groupRows.end(), dispatch.groupRows.begin(),
                   row.groupRows.begin(), std::plus<>());
  } else {
    row.groupRows.clear();
  }
  row.calls += dispatch.calls;
  row.seconds += seconds;
  row.flops += dispatch.flops;
  row.weightBytes += dispatch.weightBytes;
  row.cacheBytes += dispatch.cacheBytes;
  row.leastSeconds += least.seconds();
  row.memorySeconds += least.reading > least.computing ? least.reading : 0;
}

std::vector<DispatchProfile> medianProfile(std::span<const std::vector<DispatchProfile>> runs) {
  std::vector<DispatchProfile> typical = runs.front();
  for (size_t i = 0; i < typical.size(); ++i) {
    std::vector<double> seconds;
    for (const std::vector<DispatchProfile> &run : runs) {
      // The same work calls the same dispatches.
      if (i < run.size() && run[i].entry == typical[i].entry && run[i].name == typical[i].name) {
        seconds.push_back(run[i].seconds);
      }
    }
    typical[i].seconds = median(std::move(seconds));
  }
  return typical;
}

std::vector<ProfileRow> profileRows(std::span<const DispatchProfile> profile, ProfileBy by,
                                    int threads, const MachineRoof &roof) {
  std::vector<ProfileRow> rows;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> places;
  std::vector<std::map<std::string, double>> kernels;
  for (const DispatchProfile &dispatch : profile) {
    const auto key = keyOf(dispatch, by);
    // With one row per dispatch, dispatches of the same name have separate rows.
    const auto [place, isNew] = places.try_emplace(key, rows.size());
    if (isNew || by == ProfileBy::Dispatch) {
      place->second = rows.size();
      ProfileRow &row = rows.emplace_back();
      row.entry = dispatch.entry;
      row.name = std::get<1>(key);
      kernels.emplace_back();
    }
    const double seconds = dispatch.seconds / threads;
    add(rows[place->second], dispatch, seconds, roof);
    kernels[place->second][dispatch.kernel] += seconds;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto longest =
        std::max_element(kernels[i].begin(), kernels[i].end(),
                         [](const auto &a, const auto &b) { return a.second < b.second; });
    rows[i].kernel = longest->first;
    rows[i].kernels = kernels[i].size();
  }
  std::sort(rows.begin(), rows.end(), [](const ProfileRow &a, const ProfileRow &b) {
    return std::tie(b.seconds, a.entry, a.name, a.kernel) <
           std::tie(a.seconds, b.entry, b.name, b.kernel);
  });
  return rows;
}

} // namespace heddle::tools
