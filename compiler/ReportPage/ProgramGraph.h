// SPDX-License-Identifier: Apache-2.0
///
/// A program of the model level as people read it: operations under their names in the checkpoint,
/// gathered by layer, with layers that are equal up to their weights recognised. Plain data, which
/// outlives the program.
#ifndef HEDDLE_COMPILER_REPORTPAGE_PROGRAMGRAPH_H
#define HEDDLE_COMPILER_REPORTPAGE_PROGRAMGRAPH_H

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/JSON.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

/// An operation, or an argument of the entry.
struct GraphNode {
  /// "linear"; "argument".
  std::string op;
  /// In the checkpoint; empty for programs without names.
  std::string name;
  /// What it gives: "[t, 12, 32]", where t is the rows of the batch and k those of a sequence.
  std::string type;
  /// Its attributes that are no parameters.
  std::string detail;
  std::vector<std::string> parameters;
  /// Nodes of the entry it reads, in the order of its operands. Segments, which nearly every
  /// operation reads, are left out.
  std::vector<size_t> inputs;
  int64_t flopsPerToken = 0;
  /// Bytes of its parameters.
  int64_t weightBytes = 0;
};

/// Operations of one layer, or those before, between and after layers.
struct GraphGroup {
  /// "encoder.layers.3"; of others the names they have, and "after encoder.layers.3" as the key.
  std::string key;
  std::string title;
  bool isLayer = false;
  std::vector<size_t> nodes;
  /// The first group of the entry with the same operations in the same places, which may be this.
  size_t equalTo = 0;
};

/// One function.
struct EntryGraph {
  std::string name;
  std::vector<GraphNode> nodes;
  std::vector<GraphGroup> groups;
  /// The nodes whose values it returns.
  std::vector<size_t> results;
};

/// The functions of a module of the model level, in order, without what is computed for observed
/// results alone; none in later phases.
std::vector<EntryGraph> programGraph(mlir::ModuleOp module);

/// `{"name", "nodes": [{"op", "name", "type", ...}], "groups": [...], "results": [...]}`
void writeGraph(llvm::json::OStream &json, const EntryGraph &entry);

} // namespace heddle

#endif // HEDDLE_COMPILER_REPORTPAGE_PROGRAMGRAPH_H
