// SPDX-License-Identifier: Apache-2.0
///
/// The device that tests of sessions run on. ctest runs them on the CPU and on the emulated GPU, as
/// HEDDLE_TEST_DEVICE specifies.
#ifndef HEDDLE_TESTS_RUNTIME_SESSION_TESTDEVICE_H
#define HEDDLE_TESTS_RUNTIME_SESSION_TESTDEVICE_H

#include "heddle/Session.h"

#include <cstdlib>

namespace heddle {

inline ModelOptions onTestDevice() {
  const char *const device = std::getenv("HEDDLE_TEST_DEVICE");
  return {.device = device == nullptr ? "" : device};
}

/// Returns whether kernels run on the CPU: the number of threads only matters there.
inline bool testsCpu() {
  const std::string device = onTestDevice().device;
  return device.empty() || device == "cpu";
}

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_SESSION_TESTDEVICE_H
