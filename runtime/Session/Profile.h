// SPDX-License-Identifier: Apache-2.0
///
/// What dispatches cost, counted by each worker for itself and put together when somebody asks.
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

/// What one call of a dispatch does.
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

/// Adds numbers of rows, group by group.
void addGroups(std::vector<uint64_t> &sum, std::span<const uint64_t> rows);

/// What a dispatch has cost one worker.
struct DispatchCost {
  uint64_t calls = 0;
  double seconds = 0;
  DispatchWork work;
  /// How many rows chose each group of weights; empty where none is chosen.
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

/// However many there are.
inline constexpr Range allRows{0, std::numeric_limits<int64_t>::max()};

/// What reading a cache means: the bytes of all positions its segments see, and the products of
/// rows and positions.
struct CachedWork {
  double bytes = 0;
  double pairs = 0;
};
/// How it is read: the bytes of a position; the most of them that a row sees, unless that is 0; and
/// the rows that read.
struct CacheReading {
  double positionBytes = 0;
  double mostKeys = 0;
  Range rows = allRows;
};
/// `ofSequences` are the rows of each sequence; sequences are the segments if `cache` names none.
CachedWork cachedWork(const CacheRows &cache, std::span<const int32_t> ofSequences,
                      const CacheReading &reading);

/// Counts how many rows chose each of so many groups. What they chose is not checked: a number that
/// is no group is not counted.
void countGroups(std::span<const int32_t> chosen, uint32_t groups, std::vector<uint64_t> &rows);
/// The share of the groups that any row chose.
double shareOfGroups(std::span<const uint64_t> rows);

/// The dispatches that were called, of costs in the order of the manifest.
std::vector<DispatchProfile> profileOf(const manifest::Manifest &model,
                                       std::span<const DispatchCost> costs);

/// The spans with the places that their dispatches have in profileOf() of the same costs.
std::vector<DispatchRun> traceOf(std::span<const DispatchCost> costs,
                                 std::span<const DispatchSpan> spans);

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_PROFILE_H
