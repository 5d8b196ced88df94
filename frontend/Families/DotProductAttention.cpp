// SPDX-License-Identifier: Apache-2.0
///
/// Scores as products, a softmax, and the weighted sum of values.
#include "frontend/Families/DotProductAttention.h"

#include <cmath>
#include <limits>

namespace heddle {

double dotProductScale(int64_t headSize) { return 1 / std::sqrt(static_cast<double>(headSize)); }

Attended attend(const Scope &scope, const Tensor &query, const Segments &rows, const Memory &memory,
                int64_t heads, const Scoring &scoring) {
  const Tensor splitQuery = query.splitHeads(heads);
  const Tensor key = memory.key.splitHeads(heads);
  Tensor scores = scope.contract("thd,khd->thk", splitQuery, key, rows, memory.rows);
  if (scoring.scale != 1) {
    scores = scores * scoring.scale;
  }
  if (scoring.bias.valid()) {
    scores = scores + scoring.bias;
  }
  for (const transformer::Visibility &visibility : {scoring.neighbourhood, scoring.visibility}) {
    if (!visibility.isAll()) {
      scores = scores.select(scope.mask(visibility, rows, memory.rows),
                             -std::numeric_limits<double>::infinity());
    }
  }
  const Tensor probabilities = scores.softmax(memory.rows);
  return {mixValues(scope, probabilities, rows, memory.value, memory.rows, heads), probabilities};
}

Tensor mixValues(const Scope &scope, const Tensor &probabilities, const Segments &rows,
                 const Tensor &value, const Segments &keys, int64_t heads) {
  return scope.contract("thk,khd->thd", probabilities, value.splitHeads(heads), rows, keys)
      .mergeHeads();
}

} // namespace heddle
