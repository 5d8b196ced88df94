// SPDX-License-Identifier: Apache-2.0
///
/// Factors moments and rounds blocks of matrix rows against them, so that each read of the factor
/// serves all rows of a block.
#include "compiler/Link/Compensation.h"

#include "base/ParallelFor.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace heddle {

/// The number of matrix rows rounded together: the lanes of an f64 vector.
static constexpr int64_t together = 8;

// --- moments -------------------------------------------------------------------------------------

/// Returns element (i, j) of a symmetric matrix of which the lower triangle is used.
static double element(std::span<const float> moments, int64_t k, int64_t i, int64_t j) {
  return moments[std::max(i, j) * k + std::min(i, j)];
}

/// Subtracts c c^T from the lower triangle of the first rows of a matrix, as many as c has
/// elements.
static void takeOut(std::vector<double> &matrix, int64_t k, std::span<const double> c) {
  for (size_t i = 0; i < c.size(); ++i) {
    double *row = matrix.data() + i * static_cast<size_t>(k);
    const double factor = c[i];
    for (size_t j = 0; j <= i; ++j) {
      row[j] -= factor * c[j];
    }
  }
}

Result<FactoredMoments> FactoredMoments::factor(std::span<const float> moments, int64_t k) {
  constexpr double damping = 0.05;
  FactoredMoments factored;
  factored.k = k;
  factored.places.resize(static_cast<size_t>(k));
  std::iota(factored.places.begin(), factored.places.end(), 0);
  double sum = 0;
  for (int64_t i = 0; i < k; ++i) {
    sum += moments[i * k + i];
    for (int64_t j = 0; j <= i; ++j) {
      if (!std::isfinite(moments[i * k + j])) {
        return HEDDLE_ERROR(InvalidArgument, "moments have an element that is no finite number");
      }
    }
  }
  if (sum == 0) {
    return factored;
  }
  // Ties go to the lower index.
  const auto key = [&](int32_t i) { return std::pair(-moments[i * k + i], i); };
  std::sort(factored.places.begin(), factored.places.end(),
            [&](int32_t a, int32_t b) { return key(a) < key(b); });
  // The lower triangle becomes R^T, row by row from the last one.
  std::vector<double> lower(static_cast<size_t>(k * k));
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      lower[i * k + j] = element(moments, k, factored.places[i], factored.places[j]);
    }
    lower[i * k + i] += damping * sum / static_cast<double>(k);
  }
  factored.upper.resize(lower.size());
  for (int64_t last = k; last-- > 0;) {
    double *row = lower.data() + last * k;
    if (row[last] <= 0) {
      return HEDDLE_ERROR(InvalidArgument, "moments are not those of any rows: what remains of a "
                                           "square is " +
                                               std::to_string(row[last]));
    }
    const double root = std::sqrt(row[last]);
    row[last] = root;
    std::for_each(row, row + last, [root](double &each) { each /= root; });
    takeOut(lower, k, std::span(row, static_cast<size_t>(last)));
    for (int64_t i = 0; i <= last; ++i) {
      factored.upper[i * k + last] = row[i];
    }
  }
  return factored;
}

// --- rows of a matrix ----------------------------------------------------------------------------

double CompensationGain::remaining() const { return nearest == 0 ? 1 : chosen / nearest; }

namespace {
/// A block of matrix rows that are rounded together, element by element.
struct RowBlock {
  std::span<const float> matrix;
  int64_t k, first, count;

  double at(int64_t row, int64_t column) const { return matrix[(first + row) * k + column]; }
};
} // namespace

/// Rounds rows and returns their squared errors. `round` takes the row, the column and the target
/// value including earlier errors; it returns the number that the chosen code stands for.
template <typename Round>
static std::vector<double> roundRows(const RowBlock &rows, const FactoredMoments &moments,
                                     const Round &round) {
  std::vector<double> errors(together);
  // The elements of D R, summed over the columns rounded so far.
  std::vector<double> products(static_cast<size_t>(rows.k * together));
  for (int64_t place = 0; place < rows.k; ++place) {
    const std::span<const double> factors = moments.row(place);
    const int64_t column = moments.order()[place];
    double *lost = products.data() + place * together;
    double differences[together] = {};
    for (int64_t row = 0; row < rows.count; ++row) {
      const double value = rows.at(row, column);
      differences[row] = value - round(row, column, value + lost[row] / factors[0]);
      const double error = lost[row] + differences[row] * factors[0];
      errors[row] += error * error;
    }
    for (size_t i = 1; i < factors.size(); ++i) {
      double *later = lost + i * together;
      for (int64_t row = 0; row < together; ++row) {
        later[row] += differences[row] * factors[i];
      }
    }
  }
  return errors;
}

namespace {
/// A matrix whose codes are chosen. Rows are independent of each other.
struct Compensator {
  std::span<const float> matrix;
  std::vector<FactoredMoments> groups;
  QuantizedValues &codes;
  const QuantizedValues nearest = codes;
  /// By block of rows.
  std::vector<CompensationGain> gains = {};

  int64_t rowsOfGroup() const { return codes.rowCount() / static_cast<int64_t>(groups.size()); }
  void compensate(const RowBlock &rows, const FactoredMoments &moments, CompensationGain &gain);
  CompensationGain run();
};
} // namespace

void Compensator::compensate(const RowBlock &rows, const FactoredMoments &moments,
                             CompensationGain &gain) {
  if (moments.isZero()) {
    return;
  }
  QuantizedValues &chosen = codes;
  const std::vector<double> after =
      roundRows(rows, moments, [&](int64_t row, int64_t column, double value) {
        return chosen.round(rows.first + row, column, value);
      });
  const std::vector<double> before =
      roundRows(rows, moments, [&](int64_t row, int64_t column, double) {
        return nearest.valueOf(rows.first + row, column);
      });
  for (int64_t row = 0; row < rows.count; ++row) {
    // Also false if an element is NaN.
    const bool isBetter = after[row] < before[row];
    if (!isBetter) {
      codes.copyRow(rows.first + row, nearest);
    }
    if (std::isfinite(before[row])) {
      gain.nearest += before[row];
      gain.chosen += isBetter ? after[row] : before[row];
    }
  }
}

CompensationGain Compensator::run() {
  const int64_t k = codes.columnCount(), n = rowsOfGroup();
  std::vector<std::pair<RowBlock, const FactoredMoments *>> blocks;
  for (size_t group = 0; group < groups.size(); ++group) {
    for (int64_t row = 0; row < n; row += together) {
      const auto first = static_cast<int64_t>(group) * n + row;
      blocks.push_back({{matrix, k, first, std::min(together, n - row)}, &groups[group]});
    }
  }
  gains.resize(blocks.size());
  parallelFor(blocks.size(),
              [&](size_t i) { compensate(blocks[i].first, *blocks[i].second, gains[i]); });
  // In their order, whoever computed them.
  CompensationGain gain;
  for (const CompensationGain &each : gains) {
    gain.nearest += each.nearest;
    gain.chosen += each.chosen;
  }
  return gain;
}

Result<CompensationGain> compensate(std::span<const float> matrix, std::span<const float> moments,
                                    QuantizedValues &codes) {
  const auto k = static_cast<size_t>(codes.columnCount());
  assert(moments.size() % (k * k) == 0 && "moments are those of groups of rows");
  std::vector<FactoredMoments> groups;
  for (size_t begin = 0; begin < moments.size(); begin += k * k) {
    HEDDLE_ASSIGN(FactoredMoments group,
                  FactoredMoments::factor(moments.subspan(begin, k * k), static_cast<int64_t>(k)));
    groups.push_back(std::move(group));
  }
  return Compensator{matrix, std::move(groups), codes}.run();
}

} // namespace heddle
