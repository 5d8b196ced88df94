// SPDX-License-Identifier: Apache-2.0
///
/// The speed of AMX, whose tile registers the operating system enables for a process on request
/// (base/ProcessorTargets.h).
#ifndef HEDDLE_RUNTIME_DEVICE_CPU_AMX_H
#define HEDDLE_RUNTIME_DEVICE_CPU_AMX_H

#include <cstdint>

namespace heddle {

/// Multiplies tiles in registers, in enough independent chains to hide the latency of an
/// instruction; requires a present target that has AMX. Returns the number of operations; they take
/// about as long as `rounds` rounds on vectors. `sink` keeps the compiler from removing them.
double multiplyBf16OnAmx(int64_t rounds, float *sink);
double multiplyIntegersOnAmx(int64_t rounds, float *sink);

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CPU_AMX_H
