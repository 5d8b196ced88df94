// SPDX-License-Identifier: Apache-2.0
///
/// The control register of vector arithmetic.
#include "runtime/Device/Cpu/FloatingPoint.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace heddle {

#ifdef __x86_64__
/// MXCSR after a reset: all exceptions masked, round to nearest, no flushing.
static constexpr uint32_t defaultControl = 0x1F80;

DefaultFloatingPoint::DefaultFloatingPoint() : saved(_mm_getcsr()) { _mm_setcsr(defaultControl); }
DefaultFloatingPoint::~DefaultFloatingPoint() { _mm_setcsr(saved); }
#else
DefaultFloatingPoint::DefaultFloatingPoint() = default;
DefaultFloatingPoint::~DefaultFloatingPoint() = default;
#endif

} // namespace heddle
