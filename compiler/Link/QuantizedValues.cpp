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

Bytes QuantizedValues::packed(int64_t panelColumns, int64_t groups) const {
  const auto n = static_cast<int64_t>(codes.size()) / columns / groups;
  const int64_t panels = llvm::divideCeilSigned(n, panelColumns);
  const int64_t scaleBytes = panelColumns * kScaleBytes;
  const int64_t partBytes = scaleBytes + group * panelColumns;
  const int64_t panelBytes = scalesOfRow * scaleBytes + columns * panelColumns;
  Bytes packed(groups * panels * panelBytes);
  for (int64_t row = 0; row < groups * n; ++row) {
    const int64_t panel = row / n * panels + row % n / panelColumns;
    const int64_t column = row % n % panelColumns;
    std::byte *to = packed.data() + panel * panelBytes;
    for (int64_t part = 0; part < scalesOfRow; ++part, to += partBytes) {
      std::memcpy(to + column * kScaleBytes, &scales[row * scalesOfRow + part], kScaleBytes);
      const int64_t begin = part * group, end = std::min(begin + group, columns);
      for (int64_t i = begin; i < end; ++i) {
        to[scaleBytes + (i - begin) * panelColumns + column] =
            static_cast<std::byte>(codes[row * columns + i]);
      }
    }
  }
  return packed;
}

} // namespace heddle
