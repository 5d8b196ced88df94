// SPDX-License-Identifier: Apache-2.0
///
/// Converts operands to the numbers that operators require: sizes, axes, scalars.
#include "frontend/Onnx/Evaluation.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle::onnx {

Result<std::vector<Expr>> Evaluation::vectorOf(const Value &value, std::string_view what) {
  if (!value.symbolic || value.symbolic->shape.size() > 1 ||
      (value.symbolic->shape.size() == 1 && !value.symbolic->shape[0]->isConstant())) {
    return failure(StatusCode::Unsupported,
                   fmt::format("its {} depend on data, expected numbers or sizes", what));
  }
  const int64_t count = value.symbolic->shape.empty() ? 1 : value.symbolic->shape[0]->integer;
  if (count > 64) {
    return failure(StatusCode::Unsupported,
                   fmt::format("has {} {}, expected at most 64", count, what));
  }
  std::vector<Expr> elements;
  for (int64_t i = 0; i < count; ++i) {
    const Expr coordinate = integer(i);
    elements.push_back(expressions.substitute(value.symbolic->body, {&coordinate, 1}));
    if (elements.back()->element == Element::Real) {
      return failure(StatusCode::InvalidArgument, fmt::format("its {} are no integers", what));
    }
  }
  return elements;
}

Result<Expr> Evaluation::scalarOf(const Value &value, std::string_view what) {
  HEDDLE_ASSIGN(const std::vector<Expr> elements, vectorOf(value, what));
  if (elements.size() != 1) {
    return failure(StatusCode::InvalidArgument,
                   fmt::format("its {} has {} elements, expected one", what, elements.size()));
  }
  return elements.front();
}

Result<std::vector<int64_t>> Evaluation::constantsOf(const Value &value, std::string_view what) {
  HEDDLE_ASSIGN(const std::vector<Expr> elements, vectorOf(value, what));
  std::vector<int64_t> numbers;
  for (const Expr element : elements) {
    if (!element->isConstant()) {
      return failure(StatusCode::Unsupported,
                     fmt::format("its {} depend on the batch, expected constants", what));
    }
    numbers.push_back(element->integer);
  }
  return numbers;
}

std::optional<double> Evaluation::numberOf(const Value &value) {
  const auto isOne = [](Expr size) { return size->isConstant(1); };
  return value.symbolic &&
                 std::all_of(value.symbolic->shape.begin(), value.symbolic->shape.end(), isOne)
             ? uniformNumberOf(value)
             : std::nullopt;
}

std::optional<double> Evaluation::uniformNumberOf(const Value &value) {
  return value.symbolic && value.symbolic->body->isConstant()
             ? std::optional(value.symbolic->body->value())
             : std::nullopt;
}

} // namespace heddle::onnx
