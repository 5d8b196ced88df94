// SPDX-License-Identifier: Apache-2.0
///
/// AMX: tile registers, which the system gives a process that asks for them.
#ifndef HEDDLE_RUNTIME_DEVICE_CPU_AMX_H
#define HEDDLE_RUNTIME_DEVICE_CPU_AMX_H

#include <cstdint>

namespace heddle {

/// Whether the processor has AMX for bf16 and for 8-bit integers, and the system lets this process
/// use it. Asks the system at the first call.
bool mayUseAmx();

/// Multiplies tiles in registers, in enough independent chains to hide the latency of an
/// instruction; only where mayUseAmx(). Returns the operations done, about as many as `rounds` of
/// vectors take the time of. `sink` keeps the compiler from removing them.
double multiplyBf16OnAmx(int64_t rounds, float *sink);
double multiplyIntegersOnAmx(int64_t rounds, float *sink);

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CPU_AMX_H
