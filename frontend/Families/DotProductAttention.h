// SPDX-License-Identifier: Apache-2.0
///
/// Parts that families share: dot-product attention, and sub-layers with a residual connection and
/// a layer norm. Vaswani et al., "Attention is all you need", sections 3.2 and 3.1; for norms
/// before sub-layers, Xiong et al., "On layer normalization in the Transformer architecture".
#ifndef HEDDLE_FRONTEND_FAMILIES_DOTPRODUCTATTENTION_H
#define HEDDLE_FRONTEND_FAMILIES_DOTPRODUCTATTENTION_H

#include "dialects/Transformer/Transformer.h"
#include "frontend/Builder/ModelBuilder.h"

#include <cstdint>
#include <string_view>

namespace heddle {

/// Keys and values, [keys, width] with heads side by side, and the segments of their rows. `share`
/// adjacent heads of queries share one head of keys and values.
struct Memory {
  Tensor key;
  Tensor value;
  Segments rows;
  int64_t share = 1;
};

/// The weighted sum of the values, [rows, width] with heads side by side, before W^O; and the
/// weights, [rows, heads, keys].
struct Attended {
  Tensor context;
  Tensor probabilities;
};

/// How products of queries and keys become scores.
struct Scoring {
  /// The factor of the products.
  double scale = 1;
  /// A soft cap c of the scaled products, c tanh(s / c); 0: none.
  double cap = 0;
  /// Added to the scaled products, [rows, heads, keys]. There is no bias if the tensor is invalid.
  Tensor bias = {};
  /// Keys that either of them hides get no weight.
  transformer::Visibility visibility = transformer::Visibility::all();
  transformer::Visibility neighbourhood = transformer::Visibility::all();
};

/// 1 / sqrt(d_k), section 3.2.1.
double dotProductScale(int64_t headSize);

/// softmax(Q K^T) V for each of `heads` heads, equation 1: `query` is [rows, width].
Attended attend(const Scope &scope, const Tensor &query, const Segments &rows, const Memory &memory,
                int64_t heads, const Scoring &scoring);

/// The sum of values with given weights, heads side by side; `share` is as in Memory.
Tensor mixValues(const Scope &scope, const Tensor &probabilities, const Segments &rows,
                 const Tensor &value, const Segments &keys, int64_t heads, int64_t share = 1);

/// c tanh(x / c): Bello et al., "Neural combinatorial optimization with reinforcement learning",
/// appendix A.2; no cap if c is 0.
Tensor softCap(const Tensor &x, double cap);

/// The layer norm of a sub-layer: the name of its tensors, whether it comes before the sub-layer or
/// after the residual connection, and its epsilon.
struct SubLayerNorm {
  std::string_view name;
  bool before = false;
  double epsilon = 0;
};

/// norm(f(x) + x), or f(norm(x)) + x: [rows, width] to the same; `f` must keep the shape.
template <typename Function>
Tensor residualSubLayer(const Scope &layer, const SubLayerNorm &norm, const Tensor &x, Function f) {
  if (norm.before) {
    return f(layer.layerNorm(norm.name, x, norm.epsilon)) + x;
  }
  return layer.layerNorm(norm.name, f(x) + x, norm.epsilon);
}

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_DOTPRODUCTATTENTION_H
