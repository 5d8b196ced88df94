// SPDX-License-Identifier: Apache-2.0
///
/// Graphs: captured launches, which can be launched again as a whole.
#include "tests/Emulator/Calls.h"
#include "tests/Emulator/Modules.h"
#include "tests/Emulator/Streams.h"

#include <set>
#include <vector>

namespace heddle::emulator {
namespace {
/// A captured graph, or an executable one.
struct Graph {
  std::vector<Work> launches;
};
using Graphs = std::set<Graph *>;
Graphs graphs;
Graphs executables;

Graph *graphOf(const Graphs &all, void *handle) {
  const auto found = all.find(static_cast<Graph *>(handle));
  return found == all.end() ? nullptr : *found;
}

std::string lengthOf(const Graph *graph) {
  return graph == nullptr ? "?" : std::to_string(graph->launches.size()) + " launches";
}

int destroy(const char *function, Graphs &all, void *handle) {
  const std::lock_guard guard(lock());
  Graph *const graph = graphOf(all, handle);
  const int code = enter(function, lengthOf(graph), Needs::Context);
  if (graph == nullptr) {
    return code != Success ? code : complain(function, "no graph", InvalidHandle);
  }
  // Launches that were added to streams are not affected.
  all.erase(graph);
  delete graph;
  return code;
}
} // namespace

std::string describeGraphs() {
  std::string text;
  text += graphs.empty() ? "" : std::to_string(graphs.size()) + " graphs\n";
  text += executables.empty() ? "" : std::to_string(executables.size()) + " executable graphs\n";
  return text;
}

} // namespace heddle::emulator

using namespace heddle::emulator;

HEDDLE_EMULATED int cuStreamBeginCapture_v2(void *stream, int mode) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuStreamBeginCapture_v2", std::to_string(mode), Needs::Context)) {
    return code;
  }
  constexpr int ofThread = 1;
  if (mode != ofThread) {
    return complain("cuStreamBeginCapture_v2", "a mode that is not emulated", InvalidValue);
  }
  return beginRecording(stream);
}

HEDDLE_EMULATED int cuStreamEndCapture(void *stream, void **graph) {
  const std::lock_guard guard(lock());
  if (const int code = enter("cuStreamEndCapture", "", Needs::Context)) {
    return code;
  }
  std::vector<Work> launches;
  if (const int code = endRecording(stream, launches)) {
    return code;
  }
  if (graph == nullptr) {
    return complain("cuStreamEndCapture", "no place for the graph", InvalidValue);
  }
  *graph = *graphs.insert(new Graph{std::move(launches)}).first;
  return Success;
}

HEDDLE_EMULATED int cuGraphInstantiateWithFlags(void **executable, void *handle,
                                                unsigned long long flags) {
  const std::lock_guard guard(lock());
  const Graph *const graph = graphOf(graphs, handle);
  if (const int code = enter("cuGraphInstantiateWithFlags", lengthOf(graph), Needs::Context)) {
    return code;
  }
  if (executable == nullptr || graph == nullptr || flags != 0) {
    return complain("cuGraphInstantiateWithFlags", "no graph, no place for it, or flags",
                    InvalidValue);
  }
  *executable = *executables.insert(new Graph(*graph)).first;
  return Success;
}

HEDDLE_EMULATED int cuGraphLaunch(void *handle, void *stream) {
  const std::lock_guard guard(lock());
  const Graph *const graph = graphOf(executables, handle);
  if (const int code = enter("cuGraphLaunch", lengthOf(graph), Needs::Context)) {
    return code;
  }
  if (graph == nullptr) {
    return complain("cuGraphLaunch", "no graph that can be launched", InvalidHandle);
  }
  noteGraph();
  int code = Success;
  for (const Work &launch : graph->launches) {
    code = code == Success ? addTo(stream, "cuGraphLaunch", launch) : code;
  }
  return code;
}

HEDDLE_EMULATED int cuGraphExecDestroy(void *handle) {
  return destroy("cuGraphExecDestroy", executables, handle);
}

HEDDLE_EMULATED int cuGraphDestroy(void *handle) {
  return destroy("cuGraphDestroy", graphs, handle);
}
