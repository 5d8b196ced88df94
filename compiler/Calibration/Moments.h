// SPDX-License-Identifier: Apache-2.0
///
/// Sums of x x^T over rows x. The sums are in f64 and each element is added in row order, so that
/// they are bitwise independent of batches and threads.
#ifndef HEDDLE_COMPILER_CALIBRATION_MOMENTS_H
#define HEDDLE_COMPILER_CALIBRATION_MOMENTS_H

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

class Moments {
public:
  /// Rows are `groups` parts of k elements, each with its own moments; or rows of k elements that
  /// each belong to one group.
  Moments(int64_t groups, int64_t k);

  /// Returns the bytes of the moments of this many groups of k elements.
  static uint64_t bytesOf(int64_t groups, int64_t k);

  /// Adds rows [count, groups * k], using `threads` threads.
  void add(std::span<const float> rows, unsigned threads);
  /// Adds rows [count, k] to the moments of the groups that they chose: either several group
  /// numbers per row, or one row per number.
  void addChosen(std::span<const float> rows, std::span<const float> chosen, unsigned threads);
  /// Returns whether any row was added to a group.
  bool hasRows(int64_t group) const { return counts[static_cast<size_t>(group)] > 0; }

  /// Returns whether all sums are finite in f32.
  bool areFinite() const;
  /// Writes [groups * k, k], symmetric, each element rounded once.
  void write(std::span<float> moments) const;

private:
  /// Returns row i of the sums of a group, at `i (i + 1) / 2`: elements up to the diagonal.
  double *row(int64_t group, int64_t i);
  /// Rows of a group, `pitch` elements apart.
  struct Part {
    const double *rows;
    int64_t pitch, count, group;
  };
  void addTile(const Part &part, int64_t i);
  void addParts(std::span<const Part> parts, unsigned threads);

  int64_t groups, k;
  std::vector<double> sums;
  /// The number of rows added to each group.
  std::vector<int64_t> counts;
  /// The rows of one call, in f64.
  std::vector<double> wide;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_CALIBRATION_MOMENTS_H
