// SPDX-License-Identifier: Apache-2.0
///
/// The graph of a file as one list of nodes in topological order. Functions are inlined, branches
/// on constant conditions are resolved, and nodes that no output uses are removed. Every name is
/// defined by exactly one node.
#ifndef HEDDLE_FRONTEND_ONNX_GRAPH_H
#define HEDDLE_FRONTEND_ONNX_GRAPH_H

#include "formats/Onnx/OnnxFile.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace heddle::onnx {

/// The maximum nesting depth of function calls and branches.
inline constexpr size_t inliningLimit = 16;

struct GraphNode {
  /// The node's name, or that of its first result if it has none; nodes of functions are prefixed
  /// with the names of the calling nodes.
  std::string name;
  std::string_view type;
  std::string_view domain;
  /// The version of the domain's operator set.
  int64_t opset = 0;
  /// The names of the operands; nullopt for an omitted operand.
  std::vector<std::optional<std::string>> inputs;
  /// The names of the results; an empty name means that the result is unused.
  std::vector<std::string> outputs;
  /// Attributes, with references resolved to the values that the function's caller passes.
  std::vector<OnnxAttribute> attributes;

  const OnnxAttribute *find(std::string_view attribute) const;
  /// For example: node "/encoder/MatMul" (MatMul).
  std::string describe() const;
  /// The operator type, qualified by the domain unless that is the default one: "MatMul",
  /// "com.microsoft.Attention".
  std::string operation() const;
};

struct Graph {
  std::vector<GraphNode> nodes;
  std::map<std::string, const OnnxTensor *, std::less<>> constants;
  /// The inputs that are not constants, in file order.
  std::vector<OnnxPort> inputs;
  std::vector<OnnxPort> outputs;
};

/// Flattens and checks a model, which must outlive the result. Every message begins with `where`.
Result<Graph> flatten(const OnnxModel &model, std::string_view where);

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_GRAPH_H
