// SPDX-License-Identifier: Apache-2.0
///
/// The emulated modules: ELF libraries whose functions are kernels.
#ifndef HEDDLE_TESTS_EMULATOR_MODULES_H
#define HEDDLE_TESTS_EMULATOR_MODULES_H

#include <string>

namespace heddle::emulator {

/// The multiprocessors of the emulated GPU, and what a block may have of shared memory. Few, so
/// that kernels have more pieces of work than callers.
inline constexpr int multiprocessors = 2;
inline constexpr int sharedOfBlock = 227 * 1024;

/// "1 modules"; empty if all was given back.
std::string describeModules();

} // namespace heddle::emulator

#endif // HEDDLE_TESTS_EMULATOR_MODULES_H
