// SPDX-License-Identifier: Apache-2.0
///
/// Medians, clocks, and pinning to processors.
#include "runtime/Tools/Measure/Timing.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fmt/format.h>
#include <sched.h>
#include <system_error>

namespace heddle::tools {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Result<double> timeWork(const std::function<Status()> &work, const std::function<double()> &seconds,
                        int64_t runs) {
  for (int run = 0; run < (runs > 0 ? 1 : warmUpRuns); ++run) {
    HEDDLE_TRY(work());
  }
  std::vector<double> times;
  const double start = seconds();
  const auto isEnough = [&] {
    return runs > 0 ? times.size() >= static_cast<size_t>(runs)
                    : times.size() >= fewestRuns && seconds() - start >= shortestTime;
  };
  while (!isEnough()) {
    const double begin = seconds();
    HEDDLE_TRY(work());
    times.push_back(seconds() - begin);
  }
  return median(std::move(times));
}

Result<double> timeWork(const std::function<Status()> &work, int64_t runs) {
  const auto clock = [] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  };
  return timeWork(work, clock, runs);
}

Status pinToFirstProcessors(int threads) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return HEDDLE_ERROR(InputOutput, fmt::format("cannot ask which processors may be used: {}",
                                                 std::generic_category().message(errno)));
  }
  cpu_set_t first;
  CPU_ZERO(&first);
  for (int processor = 0; processor < CPU_SETSIZE && CPU_COUNT(&first) < threads; ++processor) {
    if (CPU_ISSET(processor, &allowed)) {
      CPU_SET(processor, &first);
    }
  }
  if (::sched_setaffinity(0, sizeof first, &first) != 0) {
    return HEDDLE_ERROR(InputOutput, fmt::format("cannot stay on the first {} processors: {}",
                                                 threads, std::generic_category().message(errno)));
  }
  return {};
}

} // namespace heddle::tools
