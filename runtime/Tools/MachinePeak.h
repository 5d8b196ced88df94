// SPDX-License-Identifier: Apache-2.0
///
/// What the machine can do at most, measured at the moment it is compared with: multiply-adds in
/// registers, and reading of memory.
#ifndef HEDDLE_RUNTIME_TOOLS_MACHINEPEAK_H
#define HEDDLE_RUNTIME_TOOLS_MACHINEPEAK_H

#include <string_view>

namespace heddle::tools {

/// f32 floating-point operations per second of fused multiply-adds on `threads` threads at once,
/// with the vectors of a target (512 bits for x86-64-v4, 256 for x86-64-v3). Takes 0.3 seconds.
/// Zero for a target this program knows no vectors of.
double measurePeakFlops(std::string_view isa, int threads);

/// Bytes per second that `threads` threads read from memory, far more than fits in any cache.
double measureBandwidth(int threads);

} // namespace heddle::tools

#endif // HEDDLE_RUNTIME_TOOLS_MACHINEPEAK_H
