// SPDX-License-Identifier: Apache-2.0
///
/// Quantises rows group by group, and packs codes and scales.
#include "compiler/Link/QuantizedValues.h"

#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>

namespace heddle {

using Bytes = std::vector<std::byte>;

namespace {
/// The quantisation parameters of a group.
struct GroupScale {
  float scale;
  int8_t zero = 0;
};
} // namespace

/// The largest codes: those of 4 bits are unsigned.
static constexpr int largest4Bits = 15, largest8Bits = 127;

/// Returns the least number of a scale type that is not below `value`; NaN beyond the largest.
static float roundedUp(float value, mlir::Type type) {
  if (type.isF32()) {
    return value;
  }
  if (type.isBF16()) {
    // Scales are positive; the addition rounds up, with a carry into the exponent.
    const float up = std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0xFFFF) & 0xFFFF0000U);
    return std::isfinite(up) ? up : std::numeric_limits<float>::quiet_NaN();
  }
  llvm::APFloat rounded(value);
  bool losesInfo = false;
  rounded.convert(mlir::cast<mlir::FloatType>(type).getFloatSemantics(),
                  llvm::APFloat::rmTowardPositive, &losesInfo);
  return rounded.isFinite() ? rounded.convertToFloat() : std::numeric_limits<float>::quiet_NaN();
}

/// Returns the sum of squared errors of quantising with codes from 0 to `largestCode`, a scale and
/// a zero. Eight partial sums keep dependency chains short; their order is fixed.
static float squaredError(std::span<const float> values, float scale, float zero,
                          float largestCode) {
  constexpr size_t lanes = 8;
  // Adding and subtracting this number rounds small numbers to integers, ties to even.
  constexpr float rounder = 12582912;
  const float inverse = 1 / scale;
  float sums[lanes] = {};
  const auto add = [&](size_t lane, float value) {
    const float code = (std::clamp(value * inverse, -largestCode, largestCode) + rounder) - rounder;
    const float lost = value - (std::clamp(code + zero, 0.0F, largestCode) - zero) * scale;
    sums[lane] += lost * lost;
  };
  const size_t whole = values.size() / lanes * lanes;
  for (size_t i = 0; i < whole; i += lanes) {
    for (size_t lane = 0; lane < lanes; ++lane) {
      add(lane, values[i + lane]);
    }
  }
  for (size_t i = whole; i < values.size(); ++i) {
    add(i - whole, values[i]);
  }
  return std::accumulate(std::begin(sums), std::end(sums), 0.0F);
}

/// Returns the scale and zero of 4-bit codes. Narrower ranges clip the largest numbers but are
/// finer for all others: takes the range with the least squared error, the widest among equal ones.
static GroupScale scaleOf4Bits(float least, float most, std::span<const float> values,
                               mlir::Type scales) {
  constexpr float largestCode = largest4Bits;
  constexpr int steps = 8, stepsInRange = 40;
  GroupScale best{0};
  float bestError = std::numeric_limits<float>::infinity();
  for (int step = 0; step < steps; ++step) {
    const double part = 1 - static_cast<double>(step) / stepsInRange;
    const double exact = part * (static_cast<double>(most) - least) / largestCode;
    const float scale = roundedUp(static_cast<float>(exact), scales);
    if (scale == 0 || std::isnan(scale)) {
      return {scale};
    }
    const double below = -part * least / scale;
    const auto zero = static_cast<float>(std::min<double>(std::nearbyint(below), largestCode));
    const float error = squaredError(values, scale, zero, largestCode);
    if (step == 0 || error < bestError) {
      bestError = error;
      best = {scale, static_cast<int8_t>(zero)};
    }
  }
  return best;
}

/// Quantises a group of finite numbers. Numbers so small that their scale is zero become zeros. A
/// subnormal scale may have been rounded down, which makes codes too large: they are clamped.
static GroupScale quantizeFinite(std::span<const float> values, transformer::QuantizedType type,
                                 int8_t *codes) {
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  const float least = std::min(*lowest, 0.0F), most = std::max(*highest, 0.0F);
  const auto write = [&](GroupScale scale, float smallest, float largest) {
    std::transform(values.begin(), values.end(), codes, [&](float value) {
      const float code = scale.scale == 0 ? 0 : std::nearbyint(value / scale.scale);
      return static_cast<int8_t>(
          std::clamp(code + static_cast<float>(scale.zero), smallest, largest));
    });
    return scale;
  };
  if (type.hasZeros()) {
    constexpr float largestCode = largest4Bits;
    return write(scaleOf4Bits(least, most, values, type.getScales()), 0, largestCode);
  }
  constexpr float largestCode = largest8Bits;
  float scale = roundedUp(std::max(most, -least) / largestCode, type.getScales());
  // For the largest numbers it may be rounded up, so that the largest code would stand for
  // infinity.
  if (std::isinf(scale * largestCode)) {
    scale = std::nextafter(scale, 0.0F);
  }
  return write({scale}, -largestCode, largestCode);
}

static GroupScale quantizeGroup(std::span<const float> values, transformer::QuantizedType type,
                                int8_t *codes) {
  const bool areFinite =
      std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  const GroupScale scale = areFinite ? quantizeFinite(values, type, codes)
                                     : GroupScale{std::numeric_limits<float>::quiet_NaN()};
  if (std::isnan(scale.scale)) {
    std::fill_n(codes, values.size(), int8_t(0));
    return {scale.scale};
  }
  return scale;
}

QuantizedValues::QuantizedValues(CodeRows rows, transformer::QuantizedType type, int64_t columns)
    : type(type), columns(columns), group(type.getGroupOf(columns)),
      scalesOfRow(type.getScalesOf(columns)), own(std::move(rows)) {
  assert(static_cast<int64_t>(own.scales.size()) * columns ==
             static_cast<int64_t>(own.codes.size()) * scalesOfRow &&
         "every group has a scale");
  assert(own.zeros.size() == (type.hasZeros() ? own.scales.size() : 0) &&
         "every group has a code of zero, or none has");
  assert(own.minimums.size() == (type.getMinimums() ? own.scales.size() : 0) &&
         "every group has a minimum, or none has");
}

QuantizedValues::QuantizedValues(std::span<const float> values, transformer::QuantizedType type,
                                 int64_t columns)
    : type(type), columns(columns), group(type.getGroupOf(columns)),
      scalesOfRow(type.getScalesOf(columns)) {
  assert(!type.getMinimums() && "minimums are not chosen");
  own.codes.resize(values.size());
  own.scales.reserve(values.size() / columns * scalesOfRow);
  for (int64_t row = 0; row < static_cast<int64_t>(values.size()); row += columns) {
    for (int64_t begin = 0; begin < columns; begin += group) {
      const int64_t count = std::min(group, columns - begin);
      const GroupScale scale =
          quantizeGroup(values.subspan(row + begin, count), type, own.codes.data() + row + begin);
      own.scales.push_back(scale.scale);
      if (type.hasZeros()) {
        own.zeros.push_back(scale.zero);
      }
    }
  }
}

double QuantizedValues::valueOf(int64_t row, int64_t column) const {
  const int64_t number = row * scalesOfRow + column / group;
  const int zero = own.zeros.empty() ? 0 : own.zeros[number];
  const double minimum = own.minimums.empty() ? 0 : own.minimums[number];
  return (own.codes[row * columns + column] - zero) * static_cast<double>(own.scales[number]) +
         minimum;
}

double QuantizedValues::round(int64_t row, int64_t column, double value) {
  assert(!type.getMinimums() && "codes above minimums are not chosen");
  const int64_t number = row * scalesOfRow + column / group;
  const double scale = own.scales[number];
  int8_t &code = own.codes[row * columns + column];
  const int zero = own.zeros.empty() ? 0 : own.zeros[number];
  const double largest = type.hasZeros() ? largest4Bits : largest8Bits;
  const double smallest = type.hasZeros() ? 0 : -largest;
  // If the scale is zero, all codes stand for zero.
  if (scale != 0 && !std::isnan(scale) && std::isfinite(value)) {
    code = static_cast<int8_t>(std::clamp(std::nearbyint(value / scale) + zero, smallest, largest));
  }
  return (code - zero) * scale;
}

void QuantizedValues::copyRow(int64_t row, const QuantizedValues &from) {
  std::copy_n(from.own.codes.begin() + row * columns, columns, own.codes.begin() + row * columns);
}

void QuantizedValues::append(const QuantizedValues &rows) {
  assert(rows.columns == columns && rows.group == group && "rows are stored alike");
  const auto appendTo = [](auto &all, const auto &more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  appendTo(own.codes, rows.own.codes);
  appendTo(own.scales, rows.own.scales);
  appendTo(own.zeros, rows.own.zeros);
  appendTo(own.minimums, rows.own.minimums);
}

QuantizedValues QuantizedValues::rowsFrom(int64_t first, int64_t count) const {
  const auto cut = [&](const auto &all, int64_t ofRow) {
    const auto begin = all.begin() + (all.empty() ? 0 : first * ofRow);
    return std::decay_t<decltype(all)>(begin, begin + (all.empty() ? 0 : count * ofRow));
  };
  return {CodeRows{cut(own.codes, columns), cut(own.scales, scalesOfRow),
                   cut(own.zeros, scalesOfRow), cut(own.minimums, scalesOfRow)},
          type, columns};
}

std::vector<float> QuantizedValues::widen() const {
  std::vector<float> wide;
  wide.reserve(own.codes.size());
  size_t number = 0;
  for (auto row = own.codes.begin(); row != own.codes.end(); row += columns) {
    for (int64_t begin = 0; begin < columns; begin += group, ++number) {
      const int64_t end = std::min(begin + group, columns);
      const int zero = own.zeros.empty() ? 0 : own.zeros[number];
      const float scale = own.scales[number];
      std::transform(row + begin, row + end, std::back_inserter(wide), [&](int8_t code) {
        const auto difference = static_cast<float>(code - zero);
        return own.minimums.empty() ? difference * scale
                                    : std::fma(difference, scale, own.minimums[number]);
      });
    }
  }
  return wide;
}

void QuantizedValues::storeScale(std::byte *to, float scale) const {
  llvm::APFloat number(scale);
  bool losesInfo = false;
  number.convert(mlir::cast<mlir::FloatType>(type.getScales()).getFloatSemantics(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  assert((!losesInfo || number.isNaN()) && "scales are numbers of their type");
  const uint64_t bits = number.bitcastToAPInt().getZExtValue();
  std::memcpy(to, &bits, type.getScaleBytes());
}

/// Sets 4-bit code `index`; even indices are in the lower half of a byte.
static void storeHalf(std::byte *bytes, int64_t index, int8_t code) {
  bytes[index / 2] |= static_cast<std::byte>(code) << (index % 2 == 0 ? 0 : 4);
}

Bytes QuantizedValues::rows() const {
  const int64_t rowBytes = type.getRowBytes(columns);
  Bytes bytes(rowCount() * rowBytes);
  for (int64_t row = 0; row < rowCount(); ++row) {
    std::byte *to = bytes.data() + row * rowBytes;
    std::byte *afterScales = to + type.getZerosOffset(columns);
    for (int64_t part = 0; part < scalesOfRow; ++part) {
      const int64_t number = row * scalesOfRow + part;
      storeScale(to + part * type.getScaleBytes(), own.scales[number]);
      if (type.hasZeros()) {
        storeHalf(afterScales, part, own.zeros[number]);
      } else if (type.getMinimums()) {
        storeScale(afterScales + part * type.getScaleBytes(), own.minimums[number]);
      }
    }
    std::byte *codesOfRow = to + type.getCodesOffset(columns);
    if (!type.hasHalves()) {
      std::memcpy(codesOfRow, own.codes.data() + row * columns, columns);
      continue;
    }
    for (int64_t column = 0; column < columns; ++column) {
      storeHalf(codesOfRow, column, own.codes[row * columns + column]);
    }
  }
  return bytes;
}

void QuantizedValues::packHead(std::byte *head, int64_t panelColumns, int64_t column,
                               int64_t number, std::optional<int32_t> sum) const {
  storeScale(head + column * type.getScaleBytes(), own.scales[number]);
  std::byte *after = head + panelColumns * type.getScaleBytes();
  if (type.hasZeros()) {
    storeHalf(after, column, own.zeros[number]);
  } else if (type.getMinimums()) {
    storeScale(after + column * type.getScaleBytes(), own.minimums[number]);
  } else if (sum) {
    std::memcpy(after + column * sizeof(*sum), &*sum, sizeof(*sum));
  }
}

Bytes QuantizedValues::packed(int64_t panelColumns, int64_t groups, int64_t together) const {
  const int64_t n = rowCount() / groups;
  const int64_t panels = llvm::divideCeilSigned(n, panelColumns);
  const int64_t headBytes = type.getHeadBytes(panelColumns, together);
  const int64_t groupBytes =
      headBytes + group * panelColumns * type.getCodes().getIntOrFloatBitWidth() / 8;
  const int64_t panelBytes = type.getPanelBytes(columns, panelColumns, together);
  Bytes packed(groups * panels * panelBytes);
  for (int64_t row = 0; row < groups * n; ++row) {
    const int64_t panel = row / n * panels + row % n / panelColumns;
    const int64_t column = row % n % panelColumns;
    std::byte *to = packed.data() + panel * panelBytes;
    for (int64_t part = 0; part < scalesOfRow; ++part, to += groupBytes) {
      const int64_t begin = part * group, count = std::min(group, columns - begin);
      const int8_t *from = own.codes.data() + row * columns + begin;
      packHead(to, panelColumns, column, row * scalesOfRow + part,
               together > 1 ? std::optional(std::accumulate(from, from + count, 0)) : std::nullopt);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t line = i / together;
        const int64_t place = column * together + i % together;
        if (type.hasHalves()) {
          // Two lines of codes share the halves of one line of bytes.
          std::byte *bytes = to + headBytes + line / 2 * panelColumns * together;
          storeHalf(bytes, 2 * place + line % 2, from[i]);
        } else {
          to[headBytes + line * panelColumns * together + place] = static_cast<std::byte>(from[i]);
        }
      }
    }
  }
  return packed;
}

} // namespace heddle
