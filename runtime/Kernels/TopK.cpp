// SPDX-License-Identifier: Apache-2.0
///
/// Keeps a heap of the best values so far. Its worst element is the threshold for vectors of new
/// values, which hardly any value exceeds after the first pieces.
#include "runtime/Kernels/TopK.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/Kernels/TopK.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace heddle::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

static int64_t vectorsAtLeast(const float *values, int64_t count, float least, int32_t *positions) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto threshold = hn::Set(d, least);
  int64_t found = 0;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto passes = hn::Ge(hn::LoadU(d, values + i), threshold);
    if (!hn::AllFalse(d, passes)) {
      const auto numbers = hn::Iota(di, static_cast<int32_t>(i));
      found += static_cast<int64_t>(
          hn::CompressStore(numbers, hn::RebindMask(di, passes), di, positions + found));
    }
  }
  for (; i < count; ++i) {
    if (values[i] >= least) {
      positions[found++] = static_cast<int32_t>(i);
    }
  }
  return found;
}

} // namespace heddle::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heddle {
HWY_EXPORT(vectorsAtLeast);

int64_t positionsAtLeast(const float *values, int64_t count, float least, int32_t *positions) {
  return HWY_DYNAMIC_DISPATCH(vectorsAtLeast)(values, count, least, positions);
}

void TopK::reset(int64_t capacity) {
  this->capacity = capacity;
  heap.clear();
  heap.reserve(static_cast<size_t>(capacity));
}

/// Returns the threshold for new values. An equal value may still have a lower index.
float TopK::least() const {
  return static_cast<int64_t>(heap.size()) < capacity ? std::numeric_limits<float>::lowest()
                                                      : heap.front().value;
}

void TopK::offer(RankedValue value) {
  if (!(value.value >= std::numeric_limits<float>::lowest()) || capacity == 0) {
    return;
  }
  if (static_cast<int64_t>(heap.size()) == capacity) {
    if (!ranksBefore(value, heap.front())) {
      return;
    }
    std::pop_heap(heap.begin(), heap.end(), ranksBefore);
    heap.pop_back();
  }
  heap.push_back(value);
  std::push_heap(heap.begin(), heap.end(), ranksBefore);
}

void TopK::offer(const float *values, int64_t count, float largest, int32_t first,
                 const int32_t *numbers, int32_t *positions) {
  if (capacity == 0 || largest < least()) {
    return;
  }
  const int64_t found = positionsAtLeast(values, count, least(), positions);
  for (int64_t i = 0; i < found; ++i) {
    const int32_t position = positions[i];
    offer({values[position], numbers != nullptr ? numbers[position] : first + position});
  }
}

} // namespace heddle
#endif // HWY_ONCE
