// SPDX-License-Identifier: Apache-2.0
///
/// Inlines functions and branches, and sorts the nodes topologically.
#include "frontend/Onnx/Graph.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle::onnx {

const OnnxAttribute *GraphNode::find(std::string_view attribute) const {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(),
                   [&](const OnnxAttribute &each) { return each.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

std::string GraphNode::operation() const {
  return domain.empty() ? std::string(type) : fmt::format("{}.{}", domain, type);
}

std::string GraphNode::describe() const {
  return fmt::format("node {} ({})", quote(name), operation());
}

namespace {

/// Maps the names of a graph or function to unique names; other names are looked up in the
/// enclosing scope.
struct Names {
  const Names *outer = nullptr;
  /// nullopt for an operand of the function that the caller omits.
  std::map<std::string_view, std::optional<std::string>> known;
  /// The prefix of the names that are defined here.
  std::string prefix;

  std::optional<std::string> find(std::string_view name) const {
    const Names *outermost = this;
    for (const Names *each = this; each != nullptr; each = each->outer) {
      const auto found = each->known.find(name);
      if (found != each->known.end()) {
        return found->second;
      }
      outermost = each;
    }
    return outermost->prefix + std::string(name);
  }
};

class Flattener {
public:
  Flattener(const OnnxModel &model, std::string_view where) : model(model), where(where) {}
  Result<Graph> flatten();

private:
  Status addNodes(const std::vector<OnnxNode> &nodes, const OnnxOpsets &opsets, Names &names,
                  const std::vector<OnnxAttribute> &given, size_t depth);
  Status addNode(const OnnxNode &node, const OnnxOpsets &opsets, Names &names,
                 const std::vector<OnnxAttribute> &given, size_t depth);
  Status inlineFunction(const OnnxFunction &function, const GraphNode &node, size_t depth);
  Status inlineBranch(const GraphNode &node, const OnnxOpsets &opsets, Names &names,
                      const std::vector<OnnxAttribute> &given, size_t depth);
  Status addConstants(const OnnxGraph &graph, Names &names);
  Status define(const std::string &name);
  const OnnxFunction *findFunction(const OnnxNode &node) const;
  const OnnxTensor *constantOf(const std::string &name) const;
  std::string actual(std::string name) const;
  /// Makes `name` an alias of `value`. A result without a name cannot be read.
  void alias(const std::string &name, std::optional<std::string> value) {
    if (!name.empty() && value) {
      aliases[name] = *std::move(value);
    }
  }
  using Makers = std::map<std::string, size_t, std::less<>>;
  Makers findMakers();
  Status order();
  Status wrong(const std::string &what) const {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: {}", where, what));
  }

  const OnnxModel &model;
  std::string_view where;
  Graph graph;
  /// The number of visited nodes, function calls included.
  size_t visited = 0;
  std::set<std::string, std::less<>> defined;
  /// The tensors of Constant nodes.
  std::map<std::string, const OnnxTensor *, std::less<>> constantNodes;
  /// The functions being inlined, innermost last.
  std::vector<const OnnxFunction *> active;
  /// Aliases: results of inlined functions and branches.
  std::map<std::string, std::string> aliases;
};

} // namespace

Status Flattener::define(const std::string &name) {
  return defined.insert(name).second
             ? Status()
             : wrong(fmt::format("{} is made twice, expected one node, input or initializer",
                                 quote(name)));
}

Status Flattener::addConstants(const OnnxGraph &from, Names &names) {
  for (const OnnxTensor &tensor : from.initializers) {
    if (tensor.name.empty()) {
      return wrong("an initializer without a name");
    }
    const std::string name = names.prefix + std::string(tensor.name);
    HEDDLE_TRY(define(name));
    names.known.emplace(tensor.name, name);
    graph.constants.emplace(name, &tensor);
  }
  return {};
}

const OnnxFunction *Flattener::findFunction(const OnnxNode &node) const {
  for (const OnnxFunction &function : model.functions) {
    if (function.name == node.type && function.domain == node.domain &&
        function.overload == node.overload) {
      return &function;
    }
  }
  return nullptr;
}

const OnnxTensor *Flattener::constantOf(const std::string &name) const {
  const auto found = graph.constants.find(name);
  if (found != graph.constants.end()) {
    return found->second;
  }
  const auto node = constantNodes.find(name);
  return node == constantNodes.end() ? nullptr : node->second;
}

/// Returns the attributes of a node of a function, with references resolved to the attributes of
/// the caller.
static std::vector<OnnxAttribute> withGiven(const OnnxNode &node,
                                            const std::vector<OnnxAttribute> &given) {
  std::vector<OnnxAttribute> result;
  for (const OnnxAttribute &each : node.attributes) {
    if (each.reference.empty()) {
      result.push_back(each);
      continue;
    }
    const auto found = std::find_if(given.begin(), given.end(), [&](const OnnxAttribute &other) {
      return other.name == each.reference;
    });
    if (found != given.end()) {
      result.push_back(*found);
      result.back().name = each.name;
    }
  }
  return result;
}

Status Flattener::inlineFunction(const OnnxFunction &function, const GraphNode &node,
                                 size_t depth) {
  Names names;
  names.prefix = node.name + "/";
  if (std::find(active.begin(), active.end(), &function) != active.end()) {
    return wrong(fmt::format("function {} calls itself", quote(function.name)));
  }
  if (node.inputs.size() > function.inputs.size() ||
      node.outputs.size() > function.outputs.size()) {
    return wrong(fmt::format("{}: has {} inputs and {} outputs, its function {} and {}",
                             node.describe(), node.inputs.size(), node.outputs.size(),
                             function.inputs.size(), function.outputs.size()));
  }
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    names.known[function.inputs[i]] = i < node.inputs.size() ? node.inputs[i] : std::nullopt;
  }
  std::vector<OnnxAttribute> given = node.attributes;
  for (const OnnxAttribute &each : function.defaults) {
    if (node.find(each.name) == nullptr) {
      given.push_back(each);
    }
  }
  active.push_back(&function);
  HEDDLE_TRY(addNodes(function.nodes, function.opsets.empty() ? model.opsets : function.opsets,
                      names, given, depth + 1));
  active.pop_back();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    alias(node.outputs[i], names.find(function.outputs[i]));
  }
  return {};
}

Status Flattener::inlineBranch(const GraphNode &node, const OnnxOpsets &opsets, Names &names,
                               const std::vector<OnnxAttribute> &given, size_t depth) {
  const OnnxTensor *const condition = constantOf(*node.inputs.front());
  const bool isTaken = condition->bytes.front() != std::byte(0);
  const OnnxAttribute *const chosen = node.find(isTaken ? "then_branch" : "else_branch");
  if (chosen == nullptr || !chosen->graph || chosen->graph->outputs.size() != node.outputs.size()) {
    return wrong(
        fmt::format("{}: expected a branch with {} results", node.describe(), node.outputs.size()));
  }
  Names inside;
  inside.outer = &names;
  inside.prefix = node.name + "/";
  HEDDLE_TRY(addConstants(*chosen->graph, inside));
  HEDDLE_TRY(addNodes(chosen->graph->nodes, opsets, inside, given, depth + 1));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    alias(node.outputs[i], inside.find(chosen->graph->outputs[i].name));
  }
  return {};
}

Status Flattener::addNode(const OnnxNode &node, const OnnxOpsets &opsets, Names &names,
                          const std::vector<OnnxAttribute> &given, size_t depth) {
  // Calls count as well: a function may contain nothing but calls.
  if (visited++ == onnxNodeLimit) {
    return wrong(fmt::format("more than {} nodes with those of functions", onnxNodeLimit));
  }
  GraphNode flat;
  flat.type = node.type;
  flat.domain = node.domain;
  const auto opset = opsets.find(node.domain);
  flat.opset = opset == opsets.end() ? 1 : opset->second;
  flat.attributes = withGiven(node, given);
  flat.name = names.prefix + std::string(!node.name.empty()     ? node.name
                                         : node.outputs.empty() ? node.type
                                                                : node.outputs.front());
  for (const std::string_view input : node.inputs) {
    flat.inputs.push_back(input.empty() ? std::nullopt : names.find(input));
  }
  for (const std::string_view output : node.outputs) {
    flat.outputs.push_back(output.empty() ? std::string() : names.find(output).value_or(""));
    if (!flat.outputs.back().empty()) {
      HEDDLE_TRY(define(flat.outputs.back()));
    }
  }
  if (const OnnxFunction *const function = findFunction(node)) {
    return inlineFunction(*function, flat, depth);
  }
  const OnnxTensor *const condition =
      node.type == "If" && node.domain.empty() && flat.inputs.size() == 1 && flat.inputs.front()
          ? constantOf(*flat.inputs.front())
          : nullptr;
  if (condition != nullptr && condition->dtype == ElementType::Bool &&
      condition->bytes.size() == 1) {
    return inlineBranch(flat, opsets, names, given, depth);
  }
  const OnnxAttribute *const value =
      node.type == "Constant" && node.domain.empty() ? flat.find("value") : nullptr;
  if (value != nullptr && value->tensor && flat.outputs.size() == 1) {
    constantNodes.emplace(flat.outputs.front(), value->tensor.get());
  }
  graph.nodes.push_back(std::move(flat));
  return {};
}

Status Flattener::addNodes(const std::vector<OnnxNode> &nodes, const OnnxOpsets &opsets,
                           Names &names, const std::vector<OnnxAttribute> &given, size_t depth) {
  if (depth > inliningLimit) {
    return wrong(fmt::format("functions and branches are nested more than {} deep, at {}",
                             inliningLimit, quote(names.prefix)));
  }
  // Names that are defined here shadow those of enclosing scopes.
  for (const OnnxNode &node : nodes) {
    for (const std::string_view output : node.outputs) {
      if (!output.empty() && !names.prefix.empty()) {
        names.known.insert_or_assign(output, names.prefix + std::string(output));
      }
    }
  }
  for (const OnnxNode &node : nodes) {
    HEDDLE_TRY(addNode(node, opsets, names, given, depth));
  }
  return {};
}

/// Resolves aliases. Cyclic aliases resolve to any of their names.
std::string Flattener::actual(std::string name) const {
  for (size_t steps = 0; steps <= aliases.size(); ++steps) {
    const auto found = aliases.find(name);
    if (found == aliases.end()) {
      break;
    }
    name = found->second;
  }
  return name;
}

/// Gives inputs the names that their nodes have for them, and returns the node of every name.
Flattener::Makers Flattener::findMakers() {
  Makers makers;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (std::optional<std::string> &input : graph.nodes[i].inputs) {
      if (input) {
        input = actual(*input);
      }
    }
    for (const std::string &output : graph.nodes[i].outputs) {
      if (!output.empty()) {
        makers.emplace(output, i);
      }
    }
  }
  return makers;
}

/// Sorts the nodes that the outputs depend on so that operands precede their users.
Status Flattener::order() {
  const Makers makers = findMakers();
  enum class Mark { New, Open, Done };
  std::vector<Mark> marks(graph.nodes.size(), Mark::New);
  std::vector<size_t> ordered;
  // Iterative, because a graph may be an arbitrarily long chain.
  std::vector<std::pair<size_t, size_t>> stack;
  const auto enter = [&](const std::string &name, std::string_view reader) -> Status {
    if (!makers.contains(name) && defined.contains(name)) {
      return {};
    }
    const auto found = makers.find(name);
    if (found == makers.end()) {
      return wrong(fmt::format("{}: no node makes {}, expected a node, an input or an initializer",
                               reader, quote(name)));
    }
    if (marks[found->second] == Mark::Open) {
      // Report the node of the cycle that comes first in the file.
      const auto begin = std::ranges::find(stack, found->second, &std::pair<size_t, size_t>::first);
      const auto least = std::min_element(begin, stack.end());
      return wrong(
          fmt::format("{} is part of a cycle, expected nodes that read what is made before",
                      graph.nodes[least->first].describe()));
    }
    if (marks[found->second] == Mark::New) {
      marks[found->second] = Mark::Open;
      stack.emplace_back(found->second, 0);
    }
    return {};
  };
  for (const OnnxPort &output : graph.outputs) {
    HEDDLE_TRY(
        enter(actual(std::string(output.name)), fmt::format("output {}", quote(output.name))));
    while (!stack.empty()) {
      auto &[node, next] = stack.back();
      const GraphNode &reader = graph.nodes[node];
      if (next < reader.inputs.size()) {
        const std::optional<std::string> &input = reader.inputs[next++];
        HEDDLE_TRY(input ? enter(*input, reader.describe()) : Status());
        continue;
      }
      marks[node] = Mark::Done;
      ordered.push_back(node);
      stack.pop_back();
    }
  }
  std::vector<GraphNode> nodes;
  for (const size_t index : ordered) {
    nodes.push_back(std::move(graph.nodes[index]));
  }
  graph.nodes = std::move(nodes);
  return {};
}

Result<Graph> Flattener::flatten() {
  Names names;
  HEDDLE_TRY(addConstants(model.graph, names));
  for (const OnnxPort &input : model.graph.inputs) {
    // Old files list initializers as inputs, for which they are default values.
    if (graph.constants.contains(input.name)) {
      continue;
    }
    HEDDLE_TRY(define(std::string(input.name)));
    graph.inputs.push_back(input);
  }
  graph.outputs = model.graph.outputs;
  if (graph.outputs.empty()) {
    return wrong("the graph has no outputs, expected at least one");
  }
  HEDDLE_TRY(addNodes(model.graph.nodes, model.opsets, names, {}, 0));
  HEDDLE_TRY(order());
  // Outputs that alias the result of a function or branch keep their own names.
  for (const OnnxPort &output : graph.outputs) {
    const std::string name(output.name);
    if (aliases.contains(name)) {
      GraphNode same;
      same.name = name;
      same.type = "Identity";
      same.opset = onnxNewestOpset;
      same.inputs = {actual(name)};
      same.outputs = {name};
      graph.nodes.push_back(std::move(same));
    }
  }
  return std::move(graph);
}

Result<Graph> flatten(const OnnxModel &model, std::string_view where) {
  return Flattener(model, where).flatten();
}

} // namespace heddle::onnx
