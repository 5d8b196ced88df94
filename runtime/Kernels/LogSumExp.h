// SPDX-License-Identifier: Apache-2.0
///
/// The normaliser of a softmax over a vocabulary that arrives in pieces. Each piece is reduced to
/// its largest value and the sum of exponentials relative to it; the pieces are then combined in
/// order. The bits depend only on the pieces, not on which thread reduced them or when.
#ifndef HEDDLE_RUNTIME_KERNELS_LOGSUMEXP_H
#define HEDDLE_RUNTIME_KERNELS_LOGSUMEXP_H

#include <cstdint>
#include <limits>
#include <span>

namespace heddle {

/// The reduction of a set of values for a softmax; default-constructed, of the empty set.
struct ExponentialSum {
  float largest = -std::numeric_limits<float>::infinity();
  /// The sum of exp(value - largest).
  float sum = 0;
};

/// Reduces `count` values. Minus infinity contributes nothing; NaN makes the sum NaN.
ExponentialSum exponentialSum(const float *values, int64_t count);

/// Returns the largest of `count` values, ignoring NaN; minus infinity if there are none.
float largestOf(const float *values, int64_t count);

/// Returns log(sum of exp(value)) over all pieces, in double; minus infinity if there are no
/// values. Devices have the same bits.
double logSumExp(std::span<const ExponentialSum> pieces);

/// The functions that logSumExp() uses (heddle/DoubleMath.h): e^x for x <= 0, and log(x) for
/// x >= 1. NaN stays NaN.
double exponentialOf(double x);
double logarithmOf(double x);

} // namespace heddle

#endif // HEDDLE_RUNTIME_KERNELS_LOGSUMEXP_H
