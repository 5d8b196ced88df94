// SPDX-License-Identifier: Apache-2.0
///
/// Evaluation and placement of parameters.
#include "compiler/Link/Parameters.h"

#include "heddle/Abi.h"
#include "runtime/Artifact/Layout.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

using namespace mlir;

namespace heddle {

using Values = std::vector<float>;

// [groups * n, k] to panels [groups][ceil(n / 48)][k][48], zero beyond the last row of each group
// (HEDDLE_PANEL).
static Values packPanels(const Values &matrix, int64_t groups, int64_t n, int64_t k) {
  int64_t panels = (n + HEDDLE_PANEL - 1) / HEDDLE_PANEL;
  Values packed(groups * panels * k * HEDDLE_PANEL, 0.0f);
  for (int64_t row = 0; row < groups * n; ++row) {
    int64_t panel = row / n * panels + row % n / HEDDLE_PANEL;
    const float *from = matrix.data() + row * k;
    float *to = packed.data() + panel * k * HEDDLE_PANEL + row % n % HEDDLE_PANEL;
    for (int64_t i = 0; i < k; ++i) {
      to[i * HEDDLE_PANEL] = from[i];
    }
  }
  return packed;
}

static Values transposeMatrix(const Values &matrix, int64_t rows, int64_t columns) {
  Values result(matrix.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      result[column * rows + row] = matrix[row * columns + column];
    }
  }
  return result;
}

/// Sines and cosines of (first + position) * 10000^(-i / steps), by turns or in halves.
static Values sinusoids(ArrayRef<int64_t> shape, ArrayRef<int64_t> numbers, bool isSplit) {
  const int64_t half = shape[1] / 2;
  Values table(shape[0] * shape[1]);
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

/// T5's bucket of a distance from query to key. In f32, as the checkpoints were trained.
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
  // A distance for the last of few buckets may give no number: all of them are the last.
  int64_t far = part < float(buckets - exact) ? int64_t(part) : buckets - exact - 1;
  return first + exact + far;
}

/// [buckets, heads] to [heads, 2 * distance + 1].
static Values spreadBuckets(const Values &table, ArrayRef<int64_t> shape,
                            ArrayRef<int64_t> numbers) {
  int64_t farthest = numbers[1];
  int64_t columns = 2 * farthest + 1;
  Values result(shape[1] * columns);
  for (int64_t column = 0; column < columns; ++column) {
    int64_t bucket = relativeBucket(column - farthest, shape[0], numbers[0] == 1, farthest);
    for (int64_t head = 0; head < shape[1]; ++head) {
      result[head * columns + column] = table[bucket * shape[1] + head];
    }
  }
  return result;
}

/// Zeros in the rows before the first, ones from it on.
static Values onesFrom(ArrayRef<int64_t> shape, int64_t first) {
  int64_t row = ShapedType::getNumElements(shape.drop_front());
  Values table(shape[0] * row, 1.0f);
  std::fill_n(table.begin(), std::min(first, shape[0]) * row, 0.0f);
  return table;
}

/// Some columns of a matrix of `width`, [rows, count].
static Values cutColumns(const Values &matrix, int64_t width, int64_t first, int64_t count) {
  Values result;
  result.reserve(matrix.size() / width * count);
  for (auto row = matrix.begin(); row != matrix.end(); row += width) {
    result.insert(result.end(), row + first, row + first + count);
  }
  return result;
}

/// [m, k] times [k, n], n = 1 for a vector; sums in double, in the order of k.
static Values multiplyMatrices(const Values &left, const Values &right, int64_t m, int64_t k) {
  auto n = static_cast<int64_t>(right.size()) / k;
  Values result(m * n);
  std::vector<double> sums(n);
  for (int64_t row = 0; row < m; ++row) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (int64_t i = 0; i < k; ++i) {
      double factor = left[row * k + i];
      for (int64_t column = 0; column < n; ++column) {
        sums[column] += factor * right[i * n + column];
      }
    }
    std::copy(sums.begin(), sums.end(), result.begin() + row * n);
  }
  return result;
}

/// What has no operands.
static Values makeValues(transformer::ParameterExpressionAttr expression, RankedTensorType type) {
  if (expression.getKind() == transformer::ExpressionKind::Zeros) {
    return Values(type.getNumElements(), 0.0f);
  }
  if (expression.getKind() == transformer::ExpressionKind::OnesFrom) {
    return onesFrom(type.getShape(), expression.getNumbers()[0]);
  }
  bool isSplit = expression.getKind() == transformer::ExpressionKind::SinusoidSplit;
  return sinusoids(type.getShape(), expression.getNumbers(), isSplit);
}

static transformer::ParameterOp lookup(ModuleOp module, FlatSymbolRefAttr symbol) {
  return module.lookupSymbol<transformer::ParameterOp>(symbol.getAttr());
}

/// Operands one after the other, so that only one of them and their sum are in memory.
static Result<Values> evaluateSum(ModuleOp module, ArrayRef<FlatSymbolRefAttr> operands,
                                  const ParameterSource &source) {
  std::vector<double> sums;
  for (FlatSymbolRefAttr operand : operands) {
    HEDDLE_ASSIGN(Values values, evaluateParameter(module, lookup(module, operand), source));
    sums.resize(values.size());
    std::transform(sums.begin(), sums.end(), values.begin(), sums.begin(), std::plus<double>());
  }
  return Values(sums.begin(), sums.end());
}

/// The first operand times the others, each one number, and the constant.
static Result<Values> evaluateScale(ModuleOp module,
                                    transformer::ParameterExpressionAttr expression,
                                    const ParameterSource &source) {
  ArrayRef<FlatSymbolRefAttr> operands = expression.getOperands();
  double factor = expression.getFactor() ? expression.getFactor().getValueAsDouble() : 1.0;
  for (FlatSymbolRefAttr operand : operands.drop_front()) {
    HEDDLE_ASSIGN(Values number, evaluateParameter(module, lookup(module, operand), source));
    factor *= number.front();
  }
  HEDDLE_ASSIGN(Values values, evaluateParameter(module, lookup(module, operands.front()), source));
  for (float &value : values) {
    value = static_cast<float>(value * factor);
  }
  return values;
}

/// Matrices side by side, one after the other.
static Result<Values> evaluateConcatColumns(ModuleOp module, transformer::ParameterOp parameter,
                                            const ParameterSource &source) {
  RankedTensorType type = parameter.getTensorType();
  Values all(type.getNumElements());
  auto to = all.begin();
  for (FlatSymbolRefAttr symbol : parameter.getExpression()->getOperands()) {
    transformer::ParameterOp operand = lookup(module, symbol);
    HEDDLE_ASSIGN(Values values, evaluateParameter(module, operand, source));
    int64_t width = operand.getTensorType().getDimSize(1);
    for (int64_t row = 0; row < type.getDimSize(0); ++row) {
      std::copy_n(values.begin() + row * width, width, to + row * type.getDimSize(1));
    }
    to += width;
  }
  return all;
}

static Result<Values> evaluateProduct(ModuleOp module, transformer::ParameterOp parameter,
                                      const ParameterSource &source) {
  ArrayRef<FlatSymbolRefAttr> operands = parameter.getExpression()->getOperands();
  transformer::ParameterOp left = lookup(module, operands[0]);
  HEDDLE_ASSIGN(Values first, evaluateParameter(module, left, source));
  HEDDLE_ASSIGN(Values second, evaluateParameter(module, lookup(module, operands[1]), source));
  ArrayRef<int64_t> shape = left.getTensorType().getShape();
  return multiplyMatrices(first, second, shape[0], shape[1]);
}

static Result<Values> evaluateConcat(ModuleOp module, transformer::ParameterOp parameter,
                                     const ParameterSource &source) {
  Values all;
  all.reserve(parameter.getTensorType().getNumElements());
  for (FlatSymbolRefAttr operand : parameter.getExpression()->getOperands()) {
    HEDDLE_ASSIGN(Values part, evaluateParameter(module, lookup(module, operand), source));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// What takes one operand.
static Result<Values> evaluateUnary(ModuleOp module, transformer::ParameterOp parameter,
                                    const ParameterSource &source) {
  transformer::ParameterExpressionAttr expression = *parameter.getExpression();
  transformer::ParameterOp operand = lookup(module, expression.getOperands().front());
  HEDDLE_ASSIGN(Values values, evaluateParameter(module, operand, source));
  ArrayRef<int64_t> shape = operand.getTensorType().getShape();
  switch (expression.getKind()) {
  case transformer::ExpressionKind::Pack: {
    int64_t groups = expression.getNumbers().empty() ? 1 : expression.getNumbers()[0];
    return packPanels(values, groups, shape[0] / groups, shape[1]);
  }
  case transformer::ExpressionKind::Transpose:
    return transposeMatrix(values, shape[0], shape[1]);
  case transformer::ExpressionKind::RelativeBuckets:
    return spreadBuckets(values, shape, expression.getNumbers());
  case transformer::ExpressionKind::Rows: {
    int64_t row = ShapedType::getNumElements(shape.drop_front());
    auto first = values.begin() + expression.getNumbers()[0] * row;
    return Values(first, first + parameter.getTensorType().getNumElements());
  }
  case transformer::ExpressionKind::Columns:
    return cutColumns(values, shape[1], expression.getNumbers()[0],
                      parameter.getTensorType().getDimSize(1));
  default: // Reshape: the same values in the same order.
    return values;
  }
}

static Result<Values> evaluateExpression(ModuleOp module, transformer::ParameterOp parameter,
                                         const ParameterSource &source) {
  transformer::ParameterExpressionAttr expression = *parameter.getExpression();
  if (expression.getOperands().empty()) {
    return makeValues(expression, parameter.getTensorType());
  }
  switch (expression.getKind()) {
  case transformer::ExpressionKind::Concat:
    return evaluateConcat(module, parameter, source);
  case transformer::ExpressionKind::ConcatColumns:
    return evaluateConcatColumns(module, parameter, source);
  case transformer::ExpressionKind::Product:
    return evaluateProduct(module, parameter, source);
  case transformer::ExpressionKind::Scale:
    return evaluateScale(module, expression, source);
  case transformer::ExpressionKind::Sum:
    return evaluateSum(module, expression.getOperands(), source);
  default:
    return evaluateUnary(module, parameter, source);
  }
}

Result<Values> evaluateParameter(ModuleOp module, transformer::ParameterOp parameter,
                                 const ParameterSource &source) {
  if (parameter.getExpression()) {
    return evaluateExpression(module, parameter, source);
  }
  Values values(parameter.getTensorType().getNumElements());
  HEDDLE_TRY(source(*parameter.getSource(), values));
  return values;
}

static std::span<const std::byte> bytesOf(const Values &values) {
  return std::as_bytes(std::span(values));
}

static bool isZero(std::byte byte) { return byte == std::byte(0); }

ParameterHasher parameterHasher(ParameterSource source) {
  return [source = std::move(source)](transformer::ParameterOp parameter, int64_t first,
                                      int64_t count) -> std::optional<ContentHash> {
    auto module = parameter->getParentOfType<ModuleOp>();
    Result<Values> values = evaluateParameter(module, parameter, source);
    if (!values.ok()) {
      return std::nullopt;
    }
    int64_t row = ShapedType::getNumElements(parameter.getTensorType().getShape().drop_front());
    auto bytes = std::as_bytes(std::span(*values).subspan(first * row, count * row));
    XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    return ContentHash{hash.low64, hash.high64, llvm::all_of(bytes, isZero)};
  };
}

Result<Weights> Weights::place(ModuleOp module, ParameterSource source) {
  Weights weights(module, std::move(source));
  // By content, 128 bits of it, and size.
  std::map<std::tuple<uint64_t, uint64_t, uint64_t>, uint64_t> offsets;
  for (transformer::ParameterOp parameter : usedParameters(module)) {
    HEDDLE_ASSIGN(Values values, evaluateParameter(module, parameter, weights.source));
    std::span<const std::byte> bytes = bytesOf(values);
    XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    auto [found, isNew] =
        offsets.try_emplace({hash.low64, hash.high64, bytes.size()}, weights.bytes);
    if (isNew) {
      weights.stored.push_back(weights.placed.size());
      weights.bytes += alignUp(bytes.size(), HEDDLE_ALIGNMENT);
    }
    weights.placed.push_back({parameter, {found->second, bytes.size(), parameterChecksum(bytes)}});
  }
  return weights;
}

Status Weights::write(const std::function<Status(std::span<const std::byte>)> &sink) const {
  static constexpr std::byte padding[HEDDLE_ALIGNMENT] = {};
  for (size_t index : stored) {
    HEDDLE_ASSIGN(Values values, evaluateParameter(module, placed[index].parameter, source));
    HEDDLE_TRY(sink(bytesOf(values)));
    size_t rest = alignUp(placed[index].place.size, HEDDLE_ALIGNMENT) - placed[index].place.size;
    HEDDLE_TRY(sink(std::span(padding, rest)));
  }
  return {};
}

} // namespace heddle
