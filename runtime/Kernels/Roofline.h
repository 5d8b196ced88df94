// SPDX-License-Identifier: Apache-2.0
///
/// What this machine can do at best, measured: the roof that `heddle bench --roofline` compares
/// kernels with. Each takes some tenths of a second.
#ifndef HEDDLE_RUNTIME_KERNELS_ROOFLINE_H
#define HEDDLE_RUNTIME_KERNELS_ROOFLINE_H

#include "heddle/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

/// Multiply-adds of floats in registers, with enough independent chains to hide their latency, on
/// the widest vectors the CPU has: 10^9 operations per second (a multiply-add is two) of `threads`
/// threads together, the best of several tries.
Result<double> measureFmaPeak(int threads);

/// More than the caches of today's processors hold.
inline constexpr uint64_t beyondCaches = uint64_t(512) << 20;

/// Reading `bytes` again and again: 10^9 bytes per second of `threads` threads together, each with
/// its part, the best of several ways: one to eight streams side by side, with prefetching near and
/// far ahead. Of so many bytes as a cache holds it is the rate of the cache.
Result<double> measureReadBandwidth(int threads, uint64_t bytes = beyondCaches);

/// The vector instructions that measureFmaPeak() uses here, as Highway names them.
std::string_view rooflineTarget();

} // namespace heddle

#endif // HEDDLE_RUNTIME_KERNELS_ROOFLINE_H
