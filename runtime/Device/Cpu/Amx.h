// SPDX-License-Identifier: Apache-2.0
///
/// AMX: tile registers, which the operating system enables for a process on request.
#ifndef HEDDLE_RUNTIME_DEVICE_CPU_AMX_H
#define HEDDLE_RUNTIME_DEVICE_CPU_AMX_H

#include <cstdint>

namespace heddle {

/// Returns whether the processor has AMX for bf16 and for 8-bit integers, and the operating system
/// lets this process use it. Requests permission at the first call.
bool mayUseAmx();

/// Multiplies tiles in registers, in enough independent chains to hide the latency of an
/// instruction; requires mayUseAmx(). Returns the number of operations; they take about as long as
/// `rounds` rounds on vectors. `sink` keeps the compiler from removing them.
double multiplyBf16OnAmx(int64_t rounds, float *sink);
double multiplyIntegersOnAmx(int64_t rounds, float *sink);

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CPU_AMX_H
