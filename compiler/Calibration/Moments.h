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
  /// Rows are `groups` parts of k elements, each with moments of its own; or rows of k elements
  /// that each belong to one of the groups.
  Moments(int64_t groups, int64_t k);

  /// Bytes of those of so many groups of k elements.
  static uint64_t bytesOf(int64_t groups, int64_t k);

  /// Adds rows [count, groups * k]. `threads` share the work.
  void add(std::span<const float> rows, unsigned threads);
  /// Adds rows [count, k] to the moments of the groups that they chose: as many numbers of groups
  /// for each row, or a row for each of the numbers.
  void addChosen(std::span<const float> rows, std::span<const float> chosen, unsigned threads);
  /// Whether any row was added to a group.
  bool hasRows(int64_t group) const { return counts[static_cast<size_t>(group)] > 0; }

  /// Whether all sums are finite numbers of f32.
  bool areFinite() const;
  /// [groups * k, k], symmetric, each element rounded once.
  void write(std::span<float> moments) const;

private:
  /// The sums of a group, row i from `i (i + 1) / 2` on: elements up to the diagonal.
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
  /// How many rows were added to each group.
  std::vector<int64_t> counts;
  /// The rows of one call, in f64.
  std::vector<double> wide;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_CALIBRATION_MOMENTS_H
