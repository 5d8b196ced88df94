// SPDX-License-Identifier: Apache-2.0
///
/// The normaliser of a softmax over a vocabulary that comes in pieces: each piece is reduced to its
/// largest value and the sum of the others relative to it, and the pieces are put together in their
/// order. The bits depend on the pieces alone, not on who reduced them or when.
#ifndef HEDDLE_RUNTIME_KERNELS_LOGSUMEXP_H
#define HEDDLE_RUNTIME_KERNELS_LOGSUMEXP_H

#include <cstdint>
#include <limits>
#include <span>

namespace heddle {

/// Some values as a softmax sees them; as it is, of no values.
struct ExponentialSum {
  float largest = -std::numeric_limits<float>::infinity();
  /// Of exp(value - largest).
  float sum = 0;
};

/// Of `count` values. Minus infinity contributes nothing; NaN makes the sum NaN.
ExponentialSum exponentialSum(const float *values, int64_t count);

/// The largest of `count` values, minus infinity for none. NaN is passed over.
float largestOf(const float *values, int64_t count);

/// log(sum of exp(value)) over all pieces, in double: minus infinity when there is no value.
double logSumExp(std::span<const ExponentialSum> pieces);

} // namespace heddle

#endif // HEDDLE_RUNTIME_KERNELS_LOGSUMEXP_H
