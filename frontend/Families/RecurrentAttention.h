// SPDX-License-Identifier: Apache-2.0
///
/// How a recurrent decoder looks at the source: scores of its states and the memory, what they are
/// normalised to, windows of keys, and the context.
#ifndef HEDDLE_FRONTEND_FAMILIES_RECURRENTATTENTION_H
#define HEDDLE_FRONTEND_FAMILIES_RECURRENTATTENTION_H

#include "frontend/Families/DotProductAttention.h"
#include "frontend/Families/Recurrent.h"

#include <span>
#include <vector>

namespace heddle {

/// The state that has how many keys there are, [1], for windows.
inline constexpr std::string_view keyCountState = "attention.length";

/// The memory of the source, and how a state looks at it.
class Look {
public:
  Look(const Recurrent &model, const Scope &scope, Entry &entry);

  /// The segments of the memory; invalid without scores.
  const Segments &memoryRows() const { return memory.rows; }
  /// The number of the step after `step`.
  Tensor after(const Tensor &step) const { return step + one; }
  /// Where a step looks among the `length` keys, "Effective approaches", section 3.2: at the key of
  /// its own number or, if there are not so many, the last; or at S sigmoid(v . tanh(W q)). All are
  /// rows of one number.
  Tensor place(const Tensor &state, const Tensor &step, const Tensor &length) const;
  /// What the scores take of a state: W q of v . tanh(W q + U h).
  Tensor query(const Tensor &state) const;
  /// Where the step before has looked, as it was handed on: before the first step nowhere, or at
  /// the first key.
  Tensor looked(const Tensor &before, const Segments &rows, const Tensor &step) const;
  /// The context of queries, and where they look. `place` and `length` are of windows, `before` has
  /// where the step before has looked and, if these are wanted, the sum of all looks.
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
  /// The v of scores that are no products, [1, width].
  Tensor weights;
  /// The filters over the last look and over the sum of all, [width, 1, kernel] each.
  std::vector<Parameter> filters;
  /// One, [1] and [1, 1], and the positions of the keys.
  Tensor one, ones, places;
};

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_RECURRENTATTENTION_H
