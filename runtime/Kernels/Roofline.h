// SPDX-License-Identifier: Apache-2.0
///
/// What this machine can do at best, measured: the roof that `heddle bench --roofline` compares
/// kernels with. Each takes some tenths of a second.
#ifndef HEDDLE_RUNTIME_KERNELS_ROOFLINE_H
#define HEDDLE_RUNTIME_KERNELS_ROOFLINE_H

#include "heddle/Status.h"

#include <string>
#include <string_view>

namespace heddle {

/// Multiply-adds of floats in registers, with enough independent chains to hide their latency, on
/// the widest vectors the CPU has: 10^9 operations per second (a multiply-add is two) of `threads`
/// threads together, the best of several tries.
Result<double> measureFmaPeak(int threads);

/// Reading memory once, far more of it than any cache holds: 10^9 bytes per second of `threads`
/// threads together, the best of several ways: one to eight streams side by side, with prefetching
/// near and far ahead.
Result<double> measureReadBandwidth(int threads);

/// The vector instructions that measureFmaPeak() uses here, as Highway names them.
std::string_view rooflineTarget();

} // namespace heddle

#endif // HEDDLE_RUNTIME_KERNELS_ROOFLINE_H
