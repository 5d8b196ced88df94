// SPDX-License-Identifier: Apache-2.0
///
/// Rules of the operations that passes create: large operations, by the formulas of their
/// documentation, and the algebra of weights, in double precision.
#include "tests/EndToEnd/RandomPrograms/Interpreter.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace heddle {

using namespace transformer;

/// Returns the score of a key after a causal row; `product` is scale * q k.
static Bounded scoreAfter(HiddenAttr hidden, const Bounded &product, const Bounded &bias) {
  if (!hidden) {
    return Bounded::hiding(-std::numeric_limits<double>::infinity());
  }
  const Bounded number = hiddenScore(hidden.getNumber().getValueAsDouble());
  switch (hidden.getKind()) {
  case HiddenKind::Added:
    return sum(sum(product, bias), number);
  case HiddenKind::Score:
    return number;
  case HiddenKind::Product:
    return sum(number, bias);
  }
  llvm_unreachable("every kind has its score");
}

/// Returns the result of a score's maths for a product; it takes `bias` instead of adding it.
static Bounded mappedScore(ScoreAttr score, const Bounded &product, const Bounded &bias) {
  std::vector<Bounded> values = {product};
  const auto valueOf = [&](const ScoreTerm &term) {
    return term.kind == ScoreTerm::Kind::Value      ? values[static_cast<size_t>(term.value)]
           : term.kind == ScoreTerm::Kind::Constant ? Bounded::exact(term.constant)
                                                    : bias;
  };
  for (const ScoreStep &step : score.getSteps()) {
    const Bounded left = valueOf(step.left), right = valueOf(step.right);
    values.push_back(step.kind == ScoreStep::Kind::Add        ? sum(left, right)
                     : step.kind == ScoreStep::Kind::Multiply ? heddle::product(left, right)
                                                              : activated(step.activation, left));
  }
  return values.back();
}

/// Returns the locations near a key of a row: the numbers themselves, or those of filters.
template <typename Op>
std::vector<Bounded> Interpreter::linesAt(Op op, int64_t row, int64_t key, int64_t keys) {
  std::vector<Bounded> near, lines;
  for (auto [locations, taps] :
       llvm::zip(op.getLocations(), op.getLocationTaps().value_or(ArrayRef<int64_t>()))) {
    const BoundedTensor &numbers = of(locations);
    for (int64_t head = 0; head < numbers.shape[1]; ++head) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t place = key + tap - taps / 2;
        near.push_back(place >= 0 && place < keys ? numbers.at(row * numbers.shape[1] + head, place)
                                                  : Bounded::exact(0));
      }
    }
  }
  if (!op.getLocationFilters()) {
    return near;
  }
  const BoundedTensor &filters = parameter(*op.getLocationFilters());
  for (int64_t filter = 0; filter < filters.rows(); ++filter) {
    ProductSum line;
    for (auto [number, each] : llvm::enumerate(near)) {
      line.add(filters.at(filter, static_cast<int64_t>(number)), each);
    }
    lines.push_back(line.finish());
  }
  return lines;
}

template <typename Op> bool Interpreter::fitsAttention(Op op) {
  const int64_t keys = segments.at(op.getKeys());
  return fitsIn(op, op.getQuery(), op.getQueries()) && fitsIn(op, op.getKey(), op.getKeys()) &&
         llvm::all_of(op.getLocations(), [&](Value locations) {
           return fitsScores(op, of(locations), of(op.getQuery()).rows(), keys);
         });
}

template <typename Op> BoundedTensor Interpreter::weightsOf(Op op, bool isRaw) {
  const BoundedTensor &query = of(op.getQuery());
  const BoundedTensor &key = of(op.getKey());
  const BoundedTensor *const table = op.getBias() ? &parameter(*op.getBias()) : nullptr;
  const HiddenAttr hidden = op.getHidden() ? *op.getHidden() : HiddenAttr();
  const auto heads = static_cast<int64_t>(op.getHeads());
  const int64_t size = query.width() / heads;
  const double scale = op.getScale().convertToDouble();
  const Mask mask{op.getVisibility().getValue(), query.rows(), key.rows()};
  BoundedTensor result({query.rows(), heads, key.rows()});
  for (int64_t row = 0; row < query.rows(); ++row) {
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t keyHead = head / static_cast<int64_t>(op.getKeyShare());
      Bounded *const scores = &result.at(row * heads + head, 0);
      for (int64_t k = 0; k < key.rows(); ++k) {
        ProductSum total;
        const std::vector<Bounded> lines = linesAt(op, row, k, key.rows());
        for (int64_t i = 0; i < size; ++i) {
          const Bounded &q = query.at(row, head * size + i), &other = key.at(k, keyHead * size + i);
          if (const ScoreAttr pairs = op.getPairsAttr()) {
            ProductSum locations;
            for (auto [number, line] : llvm::enumerate(lines)) {
              locations.add(parameter(*op.getLocationWeights()).at(i, static_cast<int64_t>(number)),
                            line);
            }
            const Bounded pair = sum(q, other);
            total.add(mappedScore(pairs, lines.empty() ? pair : sum(pair, locations.finish()),
                                  Bounded::exact(0)),
                      parameter(*op.getPairWeights()).at(head, i));
          } else {
            total.add(q, other);
          }
        }
        Bounded product = scaled(total.finish(), scale);
        Bounded bias = Bounded::exact(0);
        if (table) {
          const int64_t most = table->width() / 2;
          bias = table->at(head, std::clamp(k - row, -most, most) + most);
        }
        if (const ScoreAttr score = op.getScoreAttr()) {
          product = mappedScore(score, product, bias);
          bias = score.takesBias() ? Bounded::exact(0) : bias;
        }
        scores[k] = mask.sees(row, k) ? sum(product, bias) : scoreAfter(hidden, product, bias);
      }
      if (!isRaw) {
        softmaxRow(scores, static_cast<size_t>(key.rows()));
      }
    }
  }
  return result;
}

/// Sums values with the weights of the keys that a row sees; `share` adjacent heads of weights have
/// one head of values.
static BoundedTensor attend(const BoundedTensor &weights, const BoundedTensor &value, int64_t share,
                            llvm::function_ref<bool(int64_t row, int64_t key)> sees) {
  const int64_t heads = weights.shape[1], size = value.width() * share / heads;
  BoundedTensor result({weights.shape[0], value.width() * share});
  for (int64_t row = 0; row < result.rows(); ++row) {
    for (int64_t column = 0; column < result.width(); ++column) {
      const int64_t head = column / size;
      ProductSum total;
      for (int64_t key = 0; key < value.rows(); ++key) {
        if (sees(row, key)) {
          total.add(weights.at(row * heads + head, key),
                    value.at(key, head / share * size + column % size));
        }
      }
      result.at(row, column) = total.finish();
    }
  }
  return result;
}

template <> void Interpreter::evaluate(AttentionOp op) {
  if (!fitsAttention(op) || !fitsIn(op, op.getValue(), op.getKeys())) {
    return;
  }
  // With a finite mask, keys after the row have weights too.
  const Mask mask{op.getHidden() ? Visibility::all() : op.getVisibility().getValue(), 0, 0};
  define(op, attend(weightsOf(op, /*isRaw=*/false), of(op.getValue()),
                    static_cast<int64_t>(op.getValueShare()),
                    [&](int64_t row, int64_t key) { return mask.sees(row, key); }));
}

template <> void Interpreter::evaluate(AttentionWeightsOp op) {
  if (fitsAttention(op)) {
    define(op, weightsOf(op, op.getRaw()));
  }
}

template <> void Interpreter::evaluate(AttendOp op) {
  if (!fitsIn(op, op.getValue(), op.getKeys()) ||
      !fitsScores(op, of(op.getWeights()), segments.at(op.getQueries()),
                  of(op.getValue()).rows())) {
    return;
  }
  const Mask mask{op.getVisibility().getValue(), 0, 0};
  define(op,
         attend(of(op.getWeights()), of(op.getValue()), static_cast<int64_t>(op.getValueShare()),
                [&](int64_t row, int64_t key) { return mask.sees(row, key); }));
}

template <> void Interpreter::evaluate(RotateOp op) {
  if (!fitTogether(op, {op.getInput(), op.getCosine(), op.getSine()})) {
    return;
  }
  BoundedTensor result = of(op.getInput());
  const BoundedTensor input = result;
  const BoundedTensor &cosine = of(op.getCosine()), &sine = of(op.getSine());
  const int64_t size = input.width() / static_cast<int64_t>(op.getHeads()), pairs = cosine.width();
  for (int64_t row = 0; row < input.rows(); ++row) {
    for (int64_t column = 0; column < input.width(); ++column) {
      const int64_t place = column % size;
      if (place >= 2 * pairs) {
        continue;
      }
      const bool isFirst = place < pairs;
      const Bounded &other = input.at(row, isFirst ? column + pairs : column - pairs);
      ProductSum turned;
      turned.add(input.at(row, column), cosine.at(row, place % pairs));
      turned.add(scaled(other, isFirst ? -1 : 1), sine.at(row, place % pairs));
      result.at(row, column) = turned.finish();
    }
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(EmbedOp op) {
  const auto tables = llvm::to_vector(op.getTables().getAsRange<FlatSymbolRefAttr>());
  const llvm::ArrayRef<float> scales = op.getScales();
  const int64_t rows = op.getIds().empty()
                           ? segments.at(op.getRows())
                           : static_cast<int64_t>(ids.at(op.getIds().front()).size());
  for (Value each : op.getIds()) {
    if (!fits(op, static_cast<int64_t>(ids.at(each).size()), rows)) {
      return;
    }
  }
  BoundedTensor result({rows, op.getType().getDimSize(1)});
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < result.width(); ++column) {
      ProductSum total;
      for (auto [number, table] : llvm::enumerate(tables)) {
        const bool isId = number < op.getIds().size();
        const int64_t place = isId ? ids.at(op.getIds()[number])[static_cast<size_t>(row)]
                                   : row + op.getPositionOffsets()[number - op.getIds().size()];
        const BoundedTensor &looked = parameter(table.getValue());
        const bool isThere = place >= 0 && place < looked.rows();
        total.add(isThere ? looked.at(place, column) : Bounded::anything(),
                  Bounded::exact(isId && !scales.empty() ? scales[number] : 1));
      }
      result.at(row, column) = total.finish();
    }
  }
  if (op.getNormWeight()) {
    const BoundedTensor &weight = parameter(*op.getNormWeight());
    normRows(result, weight, parameter(*op.getNormBias()), op.getEpsilon()->convertToDouble());
  }
  define(op, std::move(result));
}

template <> void Interpreter::evaluate(GroupedLinearOp op) {
  const BoundedTensor &input = of(op.getInput());
  const BoundedTensor &weight = parameter(op.getWeight());
  const BoundedTensor *const bias = op.getBias() ? &parameter(*op.getBias()) : nullptr;
  const int64_t each = weight.rows() / static_cast<int64_t>(op.getGroups());
  BoundedTensor result({input.rows(), weight.rows()});
  for (int64_t row = 0; row < result.rows(); ++row) {
    for (int64_t column = 0; column < result.width(); ++column) {
      ProductSum total;
      for (int64_t i = 0; i < weight.width(); ++i) {
        total.add(input.at(row, column / each * weight.width() + i), weight.at(column, i));
      }
      if (bias) {
        total.add(bias->elements[static_cast<size_t>(column)], Bounded::exact(1));
      }
      result.at(row, column) = total.finish();
    }
  }
  define(op, std::move(result));
}

// --- The algebra of weights ------------------------------------------------------------------

/// Returns a number that was computed in double precision, by `operations` operations that may each
/// have lost the last digit of `magnitude`. Weights are far from the limits of that range.
static Bounded computed(double value, double error, double magnitude, size_t operations) {
  const double rounding = 0x1p-52 * static_cast<double>(operations) * magnitude;
  return {value, error + rounding, std::abs(value), false};
}

/// Computes [m, k] times [k, n], n = 1 for a vector.
static void multiplyMatrices(const BoundedTensor &left, const BoundedTensor &right,
                             BoundedTensor &result) {
  const int64_t inner = left.width();
  const auto columns = static_cast<int64_t>(right.elements.size()) / inner;
  for (size_t i = 0; i < result.elements.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / columns,
                  column = static_cast<int64_t>(i) % columns;
    double value = 0, error = 0, magnitude = 0;
    for (int64_t k = 0; k < inner; ++k) {
      const Bounded &a = left.at(row, k);
      const Bounded &b = right.elements[static_cast<size_t>(k * columns + column)];
      value += a.value * b.value;
      magnitude += std::abs(a.value * b.value);
      error += std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error;
    }
    result.elements[i] = computed(value, error, magnitude, static_cast<size_t>(inner) + 1);
  }
}

void Interpreter::evaluateAlgebra(ParameterExpressionAttr expression, BoundedTensor &result) {
  std::vector<BoundedTensor> operands;
  for (FlatSymbolRefAttr symbol : expression.getOperands()) {
    operands.push_back(composed(symbol.getValue()));
  }
  auto to = result.elements.begin();
  switch (expression.getKind()) {
  case ExpressionKind::Zeros:
    return;
  case ExpressionKind::Concat:
  case ExpressionKind::Reshape:
    for (const BoundedTensor &operand : operands) {
      to = std::copy(operand.elements.begin(), operand.elements.end(), to);
    }
    return;
  case ExpressionKind::ConcatColumns:
    for (int64_t row = 0; row < result.rows(); ++row) {
      for (const BoundedTensor &operand : operands) {
        to = std::copy_n(operand.elements.begin() + row * operand.width(), operand.width(), to);
      }
    }
    return;
  case ExpressionKind::Transpose:
    for (int64_t row = 0; row < result.rows(); ++row) {
      for (int64_t column = 0; column < result.width(); ++column) {
        result.at(row, column) = operands[0].at(column, row);
      }
    }
    return;
  case ExpressionKind::Product:
    multiplyMatrices(operands[0], operands[1], result);
    return;
  case ExpressionKind::Scale:
  case ExpressionKind::Sum:
    for (size_t i = 0; i < result.elements.size(); ++i) {
      const bool isSum = expression.getKind() == ExpressionKind::Sum;
      double value = isSum                    ? 0
                     : expression.getFactor() ? expression.getFactor().getValueAsDouble()
                                              : 1;
      double error = 0, magnitude = isSum ? 0 : std::abs(value);
      for (size_t number = 0; number < operands.size(); ++number) {
        const Bounded &term = operands[number].elements[isSum || number == 0 ? i : 0];
        error = isSum ? error + term.error
                      : std::abs(value) * term.error + error * (std::abs(term.value) + term.error);
        value = isSum ? value + term.value : value * term.value;
        magnitude = isSum ? magnitude + std::abs(term.value) : std::abs(value);
      }
      result.elements[i] = computed(value, error, magnitude, operands.size());
    }
    return;
  default:
    llvm::report_fatal_error("the interpreter has no rule for the parameter expression " +
                             stringifyExpressionKind(expression.getKind()));
  }
}

} // namespace heddle
