// SPDX-License-Identifier: Apache-2.0
///
/// Reads a module into groups of nodes.
#include "compiler/ReportPage/ProgramGraph.h"

#include "compiler/Cost/OperationCost.h"
#include "compiler/Cost/OptionalWork.h"
#include "compiler/Remarks/Report.h"
#include "dialects/Transformer/Transformer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace heddle {
namespace {

std::string printed(llvm::function_ref<void(llvm::raw_ostream &)> print) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  print(stream);
  return text;
}

std::string typeText(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor) {
    std::string text = printed([&](llvm::raw_ostream &stream) { stream << type; });
    llvm::StringRef(text).consume_front("!transformer.");
    return llvm::StringRef(text).starts_with("!transformer.") ? text.substr(13) : text;
  }
  // The first dynamic dimension counts rows of the batch, others keys of a sequence.
  std::vector<std::string> sizes;
  for (auto [axis, size] : llvm::enumerate(tensor.getShape())) {
    sizes.push_back(!ShapedType::isDynamic(size) ? std::to_string(size) : axis == 0 ? "t" : "k");
  }
  return "[" + llvm::join(sizes, ", ") + "]" +
         (tensor.getElementType().isF32() ? "" : " " + printed([&](auto &stream) {
                                                   stream << tensor.getElementType();
                                                 }));
}

/// Prints a number or word as in the program, without its type.
std::string valueText(Attribute attribute) {
  std::string text = printed([&](llvm::raw_ostream &stream) { attribute.print(stream, true); });
  llvm::StringRef rest = text;
  if (auto visibility = dyn_cast<transformer::VisibilityAttr>(attribute)) {
    return visibility.getValue().text();
  }
  // #transformer<activation relu>, array<i64: 0, 1>
  if (size_t open = rest.find('<'); open != llvm::StringRef::npos && rest.ends_with(">")) {
    rest = rest.drop_front(open + 1).drop_back();
    size_t cut = rest.find_first_of(": ");
    if (cut != llvm::StringRef::npos) {
      rest = rest.drop_front(cut + 1).ltrim();
    }
  }
  return rest.str();
}

/// Splits the attributes of an operation into its parameters and all others.
void describeAttributes(Operation &operation, GraphNode &node) {
  std::vector<std::string> details;
  for (NamedAttribute attribute : operation.getAttrs()) {
    if (auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute.getValue())) {
      node.parameters.push_back(symbol.getValue().str());
      continue;
    }
    auto list = dyn_cast<ArrayAttr>(attribute.getValue());
    if (list && !list.empty() && llvm::all_of(list, llvm::IsaPred<FlatSymbolRefAttr>)) {
      for (auto symbol : list.getAsRange<FlatSymbolRefAttr>()) {
        node.parameters.push_back(symbol.getValue().str());
      }
      continue;
    }
    details.push_back(
        (attribute.getName().getValue() + " = " + valueText(attribute.getValue())).str());
  }
  node.detail = llvm::join(details, ", ");
}

/// Builds one entry.
class EntryReader {
public:
  EntryReader(func::FuncOp function, SymbolTable &symbols) : function(function), symbols(symbols) {
    entry.name = function.getSymName();
  }

  EntryGraph read() {
    for (BlockArgument argument : function.getArguments()) {
      readArgument(argument);
    }
    Operation *terminator = function.getBody().front().getTerminator();
    auto isObserved = [&](unsigned result) {
      return function.getResultAttr(result, "transformer.observed") != nullptr;
    };
    const llvm::DenseSet<Operation *> aside = optionalWork(terminator, isObserved);
    for (Operation &operation : function.getBody().front().without_terminator()) {
      if (!aside.contains(&operation)) {
        readOperation(operation);
      }
    }
    llvm::SetVector<size_t> results;
    for (OpOperand &operand : terminator->getOpOperands()) {
      auto found = numbers.find(operand.get());
      if (found != numbers.end() && !isObserved(operand.getOperandNumber())) {
        results.insert(found->second);
      }
    }
    entry.results.assign(results.begin(), results.end());
    for (GraphGroup &group : entry.groups) {
      if (!group.isLayer) {
        group.title = titleOf(group);
      }
    }
    findEqualLayers();
    return std::move(entry);
  }

private:
  void readArgument(BlockArgument argument) {
    if (isa<transformer::SegmentsType>(argument.getType())) {
      return;
    }
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "transformer.name");
    numbers[argument] = entry.nodes.size();
    GraphNode node;
    node.op = "argument";
    node.name = name ? name.getValue().str() : "";
    node.type = typeText(argument.getType());
    entry.nodes.push_back(std::move(node));
  }

  void readOperation(Operation &operation) {
    if (llvm::all_of(operation.getResultTypes(), llvm::IsaPred<transformer::SegmentsType>)) {
      return;
    }
    GraphNode node;
    node.op = operation.getName().stripDialect().str();
    node.name = checkpointName(operation.getLoc());
    if (operation.getNumResults() != 0) {
      node.type = typeText(operation.getResult(0).getType());
    }
    describeAttributes(operation, node);
    for (Value operand : operation.getOperands()) {
      if (auto found = numbers.find(operand); found != numbers.end()) {
        node.inputs.push_back(found->second);
      }
    }
    node.flopsPerToken = flopsPerToken(&operation);
    for (const std::string &symbol : node.parameters) {
      auto parameter = symbols.lookup<transformer::ParameterOp>(symbol);
      if (parameter) {
        RankedTensorType type = parameter.getTensorType();
        node.weightBytes += storedAs(type.getElementType(), type.getShape()).bytes();
      }
    }
    size_t number = entry.nodes.size();
    for (Value result : operation.getResults()) {
      numbers[result] = number;
    }
    groupFor(node.name).nodes.push_back(number);
    entry.nodes.push_back(std::move(node));
  }

  GraphGroup &groupFor(llvm::StringRef name) {
    llvm::StringRef layer = layerPrefix(name);
    std::string key =
        layer.empty() ? (lastLayer.empty() ? "start" : "after " + lastLayer) : layer.str();
    auto [place, isNew] = places.try_emplace(key, entry.groups.size());
    if (isNew) {
      entry.groups.push_back({key, layer.str(), !layer.empty(), {}, place->second});
      lastLayer = layer.empty() ? lastLayer : layer.str();
    }
    return entry.groups[place->second];
  }

  /// Returns the names in a group without a layer, without their last parts.
  std::string titleOf(const GraphGroup &group) const {
    llvm::SetVector<llvm::StringRef> names;
    for (size_t node : group.nodes) {
      names.insert(llvm::StringRef(entry.nodes[node].name).rsplit('.').first);
    }
    names.remove("");
    std::vector<std::string> shown;
    for (llvm::StringRef name : names.getArrayRef().take_front(3)) {
      shown.push_back(name.str());
    }
    if (names.size() > shown.size()) {
      shown.push_back("and more");
    }
    return shown.empty() ? "operations" : llvm::join(shown, ", ");
  }

  /// Describes a layer independently of its number, its weights and its place in the program: its
  /// operations, the edges between them, and the order of their outside operands.
  std::string signature(const GraphGroup &group) const {
    llvm::DenseMap<size_t, size_t> inside;
    llvm::DenseMap<size_t, size_t> outside;
    std::string text;
    llvm::raw_string_ostream stream(text);
    auto relative = [&](const std::string &name) {
      llvm::StringRef rest = name;
      return rest.consume_front(group.key) ? "*" + rest.str() : name;
    };
    for (size_t number : group.nodes) {
      const GraphNode &node = entry.nodes[number];
      bool viewsOutside = node.op == "columns" && !inside.contains(node.inputs.front());
      stream
          << node.op << '|' << relative(node.name) << '|' << node.type
          << '|'
          // The offset of a view into a projection that layers share only tells which layer it is.
          << (viewsOutside ? std::string() : node.detail) << '|' << node.parameters.size();
      for (size_t input : node.inputs) {
        if (auto own = inside.find(input); own != inside.end()) {
          stream << " i" << own->second;
        } else {
          stream << " o" << outside.try_emplace(input, outside.size()).first->second;
        }
      }
      stream << '\n';
      inside[number] = inside.size();
    }
    return text;
  }

  void findEqualLayers() {
    llvm::StringMap<size_t> first;
    for (auto [index, group] : llvm::enumerate(entry.groups)) {
      group.equalTo =
          group.isLayer ? first.try_emplace(signature(group), index).first->second : index;
    }
  }

  func::FuncOp function;
  SymbolTable &symbols;
  EntryGraph entry;
  llvm::DenseMap<Value, size_t> numbers;
  llvm::StringMap<size_t> places;
  std::string lastLayer;
};

template <typename Numbers>
void writeNumbers(llvm::json::OStream &json, llvm::StringRef key, const Numbers &numbers) {
  json.attributeArray(key, [&] {
    for (size_t number : numbers) {
      json.value(static_cast<int64_t>(number));
    }
  });
}

void writeNode(llvm::json::OStream &json, const GraphNode &node) {
  json.object([&] {
    auto text = [&](llvm::StringRef key, const std::string &value) {
      if (!value.empty()) {
        json.attribute(key, llvm::json::fixUTF8(value));
      }
    };
    text("op", node.op);
    text("name", node.name);
    text("type", node.type);
    text("detail", node.detail);
    writeNumbers(json, "inputs", node.inputs);
    if (!node.parameters.empty()) {
      json.attributeArray("parameters", [&] {
        for (const std::string &parameter : node.parameters) {
          json.value(llvm::json::fixUTF8(parameter));
        }
      });
      json.attribute("weight_bytes", node.weightBytes);
    }
    if (node.flopsPerToken != 0) {
      json.attribute("flops_per_token", node.flopsPerToken);
    }
  });
}

} // namespace

std::vector<EntryGraph> programGraph(ModuleOp module) {
  SymbolTable symbols(module);
  std::vector<EntryGraph> entries;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isExternal()) {
      entries.push_back(EntryReader(function, symbols).read());
    }
  }
  return entries;
}

void writeGraph(llvm::json::OStream &json, const EntryGraph &entry) {
  json.object([&] {
    json.attribute("name", llvm::json::fixUTF8(entry.name));
    json.attributeArray("nodes", [&] {
      for (const GraphNode &node : entry.nodes) {
        writeNode(json, node);
      }
    });
    json.attributeArray("groups", [&] {
      for (const GraphGroup &group : entry.groups) {
        json.object([&] {
          json.attribute("key", llvm::json::fixUTF8(group.key));
          json.attribute("title", llvm::json::fixUTF8(group.title));
          json.attribute("layer", group.isLayer);
          json.attribute("equal_to", static_cast<int64_t>(group.equalTo));
          writeNumbers(json, "nodes", group.nodes);
        });
      }
    });
    writeNumbers(json, "results", entry.results);
  });
}

} // namespace heddle
