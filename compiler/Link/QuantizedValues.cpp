// SPDX-License-Identifier: Apache-2.0
///
/// Quantises rows group by group, and lays codes and scales out.
#include "compiler/Link/QuantizedValues.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>

namespace heddle {

using Bytes = std::vector<std::byte>;

static constexpr int64_t kScaleBytes = sizeof(float);

/// The scale of a group; its codes are written.
static float quantizeGroup(std::span<const float> values, int8_t *codes) {
  constexpr float largestCode = 127;
  const bool areFinite =
      std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  if (!areFinite) {
    std::fill_n(codes, values.size(), int8_t(0));
    return std::numeric_limits<float>::quiet_NaN();
  }
  float most = 0;
  for (const float value : values) {
    most = std::max(most, std::abs(value));
  }
  float scale = most / largestCode;
  // Of the largest numbers it may be rounded up, so that the largest code stands for infinity.
  if (std::isinf(scale * largestCode)) {
    scale = std::nextafter(scale, 0.0F);
  }
  // Numbers so small that their scale is zero are zeros. A scale that lost digits may have been
  // rounded down, and makes codes that are too large.
  std::transform(values.begin(), values.end(), codes, [&](float value) {
    const float code = scale == 0 ? 0 : std::nearbyint(value / scale);
    return static_cast<int8_t>(std::clamp(code, -largestCode, largestCode));
  });
  return scale;
}

QuantizedValues::QuantizedValues(std::span<const float> values, transformer::QuantizedType type,
                                 int64_t columns)
    : columns(columns), group(type.getGroupOf(columns)), scalesOfRow(type.getScalesOf(columns)),
      codes(values.size()) {
  scales.reserve(values.size() / columns * scalesOfRow);
  for (int64_t row = 0; row < static_cast<int64_t>(values.size()); row += columns) {
    for (int64_t begin = 0; begin < columns; begin += group) {
      const int64_t count = std::min(group, columns - begin);
      scales.push_back(
          quantizeGroup(values.subspan(row + begin, count), codes.data() + row + begin));
    }
  }
}

std::vector<float> QuantizedValues::widen() const {
  std::vector<float> wide;
  wide.reserve(codes.size());
  const float *scale = scales.data();
  for (auto row = codes.begin(); row != codes.end(); row += columns) {
    for (int64_t begin = 0; begin < columns; begin += group, ++scale) {
      const int64_t end = std::min(begin + group, columns);
      std::transform(row + begin, row + end, std::back_inserter(wide),
                     [&](int8_t code) { return static_cast<float>(code) * *scale; });
    }
  }
  return wide;
}

Bytes QuantizedValues::rows() const {
  const auto count = static_cast<int64_t>(codes.size()) / columns;
  const int64_t scaleBytes = scalesOfRow * kScaleBytes;
  const auto rowBytes = scaleBytes + static_cast<int64_t>(llvm::alignTo(columns, kScaleBytes));
  Bytes bytes(count * rowBytes);
  for (int64_t row = 0; row < count; ++row) {
    std::byte *to = bytes.data() + row * rowBytes;
    std::memcpy(to, scales.data() + row * scalesOfRow, scaleBytes);
    std::memcpy(to + scaleBytes, codes.data() + row * columns, columns);
  }
  return bytes;
}

Bytes QuantizedValues::packed(int64_t panelColumns, int64_t groups, int64_t together) const {
  const auto n = static_cast<int64_t>(codes.size()) / columns / groups;
  const int64_t panels = llvm::divideCeilSigned(n, panelColumns);
  const bool hasSums = together > 1;
  const int64_t scaleBytes = panelColumns * kScaleBytes;
  const int64_t headBytes = hasSums ? 2 * scaleBytes : scaleBytes;
  const auto elements = static_cast<int64_t>(llvm::alignTo(columns, together));
  const int64_t panelBytes = scalesOfRow * headBytes + elements * panelColumns;
  Bytes packed(groups * panels * panelBytes);
  for (int64_t row = 0; row < groups * n; ++row) {
    const int64_t panel = row / n * panels + row % n / panelColumns;
    const int64_t column = row % n % panelColumns;
    std::byte *to = packed.data() + panel * panelBytes;
    for (int64_t part = 0; part < scalesOfRow; ++part, to += headBytes + group * panelColumns) {
      std::memcpy(to + column * kScaleBytes, &scales[row * scalesOfRow + part], kScaleBytes);
      const int64_t begin = part * group, count = std::min(group, columns - begin);
      const int8_t *from = codes.data() + row * columns + begin;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t place = i / together * panelColumns + column;
        to[headBytes + place * together + i % together] = static_cast<std::byte>(from[i]);
      }
      if (hasSums) {
        const int32_t sum = std::accumulate(from, from + count, 0);
        std::memcpy(to + scaleBytes + column * kScaleBytes, &sum, sizeof(sum));
      }
    }
  }
  return packed;
}

} // namespace heddle
