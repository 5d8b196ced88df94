// SPDX-License-Identifier: Apache-2.0
///
/// Measures the limits of this machine, with which `heddle bench --roofline` compares kernels. Each
/// measurement takes some tenths of a second. Arithmetic is measured with the instructions that the
/// code of a target may use: the machine must have them.
#ifndef HEDDLE_RUNTIME_DEVICE_CPU_ROOFLINE_H
#define HEDDLE_RUNTIME_DEVICE_CPU_ROOFLINE_H

#include "heddle/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

/// Peak arithmetic: multiply-adds of floats in registers, in enough independent chains to hide
/// their latency, on the target's widest vectors. Returns 10^9 operations per second (a
/// multiply-add is two) of `threads` threads together, the best of several tries.
Result<double> measureFmaPeak(int threads, std::string_view target);

/// The same of integers: products of 8 bits without and with sign, four of them added to a sum of
/// 32 bits, by one instruction where the target has it.
Result<double> measureIntegerPeak(int threads, std::string_view target);

/// The same of bf16: two products added to a sum in f32, by one instruction where the target has
/// it.
Result<double> measureBf16Peak(int threads, std::string_view target);

/// Measures read bandwidth: reads `bytes`, at most beyondCaches, repeatedly, each thread its own
/// part. Returns 10^9 bytes per second of `threads` threads together, the best over one to eight
/// parallel streams and several prefetch distances. If a cache holds `bytes`, this is the bandwidth
/// of that cache.
Result<double> measureReadBandwidth(int threads, uint64_t bytes);

/// Highway's name for the vector instructions that measureFmaPeak() uses for a target.
std::string_view rooflineVectors(std::string_view target);

} // namespace heddle

#endif // HEDDLE_RUNTIME_DEVICE_CPU_ROOFLINE_H
