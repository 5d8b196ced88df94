// SPDX-License-Identifier: Apache-2.0
///
/// What the inputs of a graph hold: rows of one or two lengths, and rows of earlier runs. Found
/// once, by the shapes of the inputs and by the nodes that read them, never by their names.
#ifndef HEDDLE_FRONTEND_ONNX_INPUTFORMS_H
#define HEDDLE_FRONTEND_ONNX_INPUTFORMS_H

#include "frontend/Onnx/Graph.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::onnx {

/// The forms of all inputs of a graph.
struct InputForms {
  /// The inputs with the rows of earlier runs, which the graph joins with those of a run.
  std::set<std::string, std::less<>> pasts;
  /// The names of the distinct lengths of the other inputs' rows, in order. With pasts, the length
  /// of a mask over the rows of the past and of the run is none of them.
  std::vector<std::string> lengths;
  /// With pasts: the length of the rows that are joined with them.
  std::string run;

  bool hasPasts() const { return !pasts.empty(); }
  bool hasTwoLengths() const { return lengths.size() == 2; }
  /// Returns whether rows of this length are those of the past and of the run together.
  bool isOfPastAndRun(std::string_view length) const;
};

InputForms formsOf(const Graph &graph);

/// Returns the axis of the rows in an input of floats with heads, [batch, heads, rows, size] in any
/// order after the batch: the only other axis without a constant size. nullopt for other inputs.
std::optional<size_t> headedRowsAxis(const OnnxPort &port);

/// Returns the name of the length of an input's rows, or nullopt if the input has no rows of a
/// sequence.
std::optional<std::string> lengthOf(const OnnxPort &port);

/// Returns whether an input indexes rows of a table.
bool areIndices(const Graph &graph, std::string_view name);

} // namespace heddle::onnx

#endif // HEDDLE_FRONTEND_ONNX_INPUTFORMS_H
