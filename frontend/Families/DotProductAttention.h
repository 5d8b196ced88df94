// SPDX-License-Identifier: Apache-2.0
///
/// Attention by dot products, as the families write it: Vaswani et al., "Attention is all you
/// need", section 3.2.
#ifndef HEDDLE_FRONTEND_FAMILIES_DOTPRODUCTATTENTION_H
#define HEDDLE_FRONTEND_FAMILIES_DOTPRODUCTATTENTION_H

#include "dialects/Transformer/Transformer.h"
#include "frontend/Builder/ModelBuilder.h"

#include <cstdint>

namespace heddle {

/// Keys and values as attention reads them, [keys, width] with heads side by side, and which rows
/// of them belong to a query.
struct Memory {
  Tensor key;
  Tensor value;
  Segments rows;
};

/// The sum of the values [rows, width], heads side by side, before W^O; and the weights it gave to
/// the keys, [rows, heads, keys].
struct Attended {
  Tensor context;
  Tensor probabilities;
};

/// How scores come from products of queries and keys.
struct Scoring {
  /// They are multiplied by it, unless it is 1.
  double scale = 1;
  /// What is then added, [rows, heads, keys]; not valid: nothing.
  Tensor bias = {};
  /// Keys that are not visible get no weight.
  transformer::Visibility visibility = transformer::Visibility::All;
};

/// 1 / sqrt(d_k), of section 3.2.1.
double dotProductScale(int64_t headSize);

/// softmax(Q K^T) V for each of `heads` heads, equation 1: `query` is [rows, width].
Attended attend(const Scope &scope, const Tensor &query, const Segments &rows, const Memory &memory,
                int64_t heads, const Scoring &scoring);

/// The sum of values with given weights, heads side by side.
Tensor mixValues(const Scope &scope, const Tensor &probabilities, const Segments &rows,
                 const Tensor &value, const Segments &keys, int64_t heads);

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_DOTPRODUCTATTENTION_H
