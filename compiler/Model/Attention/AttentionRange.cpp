// SPDX-License-Identifier: Apache-2.0
///
/// Constants and learned numbers are known and may be moved if they stay within limits. Numbers of
/// each row are unknown and may be moved past weights of ordinary magnitude. Probabilities sum to
/// one, so a weighted sum is never larger than its largest element.
#include "compiler/Model/Attention/AttentionRange.h"

#include "compiler/Model/Attention/AttentionMasks.h"
#include "compiler/Model/Branches/EvaluationRange.h"

#include <cmath>

using namespace mlir;
using namespace heddle::transformer;

namespace heddle {
namespace {

/// Bounds the numbers of one attention.
class AttentionRange {
public:
  AttentionRange(const DerivedParameters &parameters, const ParameterReader &reader)
      : parameters(parameters), reader(reader) {}

  std::string obstacleOf(const ScoreProduct &product);
  std::string obstacleOf(const WeightedSum &sum);
  std::string obstacleOf(ArrayRef<DistanceBias> biases);

private:
  std::optional<std::vector<float>> read(FlatSymbolRefAttr symbol) {
    return reader ? reader(parameters.lookUp(symbol)) : std::nullopt;
  }
  std::string judgeSize(StringRef what, double size);
  std::optional<double> sizeOfRows(Value rows);
  std::optional<std::vector<double>> scaledTable(const DistanceBias &bias);
  double sizeOfMap(const WeightedSum &sum, ArrayRef<float> values);

  const DerivedParameters &parameters;
  const ParameterReader &reader;
};

/// Returns the largest sum of absolute values of a row; infinity if there is a NaN.
double largestRow(ArrayRef<float> values, int64_t width) {
  double largest = 0;
  for (; !values.empty(); values = values.drop_front(width)) {
    double sum = 0;
    for (float value : values.take_front(width)) {
      sum += std::isnan(value) ? HUGE_VAL : std::abs(value);
    }
    largest = std::max(largest, sum);
  }
  return largest;
}

} // namespace

/// Checks weights that unknown numbers are moved past.
std::string AttentionRange::judgeSize(StringRef what, double size) {
  if (size == 0 || (size <= largestPassed && size >= 1 / largestPassed)) {
    return {};
  }
  return (what + " weights whose rows add up to " + printNumber(size) + ", expected " +
          printNumber(1 / largestPassed) + " to " + printNumber(largestPassed))
      .str();
}

/// Bounds rows relative to the rows that they are computed from, by the weights between; nothing if
/// these are unknown.
std::optional<double> AttentionRange::sizeOfRows(Value rows) {
  if (auto cached = rows.getDefiningOp<CachedOp>()) {
    auto append = cached.getCache().getDefiningOp<AppendOp>();
    rows = append ? append.getInput() : rows;
  }
  std::optional<std::vector<float>> values;
  if (auto linear = rows.getDefiningOp<LinearOp>()) {
    values = read(linear.getWeightAttr());
    int64_t width = linear.getInput().getType().getDimSize(1);
    return values ? std::optional(largestRow(*values, width)) : std::nullopt;
  }
  if (auto gather = rows.getDefiningOp<GatherOp>()) {
    values = read(gather.getTableAttr());
  }
  return values ? std::optional(largestRow(*values, 1)) : std::nullopt;
}

std::string AttentionRange::obstacleOf(const ScoreProduct &product) {
  double spread = product.spread;
  if (!product.key.numbers.empty()) {
    std::optional<double> size = sizeOfRows(product.query.tensor);
    std::string obstacle =
        judgeSize("numbers of each key would be multiplied before queries of", size.value_or(1));
    if (!obstacle.empty()) {
      return obstacle;
    }
  }
  for (Value number : product.factor.numbers) {
    auto weight = number.getDefiningOp<WeightOp>();
    if (!weight) {
      std::optional<double> size = sizeOfRows(product.key.tensor);
      std::string obstacle =
          judgeSize("numbers of each row would be multiplied before keys of", size.value_or(1));
      if (!obstacle.empty()) {
        return obstacle;
      }
    } else if (std::optional<std::vector<float>> value = read(weight.getParameterAttr())) {
      spread *= Factor::of(value->front()).spread;
    }
  }
  if (spread <= largestSpread) {
    return {};
  }
  return "factors that change sizes by " + printNumber(spread) +
         " would be multiplied on the other side of the product of queries and keys, expected at "
         "most " +
         printNumber(largestSpread);
}

/// Returns the largest absolute sum over the summed axis. The map's axes may be in any order.
double AttentionRange::sizeOfMap(const WeightedSum &sum, ArrayRef<float> values) {
  WeightOp map = sum.map;
  ArrayRef<int64_t> shape = map.getType().getShape();
  const std::array<int64_t, 3> strides = {shape[1] * shape[2], shape[2], 1};
  auto [head, made, summed] = sum.mapOrder;
  std::vector<float> rows;
  rows.reserve(values.size());
  for (int64_t h = 0; h < shape[head]; ++h) {
    for (int64_t row = 0; row < shape[made]; ++row) {
      for (int64_t i = 0; i < shape[summed]; ++i) {
        rows.push_back(values[h * strides[head] + row * strides[made] + i * strides[summed]]);
      }
    }
  }
  return largestRow(rows, shape[summed]);
}

std::string AttentionRange::obstacleOf(const WeightedSum &sum) {
  if (!(sum.spread <= largestSpread)) {
    return "factors of values that change sizes by " + printNumber(sum.spread) +
           " would be multiplied after their sum, expected at most " + printNumber(largestSpread);
  }
  std::optional<std::vector<float>> values;
  if (WeightOp map = sum.map) {
    values = read(map.getParameterAttr());
  }
  return values ? judgeSize("values would be mapped before they are summed, by",
                            sizeOfMap(sum, *values))
                : std::string();
}

/// Returns a table times its factors; nothing if a value is unknown.
std::optional<std::vector<double>> AttentionRange::scaledTable(const DistanceBias &bias) {
  double factor = bias.factor.constant;
  for (Value number : bias.factor.numbers) {
    std::optional<std::vector<float>> value =
        read(number.getDefiningOp<WeightOp>().getParameterAttr());
    if (!value) {
      return std::nullopt;
    }
    factor *= value->front();
  }
  std::optional<std::vector<float>> values = read(bias.table);
  if (!values) {
    return std::nullopt;
  }
  std::vector<double> table(values->begin(), values->end());
  llvm::for_each(table, [&](double &value) { value *= factor; });
  return table;
}

/// The kernel's table is the sum of biases that the program adds one after another. A number that
/// is not finite in the program may stay as it is.
std::string AttentionRange::obstacleOf(ArrayRef<DistanceBias> biases) {
  auto columnsOf = [&](const DistanceBias &bias) {
    return parameters.lookUp(bias.table).getTensorType().getDimSize(1);
  };
  int64_t columns = 0;
  for (const DistanceBias &bias : biases) {
    columns = std::max(columns, columnsOf(bias));
  }
  std::vector<double> sums;
  for (const DistanceBias &bias : biases) {
    std::optional<std::vector<double>> table = scaledTable(bias);
    if (!table) {
      return {};
    }
    // The end columns stand for distances beyond them, as in deriveBias().
    int64_t width = columnsOf(bias);
    auto heads = static_cast<int64_t>(table->size()) / width;
    sums.resize(heads * columns);
    for (int64_t at = 0; at < heads * columns; ++at) {
      int64_t column = std::clamp(at % columns - (columns - width) / 2, int64_t(0), width - 1);
      sums[at] += (*table)[at / columns * width + column];
    }
  }
  for (auto [at, sum] : llvm::enumerate(sums)) {
    if (std::isfinite(sum) && !std::isfinite(static_cast<float>(sum))) {
      return "the table of biases by distance would have " + printNumber(sum) + " for head " +
             std::to_string(at / columns) + " in column " + std::to_string(at % columns) +
             ", expected a number that is finite in f32";
    }
  }
  return {};
}

std::string rangeObstacle(const AttentionMatch &match, const DerivedParameters &parameters,
                          const ParameterReader &reader) {
  AttentionRange range(parameters, reader);
  std::string obstacle;
  for (const ScoreProduct &product : match.products) {
    obstacle = obstacle.empty() ? range.obstacleOf(product) : obstacle;
  }
  for (const WeightedSum &sum : match.sums) {
    obstacle = obstacle.empty() ? range.obstacleOf(sum) : obstacle;
  }
  return obstacle.empty() ? range.obstacleOf(match.biases) : obstacle;
}

} // namespace heddle
