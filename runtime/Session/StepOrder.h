// SPDX-License-Identifier: Apache-2.0
///
/// Time-step order: the rows of sequences step by step, the rows of a step adjacent, the longest
/// sequence first. The sequences of a step are then the first of those of the step before, and the
/// values that a loop carries from step to step stay in place.
#ifndef HEDDLE_RUNTIME_SESSION_STEPORDER_H
#define HEDDLE_RUNTIME_SESSION_STEPORDER_H

#include "heddle/Abi.h"
#include "heddle/RowSpace.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// Recomputed for each chunk; keeps its memory.
class StepOrder {
public:
  /// Reserves room for `sequences` sequences of at most `longest` tokens: arrange() then allocates
  /// nothing.
  void reserve(size_t sequences, size_t longest);
  /// Arranges sequences of these lengths.
  void arrange(std::span<const int32_t> lengths);

  int64_t steps() const { return static_cast<int64_t>(starts.size()) - 1; }
  /// Returns the first row of a step; start(steps()) is the number of rows.
  int64_t start(int64_t step) const { return starts[static_cast<size_t>(step)]; }

  /// Writes the lists of an ordered space to the host memory that `rows` points to. There are
  /// `rows.longest` steps, of which those after the last are empty; a space of sequences has no
  /// steps. `past` are the positions of earlier runs, which only rows of sequences use; empty:
  /// none.
  void write(std::span<const int32_t> lengths, std::span<const int32_t> past, RowSpace space,
             const HeddleRows &rows) const;

private:
  /// The sequences, in descending order of length.
  std::vector<int32_t> order;
  std::vector<int32_t> starts;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_STEPORDER_H
