// SPDX-License-Identifier: Apache-2.0
///
/// The same floating-point environment for all threads: a caller that flushes denormal numbers to
/// zero must not get other bits than the threads it starts.
#ifndef HEDDLE_RUNTIME_DEVICE_CPU_FLOATINGPOINT_H
#define HEDDLE_RUNTIME_DEVICE_CPU_FLOATINGPOINT_H

#include <cstdint>

namespace heddle {

/// Sets rounding to nearest, denormal numbers as they are and no traps; the destructor restores
/// what the thread had.
class DefaultFloatingPoint {
public:
  DefaultFloatingPoint();
  ~DefaultFloatingPoint();
  DefaultFloatingPoint(const DefaultFloatingPoint &) = delete;
  DefaultFloatingPoint &operator=(const DefaultFloatingPoint &) = delete;

private:
  uint32_t saved = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CPU_FLOATINGPOINT_H
