// SPDX-License-Identifier: Apache-2.0
///
/// Scores as products, a softmax, and the weighted sum of values.
#include "frontend/Families/DotProductAttention.h"

#include <cmath>
#include <limits>

namespace heddle {

double dotProductScale(int64_t headSize) { return 1 / std::sqrt(static_cast<double>(headSize)); }

/// Returns heads [k, h, d] of keys or values, each repeated for all heads of queries that share it.
static Tensor sharedHeads(const Tensor &rows, int64_t heads, int64_t share) {
  const Tensor own = rows.splitHeads(heads / share);
  return share == 1 ? own : own.repeatHeads(share);
}

Tensor softCap(const Tensor &x, double cap) {
  return cap == 0 ? x : (x * (1 / cap)).activate(transformer::Activation::Tanh) * cap;
}

Attended attend(const Scope &scope, const Tensor &query, const Segments &rows, const Memory &memory,
                int64_t heads, const Scoring &scoring) {
  const Tensor splitQuery = query.splitHeads(heads);
  const Tensor key = sharedHeads(memory.key, heads, memory.share);
  Tensor scores = scope.contract("thd,khd->thk", splitQuery, key, rows, memory.rows);
  if (scoring.scale != 1) {
    scores = scores * scoring.scale;
  }
  scores = softCap(scores, scoring.cap);
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
  return {mixValues(scope, probabilities, rows, memory.value, memory.rows, heads, memory.share),
          probabilities};
}

Tensor mixValues(const Scope &scope, const Tensor &probabilities, const Segments &rows,
                 const Tensor &value, const Segments &keys, int64_t heads, int64_t share) {
  return scope.contract("thk,khd->thd", probabilities, sharedHeads(value, heads, share), rows, keys)
      .mergeHeads();
}

} // namespace heddle
