// SPDX-License-Identifier: Apache-2.0
///
/// How far two distributions lie apart: the Jensen-Shannon divergence in bits,
///   JSD(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2,  0 log 0 = 0,
/// which is 0 for equal distributions and 1 for those that share nothing.
#ifndef HEDDLE_RUNTIME_KERNELS_JENSENSHANNON_H
#define HEDDLE_RUNTIME_KERNELS_JENSENSHANNON_H

#include <cstdint>

namespace heddle {

/// The divergence of two distributions over `count` keys, whose values are at least 0 and add up to
/// 1. The result lies from 0 to 1, within 5e-7 of exact arithmetic, and is exactly 0 for equal
/// values. NaN gives NaN.
double jensenShannon(const float *p, const float *q, int64_t count);

} // namespace heddle

#endif // HEDDLE_RUNTIME_KERNELS_JENSENSHANNON_H
