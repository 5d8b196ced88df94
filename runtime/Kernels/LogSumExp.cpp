// SPDX-License-Identifier: Apache-2.0
///
/// Reductions over a piece of logits. All vector widths use sixteen partial sums, so that all
/// targets add in the same order. Compiled with -ffp-contract=off: devices repeat what is here.
#include "runtime/Kernels/LogSumExp.h"

#include "heddle/DoubleMath.h"
#include "heddle/Selection.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/Kernels/LogSumExp.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace heddle::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

static constexpr size_t sums = sumsOfPiece;

static float largestOfVectors(const float *values, int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto least = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto largest = least;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::LoadU(d, values + i);
    largest = hn::IfThenElse(hn::Gt(value, largest), value, largest);
  }
  float result = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; i < count; ++i) {
    result = std::max(result, values[i]);
  }
  return result;
}

/// Returns e^x for x <= 0 or NaN: the arithmetic of emitExp() in compiler/Target/ExpandMath.cpp,
/// operation by operation, because kernels of devices compute the same sums (heddle/Selection.h).
template <typename D, typename V = hn::Vec<D>> static V exponential(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto number = [&](float value) { return hn::Set(d, value); };
  const auto lowest = number(-105.0F);
  x = hn::IfThenElse(hn::Lt(x, lowest), lowest, x);
  // x / ln 2 is rounded by adding 1.5 * 2^23.
  const auto magic = number(12582912.0F);
  const auto shifted = hn::Add(hn::Mul(x, number(1.44269504F)), magic);
  const auto whole = hn::Sub(shifted, magic);
  auto rest = hn::MulAdd(whole, number(-0.693359375F), x);
  rest = hn::MulAdd(whole, number(2.12194440e-4F), rest);
  auto sum = number(0.0013817897997796535F);
  for (const float coefficient :
       {0.008368050679564476F, 0.04166826233267784F, 0.16666527092456818F, 0.4999999403953552F}) {
    sum = hn::MulAdd(sum, rest, number(coefficient));
  }
  sum = hn::Add(hn::MulAdd(sum, hn::Mul(rest, rest), rest), number(1.0F));
  // 2^n in two steps, because it may be out of range.
  const auto power = [&](auto exponent) {
    return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(di, 127))));
  };
  const auto n = hn::ConvertTo(di, whole);
  const auto half = hn::ShiftRight<1>(n);
  return hn::Mul(hn::Mul(sum, power(half)), power(hn::Sub(n, half)));
}

/// Adds exp(value - largest) of sixteen values to sixteen partial sums.
static void addSixteen(const float *values, float largest, float *partial) {
  const hn::CappedTag<float, sums> d;
  const auto shift = hn::Set(d, largest);
  const auto none = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (size_t part = 0; part < sums; part += hn::Lanes(d)) {
    const auto value = hn::LoadU(d, values + part);
    const auto shifted = hn::Sub(value, shift);
    const auto ofNumbers =
        hn::IfThenElse(hn::Eq(shifted, shifted), exponential(d, shifted), shifted);
    const auto term = hn::IfThenZeroElse(hn::Eq(value, none), ofNumbers);
    hn::StoreU(hn::Add(hn::LoadU(d, partial + part), term), d, partial + part);
  }
}

static void addExponentials(const float *values, int64_t count, float largest, float *partial) {
  constexpr auto step = static_cast<int64_t>(sums);
  int64_t i = 0;
  for (; i + step <= count; i += step) {
    addSixteen(values + i, largest, partial);
  }
  if (i < count) {
    float rest[sums];
    std::fill(std::copy(values + i, values + count, rest), rest + sums,
              -std::numeric_limits<float>::infinity());
    addSixteen(rest, largest, partial);
  }
}

} // namespace heddle::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heddle {
HWY_EXPORT(largestOfVectors);
HWY_EXPORT(addExponentials);

float largestOf(const float *values, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(largestOfVectors)(values, count);
}

ExponentialSum exponentialSum(const float *values, int64_t count) {
  ExponentialSum result;
  result.largest = largestOf(values, count);
  if (result.largest == -std::numeric_limits<float>::infinity()) {
    // All values are minus infinity or NaN.
    const bool whole = std::none_of(values, values + count, [](float v) { return std::isnan(v); });
    result.sum = whole ? 0 : std::numeric_limits<float>::quiet_NaN();
    return result;
  }
  float partial[sumsOfPiece] = {};
  HWY_DYNAMIC_DISPATCH(addExponentials)(values, count, result.largest, partial);
  double sum = 0;
  for (const float each : partial) {
    sum += static_cast<double>(each);
  }
  result.sum = static_cast<float>(sum);
  return result;
}

double exponentialOf(double x) {
  HostDoubles operations;
  return DoubleMath(operations).exponential(x);
}

double logarithmOf(double x) {
  HostDoubles operations;
  return DoubleMath(operations).logarithm(x);
}

double logSumExp(std::span<const ExponentialSum> pieces) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const ExponentialSum &piece : pieces) {
    largest = std::max(largest, static_cast<double>(piece.largest));
  }
  double sum = 0;
  for (const ExponentialSum &piece : pieces) {
    if (piece.sum != 0) {
      sum += static_cast<double>(piece.sum) *
             exponentialOf(static_cast<double>(piece.largest) - largest);
    }
  }
  return sum == 0 ? -std::numeric_limits<double>::infinity() : largest + logarithmOf(sum);
}

} // namespace heddle
#endif // HWY_ONCE
