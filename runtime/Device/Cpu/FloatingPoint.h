// SPDX-License-Identifier: Apache-2.0
///
/// Gives all threads the same floating-point environment: a caller that flushes denormal numbers to
/// zero must get the same bits as the threads that it starts.
#ifndef HEDDLE_RUNTIME_DEVICE_CPU_FLOATINGPOINT_H
#define HEDDLE_RUNTIME_DEVICE_CPU_FLOATINGPOINT_H

#include <cstdint>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace heddle {

/// Sets rounding to nearest, no flushing of denormal numbers and no traps; the destructor restores
/// the thread's previous environment.
class DefaultFloatingPoint {
public:
#ifdef __x86_64__
  DefaultFloatingPoint() : saved(_mm_getcsr()) { _mm_setcsr(afterReset); }
  ~DefaultFloatingPoint() { _mm_setcsr(saved); }
#else
  DefaultFloatingPoint() = default;
#endif
  DefaultFloatingPoint(const DefaultFloatingPoint &) = delete;
  DefaultFloatingPoint &operator=(const DefaultFloatingPoint &) = delete;

private:
#ifdef __x86_64__
  /// MXCSR: all exceptions masked, round to nearest, no flushing.
  static constexpr uint32_t afterReset = 0x1F80;
  uint32_t saved;
#endif
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CPU_FLOATINGPOINT_H
