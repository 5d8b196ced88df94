// SPDX-License-Identifier: Apache-2.0
///
/// Codes of a matrix that products with known rows change little by. Rounding each element for
/// itself makes the least error of the weights; of products it is less to let each code take out
/// what the codes before it lose. After E. Frantar et al., "GPTQ: Accurate Post-Training
/// Quantization for Generative Pre-trained Transformers", 2022, in one pass over the elements.
///
/// With D = W - Q, what is lost of a row of W, and M = sum of x x^T over the rows x that are
/// multiplied, the squared error of all products is D M D^T. Where M = R R^T with an upper
/// triangular R, that is |D R|^2, and its element j, the sum of D_i R_ij for i <= j, depends on
/// none of the codes after j: code j is the nearest one to W_j + (sum of D_i R_ij for i < j) /
/// R_jj. Elements go first whose columns of x are largest, since those after them can still make
/// good what they lose; scales and zeros stay as they are.
///
/// All is in f64 and in one order: the same matrix and moments give the same codes, on any number
/// of threads.
#ifndef HEDDLE_COMPILER_LINK_COMPENSATION_H
#define HEDDLE_COMPILER_LINK_COMPENSATION_H

#include "compiler/Link/QuantizedValues.h"
#include "heddle/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// M = R R^T of some rows, factored.
class FactoredMoments {
public:
  /// Factors `moments` [k, k], of which the lower half counts. A multiple of the identity is added,
  /// 0.05 of the mean of the diagonal: a few texts do not say all about what will be read. Moments
  /// that are all zero, of a part of a model that no text reaches, say nothing: elements are
  /// rounded to the nearest. InvalidArgument where an element is infinite or no number.
  static Result<FactoredMoments> factor(std::span<const float> moments, int64_t k);

  /// The elements of a row of the matrix in the order in which they are rounded, the number of the
  /// one at each place.
  std::span<const int32_t> order() const { return places; }
  /// Row i of R, from element i on.
  std::span<const double> row(int64_t i) const {
    return std::span(upper).subspan(static_cast<size_t>(i * k + i), static_cast<size_t>(k - i));
  }
  bool isZero() const { return upper.empty(); }

private:
  int64_t k = 0;
  std::vector<int32_t> places;
  /// [k, k], above the diagonal; empty where all moments are zero.
  std::vector<double> upper;
};

/// What was gained: squared errors of the products of all rows, with codes each for itself and with
/// those that were chosen.
struct CompensationGain {
  double nearest = 0;
  double chosen = 0;

  /// Errors that remain, 1 where there were none.
  double remaining() const;
};

/// Chooses codes of `matrix` [n, k], whose nearest ones are in `codes`. `moments` [groups * k, k]
/// are those that groups of its rows are multiplied with. Of each row of the matrix those codes are
/// taken that lose less, and the nearest ones of a row with an element that is no number.
Result<CompensationGain> compensate(std::span<const float> matrix, std::span<const float> moments,
                                    QuantizedValues &codes);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_COMPENSATION_H
