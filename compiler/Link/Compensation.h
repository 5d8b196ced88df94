// SPDX-License-Identifier: Apache-2.0
///
/// Chooses codes of a matrix that minimise the change of its products with known rows. Rounding
/// each element separately minimises the error of the weights; products lose less if each code
/// compensates for the errors of the codes before it. After E. Frantar et al., "GPTQ: Accurate
/// Post-Training Quantization for Generative Pre-trained Transformers", 2022, in one pass over the
/// elements.
///
/// With D = W - Q, the error of a row of W, and M = sum of x x^T over the multiplied rows x, the
/// squared error of all products is D M D^T. If M = R R^T with an upper triangular R, that is |D
/// R|^2. Its element j, the sum of D_i R_ij for i <= j, does not depend on the codes after j: code
/// j is the nearest one to W_j + (sum of D_i R_ij for i < j) / R_jj. Elements with the largest
/// columns of x are rounded first, because later elements can still compensate for their errors;
/// scales and zeros are unchanged.
///
/// All computations are in f64 and in a fixed order: the same matrix and moments give the same
/// codes, on any number of threads.
#ifndef HEDDLE_COMPILER_LINK_COMPENSATION_H
#define HEDDLE_COMPILER_LINK_COMPENSATION_H

#include "compiler/Link/QuantizedValues.h"
#include "heddle/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// The factorisation M = R R^T of the moments of some rows.
class FactoredMoments {
public:
  /// Factors `moments` [k, k], of which the lower triangle is used. Adds a multiple of the
  /// identity, 0.05 times the mean of the diagonal, because a few texts do not represent all
  /// inputs. If all moments are zero, because no text reaches that part of a model, elements are
  /// rounded to nearest. Returns InvalidArgument if an element is infinite or NaN.
  static Result<FactoredMoments> factor(std::span<const float> moments, int64_t k);

  /// Returns the indices of a row's elements in the order in which they are rounded.
  std::span<const int32_t> order() const { return places; }
  /// Returns row i of R, from element i on.
  std::span<const double> row(int64_t i) const {
    return std::span(upper).subspan(static_cast<size_t>(i * k + i), static_cast<size_t>(k - i));
  }
  bool isZero() const { return upper.empty(); }

private:
  int64_t k = 0;
  std::vector<int32_t> places;
  /// [k, k], upper triangular; empty if all moments are zero.
  std::vector<double> upper;
};

/// The squared errors of the products of all rows: with the nearest codes, and with the chosen
/// ones.
struct CompensationGain {
  double nearest = 0;
  double chosen = 0;

  /// Returns the ratio of remaining errors, 1 if there were none.
  double remaining() const;
};

/// Chooses codes of `matrix` [n, k]; `codes` holds the nearest ones and is updated. `moments`
/// [groups * k, k] are those of the rows that each group of matrix rows is multiplied with. Each
/// row of the matrix keeps its nearest codes if they lose less, or if it contains a NaN.
Result<CompensationGain> compensate(std::span<const float> matrix, std::span<const float> moments,
                                    QuantizedValues &codes);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_COMPENSATION_H
