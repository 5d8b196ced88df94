// SPDX-License-Identifier: Apache-2.0
///
/// Measures the limits of this machine, which `heddle bench --roofline` compares kernels with. Each
/// measurement takes some tenths of a second.
#ifndef HEDDLE_RUNTIME_DEVICE_CPU_ROOFLINE_H
#define HEDDLE_RUNTIME_DEVICE_CPU_ROOFLINE_H

#include "heddle/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

/// Measures peak arithmetic: multiply-adds of floats in registers, in enough independent chains to
/// hide their latency, on the CPU's widest vectors. Returns 10^9 operations per second (a
/// multiply-add is two) of `threads` threads together, the best of several tries.
Result<double> measureFmaPeak(int threads);

/// Measures the same for integers: products of unsigned and signed 8-bit values, four of them
/// accumulated in 32 bits, by one instruction if the CPU has it.
Result<double> measureIntegerPeak(int threads);

/// Measures the same for bf16: two products accumulated in f32, by one instruction if the CPU has
/// it.
Result<double> measureBf16Peak(int threads);

/// Measures read bandwidth: reads `bytes`, at most beyondCaches, repeatedly, each thread its own
/// part. Returns 10^9 bytes per second of `threads` threads together, the best over one to eight
/// parallel streams and several prefetch distances. If a cache holds `bytes`, this is the bandwidth
/// of that cache.
Result<double> measureReadBandwidth(int threads, uint64_t bytes);

/// Returns Highway's name for the vector instructions that measureFmaPeak() uses here.
std::string_view rooflineTarget();

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CPU_ROOFLINE_H
