// SPDX-License-Identifier: Apache-2.0
///
/// Sorts sequences by length, and lists their rows step by step.
#include "runtime/Session/StepOrder.h"

#include <algorithm>
#include <numeric>

namespace heddle {

void StepOrder::reserve(size_t sequences, size_t longest) {
  order.reserve(sequences);
  starts.reserve(longest + 1);
}

void StepOrder::arrange(std::span<const int32_t> lengths) {
  order.resize(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t left, int32_t right) {
    const int32_t mine = lengths[static_cast<size_t>(left)];
    const int32_t other = lengths[static_cast<size_t>(right)];
    return mine != other ? mine > other : left < right;
  });
  starts.assign(1, 0);
  size_t active = order.size();
  for (int32_t step = 0; active > 0; ++step) {
    while (active > 0 && lengths[static_cast<size_t>(order[active - 1])] <= step) {
      --active;
    }
    if (active > 0) {
      starts.push_back(starts.back() + static_cast<int32_t>(active));
    }
  }
}

void StepOrder::write(std::span<const int32_t> lengths, std::span<const int32_t> past,
                      RowSpace space, const HeddleRows &rows) const {
  // The lists are constant only for kernels.
  auto *const offsets = const_cast<int32_t *>(rows.offsets);
  auto *const sequenceOf = const_cast<int32_t *>(rows.sequence_of);
  auto *const positions = const_cast<int32_t *>(rows.positions);
  auto *const ranks = const_cast<int32_t *>(rows.ranks);
  const bool isReversed = space == RowSpace::steps(/*reversed=*/true);
  std::copy(lengths.begin(), lengths.end(), const_cast<int32_t *>(rows.lengths));
  if (space.isOfSteps()) {
    std::fill(std::copy(starts.begin(), starts.end(), offsets), offsets + rows.longest + 1,
              starts.back());
  }
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const int32_t sequence = order[rank];
    const int32_t length = lengths[static_cast<size_t>(sequence)];
    ranks[sequence] = static_cast<int32_t>(rank);
    if (!space.isOfSteps()) {
      sequenceOf[rank] = sequence;
      positions[rank] = past.empty() ? 0 : past[static_cast<size_t>(sequence)];
      continue;
    }
    for (int32_t step = 0; step < length; ++step) {
      const size_t row = static_cast<size_t>(starts[static_cast<size_t>(step)]) + rank;
      sequenceOf[row] = sequence;
      positions[row] = isReversed ? length - 1 - step : step;
    }
  }
}

} // namespace heddle
