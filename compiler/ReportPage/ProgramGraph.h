// SPDX-License-Identifier: Apache-2.0
///
/// A program of the model level for display: operations with their names in the checkpoint, grouped
/// by layer; layers that differ only in their weights are detected. Plain data that outlives the
/// program.
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
  /// The name in the checkpoint; empty for programs without names.
  std::string name;
  /// The type of its result: "[t, 12, 32]", where t is the rows of the batch and k those of a
  /// sequence.
  std::string type;
  /// Its attributes other than parameters.
  std::string detail;
  std::vector<std::string> parameters;
  /// The nodes of the entry that it reads, in operand order. Segments are omitted, because nearly
  /// every operation reads them.
  std::vector<size_t> inputs;
  int64_t flopsPerToken = 0;
  /// Bytes of its parameters.
  int64_t weightBytes = 0;
};

/// Operations of one layer, or those before, between or after layers.
struct GraphGroup {
  /// "encoder.layers.3"; for others their common names, with "after encoder.layers.3" as the key.
  std::string key;
  std::string title;
  bool isLayer = false;
  std::vector<size_t> nodes;
  /// The first group of the entry with the same operations in the same places; may be this group.
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

/// Returns the functions of a module of the model level, in order, without work for observed
/// results only; empty in later phases.
std::vector<EntryGraph> programGraph(mlir::ModuleOp module);

/// `{"name", "nodes": [{"op", "name", "type", ...}], "groups": [...], "results": [...]}`
void writeGraph(llvm::json::OStream &json, const EntryGraph &entry);

} // namespace heddle

#endif // HEDDLE_COMPILER_REPORTPAGE_PROGRAMGRAPH_H
