// SPDX-License-Identifier: Apache-2.0
///
/// Emits rows that are formulas of their position. Rotary angles are the column of a row in the
/// graph times one frequency per column of the result. Exporters concatenate the angles twice, once
/// for each half of a head; each distinct part is emitted once.
#include "frontend/Onnx/Evaluation.h"

#include "heddle/RectangleEntries.h"

#include <cmath>
#include <fmt/format.h>

using namespace mlir;

namespace heddle::onnx {

/// The maximum number of frequencies for which angles are emitted as an operation.
static constexpr int64_t mostFrequencies = 1024;

namespace {

/// Emits a formula of a row and its columns.
class RowFormula {
public:
  RowFormula(Evaluation &evaluation, std::vector<Expr> shape, size_t rowAxis)
      : evaluation(evaluation), shape(std::move(shape)), rowAxis(rowAxis) {}

  /// Emits the first `width` columns of the formula; returns null if it is not supported.
  mlir::Value write(Expr body, int64_t width);

private:
  mlir::Value writeParts(Expr body, int64_t first, int64_t width);
  mlir::Value writeAngles(Expr body, int64_t width);
  /// Returns c if the formula is c times the row coordinate.
  std::optional<double> factorOfRow(Expr value);
  size_t lastAxis() const { return shape.size() - 1; }

  Evaluation &evaluation;
  std::vector<Expr> shape;
  size_t rowAxis;
  std::map<std::pair<Expr, int64_t>, mlir::Value> known;
};

std::optional<double> RowFormula::factorOfRow(Expr value) {
  double factor = 1;
  while (value->formula == Formula::Multiply) {
    const size_t constant = value->operands[0]->isConstant() ? 0 : 1;
    if (!value->operands[constant]->isConstant()) {
      return std::nullopt;
    }
    factor *= value->operands[constant]->value();
    value = value->operands[1 - constant];
  }
  const bool isRow =
      value->formula == Formula::Cast && value->element == Element::Real &&
      value->operands[0] ==
          evaluation.expressions.add(evaluation.expressions.axis(rowAxis), evaluation.earlier());
  return isRow && std::isfinite(static_cast<float>(factor)) ? std::optional(factor) : std::nullopt;
}

mlir::Value RowFormula::writeAngles(Expr body, int64_t width) {
  if (body->formula != Formula::Multiply) {
    return {};
  }
  shape.back() = evaluation.integer(width);
  for (const size_t row : {size_t{0}, size_t{1}}) {
    const std::optional<double> factor = factorOfRow(body->operands[row]);
    const mlir::Value angles =
        factor ? evaluation.angles({Element::Real, shape, body->operands[1 - row]}) : mlir::Value();
    if (angles) {
      return *factor == 1 ? angles
                          : mlir::Value(evaluation.make<transformer::ScaleOp>(
                                angles, evaluation.f32(*factor)));
    }
  }
  return {};
}

mlir::Value RowFormula::writeParts(Expr body, int64_t first, int64_t width) {
  Expressions &expressions = evaluation.expressions;
  // Columns of the second part are counted from 0.
  const auto without = [&](Expr part) {
    std::vector<Expr> coordinates;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      coordinates.push_back(expressions.axis(axis));
    }
    shape.back() = evaluation.integer(width - first);
    expressions.within(shape);
    coordinates.back() = expressions.add(coordinates.back(), evaluation.integer(first));
    return expressions.substitute(part, coordinates);
  };
  const mlir::Value left = write(body->operands[1], first);
  const mlir::Value right = left ? write(without(body->operands[2]), width - first) : mlir::Value();
  return right ? mlir::Value(evaluation.make<transformer::ConcatOp>(
                     evaluation.tensorType({ShapedType::kDynamic, width}), ValueRange{left, right}))
               : mlir::Value();
}

mlir::Value RowFormula::write(Expr body, int64_t width) {
  mlir::Value &value = known[{body, width}];
  if (value) {
    return value;
  }
  const Expr condition = body->formula == Formula::Select ? body->operands[0] : nullptr;
  if (condition == nullptr) {
    return known[{body, width}] = writeAngles(body, width);
  }
  // A concatenation selects by comparing the column with a constant.
  const bool isJoin = condition->formula == Formula::Less &&
                      condition->operands[0] == evaluation.expressions.axis(lastAxis()) &&
                      condition->operands[1]->isConstant() && condition->operands[1]->integer > 0 &&
                      condition->operands[1]->integer < width;
  return isJoin ? known[{body, width}] = writeParts(body, condition->operands[1]->integer, width)
                : mlir::Value();
}

} // namespace

mlir::Value sideBySide(Evaluation &evaluation, mlir::Value number, int64_t count) {
  if (count == 1) {
    return number;
  }
  const mlir::Value half = sideBySide(evaluation, number, count / 2);
  SmallVector<mlir::Value> parts = {half, half};
  if (count % 2 != 0) {
    parts.push_back(number);
  }
  return evaluation.make<transformer::ConcatOp>(
      evaluation.tensorType({ShapedType::kDynamic, count}), parts);
}

mlir::Value Evaluation::angles(const Symbolic &frequencies) {
  const int64_t count = frequencies.shape.back()->integer;
  if (count > mostFrequencies) {
    return {};
  }
  found.usesAngles = true;
  if (plan.hasColumns) {
    // The same products, computed from the original column of each row.
    const std::optional<Parameter> vector = vectorParameter(frequencies);
    return vector ? make<transformer::MultiplyOp>(sideBySide(*this, columnNumbers, count),
                                                  weight(*vector))
                  : mlir::Value();
  }
  std::vector<float> numbers;
  std::vector<Expr> coordinates;
  for (size_t axis = 0; axis < frequencies.shape.size(); ++axis) {
    coordinates.push_back(expressions.axis(axis));
  }
  for (int64_t i = 0; i < count; ++i) {
    coordinates.back() = integer(i);
    const Expr number = expressions.substitute(frequencies.body, coordinates);
    if (!number->isConstant() || !std::isfinite(static_cast<float>(number->value()))) {
      return {};
    }
    numbers.push_back(static_cast<float>(number->value()));
  }
  found.usesPositions = true;
  return make<transformer::AnglesOp>(tensorType({ShapedType::kDynamic, count}), segments(),
                                     DenseF32ArrayAttr::get(context, numbers),
                                     /*most=*/uint64_t{0});
}

mlir::Value Evaluation::rowsOfPosition(const Symbolic &value, size_t rowAxis) {
  return RowFormula(*this, value.shape, rowAxis).write(value.body, value.shape.back()->integer);
}

} // namespace heddle::onnx
