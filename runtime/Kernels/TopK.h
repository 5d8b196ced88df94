// SPDX-License-Identifier: Apache-2.0
///
/// The best few of many values that come in pieces, in any order. Best is a larger value, and of
/// equal values the lower number: a total order, so that the outcome depends on the values alone.
#ifndef HEDDLE_RUNTIME_KERNELS_TOPK_H
#define HEDDLE_RUNTIME_KERNELS_TOPK_H

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// A value and its number.
struct RankedValue {
  float value;
  int32_t number;
  bool operator==(const RankedValue &) const = default;
};

/// Whether `a` comes before `b`.
inline bool ranksBefore(const RankedValue &a, const RankedValue &b) {
  return a.value > b.value || (a.value == b.value && a.number < b.number);
}

/// Writes the positions of the values that are at least `least` to `positions`, in their order, and
/// answers how many they are. There must be room for `count` and a vector more. NaN is never one.
int64_t positionsAtLeast(const float *values, int64_t count, float least, int32_t *positions);

/// Keeps the best `capacity` of what it is offered. Minus infinity and NaN are never among them.
class TopK {
public:
  /// Forgets everything, and allocates what offers will need.
  void reset(int64_t capacity);

  /// Offers values[i] as number numbers[i], or first + i when `numbers` is null; `largest` is the
  /// largest of them, which lets most pieces go by unread. `positions` is memory to work in, for
  /// positionsAtLeast().
  void offer(const float *values, int64_t count, float largest, int32_t first,
             const int32_t *numbers, int32_t *positions);

  /// Offers one.
  void offer(RankedValue value);

  /// What was kept, in no order.
  std::span<const RankedValue> kept() const { return heap; }

private:
  float least() const;

  int64_t capacity = 0;
  // The worst of them first.
  std::vector<RankedValue> heap;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_KERNELS_TOPK_H
