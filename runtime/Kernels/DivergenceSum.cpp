// SPDX-License-Identifier: Apache-2.0
///
/// Accumulates divergences.
#include "runtime/Kernels/DivergenceSum.h"

#include "runtime/Kernels/JensenShannon.h"

namespace heddle {

void DivergenceSum::add(std::span<const float *const> distributions, int64_t keys) {
  ++added;
  for (size_t i = 0; keys > 1 && i < layers; ++i) {
    for (size_t j = i + 1; j < layers; ++j) {
      sums[i * layers + j] += jensenShannon(distributions[i], distributions[j], keys);
    }
  }
}

DivergenceMatrix DivergenceSum::mean() const {
  DivergenceMatrix matrix(layers, std::vector<double>(layers, 0.0));
  for (size_t i = 0; added > 0 && i < layers; ++i) {
    for (size_t j = i + 1; j < layers; ++j) {
      matrix[i][j] = matrix[j][i] = sums[i * layers + j] / static_cast<double>(added);
    }
  }
  return matrix;
}

} // namespace heddle
