// SPDX-License-Identifier: Apache-2.0
///
/// Sub-layers with a residual connection and a layer norm: Vaswani et al., "Attention is all you
/// need", section 3.1. For norms before sub-layers: Xiong et al., "On layer normalization in the
/// Transformer architecture".
#ifndef HEDDLE_FRONTEND_FAMILIES_SUBLAYER_H
#define HEDDLE_FRONTEND_FAMILIES_SUBLAYER_H

#include "frontend/Builder/ModelBuilder.h"

#include <string_view>

namespace heddle {

/// The layer norm of a sub-layer: the name of its tensors, whether it comes before the sub-layer or
/// after the residual connection, and its epsilon.
struct SubLayerNorm {
  std::string_view name;
  bool before = false;
  double epsilon = 0;
};

/// norm(f(x) + x), or f(norm(x)) + x: [rows, width] to the same, as `f` must be.
template <typename Function>
Tensor residualSubLayer(const Scope &layer, const SubLayerNorm &norm, const Tensor &x, Function f) {
  if (norm.before) {
    return f(layer.layerNorm(norm.name, x, norm.epsilon)) + x;
  }
  return layer.layerNorm(norm.name, f(x) + x, norm.epsilon);
}

} // namespace heddle

#endif // HEDDLE_FRONTEND_FAMILIES_SUBLAYER_H
