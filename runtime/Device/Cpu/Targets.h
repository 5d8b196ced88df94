// SPDX-License-Identifier: Apache-2.0
///
/// The levels of instruction sets this CPU can run.
#ifndef HEDDLE_RUNTIME_DEVICE_CPU_TARGETS_H
#define HEDDLE_RUNTIME_DEVICE_CPU_TARGETS_H

#include <string>
#include <vector>

namespace heddle {

/// The targets that code can be compiled for and this CPU (and its operating system) can run, best
/// first.
std::vector<std::string> cpuTargets();

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CPU_TARGETS_H
