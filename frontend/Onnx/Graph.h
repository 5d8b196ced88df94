// SPDX-License-Identifier: Apache-2.0
///
/// A file's graph as one list of nodes, each after those it reads: functions are inlined, branches
/// on constants chosen, nodes that no output needs left out. Every name is made by one node.
#ifndef HEDDLE_FRONTEND_ONNX_GRAPH_H
#define HEDDLE_FRONTEND_ONNX_GRAPH_H

#include "formats/Onnx/OnnxFile.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace heddle::onnx {

/// How deep functions may call functions and branches may hold branches.
inline constexpr size_t inliningLimit = 16;

struct GraphNode {
  /// Its name, or if it has none that of its first result; inside functions after their nodes'.
  std::string name;
  std::string_view type;
  std::string_view domain;
  /// The version of the domain's operators.
  int64_t opset = 0;
  /// Names of values; nothing: left out.
  std::vector<std::optional<std::string>> inputs;
  /// Names of results; empty: nothing may read it.
  std::vector<std::string> outputs;
  /// With the values that a function's caller gave.
  std::vector<OnnxAttribute> attributes;

  const OnnxAttribute *find(std::string_view attribute) const;
  /// "node "/encoder/MatMul" (MatMul)"
  std::string describe() const;
  /// "MatMul", or "com.microsoft.Attention" of a domain other than the default one.
  std::string operation() const;
};

struct Graph {
  std::vector<GraphNode> nodes;
  std::map<std::string, const OnnxTensor *, std::less<>> constants;
  /// Those that are no constants, in the order of the file.
  std::vector<OnnxPort> inputs;
  std::vector<OnnxPort> outputs;
};

/// Flattens and checks a model, which must outlive the result. `where` begins every message.
Result<Graph> flatten(const OnnxModel &model, std::string_view where);

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_GRAPH_H
