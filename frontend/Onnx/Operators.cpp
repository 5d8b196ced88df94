// SPDX-License-Identifier: Apache-2.0
///
/// The table of operators, and what nodes say beside their operands.
#include "frontend/Onnx/Operators.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle::onnx {

const OperatorInfo *findOperator(const GraphNode &node) {
  static const std::vector<OperatorInfo> table = [] {
    std::vector<OperatorInfo> all;
    for (const auto &group :
         {scalarOperators(), choiceOperators(), indexOperators(), layoutOperators(),
          productOperators(), normOperators(), activationOperators(), attentionOperators(),
          einsumOperators(), convolutionOperators()}) {
      all.insert(all.end(), group.begin(), group.end());
    }
    return all;
  }();
  const OperatorInfo *best = nullptr;
  for (const OperatorInfo &each : table) {
    if (each.type == node.type && each.domain == node.domain && each.since <= node.opset &&
        (best == nullptr || each.since > best->since)) {
      best = &each;
    }
  }
  return best;
}

static std::string_view nameOf(OnnxAttributeKind kind) {
  switch (kind) {
  case OnnxAttributeKind::None:
    return "of another kind";
  case OnnxAttributeKind::Float:
    return "a float";
  case OnnxAttributeKind::Int:
    return "an integer";
  case OnnxAttributeKind::String:
    return "a text";
  case OnnxAttributeKind::Tensor:
    return "a tensor";
  case OnnxAttributeKind::Graph:
    return "a graph";
  case OnnxAttributeKind::Floats:
    return "floats";
  case OnnxAttributeKind::Ints:
    return "integers";
  case OnnxAttributeKind::Strings:
    return "texts";
  }
  return "of another kind";
}

/// The attribute of that name and kind; null if there is none.
static Result<const OnnxAttribute *> findAttribute(const GraphNode &node, std::string_view name,
                                                   OnnxAttributeKind kind) {
  const OnnxAttribute *const found = node.find(name);
  if (found != nullptr && found->kind != kind) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: attribute {} is {}, expected {}", node.describe(),
                                    quote(name), nameOf(found->kind), nameOf(kind)));
  }
  return found;
}

Result<std::optional<int64_t>> Call::integer(std::string_view name) const {
  HEDDLE_ASSIGN(const OnnxAttribute *const found,
                findAttribute(node, name, OnnxAttributeKind::Int));
  return found == nullptr ? std::optional<int64_t>() : found->integer;
}

Result<std::optional<double>> Call::real(std::string_view name) const {
  HEDDLE_ASSIGN(const OnnxAttribute *const found,
                findAttribute(node, name, OnnxAttributeKind::Float));
  return found == nullptr ? std::optional<double>() : static_cast<double>(found->real);
}

Result<std::optional<std::string_view>> Call::text(std::string_view name) const {
  HEDDLE_ASSIGN(const OnnxAttribute *const found,
                findAttribute(node, name, OnnxAttributeKind::String));
  return found == nullptr ? std::optional<std::string_view>() : found->text;
}

Result<std::optional<std::vector<int64_t>>> Call::integers(std::string_view name) const {
  HEDDLE_ASSIGN(const OnnxAttribute *const found,
                findAttribute(node, name, OnnxAttributeKind::Ints));
  return found == nullptr ? std::optional<std::vector<int64_t>>() : found->integers;
}

Result<int64_t> Call::integerOr(std::string_view name, int64_t otherwise) const {
  HEDDLE_ASSIGN(const std::optional<int64_t> value, integer(name));
  return value.value_or(otherwise);
}

Result<size_t> Call::axisOr(std::string_view name, int64_t otherwise, size_t rank) const {
  HEDDLE_ASSIGN(const int64_t axis, integerOr(name, otherwise));
  const auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: attribute {} is {}, expected {} to {}", node.describe(),
                                    quote(name), axis, -count, count - 1));
  }
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

} // namespace heddle::onnx
