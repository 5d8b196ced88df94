// SPDX-License-Identifier: Apache-2.0
///
/// Adds products tile by tile: a tile of sums stays in registers over a block of rows. Rows that
/// choose groups are first gathered by group, in order.
#include "compiler/Calibration/Moments.h"

#include "base/ParallelFor.h"

#include <algorithm>
#include <cmath>

namespace heddle {

/// The size of a tile of sums: rows and columns of the moments.
static constexpr int64_t tileRows = 4, tileColumns = 4;
/// The number of rows in the cache at a time, as f64.
static constexpr int64_t rowsInBlock = 32;

static int64_t triangle(int64_t k) { return k * (k + 1) / 2; }

Moments::Moments(int64_t groups, int64_t k)
    : groups(groups), k(k), sums(static_cast<size_t>(groups * triangle(k))),
      counts(static_cast<size_t>(groups)) {}

uint64_t Moments::bytesOf(int64_t groups, int64_t k) {
  return static_cast<uint64_t>(groups * triangle(k)) * sizeof(double);
}

double *Moments::row(int64_t group, int64_t i) {
  return sums.data() + group * triangle(k) + triangle(i);
}

/// Adds the contribution of a group's rows to rows i to i + tileRows of its moments.
void Moments::addTile(const Part &part, int64_t i) {
  const auto [first, pitch, count, group] = part;
  const int64_t height = std::min(tileRows, k - i);
  for (int64_t j = 0; j < i + height; j += tileColumns) {
    const int64_t columns = std::min(tileColumns, k - j);
    double tile[tileRows][tileColumns] = {};
    // On the diagonal, a row of the tile ends at the diagonal.
    const auto widthOf = [&](int64_t r) { return std::min(columns, i + r + 1 - j); };
    for (int64_t r = 0; r < height; ++r) {
      std::copy_n(row(group, i + r) + j, widthOf(r), tile[r]);
    }
    if (height == tileRows && columns == tileColumns) {
      for (int64_t n = 0; n < count; ++n) {
        const double *x = first + n * pitch;
        for (int64_t r = 0; r < tileRows; ++r) {
          for (int64_t c = 0; c < tileColumns; ++c) {
            tile[r][c] += x[i + r] * x[j + c];
          }
        }
      }
    } else {
      for (int64_t n = 0; n < count; ++n) {
        const double *x = first + n * pitch;
        for (int64_t r = 0; r < height; ++r) {
          for (int64_t c = 0; c < columns; ++c) {
            tile[r][c] += x[i + r] * x[j + c];
          }
        }
      }
    }
    for (int64_t r = 0; r < height; ++r) {
      std::copy_n(tile[r], widthOf(r), row(group, i + r) + j);
    }
  }
}

void Moments::addParts(std::span<const Part> parts, unsigned threads) {
  const int64_t tiles = (k + tileRows - 1) / tileRows;
  const size_t tasks = parts.size() * static_cast<size_t>(tiles);
  // The last tiles are the widest: they go first.
  const auto work = [&](size_t task) {
    const Part &part = parts[task / static_cast<size_t>(tiles)];
    const int64_t tile = tiles - 1 - static_cast<int64_t>(task) % tiles;
    for (int64_t n = 0; n < part.count; n += rowsInBlock) {
      addTile({part.rows + n * part.pitch, part.pitch, std::min(rowsInBlock, part.count - n),
               part.group},
              tile * tileRows);
    }
  };
  parallelFor(tasks, work, threads);
  for (const Part &part : parts) {
    counts[static_cast<size_t>(part.group)] += part.count;
  }
}

void Moments::add(std::span<const float> rows, unsigned threads) {
  const int64_t read = groups * k;
  const auto count = static_cast<int64_t>(rows.size()) / read;
  wide.assign(rows.begin(), rows.end());
  std::vector<Part> parts;
  for (int64_t group = 0; group < groups; ++group) {
    parts.push_back({wide.data() + group * k, read, count, group});
  }
  addParts(parts, threads);
}

void Moments::addChosen(std::span<const float> rows, std::span<const float> chosen,
                        unsigned threads) {
  const auto width = static_cast<size_t>(k);
  // The number of choices of each row.
  const size_t numbers = rows.empty() ? 1 : chosen.size() / (rows.size() / width);
  std::vector<std::vector<double>> ofGroups(static_cast<size_t>(groups));
  for (size_t i = 0; i < chosen.size(); ++i) {
    const auto row = rows.subspan(i / numbers * width, width);
    // A choice that is NaN comes with a row of NaN, which may go to any moments.
    const bool isGroup = chosen[i] >= 0 && chosen[i] < static_cast<float>(groups);
    auto &own = ofGroups[isGroup ? static_cast<size_t>(chosen[i]) : 0];
    own.insert(own.end(), row.begin(), row.end());
  }
  std::vector<Part> parts;
  for (size_t group = 0; group < ofGroups.size(); ++group) {
    const auto count = static_cast<int64_t>(ofGroups[group].size()) / k;
    parts.push_back({ofGroups[group].data(), k, count, static_cast<int64_t>(group)});
  }
  addParts(parts, threads);
}

bool Moments::areFinite() const {
  return std::all_of(sums.begin(), sums.end(),
                     [](double sum) { return std::isfinite(static_cast<float>(sum)); });
}

void Moments::write(std::span<float> moments) const {
  auto sum = sums.begin();
  for (int64_t group = 0; group < groups; ++group) {
    float *matrix = moments.data() + group * k * k;
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j <= i; ++j, ++sum) {
        matrix[i * k + j] = matrix[j * k + i] = static_cast<float>(*sum);
      }
    }
  }
}

} // namespace heddle
