// SPDX-License-Identifier: Apache-2.0
///
/// Emulated modules: ELF libraries whose functions are kernels.
#ifndef HEDDLE_TESTS_EMULATOR_MODULES_H
#define HEDDLE_TESTS_EMULATOR_MODULES_H

#include "tests/Emulator/Emulator.h"

#include <string>

namespace heddle::emulator {

/// Returns the multiprocessors of the emulated GPU. There are few by default, so that kernels have
/// more pieces of work than callers.
int multiprocessors();
/// The shared memory that a block may use.
inline constexpr int sharedOfBlock = 227 * 1024;

/// Returns how many kernels were executed; noteGraph() says that a graph is launched.
HeddleExecuted &executed();
inline void noteGraph() { executed().beforeGraph = executed().kernels; }

/// Returns for example "1 modules"; empty if all were released.
std::string describeModules();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_MODULES_H
