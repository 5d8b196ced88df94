// SPDX-License-Identifier: Apache-2.0
///
/// Attention of a recurrent decoder to the source: scores of its states and the memory, their
/// normalisation, windows of keys, and the context.
#ifndef HEDDLE_FRONTEND_FAMILIES_RECURRENTATTENTION_H
#define HEDDLE_FRONTEND_FAMILIES_RECURRENTATTENTION_H

#include "frontend/Families/DotProductAttention.h"
#include "frontend/Families/Recurrent.h"

#include <span>
#include <vector>

namespace heddle {

/// The state with the number of keys, [1], for windows.
inline constexpr std::string_view keyCountState = "attention.length";

/// The memory of the source, and attention to it.
class Look {
public:
  Look(const Recurrent &model, const Scope &scope, Entry &entry);

  /// The segments of the memory; invalid without scores.
  const Segments &memoryRows() const { return memory.rows; }
  /// Returns the index of the step after `step`.
  Tensor after(const Tensor &step) const { return step + one; }
  /// Returns the place of a step's window among the `length` keys, "Effective approaches", section
  /// 3.2: its own index, at most that of the last key; or S sigmoid(v . tanh(W q)). All are rows of
  /// one number.
  Tensor place(const Tensor &state, const Tensor &step, const Tensor &length) const;
  /// Returns the query of a state: W q of v . tanh(W q + U h).
  Tensor query(const Tensor &state) const;
  /// Returns the alignment of the previous step. Before the first step it is zero, or at the first
  /// key.
  Tensor looked(const Tensor &before, const Segments &rows, const Tensor &step) const;
  /// Returns the context of queries and their alignment. `place` and `length` are for windows;
  /// `before` has the previous alignment and, if needed, the sum of all alignments.
  Attended operator()(const Tensor &query, const Segments &rows, const Tensor &place,
                      const Tensor &length, std::span<const Tensor> before) const;

private:
  Tensor scores(const Tensor &query, const Segments &rows, std::span<const Tensor> before) const;
  Tensor distances(const Segments &rows, const Tensor &place) const;
  Tensor asScores(const Tensor &pairs, const Segments &rows) const;
  Tensor windowBias(const Segments &rows, const Tensor &place, const Tensor &length) const;
  Tensor nearness(const Segments &rows, const Tensor &place) const;

  const RecurrentAttention &attention;
  int64_t n, w;
  Scope scope;
  Memory memory;
  /// The v of scores that are not products, [1, width].
  Tensor weights;
  /// The filters over the previous alignment and over the sum of all, [width, 1, kernel] each.
  std::vector<Parameter> filters;
  /// One, [1] and [1, 1], and the positions of the keys.
  Tensor one, ones, places;
};

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_RECURRENTATTENTION_H
