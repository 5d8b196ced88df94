// SPDX-License-Identifier: Apache-2.0
///
/// From a file to a program: first the graph is evaluated to see what it does with rows, then once
/// for each entry.
#include "frontend/Onnx/OnnxProgram.h"

#include "base/Utf8.h"
#include "frontend/Onnx/Evaluation.h"
#include "heddle/RectangleEntries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {

using namespace onnx;

/// Names all operators that there is no function for.
static Status checkOperators(const Graph &graph) {
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
                      fmt::format("{} that {} not read: {}",
                                  list.size() == 1 ? std::string("an operator")
                                                   : fmt::format("{} operators", list.size()),
                                  list.size() == 1 ? "is" : "are", fmt::join(list, ", ")));
}

/// Rows of padding may be left out only where none of them reaches another row.
static Status checkPadding(const Uses &uses) {
  if (uses.ending && (!uses.padding || uses.padding->input == uses.ending->input)) {
    return HEDDLE_ERROR(
        Unsupported, fmt::format("{} counts the tokens other than {} of {}, expected a mask beside "
                                 "them that hides padding",
                                 uses.ending->node, uses.ending->value, quote(uses.ending->input)));
  }
  if (!uses.padding || uses.unmasked.empty()) {
    return {};
  }
  return HEDDLE_ERROR(
      Unsupported,
      fmt::format("{} mixes all rows of a sequence, but {} hides those where {} is {}, "
                  "expected all attentions to hide them",
                  uses.unmasked, uses.padding->node, quote(uses.padding->input),
                  uses.padding->value));
}

static Result<OnnxProgram> readGraph(mlir::MLIRContext &context,
                                     std::shared_ptr<const OnnxFile> file) {
  HEDDLE_ASSIGN(const Graph graph, flatten(file->model(), file->path()));
  HEDDLE_TRY_WITH(checkOperators(graph), file->path());
  Uses uses;
  {
    ModelBuilder builder(context, "onnx");
    Evaluation evaluation(graph, context, builder, {std::string(rectangleEntry)});
    HEDDLE_TRY_WITH(evaluation.run(), file->path());
    uses = evaluation.uses();
  }
  HEDDLE_TRY_WITH(checkPadding(uses), file->path());
  ModelBuilder builder(context, "onnx");
  std::vector<SafetensorsTensor> tensors;
  for (const bool hasColumns : {false, true}) {
    if (hasColumns && (!uses.padding || !uses.neighbours.empty())) {
      break;
    }
    const EntryPlan plan{std::string(hasColumns ? columnsEntry : rectangleEntry), hasColumns,
                         &uses};
    Evaluation evaluation(graph, context, builder, plan);
    HEDDLE_TRY_WITH(evaluation.run(), file->path());
    tensors = evaluation.tensors();
  }
  Result<mlir::OwningOpRef<mlir::ModuleOp>> module = builder.build();
  HEDDLE_TRY_WITH(module.status(), file->path());
  HEDDLE_ASSIGN(Checkpoint checkpoint,
                Checkpoint::ofFiles(tensors, file->path(), file->mapped(), file));
  OnnxProgram program{*std::move(module), std::move(checkpoint), {}};
  if (uses.longest && uses.longest != uses.positions) {
    program.notes.push_back(
        fmt::format("the graph itself takes sequences of at most {} rows, which "
                    "is not checked",
                    *uses.longest));
  }
  return program;
}

Result<OnnxProgram> readOnnxProgram(mlir::MLIRContext &context, const std::string &path) {
  HEDDLE_ASSIGN(OnnxFile file, OnnxFile::open(path));
  return readGraph(context, std::make_shared<const OnnxFile>(std::move(file)));
}

} // namespace heddle
