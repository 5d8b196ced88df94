// SPDX-License-Identifier: Apache-2.0
///
/// The costs of dispatches, counted by each worker separately and combined on request.
#ifndef HEDDLE_RUNTIME_SESSION_PROFILE_H
#define HEDDLE_RUNTIME_SESSION_PROFILE_H

#include "formats/Binary/Manifest_generated.h"
#include "heddle/Session.h"
#include "runtime/Session/Run.h"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace heddle {

class Artifact;

/// The work of one call of a dispatch.
struct DispatchWork {
  double flops = 0;
  double weightBytes = 0;
  double cacheBytes = 0;

  DispatchWork &operator+=(const DispatchWork &other) {
    flops += other.flops;
    weightBytes += other.weightBytes;
    cacheBytes += other.cacheBytes;
    return *this;
  }
};

/// Adds the numbers of rows, group by group.
void addGroups(std::vector<uint64_t> &sum, std::span<const uint64_t> rows);

/// The cost of a dispatch on one worker.
struct DispatchCost {
  uint64_t calls = 0;
  double seconds = 0;
  DispatchWork work;
  /// The number of rows that chose each group of weights; empty if the dispatch has no groups.
  std::vector<uint64_t> groupRows = {};

  DispatchCost &operator+=(const DispatchCost &other) {
    addGroups(groupRows, other.groupRows);
    calls += other.calls;
    seconds += other.seconds;
    work += other.work;
    return *this;
  }
};

/// One run of a dispatch by one worker; `index` is that of its cost, times are seconds.
struct DispatchSpan {
  size_t index = 0;
  int thread = 0;
  double start = 0;
  double seconds = 0;
  DispatchWork work;
};

/// All rows, whatever their number.
inline constexpr Range allRows{0, std::numeric_limits<int64_t>::max()};

/// The work of reading a cache: the bytes of all positions that its segments see, and the number of
/// pairs of row and position.
struct CachedWork {
  double bytes = 0;
  double pairs = 0;
};
/// How a cache is read: the bytes of a position; the maximum number of positions that a row sees,
/// unless 0; and the rows that read.
struct CacheReading {
  double positionBytes = 0;
  double mostKeys = 0;
  Range rows = allRows;
};
/// `ofSequences` are the rows of each sequence; the sequences are the segments if `cache` names
/// none.
CachedWork cachedWork(const CacheRows &cache, std::span<const int32_t> ofSequences,
                      const CacheReading &reading);

/// Counts the rows that chose each of `groups` groups. Choices are not validated: numbers that are
/// no group are not counted.
void countGroups(std::span<const int32_t> chosen, uint32_t groups, std::vector<uint64_t> &rows);
/// Returns the fraction of groups that at least one row chose.
double shareOfGroups(std::span<const uint64_t> rows);

/// Returns the dispatches that were called; `costs` is in the order of the manifest.
std::vector<DispatchProfile> profileOf(const Artifact &artifact,
                                       std::span<const DispatchCost> costs);

/// Converts spans to runs, with the indices that their dispatches have in profileOf() of the same
/// costs.
std::vector<DispatchRun> traceOf(std::span<const DispatchCost> costs,
                                 std::span<const DispatchSpan> spans);

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_PROFILE_H
