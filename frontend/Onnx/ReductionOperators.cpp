// SPDX-License-Identifier: Apache-2.0
///
/// Reductions of rows, of constants, and of formulas with uniform elements.
#include "frontend/Onnx/Operators.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>

using namespace mlir;
using heddle::transformer::Reduction;

namespace heddle::onnx {

namespace {

/// The reduction function.
enum class Method { Max, Min, Mean, Sum, Product, SumOfSquares, Norm };

/// The reduced axes of a node, and whether they are kept with size 1.
struct Reduced {
  std::vector<bool> isReduced;
  bool keeps = true;

  int64_t count() const { return std::count(isReduced.begin(), isReduced.end(), true); }
};

} // namespace

/// Reduces a formula that does not depend on the axes to its maximum or minimum.
static Status reduceFormula(Evaluation &evaluation, Call &call, const Symbolic &input,
                            const Reduced &axes) {
  const auto &[isReduced, keeps] = axes;
  bool depends = false;
  Expressions::walk(input.body, [&](Expr part) {
    depends |= part->formula == Formula::Axis &&
               static_cast<size_t>(part->integer) < isReduced.size() &&
               isReduced[static_cast<size_t>(part->integer)];
  });
  if (depends) {
    return evaluation.failure(StatusCode::Unsupported, "reduces elements that differ");
  }
  Symbolic result{input.element, {}, nullptr};
  std::vector<Expr> coordinates;
  for (size_t axis = 0; axis < isReduced.size(); ++axis) {
    if (!isReduced[axis] || keeps) {
      result.shape.push_back(isReduced[axis] ? evaluation.integer(1) : input.shape[axis]);
    }
    coordinates.push_back(isReduced[axis] ? evaluation.integer(0)
                                          : evaluation.expressions.axis(result.shape.size() - 1));
  }
  evaluation.expressions.within(result.shape);
  result.body = evaluation.expressions.substitute(input.body, coordinates);
  call.give(std::move(result));
  return {};
}

/// Accumulates the next element, of reals or of integers.
template <typename Number> static Number joined(Method method, Number sum, Number next) {
  switch (method) {
  case Method::Max:
    return std::max(sum, next);
  case Method::Min:
    return std::min(sum, next);
  case Method::Product:
    return sum * next;
  case Method::SumOfSquares:
  case Method::Norm:
    return sum + next * next;
  default:
    return sum + next;
  }
}

/// Reduces a constant.
static Status reduceConstant(Evaluation &evaluation, Call &call, const Symbolic &input,
                             Method method, const Reduced &axes) {
  HEDDLE_ASSIGN(const Elements elements, evaluation.elementsOf(input));
  Elements result{elements.element, {}, {}, {}};
  std::vector<size_t> strides(elements.shape.size(), 0);
  size_t count = 1, each = 1;
  for (size_t axis = elements.shape.size(); axis-- > 0;) {
    if (!axes.isReduced[axis]) {
      strides[axis] = count;
      count *= static_cast<size_t>(elements.shape[axis]);
    } else {
      each *= static_cast<size_t>(elements.shape[axis]);
    }
  }
  for (size_t axis = 0; axis < elements.shape.size(); ++axis) {
    if (!axes.isReduced[axis] || axes.keeps) {
      result.shape.push_back(axes.isReduced[axis] ? 1 : elements.shape[axis]);
    }
  }
  const bool squares = method == Method::SumOfSquares || method == Method::Norm;
  std::vector<bool> isBegun(count, squares);
  result.reals.assign(elements.isReal() ? count : 0, 0);
  result.integers.assign(elements.isReal() ? 0 : count, 0);
  for (size_t number = 0; number < elements.count(); ++number) {
    size_t place = 0, left = number;
    for (size_t axis = elements.shape.size(); axis-- > 0;) {
      const auto size = static_cast<size_t>(elements.shape[axis]);
      place += left % size * strides[axis];
      left /= size;
    }
    const bool isFirst = !isBegun[place];
    isBegun[place] = true;
    if (elements.isReal()) {
      const double next = elements.reals[number];
      result.reals[place] = isFirst ? next : joined(method, result.reals[place], next);
    } else {
      // Sums and products of integers wrap on overflow, as those of the operator do.
      const auto next = static_cast<uint64_t>(elements.integers[number]);
      const int64_t before = result.integers[place];
      const bool compares = method == Method::Max || method == Method::Min;
      result.integers[place] =
          isFirst    ? elements.integers[number]
          : compares ? joined(method, before, elements.integers[number])
                     : static_cast<int64_t>(joined(method, static_cast<uint64_t>(before), next));
    }
  }
  for (size_t i = 0; i < result.reals.size(); ++i) {
    result.reals[i] = method == Method::Mean   ? result.reals[i] / static_cast<double>(each)
                      : method == Method::Norm ? std::sqrt(result.reals[i])
                                               : result.reals[i];
  }
  call.give(evaluation.constant(result));
  return {};
}

static std::optional<Reduction> reductionOf(Method method) {
  switch (method) {
  case Method::Max:
    return Reduction::Max;
  case Method::Min:
    return Reduction::Min;
  case Method::Mean:
    return Reduction::Mean;
  case Method::Product:
    return std::nullopt;
  default:
    return Reduction::Sum;
  }
}

static Status reduceRows(Evaluation &evaluation, Call &call, Method method, const Reduced &axes) {
  HEDDLE_ASSIGN(Rows rows, evaluation.rowsOf(*call.inputs[0]));
  const std::optional<Reduction> reduction = reductionOf(method);
  if (!reduction) {
    return evaluation.failure(StatusCode::Unsupported,
                              "multiplies the columns of activations, expected constants");
  }
  Expressions &expressions = evaluation.expressions;
  if (method == Method::SumOfSquares || method == Method::Norm) {
    HEDDLE_ASSIGN(rows, evaluation.written(std::move(rows)));
    rows.function = expressions.multiply(expressions.operand(), expressions.operand());
  }
  HEDDLE_ASSIGN(rows, reduced(evaluation, std::move(rows), axes.isReduced, *reduction));
  if (method == Method::Norm) {
    rows.function = expressions.apply(Formula::Root, {expressions.operand()});
  }
  for (size_t axis = axes.isReduced.size(); axis-- > 0 && !axes.keeps;) {
    if (axes.isReduced[axis]) {
      rows.axes.erase(rows.axes.begin() + static_cast<int64_t>(axis));
    }
  }
  call.give(std::move(rows));
  return {};
}

template <Method method> static Status reduce(Evaluation &evaluation, Call &call) {
  const Value &input = *call.inputs[0];
  HEDDLE_ASSIGN(const int64_t keeps, call.integerOr("keepdims", 1));
  Reduced axes{{}, keeps != 0};
  HEDDLE_ASSIGN(axes.isReduced, reducedAxes(evaluation, call, evaluation.shapeOf(input).size()));
  if (axes.count() == 0) {
    call.results.push_back(input);
    return {};
  }
  const bool isExtreme = method == Method::Max || method == Method::Min;
  if (evaluation.isClosed(input)) {
    return reduceConstant(evaluation, call, *input.symbolic, method, axes);
  }
  return input.symbolic && isExtreme ? reduceFormula(evaluation, call, *input.symbolic, axes)
                                     : reduceRows(evaluation, call, method, axes);
}

/// The first version takes the axes from an attribute, the second one from an operand.
template <Method method>
static void addVersions(std::vector<OperatorInfo> &table, std::string_view type, int64_t second) {
  table.push_back({"", type, 1, 1, 1, reduce<method>});
  table.push_back({"", type, second, 1, 2, reduce<method>});
}

std::vector<OperatorInfo> reductionOperators() {
  std::vector<OperatorInfo> table;
  addVersions<Method::Max>(table, "ReduceMax", 18);
  addVersions<Method::Min>(table, "ReduceMin", 18);
  addVersions<Method::Mean>(table, "ReduceMean", 18);
  addVersions<Method::Sum>(table, "ReduceSum", 13);
  addVersions<Method::Product>(table, "ReduceProd", 18);
  addVersions<Method::SumOfSquares>(table, "ReduceSumSquare", 18);
  addVersions<Method::Norm>(table, "ReduceL2", 18);
  return table;
}

} // namespace heddle::onnx
