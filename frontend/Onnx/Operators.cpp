// SPDX-License-Identifier: Apache-2.0
///
/// The table of operators, and access to the attributes of nodes.
#include "frontend/Onnx/Operators.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace heddle::onnx {

const OperatorInfo *findOperator(const GraphNode &node) {
  static const std::vector<OperatorInfo> table = [] {
    std::vector<OperatorInfo> all;
    for (const auto &group :
         {scalarOperators(), choiceOperators(), indexOperators(), layoutOperators(),
          sliceOperators(), productOperators(), normOperators(), reductionOperators(),
          activationOperators(), attentionOperators(), einsumOperators(), convolutionOperators(),
          castOperators(), constantOperators(), padOperators(), rotaryOperators()}) {
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

Status checkOperators(const Graph &graph) {
  struct Missing {
    int64_t count = 0;
    const GraphNode *first = nullptr;
  };
  std::map<std::string, Missing> missing;
  for (const GraphNode &node : graph.nodes) {
    if (findOperator(node) == nullptr) {
      Missing &entry = missing[node.operation()];
      entry.first = entry.count++ == 0 ? &node : entry.first;
    }
  }
  if (missing.empty()) {
    return {};
  }
  std::vector<std::string> list;
  for (const auto &[operation, entry] : missing) {
    list.push_back(fmt::format("{} ({} {}, first {}, opset {})", quote(operation, onnxNameLimit),
                               entry.count, entry.count == 1 ? "node" : "nodes",
                               quote(entry.first->name), entry.first->opset));
  }
  return HEDDLE_ERROR(Unsupported,
                      fmt::format("{}: {}",
                                  list.size() == 1
                                      ? std::string("unsupported operator")
                                      : fmt::format("{} unsupported operators", list.size()),
                                  fmt::join(list, ", ")));
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

/// Returns the attribute with this name, or null; fails if it has another kind.
static Result<const OnnxAttribute *> findAttribute(const Call &call, std::string_view name,
                                                   OnnxAttributeKind kind) {
  const GraphNode &node = call.node;
  const OnnxAttribute *const found = call.attribute(name);
  if (found != nullptr && found->kind != kind) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{}: attribute {} is {}, expected {}", node.describe(),
                                    quote(name), nameOf(found->kind), nameOf(kind)));
  }
  return found;
}

const OnnxAttribute *Call::attribute(std::string_view name) const {
  asked.emplace(name);
  return node.find(name);
}

namespace {
/// An attribute that no operator queries because only the implemented behaviour is allowed.
struct Neutral {
  std::string_view domain;
  std::string_view type;
  std::string_view attribute;
  /// The required value; nullopt accepts any value.
  std::optional<int64_t> value;
};
} // namespace

static constexpr Neutral neutrals[] = {
    {"", "Attention", "qk_matmul_output_mode", std::nullopt}, // for a result that is not supported
    {"", "Attention", "softmax_precision", 1},
    {"", "Cast", "saturate", std::nullopt}, // for float8 targets, which are not supported
    {"", "Cast", "round_mode", std::nullopt},
    {"", "CastLike", "saturate", std::nullopt},
    {"", "CastLike", "round_mode", std::nullopt},
    {"", "Dropout", "ratio", std::nullopt}, // training only
    {"", "Dropout", "seed", std::nullopt},
    {"", "LayerNormalization", "stash_type", 1},
    {"", "RMSNormalization", "stash_type", 1},
    {"", "SimplifiedLayerNormalization", "stash_type", 1},
    {"", "Split", "num_outputs", std::nullopt}, // given by the number of results
    {"com.microsoft", "Attention", "past_present_share_buffer", 0},
    {"com.microsoft", "Attention", "rotary_embedding_dim", 0},
    {"com.microsoft", "EmbedLayerNormalization", "mask_index_type", 0},
};

Status Call::checkAsked() const {
  for (const OnnxAttribute &each : node.attributes) {
    if (asked.contains(each.name)) {
      continue;
    }
    const auto found = std::find_if(std::begin(neutrals), std::end(neutrals), [&](auto &neutral) {
      return neutral.domain == node.domain && neutral.type == node.type &&
             neutral.attribute == each.name;
    });
    if (found != std::end(neutrals) &&
        (!found->value || (each.kind == OnnxAttributeKind::Int && each.integer == *found->value))) {
      continue;
    }
    return HEDDLE_ERROR(
        Unsupported,
        fmt::format("{}: attribute {} is not supported{}", node.describe(), quote(each.name),
                    found == std::end(neutrals) ? std::string()
                                                : fmt::format(", expected {}", *found->value)));
  }
  return {};
}

Result<std::optional<int64_t>> Call::integer(std::string_view name) const {
  HEDDLE_ASSIGN(const OnnxAttribute *const found,
                findAttribute(*this, name, OnnxAttributeKind::Int));
  return found == nullptr ? std::optional<int64_t>() : found->integer;
}

Result<std::optional<double>> Call::real(std::string_view name) const {
  HEDDLE_ASSIGN(const OnnxAttribute *const found,
                findAttribute(*this, name, OnnxAttributeKind::Float));
  return found == nullptr ? std::optional<double>() : static_cast<double>(found->real);
}

Result<std::optional<std::string_view>> Call::text(std::string_view name) const {
  HEDDLE_ASSIGN(const OnnxAttribute *const found,
                findAttribute(*this, name, OnnxAttributeKind::String));
  return found == nullptr ? std::optional<std::string_view>() : found->text;
}

Result<std::optional<std::vector<int64_t>>> Call::integers(std::string_view name) const {
  HEDDLE_ASSIGN(const OnnxAttribute *const found,
                findAttribute(*this, name, OnnxAttributeKind::Ints));
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
