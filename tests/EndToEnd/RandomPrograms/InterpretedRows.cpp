// SPDX-License-Identifier: Apache-2.0
///
/// Rules of mathematics on rows. Linear operations are sums of products; for the others the bound
/// follows from the minimum and maximum of the formula.
#include "tests/EndToEnd/RandomPrograms/Interpreter.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace heddle {

using namespace transformer;

template <> void Interpreter::evaluate(GatherOp op) {
  const BoundedTensor &table = parameter(op.getTable());
  const std::vector<int64_t> &rows = ids.at(op.getIds());
  BoundedTensor result({static_cast<int64_t>(rows.size()), table.width()});
  for (size_t row = 0; row < rows.size(); ++row) {
    // The runtime rejects row numbers that the table does not have.
    if (rows[row] < 0 || rows[row] >= table.rows()) {
      std::fill_n(result.elements.begin() + static_cast<int64_t>(row) * table.width(),
                  table.width(), Bounded::anything());
      continue;
    }
    std::copy_n(table.elements.begin() + rows[row] * table.width(), table.width(),
                result.elements.begin() + static_cast<int64_t>(row) * table.width());
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(PositionsOp op) {
  std::vector<int64_t> &positions = ids[op];
  positions.resize(static_cast<size_t>(segments.at(op.getRows())));
  for (size_t row = 0; row < positions.size(); ++row) {
    positions[row] = static_cast<int64_t>(op.getOffset() + row);
  }
}

template <> void Interpreter::evaluate(AnglesOp op) {
  const llvm::ArrayRef<float> frequencies = op.getFrequencies();
  BoundedTensor result({segments.at(op.getRows()), static_cast<int64_t>(frequencies.size())});
  for (int64_t row = 0; row < result.rows(); ++row) {
    for (int64_t column = 0; column < result.width(); ++column) {
      // In f32, as the operation defines.
      result.at(row, column) =
          Bounded::exact(static_cast<float>(row) * frequencies[static_cast<size_t>(column)]);
    }
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(LinearOp op) {
  const BoundedTensor &input = of(op.getInput());
  const BoundedTensor &weight = parameter(op.getWeight());
  const BoundedTensor *bias = op.getBias() ? &parameter(*op.getBias()) : nullptr;
  BoundedTensor result({input.rows(), weight.rows()});
  for (int64_t row = 0; row < result.rows(); ++row) {
    for (int64_t column = 0; column < result.width(); ++column) {
      ProductSum total;
      for (int64_t i = 0; i < input.width(); ++i) {
        total.add(input.at(row, i), weight.at(column, i));
      }
      if (bias) {
        total.add(bias->elements[static_cast<size_t>(column)], Bounded::exact(1));
      }
      result.at(row, column) = total.finish();
    }
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(ConvolveOp op) {
  if (!fitsIn(op, op.getInput(), op.getRows())) {
    return;
  }
  const BoundedTensor &input = of(op.getInput());
  const BoundedTensor &weight = parameter(op.getWeight());
  const BoundedTensor bias = op.getBias() ? parameter(*op.getBias()) : BoundedTensor();
  const int64_t kernel = weight.width();
  const int64_t center = op.getCausal() ? kernel - 1 : (kernel - 1) / 2;
  BoundedTensor result({input.rows(), input.width()});
  for (int64_t row = 0; row < input.rows(); ++row) {
    for (int64_t column = 0; column < input.width(); ++column) {
      ProductSum total;
      for (int64_t j = 0; j < kernel; ++j) {
        const int64_t other = row + (j - center) * static_cast<int64_t>(op.getDilation());
        if (other >= 0 && other < input.rows()) {
          total.add(weight.at(column, j), input.at(other, column));
        }
      }
      if (op.getBias()) {
        total.add(bias.elements[static_cast<size_t>(column)], Bounded::exact(1));
      }
      result.at(row, column) = total.finish();
    }
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(ColumnsOp op) {
  const BoundedTensor &input = of(op.getInput());
  BoundedTensor result({input.rows(), op.getType().getDimSize(1)});
  for (int64_t row = 0; row < result.rows(); ++row) {
    for (int64_t column = 0; column < result.width(); ++column) {
      result.at(row, column) = input.at(row, static_cast<int64_t>(op.getFirst()) + column);
    }
  }
  define(op, std::move(result));
}

// --- Norms -----------------------------------------------------------------------------------

namespace {
/// The minimum and maximum of a number.
struct Range {
  double low = 0;
  double high = 0;
};
} // namespace

/// Returns the mean of the squares of a row whose elements are within `errors` of `values`. The
/// result is unknown, infinite, if a square may overflow.
static Range meanOfSquares(const std::vector<double> &values, const std::vector<double> &errors) {
  Range range;
  for (size_t i = 0; i < values.size(); ++i) {
    const double least = std::max(std::abs(values[i]) - errors[i], 0.0);
    const double most = std::abs(values[i]) + errors[i];
    range.low += least * least;
    range.high += most * most;
  }
  const auto count = static_cast<double>(values.size());
  const double rounding = (2 * count + 8) * unitRoundoff;
  const double total = range.high;
  range.low = std::max((range.low * (1 - rounding) - count * underflow) / count, 0.0);
  range.high = (range.high * (1 + rounding) + count * underflow) / count;
  if (!(total < overflow)) {
    range.high = std::numeric_limits<double>::infinity();
  }
  return range;
}

/// Returns value * factor for a factor within a range, where value * factor is at most `most` in
/// any case.
static Bounded normed(double value, double error, const Range &factor, double exactFactor,
                      double most) {
  if (!std::isfinite(factor.high)) {
    return Bounded::anything();
  }
  const double exact = value * exactFactor;
  const double low = std::min((value - error) * factor.low, (value - error) * factor.high);
  const double high = std::max((value + error) * factor.low, (value + error) * factor.high);
  const double away = std::max(high - exact, exact - low);
  const double rounding = 8 * unitRoundoff * (std::abs(exact) + std::min(away, most));
  return roundResult(exact, std::min(away, most + std::abs(exact)) + rounding + underflow);
}

/// Returns the range of the reciprocal square root of a mean of squares plus epsilon.
static Range inverseRoot(const Range &mean, double epsilon) {
  const double rounding = 1 + 8 * unitRoundoff;
  if (!std::isfinite(mean.high) || mean.low + epsilon <= 0) {
    return {0, std::numeric_limits<double>::infinity()};
  }
  return {1 / std::sqrt(mean.high + epsilon) / rounding,
          1 / std::sqrt(mean.low + epsilon) * rounding};
}

void normRows(BoundedTensor &result, const BoundedTensor &weight, const BoundedTensor &bias,
              double epsilon) {
  const auto width = static_cast<size_t>(result.width());
  for (int64_t row = 0; row < result.rows(); ++row) {
    Bounded *const x = &result.at(row, 0);
    ProductSum total;
    for (size_t i = 0; i < width; ++i) {
      total.add(x[i], Bounded::exact(1));
    }
    const Bounded mean = product(total.finish(), Bounded::exact(1 / static_cast<double>(width)));
    if (!mean.isKnown()) {
      std::fill_n(x, width, Bounded::anything());
      continue;
    }
    std::vector<double> centred(width), errors(width);
    double exact = 0;
    for (size_t i = 0; i < width; ++i) {
      centred[i] = x[i].value - mean.value;
      errors[i] = x[i].error + mean.error +
                  2 * unitRoundoff * (std::abs(x[i].value) + std::abs(mean.value));
      exact += centred[i] * centred[i] / static_cast<double>(width);
    }
    const Range factor = inverseRoot(meanOfSquares(centred, errors), epsilon);
    for (size_t i = 0; i < width; ++i) {
      // No element is further from the mean than all of them together.
      const Bounded unit = normed(centred[i], errors[i], factor, 1 / std::sqrt(exact + epsilon),
                                  std::sqrt(static_cast<double>(width)));
      ProductSum scaledUnit;
      scaledUnit.add(unit, weight.elements[i]);
      scaledUnit.add(bias.elements[i], Bounded::exact(1));
      x[i] = scaledUnit.finish();
    }
  }
}

template <> void Interpreter::evaluate(LayerNormOp op) {
  BoundedTensor result = of(op.getInput());
  // Evaluating a parameter does not move those evaluated before.
  const BoundedTensor &weight = parameter(op.getWeight());
  normRows(result, weight, parameter(op.getBias()), op.getEpsilon().convertToDouble());
  define(op, std::move(result));
}

/// Multiplies each row by the reciprocal of `length(mean of squares)`, for any such function.
static void normaliseRows(BoundedTensor &rows, double most,
                          llvm::function_ref<Range(const Range &)> inverse) {
  const auto width = static_cast<size_t>(rows.width());
  for (int64_t row = 0; row < rows.rows(); ++row) {
    Bounded *const x = &rows.at(row, 0);
    std::vector<double> values(width), errors(width);
    double exact = 0;
    bool known = true;
    for (size_t i = 0; i < width; ++i) {
      known = known && x[i].isKnown() && !x[i].hidden;
      values[i] = x[i].value;
      errors[i] = x[i].error;
      exact += values[i] * values[i] / static_cast<double>(width);
    }
    const Range factor = inverse(meanOfSquares(values, errors));
    const double exactFactor = inverse({exact, exact}).low;
    for (size_t i = 0; i < width; ++i) {
      x[i] = known ? normed(values[i], errors[i], factor, exactFactor, most) : Bounded::anything();
    }
  }
}

template <> void Interpreter::evaluate(RmsNormOp op) {
  BoundedTensor result = of(op.getInput());
  const double epsilon = op.getEpsilon().convertToDouble();
  normaliseRows(result, std::sqrt(static_cast<double>(result.width())),
                [&](const Range &mean) { return inverseRoot(mean, epsilon); });
  const BoundedTensor &weight = parameter(op.getWeight());
  for (int64_t row = 0; row < result.rows(); ++row) {
    for (int64_t i = 0; i < result.width(); ++i) {
      result.at(row, i) = product(result.at(row, i), weight.elements[static_cast<size_t>(i)]);
    }
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(NormalizeOp op) {
  BoundedTensor result = of(op.getInput());
  const double epsilon = op.getEpsilon().convertToDouble();
  const auto width = static_cast<double>(result.width());
  normaliseRows(result, 1, [&](const Range &mean) -> Range {
    const double rounding = 1 + 8 * unitRoundoff;
    if (!std::isfinite(mean.high)) {
      return {0, mean.high};
    }
    return {1 / std::max(std::sqrt(mean.high * width), epsilon) / rounding,
            1 / std::max(std::sqrt(mean.low * width), epsilon) * rounding};
  });
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(BlocksOp op) {
  const auto size = static_cast<int64_t>(op.getSize());
  segments[op] = (segments.at(op.getRows()) + size - 1) / size;
}

/// Computes one row from the rows [first, end) of another tensor.
static void poolInto(BoundedTensor &result, int64_t row, Pooling method, const BoundedTensor &input,
                     int64_t first, int64_t end) {
  for (int64_t column = 0; column < input.width(); ++column) {
    Bounded &pooled = result.at(row, column);
    pooled = input.at(first, column);
    if (method == Pooling::Mean || method == Pooling::Sum) {
      ProductSum total;
      for (int64_t each = first; each < end; ++each) {
        total.add(input.at(each, column), Bounded::exact(1));
      }
      pooled = method == Pooling::Sum
                   ? total.finish()
                   : product(total.finish(), Bounded::exact(1 / static_cast<double>(end - first)));
    }
    for (int64_t each = first; method == Pooling::Max && each < end; ++each) {
      const Bounded &x = input.at(each, column);
      pooled.value = x.value > pooled.value || std::isnan(x.value) ? x.value : pooled.value;
      pooled.error = std::max(pooled.error, x.error);
      pooled.magnitude = std::max(pooled.magnitude, x.magnitude);
    }
  }
}

template <> void Interpreter::evaluate(PoolOp op) {
  if (!fitsIn(op, op.getInput(), op.getRows())) {
    return;
  }
  const BoundedTensor &input = of(op.getInput());
  // The number of rows that become one: blocks, of blocks, of the rows.
  int64_t count = op.getBlocks() ? 1 : input.rows();
  auto choices = op.getRows().getDefiningOp<ChoicesOp>();
  if (op.getBlocks() && choices) {
    count = static_cast<int64_t>(choices.getCount());
  }
  for (Value blocks = op.getBlocks(); !choices && blocks && blocks != op.getRows();) {
    // Every n-th row of a line is the first of a block.
    if (auto strided = blocks.getDefiningOp<StridedOp>()) {
      count *= static_cast<int64_t>(strided.getDown());
      blocks = strided.getRows();
      continue;
    }
    auto each = blocks.getDefiningOp<BlocksOp>();
    count *= static_cast<int64_t>(each.getSize());
    blocks = each.getRows();
  }
  const int64_t rows = op.getBlocks() ? segments.at(op.getBlocks()) : 1;
  BoundedTensor result({rows, input.width()});
  for (int64_t row = 0; row < rows; ++row) {
    poolInto(result, row, op.getMethod(), input, row * count,
             std::min((row + 1) * count, input.rows()));
  }
  define(op, std::move(result));
}

} // namespace heddle
