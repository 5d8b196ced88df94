// SPDX-License-Identifier: Apache-2.0
///
/// The device that tests of sessions run on. ctest runs them on the CPU and on the emulated GPU, as
/// HEDDLE_TEST_DEVICE specifies.
#ifndef HEDDLE_TESTS_RUNTIME_SESSION_TESTDEVICE_H
#define HEDDLE_TESTS_RUNTIME_SESSION_TESTDEVICE_H

#include "heddle/Session.h"

#include <cstdlib>
#include <string>
#include <vector>

namespace heddle {

inline ModelOptions onTestDevice() {
  const char *const device = std::getenv("HEDDLE_TEST_DEVICE");
  return {.device = device == nullptr ? "" : device};
}

/// Returns the arguments of `heddle` for that device.
inline std::vector<std::string> withTestDevice(std::vector<std::string> arguments) {
  if (const std::string device = onTestDevice().device; !device.empty()) {
    arguments.insert(arguments.end(), {"--device", device});
  }
  return arguments;
}

/// Returns whether kernels run on the CPU: the number of threads only matters there.
inline bool testsCpu() {
  const std::string device = onTestDevice().device;
  return device.empty() || device == "cpu";
}

} // namespace heddle

#endif // HEDDLE_TESTS_RUNTIME_SESSION_TESTDEVICE_H
