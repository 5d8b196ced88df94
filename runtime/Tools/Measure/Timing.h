// SPDX-License-Identifier: Apache-2.0
///
/// How work is timed: three runs to warm up, then at least five runs and two seconds, and their
/// median. The engines Heddle is compared with are measured by the same rule.
#ifndef HEDDLE_RUNTIME_TOOLS_MEASURE_TIMING_H
#define HEDDLE_RUNTIME_TOOLS_MEASURE_TIMING_H

#include "heddle/Status.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace heddle::tools {

inline constexpr int warmUpRuns = 3;
inline constexpr size_t fewestRuns = 5;
inline constexpr double shortestTime = 2.0;

/// The median of at least one value; of two in the middle, the upper one.
double median(std::vector<double> values);

/// The median seconds of `work`, or its first failure. `seconds` is a clock. With `runs`, exactly
/// so many are timed, after one to warm up: for work that takes turns with other work.
Result<double> timeWork(const std::function<Status()> &work, const std::function<double()> &seconds,
                        int64_t runs = 0);

/// The same with the machine's steady clock.
Result<double> timeWork(const std::function<Status()> &work, int64_t runs = 0);

/// Keeps this process, and the threads it starts from now on, on its first `threads` processors.
Status pinToFirstProcessors(int threads);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_MEASURE_TIMING_H
