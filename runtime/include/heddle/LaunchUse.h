// SPDX-License-Identifier: Apache-2.0
///
/// Counts of what a device with its own memory was told to do. Small steps take as long as their
/// driver calls, so these numbers say what time alone does not.
#ifndef HEDDLE_LAUNCHUSE_H
#define HEDDLE_LAUNCHUSE_H

#include <cstdint>
#include <iterator>

namespace heddle {

/// What was passed to the driver of a device with its own memory; all zero on devices whose
/// launches are function calls. Loading a model does not count, nor do driver calls that failed.
struct LaunchUse {
  /// Kernels that had a call of their own; graphs, which take one call each, and the kernels in
  /// them. Recording a graph launches nothing.
  int64_t kernels = 0;
  int64_t graphs = 0;
  int64_t kernelsOfGraphs = 0;
  /// Copies from the host to the device, to the host, and within the device.
  int64_t copiesToDevice = 0;
  int64_t copiesToHost = 0;
  int64_t copiesWithin = 0;
  /// How often the host waited for launches or their results. Not counted is waiting for a copy
  /// from the host, some copies earlier, whose memory the host writes again.
  int64_t waits = 0;

  bool operator==(const LaunchUse &) const = default;
};

/// A count of LaunchUse and its name in JSON.
struct LaunchCount {
  const char *name;
  int64_t LaunchUse::*count;
};
inline constexpr LaunchCount launchCounts[] = {{"graphs", &LaunchUse::graphs},
                                               {"kernels_of_graphs", &LaunchUse::kernelsOfGraphs},
                                               {"kernels", &LaunchUse::kernels},
                                               {"copies_to_device", &LaunchUse::copiesToDevice},
                                               {"copies_to_host", &LaunchUse::copiesToHost},
                                               {"copies_within", &LaunchUse::copiesWithin},
                                               {"waits", &LaunchUse::waits}};
static_assert(sizeof(LaunchUse) == std::size(launchCounts) * sizeof(int64_t),
              "launchCounts has every count");

inline LaunchUse &operator+=(LaunchUse &use, const LaunchUse &other) {
  for (const LaunchCount &each : launchCounts) {
    use.*each.count += other.*each.count;
  }
  return use;
}
inline LaunchUse &operator-=(LaunchUse &use, const LaunchUse &other) {
  for (const LaunchCount &each : launchCounts) {
    use.*each.count -= other.*each.count;
  }
  return use;
}

/// What generation has told a device, by its parts.
struct GenerationLaunches {
  /// The batches of sources that were encoded, and the launches that encoded them.
  int64_t encodings = 0;
  LaunchUse ofEncodings = {};
  /// The steps that were begun, and all other launches: also copies between steps.
  int64_t steps = 0;
  LaunchUse ofSteps = {};
};

} // namespace heddle

#endif // HEDDLE_LAUNCHUSE_H
