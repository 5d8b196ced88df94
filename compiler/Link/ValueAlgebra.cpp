// SPDX-License-Identifier: Apache-2.0
///
/// The operations of parameter expressions on values.
#include "compiler/Link/ValueAlgebra.h"

#include "formats/Checkpoint/Convert.h"

#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <type_traits>

using namespace mlir;

namespace heddle {

using transformer::ExpressionKind;
using Stored = std::vector<float>;
using Exact = std::vector<double>;
using Bytes = std::vector<std::byte>;
using Values = ParameterValues;

// Packs [groups * n, k] into panels [groups][ceil(n / columns)][ceil(k /
// together)][columns][together], with zeros beyond the last row of each group and beyond the last
// element of k.
template <typename T>
static std::vector<T> packPanels(const std::vector<T> &matrix,
                                 transformer::ParameterExpressionAttr pack, int64_t groups,
                                 int64_t n, int64_t k) {
  const int64_t columns = pack.getPanelColumns(), together = pack.getElementsTogether();
  int64_t panels = (n + columns - 1) / columns;
  const auto steps = static_cast<int64_t>(llvm::alignTo(k, together));
  std::vector<T> packed(groups * panels * steps * columns, T(0));
  for (int64_t row = 0; row < groups * n; ++row) {
    int64_t panel = row / n * panels + row % n / columns;
    const T *from = matrix.data() + row * k;
    T *to = packed.data() + panel * steps * columns + row % n % columns * together;
    for (int64_t i = 0; i < k; ++i) {
      to[i / together * together * columns + i % together] = from[i];
    }
  }
  return packed;
}

template <typename T>
static std::vector<T> transposeMatrix(const std::vector<T> &matrix, int64_t rows, int64_t columns) {
  std::vector<T> result(matrix.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      result[column * rows + row] = matrix[row * columns + column];
    }
  }
  return result;
}

/// Returns sines and cosines of (first + position) * 10000^(-i / steps), interleaved or in halves.
static Stored sinusoids(ArrayRef<int64_t> shape, ArrayRef<int64_t> numbers, bool isSplit) {
  const int64_t half = shape[1] / 2;
  Stored table(shape[0] * shape[1]);
  for (int64_t i = 0; i < half; ++i) {
    double rate = std::pow(10000.0, -double(i) / double(numbers[1]));
    float *sine = table.data() + (isSplit ? i : 2 * i);
    float *cosine = sine + (isSplit ? half : 1);
    for (int64_t position = 0; position < shape[0]; ++position) {
      double angle = double(numbers[0] + position) * rate;
      sine[position * shape[1]] = float(std::sin(angle));
      cosine[position * shape[1]] = float(std::cos(angle));
    }
  }
  return table;
}

/// Returns T5's bucket of a distance from query to key. Computed in f32, as in training.
static int64_t relativeBucket(int64_t distance, int64_t buckets, bool isBidirectional,
                              int64_t farthest) {
  int64_t first = 0;
  if (isBidirectional) {
    buckets /= 2;
    first = distance > 0 ? buckets : 0;
    distance = std::abs(distance);
  } else {
    distance = std::max<int64_t>(-distance, 0);
  }
  int64_t exact = buckets / 2;
  if (distance < exact) {
    return first + distance;
  }
  auto spread = float(std::log(double(farthest) / double(exact)));
  float part = std::log(float(distance) / float(exact)) / spread * float(buckets - exact);
  // With few buckets, the logarithm may overflow or be NaN: such a distance is in the last bucket.
  int64_t far = part < float(buckets - exact) ? int64_t(part) : buckets - exact - 1;
  return first + exact + far;
}

/// Spreads [buckets, heads] to [heads, 2 * distance + 1].
template <typename T>
static std::vector<T> spreadBuckets(const std::vector<T> &table, ArrayRef<int64_t> shape,
                                    ArrayRef<int64_t> numbers) {
  int64_t farthest = numbers[1];
  int64_t columns = 2 * farthest + 1;
  std::vector<T> result(shape[1] * columns);
  for (int64_t column = 0; column < columns; ++column) {
    int64_t bucket = relativeBucket(column - farthest, shape[0], numbers[0] == 1, farthest);
    for (int64_t head = 0; head < shape[1]; ++head) {
      result[head * columns + column] = table[bucket * shape[1] + head];
    }
  }
  return result;
}

/// Returns zeros in the rows before `first`, ones from it on.
static Stored onesFrom(ArrayRef<int64_t> shape, int64_t first) {
  int64_t row = ShapedType::getNumElements(shape.drop_front());
  Stored table(shape[0] * row, 1.0f);
  std::fill_n(table.begin(), std::min(first, shape[0]) * row, 0.0f);
  return table;
}

/// Returns columns [rows, count] of a matrix of `width` columns.
template <typename T>
static std::vector<T> cutColumns(const std::vector<T> &matrix, int64_t width, int64_t first,
                                 int64_t count) {
  std::vector<T> result;
  result.reserve(matrix.size() / width * count);
  for (auto row = matrix.begin(); row != matrix.end(); row += width) {
    result.insert(result.end(), row + first, row + first + count);
  }
  return result;
}

/// Multiplies [m, k] by [k, n], n = 1 for a vector; sums in f64, in the order of k.
template <typename Left, typename Right>
static Exact multiplyMatrices(const std::vector<Left> &left, const std::vector<Right> &right,
                              int64_t m, int64_t k) {
  auto n = static_cast<int64_t>(right.size()) / k;
  Exact result(m * n);
  for (int64_t row = 0; row < m; ++row) {
    double *sums = result.data() + row * n;
    for (int64_t i = 0; i < k; ++i) {
      double factor = left[row * k + i];
      for (int64_t column = 0; column < n; ++column) {
        sums[column] += factor * right[i * n + column];
      }
    }
  }
  return result;
}

/// Rounds to the nearest number of a floating-point type with `digits` significand bits and this
/// exponent range, ties to even; infinite beyond the largest number.
static double roundTo(double value, int digits, int leastExponent, int largestExponent) {
  if (value == 0 || !std::isfinite(value)) {
    return value;
  }
  int exponent = std::max(std::ilogb(value), leastExponent);
  double rounded =
      std::ldexp(std::nearbyint(std::ldexp(value, digits - 1 - exponent)), exponent - (digits - 1));
  return std::ilogb(rounded) > largestExponent
             ? std::copysign(std::numeric_limits<double>::infinity(), value)
             : rounded;
}

/// Returns the bits of the nearest bf16 number; truncates the payload of a NaN.
template <typename T> static uint16_t bf16Bits(T value) {
  if (std::isnan(value)) {
    const auto upper =
        static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
    return (upper & 0x7F) == 0 ? upper | 0x40 : upper;
  }
  if constexpr (std::is_same_v<T, float>) {
    // Adds half of the last kept bit, or slightly less, so that ties go to even. It may carry into
    // the exponent, up to infinity.
    const auto bits = std::bit_cast<uint32_t>(value);
    return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
  }
  auto rounded = static_cast<float>(roundTo(value, /*digits=*/8, -126, 127));
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(rounded) >> 16);
}

/// Returns the bits of the nearest f16 number.
template <typename T> static uint16_t f16Bits(T value) {
  constexpr int digits = 11, least = -14, largest = 15;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::abs(roundTo(value, digits, least, largest));
  if (std::isnan(value) || std::isinf(size)) {
    return sign | (std::isnan(value) ? 0x7E00 : 0x7C00);
  }
  // Numbers below 2^-14 are subnormal: multiples of the smallest one, with a zero exponent field.
  if (size < std::ldexp(1.0, least)) {
    return sign | static_cast<uint16_t>(std::ldexp(size, digits - 1 - least));
  }
  const int exponent = std::ilogb(size);
  const auto fraction = static_cast<uint16_t>(std::ldexp(size, digits - 1 - exponent));
  return sign | static_cast<uint16_t>(((exponent + largest - 1) << (digits - 1)) + fraction);
}

/// Widens exactly.
static Stored widen(const NarrowValues &values) {
  Stored wide(values.bits.size());
  std::transform(values.bits.begin(), values.bits.end(), wide.begin(),
                 values.element == ElementType::BF16 ? bf16ToF32 : f16ToF32);
  return wide;
}

/// Returns values in f32 or f64, moved if they already are.
static std::variant<Stored, Exact> widened(Values values) {
  assert(!std::holds_alternative<Bytes>(values) && "what is laid out is only stored");
  if (auto *narrow = std::get_if<NarrowValues>(&values)) {
    return widen(*narrow);
  }
  if (auto *quantized = std::get_if<QuantizedValues>(&values)) {
    return quantized->widen();
  }
  if (auto *exact = std::get_if<Exact>(&values)) {
    return std::move(*exact);
  }
  return std::move(std::get<Stored>(values));
}

Values convertValues(Values values, ElementType element) {
  auto *narrow = std::get_if<NarrowValues>(&values);
  const bool isWide = std::holds_alternative<Stored>(values) && element == ElementType::F32;
  if (isWide || (narrow && narrow->element == element)) {
    return values;
  }
  return std::visit(
      [&](const auto &from) -> Values {
        if (element == ElementType::F32) {
          return Stored(from.begin(), from.end());
        }
        std::vector<uint16_t> bits(from.size());
        using Number = typename std::decay_t<decltype(from)>::value_type;
        std::transform(from.begin(), from.end(), bits.begin(),
                       element == ElementType::BF16 ? bf16Bits<Number> : f16Bits<Number>);
        return NarrowValues{element, std::move(bits)};
      },
      widened(std::move(values)));
}

Values convertTo(RankedTensorType type, Values values) {
  if (auto quantized = dyn_cast<transformer::QuantizedType>(type.getElementType())) {
    if ([[maybe_unused]] const auto *codes = std::get_if<QuantizedValues>(&values)) {
      assert(codes->elementType().withFull(false) == quantized.withFull(false) &&
             "codes become others by way of the numbers that they stand for");
      return values;
    }
    const auto wide = std::get<Stored>(convertValues(std::move(values), ElementType::F32));
    return QuantizedValues(wide, quantized, type.getShape().back());
  }
  return std::holds_alternative<Bytes>(values)
             ? values
             : convertValues(std::move(values), elementTypeOf(type.getElementType()));
}

Values makeValues(transformer::ParameterExpressionAttr expression, RankedTensorType type) {
  if (expression.getKind() == ExpressionKind::Zeros) {
    return Stored(type.getNumElements(), 0.0f);
  }
  if (expression.getKind() == ExpressionKind::OnesFrom) {
    return onesFrom(type.getShape(), expression.getNumbers()[0]);
  }
  bool isSplit = expression.getKind() == ExpressionKind::SinusoidSplit;
  return sinusoids(type.getShape(), expression.getNumbers(), isSplit);
}

Exact asExact(Values values) {
  return std::visit(
      [](auto wide) {
        if constexpr (std::is_same_v<decltype(wide), Exact>) {
          return wide;
        } else {
          return Exact(wide.begin(), wide.end());
        }
      },
      widened(std::move(values)));
}

/// Calls `function` with vectors of one type: f32 if both are f32, else f64.
template <typename Function> static void withOneType(Values &to, Values from, Function function) {
  if (std::holds_alternative<Stored>(to) && std::holds_alternative<Stored>(from)) {
    function(std::get<Stored>(to), std::get<Stored>(from));
    return;
  }
  to = asExact(std::move(to));
  function(std::get<Exact>(to), asExact(std::move(from)));
}

void appendValues(Values &all, Values part) {
  if (auto *codes = std::get_if<QuantizedValues>(&all)) {
    return codes->append(std::get<QuantizedValues>(part));
  }
  if (std::holds_alternative<QuantizedValues>(part)) {
    all = std::move(part);
    return;
  }
  withOneType(all, std::move(part),
              [](auto &to, const auto &from) { to.insert(to.end(), from.begin(), from.end()); });
}

/// Evaluates a kind that takes one operand of `shape` and moves its values.
template <typename T>
static std::vector<T> movedValues(transformer::ParameterOp parameter, ArrayRef<int64_t> shape,
                                  const std::vector<T> &values) {
  transformer::ParameterExpressionAttr expression = *parameter.getExpression();
  switch (expression.getKind()) {
  case ExpressionKind::Transpose:
    return transposeMatrix(values, shape[0], shape[1]);
  case ExpressionKind::RelativeBuckets:
    return spreadBuckets(values, shape, expression.getNumbers());
  case ExpressionKind::Columns:
    return cutColumns(values, shape[1], expression.getNumbers()[0],
                      parameter.getTensorType().getDimSize(1));
  case ExpressionKind::Concat:
  case ExpressionKind::Reshape:
  case ExpressionKind::Pack:
  case ExpressionKind::Zeros:
  case ExpressionKind::Rows:
  case ExpressionKind::SinusoidInterleaved:
  case ExpressionKind::SinusoidSplit:
  case ExpressionKind::OnesFrom:
  case ExpressionKind::Product:
  case ExpressionKind::Scale:
  case ExpressionKind::Sum:
  case ExpressionKind::ConcatColumns:
  case ExpressionKind::Convert:
  case ExpressionKind::Compensate:
    break;
  }
  llvm_unreachable("all others do not move values across rows");
}

Values moveValues(transformer::ParameterOp parameter, ArrayRef<int64_t> shape, Values values) {
  if (auto *narrow = std::get_if<NarrowValues>(&values)) {
    return NarrowValues{narrow->element, movedValues(parameter, shape, narrow->bits)};
  }
  assert(!std::holds_alternative<QuantizedValues>(values) && "rows of codes stay whole");
  return std::visit([&](const auto &wide) -> Values { return movedValues(parameter, shape, wide); },
                    widened(std::move(values)));
}

Values packValues(transformer::ParameterExpressionAttr pack, int64_t groups, int64_t columns,
                  Values values) {
  if (auto *quantized = std::get_if<QuantizedValues>(&values)) {
    return quantized->packed(pack.getPanelColumns(), groups, pack.getElementsTogether());
  }
  const auto packed = [&](const auto &matrix) {
    const auto rows = static_cast<int64_t>(matrix.size()) / columns;
    return packPanels(matrix, pack, groups, rows / groups, columns);
  };
  if (auto *narrow = std::get_if<NarrowValues>(&values)) {
    return NarrowValues{narrow->element, packed(narrow->bits)};
  }
  return std::visit([&](const auto &wide) -> Values { return packed(wide); },
                    widened(std::move(values)));
}

Values cutValues(Values values, int64_t first, int64_t count) {
  const auto cut = [&](const auto &all) {
    return std::decay_t<decltype(all)>(all.begin() + first, all.begin() + first + count);
  };
  if (auto *narrow = std::get_if<NarrowValues>(&values)) {
    return NarrowValues{narrow->element, cut(narrow->bits)};
  }
  if (auto *quantized = std::get_if<QuantizedValues>(&values)) {
    const int64_t columns = quantized->columnCount();
    return quantized->rowsFrom(first / columns, count / columns);
  }
  return std::visit([&](const auto &wide) -> Values { return cut(wide); },
                    widened(std::move(values)));
}

Values multiplyValues(Values left, Values right, int64_t rows) {
  return std::visit(
      [&](const auto &a, const auto &b) -> Values {
        return multiplyMatrices(a, b, rows, static_cast<int64_t>(a.size()) / rows);
      },
      widened(std::move(left)), widened(std::move(right)));
}

void addValues(Exact &sums, Values values) {
  std::visit(
      [&](const auto &each) {
        std::transform(sums.begin(), sums.end(), each.begin(), sums.begin(), std::plus<double>());
      },
      widened(std::move(values)));
}

void placeColumns(Values &to, Values matrix, int64_t width, int64_t first, int64_t count) {
  withOneType(to, std::move(matrix), [&](auto &all, const auto &from) {
    const auto rows = static_cast<int64_t>(from.size()) / count;
    all.resize(rows * width);
    for (int64_t row = 0; row < rows; ++row) {
      std::copy_n(from.begin() + row * count, count, all.begin() + row * width + first);
    }
  });
}

StoredValues storedValues(RankedTensorType type, Values values) {
  values = convertTo(type, std::move(values));
  if (auto *bytes = std::get_if<Bytes>(&values)) {
    return StoredValues(std::move(*bytes));
  }
  if (auto *quantized = std::get_if<QuantizedValues>(&values)) {
    return StoredValues(quantized->rows());
  }
  if (auto *narrow = std::get_if<NarrowValues>(&values)) {
    return StoredValues(std::move(narrow->bits));
  }
  return StoredValues(std::move(std::get<Stored>(values)));
}

} // namespace heddle
