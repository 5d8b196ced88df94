// SPDX-License-Identifier: Apache-2.0
///
/// Converts tensors of a file that formulas read to parameters of the program: whole, transposed, a
/// row of a table, or part of a vector.
#include "frontend/Onnx/Evaluation.h"

#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace heddle::onnx {

Parameter Evaluation::parameter(size_t source) {
  const auto known = parameters.find(source);
  if (known != parameters.end()) {
    return known->second;
  }
  const Source &from = expressions.source(source);
  return parameters.emplace(source, root().parameter(from.name, from.constant->shape))
      .first->second;
}

std::vector<SafetensorsTensor> Evaluation::tensors() const {
  std::vector<SafetensorsTensor> list;
  for (const auto &[source, parameter] : parameters) {
    const OnnxTensor &tensor = *expressions.source(source).constant;
    list.push_back({parameter.symbol(), tensor.dtype, tensor.shape, tensor.bytes});
  }
  return list;
}

std::vector<std::shared_ptr<const std::vector<std::byte>>> Evaluation::owners() const {
  std::vector<std::shared_ptr<const std::vector<std::byte>>> list;
  for (const OnnxTensor &tensor : made) {
    list.push_back(tensor.owned);
  }
  return list;
}

mlir::Value Evaluation::weight(const Parameter &parameter) {
  return make<transformer::WeightOp>(tensorType(parameter.shape()), StringRef(parameter.symbol()));
}

std::optional<Evaluation::StoredParameter> Evaluation::parameterOf(const Symbolic &value) {
  const Expr body = value.body;
  if (body->formula != Formula::Read || body->element != Element::Real ||
      expressions.source(static_cast<size_t>(body->integer)).constant == nullptr ||
      body->operands.size() != value.shape.size()) {
    return std::nullopt;
  }
  const Source &source = expressions.source(static_cast<size_t>(body->integer));
  bool isSame = true, isTransposed = body->operands.size() == 2;
  for (size_t axis = 0; axis < body->operands.size(); ++axis) {
    const Expr coordinate = body->operands[axis];
    const bool isOne = source.shape[axis]->isConstant(1);
    isSame &= coordinate == expressions.axis(axis) || (isOne && coordinate->isConstant(0));
    isTransposed &= coordinate == expressions.axis(1 - std::min<size_t>(axis, 1));
  }
  for (size_t axis = 0; axis < value.shape.size(); ++axis) {
    isSame &= value.shape[axis] == source.shape[axis];
    isTransposed &=
        value.shape[axis] ==
        source.shape[std::min<size_t>(1, source.shape.size() - 1) - std::min<size_t>(axis, 1)];
  }
  if (!isSame && !isTransposed) {
    return std::nullopt;
  }
  return StoredParameter{parameter(static_cast<size_t>(body->integer)), !isSame};
}

std::optional<Parameter> Evaluation::vectorParameter(const Symbolic &value) {
  const Expr body = value.body;
  if (value.shape.empty() || !value.shape.back()->isConstant() || body->formula != Formula::Read ||
      body->element != Element::Real) {
    return std::nullopt;
  }
  const auto number = static_cast<size_t>(body->integer);
  const Source &source = expressions.source(number);
  if (source.constant == nullptr || body->operands.empty()) {
    return std::nullopt;
  }
  const int64_t width = value.shape.back()->integer;
  const Expr first =
      expressions.subtract(body->operands.back(), expressions.axis(value.shape.size() - 1));
  if (source.shape.size() == 1 && source.shape[0] != value.shape.back() && first->isConstant()) {
    // Part of a vector, such as a combined bias of queries, keys and values.
    return root().rows(
        fmt::format("{}.from {} to {}", source.name, first->integer, first->integer + width),
        parameter(number), first->integer, width);
  }
  if (!first->isConstant(0) || source.shape.back() != value.shape.back()) {
    return std::nullopt;
  }
  // All other coordinates are constants: one row of a table.
  int64_t row = 0;
  for (size_t axis = 0; axis + 1 < body->operands.size(); ++axis) {
    const bool isOne = source.shape[axis]->isConstant(1);
    if (!body->operands[axis]->isConstant() && !isOne) {
      return std::nullopt;
    }
    row = row * source.shape[axis]->integer + (isOne ? 0 : body->operands[axis]->integer);
  }
  Parameter whole = parameter(number);
  if (source.shape.size() == 1) {
    return whole;
  }
  const int64_t count = source.constant->elements() / width;
  const Parameter table =
      source.shape.size() == 2
          ? whole
          : root().reshape(fmt::format("{}.table", source.name), whole, {count, width});
  const Parameter one =
      count == 1 ? table : root().rows(fmt::format("{}.row {}", source.name, row), table, row, 1);
  return root().reshape(fmt::format("{}.row {} as vector", source.name, row), one, {width});
}

} // namespace heddle::onnx
