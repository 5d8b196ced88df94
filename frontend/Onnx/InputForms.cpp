// SPDX-License-Identifier: Apache-2.0
///
/// A past is recognised by its use: a node joins it, in front, with rows that are computed. Of two
/// lengths beside a past, the run's is that of the inputs from which the first such rows are
/// computed: the keys of the first layer depend on nothing else.
#include "frontend/Onnx/InputForms.h"

#include "frontend/Onnx/Evaluation.h"

#include <algorithm>

namespace heddle::onnx {

static bool isFloat(const OnnxPort &port) { return port.dtype && infoOf(*port.dtype).isFloat(); }

std::optional<size_t> headedRowsAxis(const OnnxPort &port) {
  if (!isFloat(port) || !port.shape || port.shape->size() != 4 || port.shape->front().number) {
    return std::nullopt;
  }
  std::optional<size_t> found;
  for (size_t axis = 1; axis < port.shape->size(); ++axis) {
    if (!(*port.shape)[axis].number) {
      if (found) {
        return std::nullopt;
      }
      found = axis;
    }
  }
  return found;
}

std::optional<std::string> lengthOf(const OnnxPort &port) {
  const size_t axes = port.shape && port.dtype ? port.shape->size() : 0;
  const std::optional<size_t> headed = headedRowsAxis(port);
  if (!headed && axes != 2 && axes != 3) {
    return std::nullopt;
  }
  const bool isFlat = axes == 2 && isFloat(port);
  const OnnxSize &size = (*port.shape)[headed.value_or(isFlat ? 0 : 1)];
  return size.number ? std::to_string(*size.number) : std::string(size.name);
}

namespace {

/// A node that can join rows of an input, in front, with rows that are computed.
struct Join {
  std::string past;
  /// The operand with the computed rows.
  std::string fresh;
};

} // namespace

/// Returns the names of an input and of the values that nodes derive from it alone.
template <typename IsDerived>
static std::set<std::string, std::less<>> derivedFrom(const Graph &graph, std::string_view name,
                                                      const IsDerived &isDerived) {
  std::set<std::string, std::less<>> names{std::string(name)};
  for (const GraphNode &node : graph.nodes) {
    if (isDerived(node) && !node.inputs.empty() && node.inputs.front() &&
        names.contains(*node.inputs.front()) && !node.outputs.empty()) {
      names.insert(node.outputs.front());
    }
  }
  return names;
}

static bool isCopy(const GraphNode &node) {
  return node.type == "Identity" || (node.type == "Concat" && node.inputs.size() == 1);
}

/// Returns whether a node keeps all elements of its first operand.
static bool keepsElements(const GraphNode &node) {
  static constexpr std::string_view types[] = {"Cast",    "Flatten",   "Identity", "Reshape",
                                               "Squeeze", "Transpose", "Unsqueeze"};
  return std::find(std::begin(types), std::end(types), node.type) != std::end(types);
}

bool areIndices(const Graph &graph, std::string_view name) {
  const auto names = derivedFrom(graph, name, keepsElements);
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const GraphNode &node) {
    return node.type == "Gather" && node.inputs.size() > 1 && node.inputs[1] &&
           names.contains(*node.inputs[1]);
  });
}

/// Returns the joins of inputs with heads, in the order of the nodes.
static std::vector<Join> joinsIn(const Graph &graph) {
  std::vector<Join> joins;
  for (const OnnxPort &port : graph.inputs) {
    if (!headedRowsAxis(port)) {
      continue;
    }
    const auto names = derivedFrom(graph, port.name, isCopy);
    for (const GraphNode &node : graph.nodes) {
      const OperatorInfo *const info = findOperator(node);
      if (info == nullptr || !info->takesPasts || node.inputs.size() < 2) {
        continue;
      }
      const auto found =
          std::find_if(node.inputs.begin(), node.inputs.end(),
                       [&](const auto &input) { return input && names.contains(*input); });
      if (found != node.inputs.end()) {
        // Attention has its keys and values three operands before their pasts.
        const size_t place = static_cast<size_t>(found - node.inputs.begin());
        const size_t fresh = node.type == "Concat" ? 1 : place < 3 ? 0 : place - 3;
        joins.push_back({std::string(port.name), node.inputs[fresh].value_or("")});
      }
    }
  }
  return joins;
}

/// Returns the lengths of the inputs from which a value is computed: those of floats, and of ids
/// that index tables.
static std::set<std::string> lengthsBehind(const Graph &graph, const std::string &value,
                                           const InputForms &forms) {
  std::set<std::string, std::less<>> reached{value};
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const GraphNode &node = graph.nodes[i];
    const bool isReached =
        std::any_of(node.outputs.begin(), node.outputs.end(),
                    [&](const std::string &output) { return reached.contains(output); });
    for (size_t input = 0; isReached && node.type != "Shape" && input < node.inputs.size();
         ++input) {
      if (node.inputs[input]) {
        reached.insert(*node.inputs[input]);
      }
    }
  }
  std::set<std::string> lengths;
  for (const OnnxPort &port : graph.inputs) {
    const std::optional<std::string> length = lengthOf(port);
    if (length && reached.contains(port.name) && !forms.pasts.contains(port.name) &&
        (isFloat(port) || areIndices(graph, port.name))) {
      lengths.insert(*length);
    }
  }
  return lengths;
}

/// Returns the length of the rows that are joined with pasts; empty if the graph does not say.
static std::string runOf(const Graph &graph, const std::vector<Join> &joins,
                         const InputForms &forms) {
  for (const Join &join : joins) {
    const std::set<std::string> lengths = lengthsBehind(graph, join.fresh, forms);
    if (lengths.size() == 1) {
      return *lengths.begin();
    }
  }
  for (const OnnxPort &port : graph.inputs) {
    if (areIndices(graph, port.name)) {
      return lengthOf(port).value_or("");
    }
  }
  for (const OnnxPort &port : graph.inputs) {
    if (const auto length = lengthOf(port); length && !forms.pasts.contains(port.name)) {
      return *length;
    }
  }
  return "";
}

InputForms formsOf(const Graph &graph) {
  InputForms forms;
  const std::vector<Join> joins = joinsIn(graph);
  std::set<std::string> pastLengths;
  for (const OnnxPort &port : graph.inputs) {
    const bool isJoined = std::any_of(joins.begin(), joins.end(),
                                      [&](const Join &join) { return join.past == port.name; });
    if (isJoined) {
      pastLengths.insert(*lengthOf(port));
    }
  }
  // Others of their length, which the graph may forget to read, are pasts as well.
  for (const OnnxPort &port : graph.inputs) {
    if (headedRowsAxis(port) && pastLengths.contains(*lengthOf(port))) {
      forms.pasts.emplace(port.name);
    }
  }
  forms.run = runOf(graph, joins, forms);
  const auto isOfFloats = [&](const std::string &length) {
    return std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](const OnnxPort &port) {
      return isFloat(port) && !forms.pasts.contains(port.name) && lengthOf(port) == length;
    });
  };
  for (const OnnxPort &port : graph.inputs) {
    const std::optional<std::string> length =
        forms.pasts.contains(port.name) ? std::nullopt : lengthOf(port);
    const bool isKnown = length && std::find(forms.lengths.begin(), forms.lengths.end(), *length) !=
                                       forms.lengths.end();
    // Beside a past, ids or a mask of a length of their own cover the past and the run.
    const bool isOfAll = length && forms.hasPasts() && *length != forms.run && !isOfFloats(*length);
    if (length && !isKnown && !isOfAll) {
      forms.lengths.push_back(*length);
    }
  }
  return forms;
}

bool InputForms::isOfPastAndRun(std::string_view length) const {
  return hasPasts() && std::find(lengths.begin(), lengths.end(), length) == lengths.end();
}

} // namespace heddle::onnx
