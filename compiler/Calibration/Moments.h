// SPDX-License-Identifier: Apache-2.0
///
/// Sums of x x^T over rows x. In f64, each element in the order of the rows, so that the sums have
/// the same bits however the rows come in batches and however many threads there are.
#ifndef HEDDLE_COMPILER_CALIBRATION_MOMENTS_H
#define HEDDLE_COMPILER_CALIBRATION_MOMENTS_H

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

class Moments {
public:
  /// Rows are `groups` parts of k elements, each with moments of its own.
  Moments(int64_t groups, int64_t k);

  /// Bytes of those of so many groups of k elements.
  static uint64_t bytesOf(int64_t groups, int64_t k);

  /// Adds rows [count, groups * k]. `threads` share the work.
  void add(std::span<const float> rows, unsigned threads);

  /// Whether all sums are finite numbers of f32.
  bool areFinite() const;
  /// [groups * k, k], symmetric, each element rounded once.
  void write(std::span<float> moments) const;

private:
  /// The sums of a group, row i from `i (i + 1) / 2` on: elements up to the diagonal.
  double *row(int64_t group, int64_t i);
  void addTile(std::span<const double> rows, int64_t group, int64_t i, int64_t count);

  int64_t groups, k;
  std::vector<double> sums;
  /// The rows of one call, in f64.
  std::vector<double> wide;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_CALIBRATION_MOMENTS_H
