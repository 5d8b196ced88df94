// SPDX-License-Identifier: Apache-2.0
///
/// Adds products tile by tile: a tile of sums stays in registers while some rows go by.
#include "compiler/Calibration/Moments.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

namespace heddle {

/// Sums of a tile: so many rows of the moments and so many of their columns.
static constexpr int64_t tileRows = 4, tileColumns = 4;
/// Rows that are in the cache together, as f64.
static constexpr int64_t rowsInBlock = 32;

static int64_t triangle(int64_t k) { return k * (k + 1) / 2; }

Moments::Moments(int64_t groups, int64_t k)
    : groups(groups), k(k), sums(static_cast<size_t>(groups * triangle(k))) {}

uint64_t Moments::bytesOf(int64_t groups, int64_t k) {
  return static_cast<uint64_t>(groups * triangle(k)) * sizeof(double);
}

double *Moments::row(int64_t group, int64_t i) {
  return sums.data() + group * triangle(k) + triangle(i);
}

/// Adds what `count` rows [groups * k] add to rows i to i + tileRows of the moments of a group.
void Moments::addTile(std::span<const double> rows, int64_t group, int64_t i, int64_t count) {
  const int64_t width = groups * k;
  const double *first = rows.data() + group * k;
  const int64_t height = std::min(tileRows, k - i);
  for (int64_t j = 0; j < i + height; j += tileColumns) {
    const int64_t columns = std::min(tileColumns, k - j);
    double tile[tileRows][tileColumns] = {};
    // On the diagonal a row of the tile ends with it.
    const auto widthOf = [&](int64_t r) { return std::min(columns, i + r + 1 - j); };
    for (int64_t r = 0; r < height; ++r) {
      std::copy_n(row(group, i + r) + j, widthOf(r), tile[r]);
    }
    if (height == tileRows && columns == tileColumns) {
      for (int64_t n = 0; n < count; ++n) {
        const double *x = first + n * width;
        for (int64_t r = 0; r < tileRows; ++r) {
          for (int64_t c = 0; c < tileColumns; ++c) {
            tile[r][c] += x[i + r] * x[j + c];
          }
        }
      }
    } else {
      for (int64_t n = 0; n < count; ++n) {
        const double *x = first + n * width;
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

void Moments::add(std::span<const float> rows, unsigned threads) {
  const int64_t read = groups * k;
  const auto count = static_cast<int64_t>(rows.size()) / read;
  wide.assign(rows.begin(), rows.end());
  const int64_t tiles = (k + tileRows - 1) / tileRows;
  std::atomic<int64_t> next = 0;
  // The last tiles are the widest: they go first.
  const auto work = [&] {
    for (int64_t task = next++; task < groups * tiles; task = next++) {
      const int64_t group = task / tiles, tile = tiles - 1 - task % tiles;
      for (int64_t n = 0; n < count; n += rowsInBlock) {
        addTile(std::span(wide).subspan(static_cast<size_t>(n * read)), group, tile * tileRows,
                std::min(rowsInBlock, count - n));
      }
    }
  };
  std::vector<std::thread> helpers(std::max(1U, threads) - 1);
  for (std::thread &helper : helpers) {
    helper = std::thread(work);
  }
  work();
  for (std::thread &helper : helpers) {
    helper.join();
  }
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
