// SPDX-License-Identifier: Apache-2.0
///
/// Declares parameters: tensors of the checkpoint, and values derived from them.
#include "frontend/Builder/ModelState.h"

#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace heddle {

using transformer::ExpressionKind;

bool ModelState::declare(const std::string &name, ArrayRef<int64_t> shape,
                         transformer::ParameterExpressionAttr expression) {
  const bool inRange =
      !shape.empty() && shape.size() <= 4 &&
      std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size > 0; });
  if (name.empty() || !inRange) {
    fail(name,
         fmt::format("a parameter of shape {}, expected a name and one to four positive sizes",
                     printSizes(shape)));
    return false;
  }
  const auto [known, isNew] = parameters.try_emplace(name, Parameter{shape.vec(), expression});
  if (!isNew && ArrayRef<int64_t>(known->second.shape) != shape) {
    fail(name, fmt::format("used with shape {}, but before with {}", printSizes(shape),
                           printSizes(known->second.shape)));
    return false;
  }
  if (!isNew && known->second.expression != expression) {
    fail(name, "the parameter is derived in two ways, expected one");
    return false;
  }
  if (isNew) {
    OpBuilder builder(context);
    if (lastParameter != nullptr) {
      builder.setInsertionPointAfter(lastParameter);
    } else {
      builder.setInsertionPointToStart(module->getBody());
    }
    const auto type = RankedTensorType::get(shape, builder.getF32Type());
    lastParameter = transformer::ParameterOp::create(
        builder, nameLocation(name), builder.getStringAttr(name), TypeAttr::get(type),
        expression ? StringAttr() : builder.getStringAttr(name), expression);
    if (!expression) {
      tensors.emplace_back(this, name, shape.vec());
    }
  }
  return true;
}

Parameter Scope::parameter(std::string_view name, std::span<const int64_t> shape) const {
  if (state == nullptr || !state->works()) {
    return {};
  }
  const std::string full = join(name);
  if (!state->declare(full, {shape.data(), shape.size()}, {})) {
    return {};
  }
  return Parameter(state, full, {shape.begin(), shape.end()});
}

Parameter Scope::derive(std::string_view name, ExpressionKind kind,
                        std::span<const Parameter *const> operands,
                        std::initializer_list<int64_t> numbers, std::vector<int64_t> shape,
                        std::optional<double> factor) const {
  if (state == nullptr || !state->works()) {
    return {};
  }
  const std::string full = join(name);
  SmallVector<FlatSymbolRefAttr> symbols;
  for (const Parameter *operand : operands) {
    if (operand->model() != state) {
      state->fail(full, "derived from something that is not a parameter of this model");
      return {};
    }
    symbols.push_back(FlatSymbolRefAttr::get(state->context, operand->symbol()));
  }
  const auto expression = transformer::ParameterExpressionAttr::get(
      state->context, kind, symbols, ArrayRef<int64_t>(numbers.begin(), numbers.size()),
      factor ? Builder(state->context).getF64FloatAttr(*factor) : FloatAttr());
  if (!state->declare(full, shape, expression)) {
    return {};
  }
  return Parameter(state, full, std::move(shape));
}

Parameter Scope::derive(std::string_view name, ExpressionKind kind,
                        std::initializer_list<const Parameter *> operands,
                        std::initializer_list<int64_t> numbers, std::vector<int64_t> shape) const {
  return derive(name, kind, std::span(operands.begin(), operands.size()), numbers,
                std::move(shape));
}

Parameter Scope::sinusoid(std::string_view name, int64_t positions, int64_t width,
                          const Sinusoid &options) const {
  const auto kind =
      options.split ? ExpressionKind::SinusoidSplit : ExpressionKind::SinusoidInterleaved;
  const int64_t steps = options.steps == 0 ? width / 2 : options.steps;
  return derive(name, kind, {}, {options.first, steps}, {positions, width});
}

Parameter Scope::relativeBuckets(std::string_view name, const Parameter &table, bool bidirectional,
                                 int64_t distance) const {
  // The verifier reports a table of another rank.
  const int64_t heads = table.shape().empty() ? 0 : table.shape().back();
  return derive(name, ExpressionKind::RelativeBuckets, {&table}, {bidirectional ? 1 : 0, distance},
                {heads, 2 * distance + 1});
}

Parameter Scope::onesFrom(std::string_view name, int64_t first, int64_t rows, int64_t width) const {
  return derive(name, ExpressionKind::OnesFrom, {}, {first}, {rows, width});
}

Parameter Scope::reshape(std::string_view name, const Parameter &parameter,
                         std::initializer_list<int64_t> shape) const {
  return derive(name, ExpressionKind::Reshape, {&parameter}, {}, shape);
}

/// Returns the shape of parameters concatenated along an axis; the verifier reports mismatches.
static std::vector<int64_t> joinedShape(std::span<const Parameter> parts, size_t axis,
                                        std::vector<const Parameter *> &operands) {
  std::vector<int64_t> shape;
  for (const Parameter &part : parts) {
    operands.push_back(&part);
    if (shape.empty()) {
      shape = part.shape();
    } else if (axis < part.shape().size() && axis < shape.size()) {
      shape[axis] += part.shape()[axis];
    }
  }
  return shape;
}

Parameter Scope::concat(std::string_view name, std::span<const Parameter> parts) const {
  std::vector<const Parameter *> operands;
  std::vector<int64_t> shape = joinedShape(parts, 0, operands);
  return derive(name, ExpressionKind::Concat, operands, {}, std::move(shape));
}

Parameter Scope::concatColumns(std::string_view name, std::span<const Parameter> parts) const {
  std::vector<const Parameter *> operands;
  std::vector<int64_t> shape = joinedShape(parts, 1, operands);
  return derive(name, ExpressionKind::ConcatColumns, operands, {}, std::move(shape));
}

Parameter Scope::zeros(std::string_view name, std::initializer_list<int64_t> shape) const {
  return derive(name, ExpressionKind::Zeros, {}, {}, shape);
}

Parameter Scope::sum(std::string_view name, std::span<const Parameter> parts) const {
  std::vector<const Parameter *> operands;
  for (const Parameter &part : parts) {
    operands.push_back(&part);
  }
  return derive(name, ExpressionKind::Sum, operands, {},
                parts.empty() ? std::vector<int64_t>() : parts.front().shape());
}

Parameter Scope::scaled(std::string_view name, const Parameter &parameter, double factor) const {
  const Parameter *const operand = &parameter;
  return derive(name, ExpressionKind::Scale, std::span(&operand, 1), {}, parameter.shape(), factor);
}

Parameter Scope::product(std::string_view name, const Parameter &left,
                         const Parameter &right) const {
  // The verifier reports operands that are not matching matrices.
  const int64_t rows = left.shape().empty() ? 0 : left.shape().front();
  const int64_t columns = right.shape().empty() ? 0 : right.shape().back();
  return derive(name, ExpressionKind::Product, {&left, &right}, {}, {rows, columns});
}

Parameter Scope::transposed(std::string_view name, const Parameter &parameter) const {
  // The verifier reports a parameter of another rank.
  const std::vector<int64_t> &shape = parameter.shape();
  return derive(name, ExpressionKind::Transpose, {&parameter}, {}, {shape.rbegin(), shape.rend()});
}

Parameter Scope::patchMatrix(std::string_view name, const Parameter &weight) const {
  const std::vector<int64_t> &shape = weight.shape();
  if (shape.size() != 4) {
    if (state != nullptr && state->works()) {
      state->fail(join(name), fmt::format("the weight has {} axes, expected four: those made, "
                                          "those summed, height and width",
                                          shape.size()));
    }
    return {};
  }
  const int64_t made = shape[0], summed = shape[1], elements = shape[2] * shape[3];
  const Scope own = scope(name);
  // Turns [made, summed, elements] into one matrix [made, summed] per element, concatenated.
  const Parameter flat = own.reshape("flat", weight, {made * summed, elements});
  const Parameter turned =
      own.derive("turned", ExpressionKind::Transpose, {&flat}, {}, {elements, made * summed});
  Parameter stacked = own.reshape("stacked", turned, {elements * made, summed});
  if (elements == 1) {
    return stacked;
  }
  std::vector<Parameter> matrices;
  for (int64_t j = 0; j < elements; ++j) {
    matrices.push_back(own.rows(fmt::format("element{}", j), stacked, j * made, made));
  }
  return own.concatColumns("matrix", matrices);
}

Parameter Scope::rows(std::string_view name, const Parameter &parameter, int64_t first,
                      int64_t count) const {
  std::vector<int64_t> shape = parameter.shape();
  if (!shape.empty()) {
    shape.front() = count;
  }
  return derive(name, ExpressionKind::Rows, {&parameter}, {first}, std::move(shape));
}

Parameter Scope::columns(std::string_view name, const Parameter &parameter, int64_t first,
                         int64_t count) const {
  // The verifier reports a parameter of another rank.
  const int64_t rows = parameter.shape().empty() ? 0 : parameter.shape().front();
  return derive(name, ExpressionKind::Columns, {&parameter}, {first}, {rows, count});
}

} // namespace heddle
