// SPDX-License-Identifier: Apache-2.0
///
/// Selects the best few of many values that arrive in pieces, in any order. Larger values are
/// better; ties are broken by the lower index. This order is total, so the result depends only on
/// the values.
#ifndef HEDDLE_RUNTIME_KERNELS_TOPK_H
#define HEDDLE_RUNTIME_KERNELS_TOPK_H

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// A value and its index.
struct RankedValue {
  float value;
  int32_t number;
  bool operator==(const RankedValue &) const = default;
};

/// Whether `a` comes before `b`.
inline bool ranksBefore(const RankedValue &a, const RankedValue &b) {
  return a.value > b.value || (a.value == b.value && a.number < b.number);
}

/// Writes the positions of the values that are at least `least` to `positions`, in order, and
/// returns their number. `positions` must have room for `count` elements and one more vector. NaN
/// never counts.
int64_t positionsAtLeast(const float *values, int64_t count, float least, int32_t *positions);

/// Keeps the best `capacity` of the values offered, except minus infinity and NaN.
class TopK {
public:
  /// Clears everything and allocates the memory that offers will need.
  void reset(int64_t capacity);

  /// Offers values[i] with the index numbers[i], or first + i if `numbers` is null. `largest` is
  /// the largest of them, which lets most pieces be skipped. `positions` is scratch memory for
  /// positionsAtLeast().
  void offer(const float *values, int64_t count, float largest, int32_t first,
             const int32_t *numbers, int32_t *positions);

  /// Offers one value.
  void offer(RankedValue value);

  /// Returns the values kept, in no particular order.
  std::span<const RankedValue> kept() const { return heap; }

private:
  float least() const;

  int64_t capacity = 0;
  // A heap with the worst value on top.
  std::vector<RankedValue> heap;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_KERNELS_TOPK_H
