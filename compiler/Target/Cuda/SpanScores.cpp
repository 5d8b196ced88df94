// SPDX-License-Identifier: Apache-2.0
///
/// Converts products of queries and keys to scores, and applies the online softmax (Milakov &
/// Gimelshein 2018) to a lane's part of its rows. A key that a row does not see has the weight
/// zero, whatever its score was: a span without a key that the row sees multiplies the row's sums
/// by one and adds zeros.
#include "compiler/Target/Cuda/AttentionSpan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;

namespace heddle {

namespace {
/// The scores of one row while their code is emitted.
class ScoreCode {
public:
  ScoreCode(BlockCode &block, AttentionTile &a, const SpanShape &shape, const LaneRow &row,
            Value first, Value t);

  /// Returns the scores of products that are multiplied by `scale`.
  Value map(Value products, float scale);

private:
  Value splat(float number);
  Value broadcast(Value number);
  /// Returns which keys are before a position, an i32.
  Value areBefore(Value position);
  Value biases(float factor);
  Value hide(Value scores, Value bias);

  VectorCode &code;
  AttentionTile &a;
  const LaneRow &row;
  const float unit;
  VectorType floats, integers;
  /// The positions of the lane's keys.
  Value positions;
};
} // namespace

/// Returns a factor of scores: softmax uses powers of two instead of powers of e.
static float unitOf(const AttentionTile &a) { return a.isRaw ? 1 : static_cast<float>(M_LOG2E); }

ScoreCode::ScoreCode(BlockCode &block, AttentionTile &a, const SpanShape &shape, const LaneRow &row,
                     Value first, Value t)
    : code(block.code), a(a), row(row), unit(unitOf(a)),
      floats(VectorType::get({shape.laneKeys()}, code.f32)),
      integers(VectorType::get({shape.laneKeys()}, code.i32)) {
  SmallVector<int32_t> numbers;
  for (int64_t e = 0; e < shape.laneKeys(); ++e) {
    numbers.push_back(static_cast<int32_t>(e / 2 * kMatrixColumns + e % 2));
  }
  Value own = code.add(first, code.multiply(t, 2));
  Value constants = arith::ConstantOp::create(
      code.builder, code.location, DenseElementsAttr::get(integers, ArrayRef<int32_t>(numbers)));
  positions =
      code.add(vector::BroadcastOp::create(
                   code.builder, code.location, integers,
                   arith::TruncIOp::create(code.builder, code.location, code.i32, own).getResult()),
               constants);
}

Value ScoreCode::splat(float number) {
  return arith::ConstantOp::create(code.builder, code.location,
                                   DenseElementsAttr::get(floats, number));
}

Value ScoreCode::broadcast(Value number) {
  auto type = number.getType().isF32() ? floats : integers;
  return vector::BroadcastOp::create(code.builder, code.location, type, number);
}

Value ScoreCode::areBefore(Value position) { return code.less(positions, broadcast(position)); }

/// Returns the biases of the row by the distance of each key, times a factor.
Value ScoreCode::biases(float factor) {
  const int64_t distance = a.biasDistance, width = 2 * distance + 1;
  Value table = code.at(a.bias, code.multiply(row.head, width));
  auto number = [&](int64_t each) -> Value {
    return arith::ConstantOp::create(code.builder, code.location,
                                     DenseElementsAttr::get(integers, static_cast<int32_t>(each)));
  };
  // Distances are shifted so that none is negative.
  Value before = arith::TruncIOp::create(code.builder, code.location, code.i32,
                                         code.subtract(row.position, distance));
  Value indices = code.subtract(positions, broadcast(before));
  indices = code.smaller(code.larger(indices, number(0)), number(width - 1));
  SmallVector<Value> loaded;
  for (Value index : elementsOf(code, indices)) {
    Value wide = arith::ExtUIOp::create(code.builder, code.location, code.i64, index);
    loaded.push_back(code.loadScalar(code.at(table, wide)));
  }
  Value bias = vectorOf(code, loaded);
  return factor == 1 ? bias : code.multiplyFloat(bias, splat(factor));
}

/// Applies a mask of a finite number to scores, and adds the bias if there is one.
Value ScoreCode::hide(Value scores, Value bias) {
  Value number = splat(static_cast<float>(a.hidden.getNumber().getValueAsDouble() * unit));
  Value isShown = areBefore(row.shown);
  auto withBias = [&](Value unbiased) { return bias ? code.addFloat(unbiased, bias) : unbiased; };
  switch (a.hidden.getKind()) {
  case transformer::HiddenKind::Added:
    return code.addFloat(withBias(scores), code.select(isShown, splat(0), number));
  case transformer::HiddenKind::Score:
    return code.select(isShown, withBias(scores), number);
  case transformer::HiddenKind::Product:
    return withBias(code.select(isShown, scores, number));
  }
  llvm_unreachable("every mask has a formula");
}

Value ScoreCode::map(Value products, float scale) {
  // With a function of scores, the factor is applied to its result.
  Value scores = code.multiplyFloat(products, splat(a.score ? scale : scale * unit));
  Value bias = a.bias ? biases(a.scoreTakesBias ? 1 : unit) : Value();
  if (a.score) {
    SmallVector<Value, 2> arguments = {scores};
    if (a.scoreTakesBias) {
      arguments.push_back(std::exchange(bias, Value()));
    }
    scores = code.multiplyFloat(cloneScalarMaths(code, *a.score, arguments, floats), splat(unit));
  }
  if (a.hidden) {
    scores = hide(scores, bias);
  } else if (bias) {
    scores = code.addFloat(scores, bias);
  }
  Value lowest = splat(-std::numeric_limits<float>::infinity());
  scores = code.select(areBefore(row.end), scores, lowest);
  return row.begin ? code.select(areBefore(row.begin), lowest, scores) : scores;
}

SmallVector<Value> productsOf(BlockCode &block, SpanProducts &products, const SpanShape &shape,
                              Value hasRows) {
  VectorCode &code = block.code;
  return block.choose(
      hasRows, [&] { return products.scores(); },
      [&] {
        auto type = VectorType::get({shape.laneKeys()}, code.f32);
        return SmallVector<Value>(static_cast<size_t>(shape.laneRows), block.zero(type));
      });
}

SmallVector<Value> spanScores(BlockCode &block, AttentionTile &a, const SpanShape &shape,
                              float scale, ArrayRef<LaneRow> rows, ArrayRef<Value> products,
                              Value first, Value t) {
  SmallVector<Value> scores;
  for (auto [row, ofRow] : llvm::zip_equal(rows, products)) {
    scores.push_back(ScoreCode(block, a, shape, row, first, t).map(ofRow, scale));
  }
  return scores;
}

static Value sumOfRow(BlockCode &block, Value ofLane) {
  for (int64_t bits = 1; bits < kLanesOfRow; bits *= 2) {
    ofLane = block.code.addFloat(ofLane, block.ofOtherLane(ofLane, bits));
  }
  return ofLane;
}

SmallVector<Value> sumsOfRows(BlockCode &block, ArrayRef<Value> ofLane) {
  return llvm::map_to_vector(ofLane, [&](Value sum) { return sumOfRow(block, sum); });
}

SmallVector<Value> inverses(VectorCode &code, ArrayRef<Value> numbers) {
  return llvm::map_to_vector(
      numbers, [&](Value number) { return code.divideFloat(code.number(1), number); });
}

static Value maximumOfRow(BlockCode &block, Value ofLane) {
  for (int64_t bits = 1; bits < kLanesOfRow; bits *= 2) {
    ofLane = block.code.maximum(ofLane, block.ofOtherLane(ofLane, bits));
  }
  return ofLane;
}

static Value powersOfTwo(VectorCode &code, Value exponents) {
  return math::Exp2Op::create(code.builder, code.location, exponents);
}

Value weightsOf(VectorCode &code, Value scores, Value maximum) {
  Value all = vector::BroadcastOp::create(code.builder, code.location, scores.getType(), maximum);
  return powersOfTwo(code, code.subtractFloat(scores, all));
}

SmallVector<Value> updateSoftmax(BlockCode &block, SoftmaxState &state,
                                 MutableArrayRef<Value> scores) {
  VectorCode &code = block.code;
  SmallVector<Value> changes;
  for (auto [maximum, row] : llvm::zip_equal(state.maxima, scores)) {
    Value most = code.number(kLowestScore);
    for (Value score : elementsOf(code, row)) {
      most = code.maximum(score, most);
    }
    Value before = maximum;
    maximum = code.maximum(maximumOfRow(block, most), before);
    changes.push_back(code.subtractFloat(before, maximum));
    row = weightsOf(code, row, maximum);
  }
  SmallVector<Value> corrections = elementsOf(code, powersOfTwo(code, vectorOf(code, changes)));
  for (auto [sum, correction, row] : llvm::zip_equal(state.sums, corrections, scores)) {
    sum = code.multiplyFloat(sum, correction);
    for (Value weight : elementsOf(code, row)) {
      sum = code.addFloat(sum, weight);
    }
  }
  return corrections;
}

} // namespace heddle
