// SPDX-License-Identifier: Apache-2.0
///
/// The order of time: the rows of sequences step by step, those of a step side by side, the longest
/// sequence first. So the sequences of a step are the first of those of the step before, and what a
/// loop carries from step to step stays where it is.
#ifndef HEDDLE_RUNTIME_SESSION_STEPORDER_H
#define HEDDLE_RUNTIME_SESSION_STEPORDER_H

#include "heddle/Abi.h"
#include "heddle/RowSpace.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// Made anew for each chunk; keeps its memory.
class StepOrder {
public:
  /// Room for so many sequences, the longest of so many tokens: arrange() allocates nothing then.
  void reserve(size_t sequences, size_t longest);
  /// Arranges sequences of so many tokens.
  void arrange(std::span<const int32_t> lengths);

  int64_t steps() const { return static_cast<int64_t>(starts.size()) - 1; }
  /// The first row of a step; that of steps() is the number of rows.
  int64_t start(int64_t step) const { return starts[static_cast<size_t>(step)]; }

  /// The lists of a space in the order of time, where `rows` says they are: memory of the host. Of
  /// steps there are `rows.longest`, of which those after the last are empty; sequences alone have
  /// none. `past` are the positions that earlier runs had, which rows of sequences alone tell;
  /// empty: none.
  void write(std::span<const int32_t> lengths, std::span<const int32_t> past, RowSpace space,
             const HeddleRows &rows) const;

private:
  /// The sequences, longest first.
  std::vector<int32_t> order;
  std::vector<int32_t> starts;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_STEPORDER_H
