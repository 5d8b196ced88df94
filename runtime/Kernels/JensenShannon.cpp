// SPDX-License-Identifier: Apache-2.0
///
/// Computes the divergence as the sum over keys of (p log2(2p / (p + q)) + q log2(2q / (p + q))) /
/// 2. The entropies of the definition are orders of magnitude larger than their difference, and so
/// is their rounding error. All vector widths use sixteen partial sums, so that all targets add in
/// the same order.
#include "runtime/Kernels/JensenShannon.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/Kernels/JensenShannon.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace heddle::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

static constexpr size_t divergenceSums = 16;

/// Returns p log2(2p / both), 0 if p is 0. The quotient is at most 2, and never 0, because p is at
/// least the smallest positive number.
template <class D, class V> static V divergenceTerm(D d, V p, V both) {
  const V quotient = hn::Div(hn::Add(p, p), both);
  const V term = hn::Mul(p, hn::Log2(d, quotient));
  return hn::IfThenZeroElse(hn::Eq(p, hn::Zero(d)), term);
}

/// Adds the terms of sixteen keys to sixteen partial sums.
static void addSixteenKeys(const float *p, const float *q, float *partial) {
  const hn::CappedTag<float, divergenceSums> d;
  for (size_t part = 0; part < divergenceSums; part += hn::Lanes(d)) {
    const auto left = hn::LoadU(d, p + part);
    const auto right = hn::LoadU(d, q + part);
    const auto both = hn::Add(left, right);
    auto term = hn::Add(divergenceTerm(d, left, both), divergenceTerm(d, right, both));
    // The logarithm would turn NaN into a number.
    term = hn::IfThenElse(hn::Eq(both, both), term, both);
    hn::StoreU(hn::Add(hn::LoadU(d, partial + part), term), d, partial + part);
  }
}

static void addKeys(const float *p, const float *q, int64_t count, float *partial) {
  constexpr auto step = static_cast<int64_t>(divergenceSums);
  int64_t i = 0;
  for (; i + step <= count; i += step) {
    addSixteenKeys(p + i, q + i, partial);
  }
  if (i < count) {
    float left[divergenceSums] = {};
    float right[divergenceSums] = {};
    std::copy(p + i, p + count, left);
    std::copy(q + i, q + count, right);
    addSixteenKeys(left, right, partial);
  }
}

} // namespace heddle::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heddle {
HWY_EXPORT(addKeys);

/// The number of keys whose terms are summed in single precision.
static constexpr int64_t keysOfASum = 4096;

double jensenShannon(const float *p, const float *q, int64_t count) {
  double sum = 0;
  for (int64_t begin = 0; begin < count; begin += keysOfASum) {
    float partial[16] = {};
    const int64_t keys = std::min(count - begin, keysOfASum);
    HWY_DYNAMIC_DISPATCH(addKeys)(p + begin, q + begin, keys, partial);
    for (const float each : partial) {
      sum += static_cast<double>(each);
    }
  }
  // Rounding may leave the range. In this form NaN stays NaN.
  sum /= 2;
  return sum < 0 ? 0 : sum > 1 ? 1 : sum;
}

void DivergenceSum::add(std::span<const float *const> distributions, int64_t keys) {
  ++added;
  for (size_t i = 0; keys > 1 && i < layers; ++i) {
    for (size_t j = i + 1; j < layers; ++j) {
      sums[i * layers + j] += jensenShannon(distributions[i], distributions[j], keys);
    }
  }
}

SimilarityMatrix DivergenceSum::similarity() const {
  SimilarityMatrix matrix(layers, std::vector<double>(layers, 1.0));
  for (size_t i = 0; added > 0 && i < layers; ++i) {
    for (size_t j = i + 1; j < layers; ++j) {
      matrix[i][j] = matrix[j][i] = 1 - sums[i * layers + j] / static_cast<double>(added);
    }
  }
  return matrix;
}

} // namespace heddle
#endif // HWY_ONCE
