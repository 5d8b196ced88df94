// SPDX-License-Identifier: Apache-2.0
///
/// Finds the tokens of sequences among padding: by masks, pad tokens, lengths, and the sizes of
/// images.
#include "runtime/Tools/Run/PaddedBatch.h"

#include "formats/Checkpoint/Safetensors.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <numeric>

namespace heddle::tools {

std::vector<int32_t> PaddedBatch::gather(std::span<const int32_t> values) const {
  std::vector<int32_t> gathered;
  gathered.reserve(positions.size());
  for (const int64_t position : positions) {
    gathered.push_back(values[static_cast<size_t>(position)]);
  }
  return gathered;
}

std::vector<float> PaddedBatch::gather(std::span<const float> values, int64_t width) const {
  std::vector<float> gathered;
  gathered.reserve(positions.size() * static_cast<size_t>(width));
  for (const int64_t position : positions) {
    const auto row = values.begin() + position * width;
    gathered.insert(gathered.end(), row, row + width);
  }
  return gathered;
}

std::vector<float> PaddedBatch::scatter(std::span<const float> rows, int64_t width) const {
  const int64_t places =
      std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  std::vector<float> spread(static_cast<size_t>(places * width));
  for (int64_t token = 0; token < tokens(); ++token) {
    std::copy_n(rows.begin() + token * width, width,
                spread.begin() + positions[static_cast<size_t>(token)] * width);
  }
  return spread;
}

std::string PaddedBatch::placeOf(int64_t token) const {
  const int64_t position = positions[static_cast<size_t>(token)];
  return rectangular ? fmt::format("row {}, column {}", position / shape.back() + 1,
                                   position % shape.back() + 1)
                     : fmt::format("position {}", position + 1);
}

/// Returns a batch of this shape without its sequences, after the checks that all forms share.
static Result<PaddedBatch> emptyBatch(std::span<const int64_t> shape) {
  PaddedBatch batch;
  batch.rectangular = shape.size() == 2;
  batch.shape.assign(shape.begin(), shape.end());
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("shape {} has no tokens, expected at least one", formatShape(shape)));
  }
  if (shape.back() > std::numeric_limits<int32_t>::max()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("shape {} has a row of {} tokens, expected at most {}",
                                    formatShape(shape), shape.back(),
                                    std::numeric_limits<int32_t>::max()));
  }
  return batch;
}

Result<PaddedBatch> batchWithoutPadding(std::span<const int64_t> shape) {
  HEDDLE_ASSIGN(PaddedBatch batch, emptyBatch(shape));
  const int64_t sequences = batch.rectangular ? shape.front() : 1;
  batch.lengths.assign(static_cast<size_t>(sequences), static_cast<int32_t>(shape.back()));
  batch.positions.resize(static_cast<size_t>(sequences * shape.back()));
  std::iota(batch.positions.begin(), batch.positions.end(), int64_t(0));
  return batch;
}

Result<PaddedBatch> batchWithMask(std::span<const int64_t> shape, std::span<const int32_t> mask) {
  HEDDLE_ASSIGN(PaddedBatch batch, emptyBatch(shape));
  const int64_t columns = shape.back();
  for (int64_t row = 0; row < shape.front(); ++row) {
    const std::span<const int32_t> marks =
        mask.subspan(static_cast<size_t>(row * columns), static_cast<size_t>(columns));
    const auto foreign = std::find_if(marks.begin(), marks.end(),
                                      [](int32_t mark) { return mark != 0 && mark != 1; });
    if (foreign != marks.end()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("row {}, column {} is {}, expected 0 or 1", row + 1,
                                      foreign - marks.begin() + 1, *foreign));
    }
    const auto begin = std::find(marks.begin(), marks.end(), 1);
    const auto end = std::find(begin, marks.end(), 0);
    if (begin == marks.end()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("row {} is all zeros, expected at least one token", row + 1));
    }
    if (const auto again = std::find(end, marks.end(), 1); again != marks.end()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("row {} has a hole: 0 at column {} and 1 again at column {}, "
                                      "expected the ones of a row to stand together",
                                      row + 1, end - marks.begin() + 1, again - marks.begin() + 1));
    }
    batch.lengths.push_back(static_cast<int32_t>(end - begin));
    for (auto mark = begin; mark != end; ++mark) {
      batch.positions.push_back(row * columns + (mark - marks.begin()));
    }
  }
  return batch;
}

Result<PaddedBatch> batchWithHoles(std::span<const int64_t> shape,
                                   const std::vector<bool> &present) {
  HEDDLE_ASSIGN(PaddedBatch batch, emptyBatch(shape));
  const int64_t columns = shape.back();
  for (int64_t row = 0; row < shape.front(); ++row) {
    int32_t length = 0;
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t position = row * columns + column;
      if (present[static_cast<size_t>(position)]) {
        batch.positions.push_back(position);
        ++length;
      }
    }
    if (length == 0) {
      return HEDDLE_ERROR(
          InvalidArgument,
          fmt::format("row {} is all padding, expected at least one token", row + 1));
    }
    batch.lengths.push_back(length);
  }
  return batch;
}

bool PaddedBatch::areFirstColumns() const {
  size_t token = 0;
  for (size_t sequence = 0; sequence < lengths.size(); ++sequence) {
    for (int32_t column = 0; column < lengths[sequence]; ++column, ++token) {
      if (rectangular &&
          positions[token] != static_cast<int64_t>(sequence) * shape.back() + column) {
        return false;
      }
    }
  }
  return true;
}

/// Adds a sequence of `length` positions from `first` on.
static void addBeginning(PaddedBatch &batch, int64_t first, int64_t length) {
  batch.lengths.push_back(static_cast<int32_t>(length));
  for (int64_t i = 0; i < length; ++i) {
    batch.positions.push_back(first + i);
  }
}

Result<PaddedBatch> batchWithPadding(std::span<const int64_t> shape, std::span<const int32_t> ids,
                                     int32_t pad) {
  HEDDLE_ASSIGN(PaddedBatch batch, emptyBatch(shape));
  const int64_t columns = shape.back();
  for (int64_t row = 0; row < shape.front(); ++row) {
    int64_t length = columns;
    while (length > 0 && ids[static_cast<size_t>(row * columns + length - 1)] == pad) {
      --length;
    }
    if (length == 0) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("row {} is all padding ({}), expected at "
                                                       "least one token",
                                                       row + 1, pad));
    }
    addBeginning(batch, row * columns, length);
  }
  return batch;
}

Result<PaddedBatch> batchWithLengths(std::span<const int64_t> shape,
                                     std::span<const int32_t> lengths) {
  HEDDLE_ASSIGN(PaddedBatch batch, emptyBatch(shape));
  int64_t tokens = 0;
  for (size_t sequence = 0; sequence < lengths.size(); ++sequence) {
    if (lengths[sequence] < 1) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("sequence {} has length {}, expected at least one token",
                                      sequence + 1, lengths[sequence]));
    }
    tokens += lengths[sequence];
  }
  if (tokens != shape.front()) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("the lengths add up to {} tokens, expected the {} that are given", tokens,
                    shape.front()));
  }
  batch.lengths.assign(lengths.begin(), lengths.end());
  batch.positions.resize(static_cast<size_t>(tokens));
  std::iota(batch.positions.begin(), batch.positions.end(), int64_t(0));
  return batch;
}

Result<PaddedBatch> batchWithCounts(std::span<const int64_t> shape, std::span<const int32_t> counts,
                                    int64_t piece) {
  HEDDLE_ASSIGN(PaddedBatch batch, emptyBatch(shape));
  const int64_t columns = shape.back();
  for (int64_t row = 0; row < shape.front(); ++row) {
    const int64_t count = counts[static_cast<size_t>(row)];
    if (count < 1 || count > columns / piece) {
      return HEDDLE_ERROR(OutOfRange, fmt::format("sequence {} has {}, expected 1 to {}", row + 1,
                                                  count, columns / piece));
    }
    addBeginning(batch, row * columns, count * piece);
  }
  return batch;
}

Result<PaddedBatch> batchOfImages(std::span<const int64_t> shape, std::span<const int32_t> heights,
                                  std::span<const int32_t> widths) {
  const int64_t lines = shape[1], columns = shape[2];
  HEDDLE_ASSIGN(PaddedBatch batch, emptyBatch(std::array{shape[0], lines * columns}));
  for (int64_t image = 0; image < shape[0]; ++image) {
    const int64_t height = heights[static_cast<size_t>(image)];
    const int64_t width = widths[static_cast<size_t>(image)];
    batch.lengths.push_back(static_cast<int32_t>(height * width));
    batch.widths.push_back(static_cast<int32_t>(width));
    for (int64_t line = 0; line < height; ++line) {
      for (int64_t column = 0; column < width; ++column) {
        batch.positions.push_back((image * lines + line) * columns + column);
      }
    }
  }
  return batch;
}

} // namespace heddle::tools
