// SPDX-License-Identifier: Apache-2.0
///
/// Outputs of a graph as results of the entries. A decoder keeps keys and values in caches and
/// gives rows alone. Where one run computes all of a graph, every output is given: rows with any
/// axes, the rows that a run adds to those of a past, and the weights of an attention.
#include "frontend/Onnx/Evaluation.h"

#include "base/Utf8.h"
#include "heddle/RectangleEntries.h"

#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace heddle::onnx {

static Status refuseAxes(std::string_view output, std::string_view expected) {
  return HEDDLE_ERROR(Unsupported, fmt::format("output {} has other axes than rows, expected {}",
                                               quote(output), expected));
}

std::vector<int64_t> Evaluation::portAxes(const Rows &value) const {
  std::vector<int64_t> axes;
  for (const Atoms &axis : value.axes) {
    const Atom::Kind kind = axis.empty() ? Atom::Kind::Inner : axis.front().kind;
    axes.push_back(kind == Atom::Kind::Batch                             ? sequencesAxis
                   : kind == Atom::Kind::Row || kind == Atom::Kind::Past ? rowsAxis
                   : kind == Atom::Kind::Inner                           ? widthOf(axis)
                   : isOfSource(axis.front())                            ? sourceKeysAxis
                                                                         : historyKeysAxis);
  }
  return axes;
}

/// Returns the only atom of rows if each axis is one atom, or parts of the width alone.
static std::optional<Atom> separateRows(const Rows &value) {
  std::optional<Atom> row;
  for (const Atoms &axis : value.axes) {
    const bool isRow = isAxisOf(axis, Atom::Kind::Row);
    if ((!isInner(axis) && axis.size() != 1) || (isRow && row)) {
      return std::nullopt;
    }
    row = isRow ? axis.front() : row;
  }
  return row;
}

static Atoms innerAtoms(const Rows &value) {
  Atoms inner;
  for (const Atom &atom : flatten(value.axes)) {
    if (atom.kind == Atom::Kind::Inner) {
      inner.push_back(atom);
    }
  }
  return inner;
}

Status Evaluation::addFunctionOutput(const OnnxPort &port, Rows result) {
  static constexpr std::string_view expected =
      "an axis of rows, the batch, and parts of rows or the keys of weights";
  PortTensor tensor{entryName(), std::string(port.name)};
  if (result.function == nullptr && caches.contains(result.value)) {
    tensor.after = caches.find(result.value)->second.past;
    result = freshRows(result);
  }
  const std::optional<Atom> row = separateRows(result);
  if (!row || !isOfRun(*row) || result.isNan || result.space != 0) {
    return refuseAxes(port.name, expected);
  }
  tensor.axes = portAxes(result);
  const Atoms inner = innerAtoms(result);
  if (result.hasKeys()) {
    HEDDLE_ASSIGN(result, written(std::move(result)));
    if (result.physical.size() != 2 || result.physical.front() != inner ||
        isOfRun(result.physical.back().front())) {
      return refuseAxes(port.name, "the weights of keys of a source or a past, in the order of "
                                   "their heads");
    }
  } else {
    HEDDLE_ASSIGN(result, arranged(std::move(result), {inner}));
  }
  if (tensor.axes == std::vector<int64_t>{sequencesAxis, rowsAxis, widthOf(inner)} ||
      tensor.axes == std::vector<int64_t>{rowsAxis, widthOf(inner)}) {
    tensor.axes.clear();
  }
  entry.output(port.name, Tensor(rows.model(), result.value));
  described.push_back(std::move(tensor));
  return {};
}

/// Returns whether the next run reads these rows from a cache.
bool Evaluation::isOfCache(const Rows &result) const {
  return (result.function == nullptr && caches.contains(result.value)) ||
         (result.axes.size() == 4 && keysRead.contains({result.value, result.function}));
}

Status Evaluation::addRowsOutput(const OnnxPort &port, Rows result) {
  const auto refuse = [&] {
    return refuseAxes(port.name, "[batch, sequence, width] or [batch, width]");
  };
  Atoms width;
  for (size_t axis = 0; axis < result.axes.size(); ++axis) {
    const Atoms &atoms = result.axes[axis];
    const bool isLast = axis + 1 == result.axes.size();
    const bool isOfRows = axis + 2 == result.axes.size();
    if (isLast ? std::any_of(atoms.begin(), atoms.end(),
                             [](const Atom &atom) { return atom.kind != Atom::Kind::Inner; })
               : !(isAxisOf(atoms, Atom::Kind::Batch) ||
                   (isOfRows && isAxisOf(atoms, Atom::Kind::Row) && isOfRun(atoms.front())))) {
      return refuse();
    }
    width = atoms;
  }
  if (result.axes.empty() || result.hasKeys()) {
    return refuse();
  }
  HEDDLE_ASSIGN(result, arranged(std::move(result), {width}));
  if (port.name == logitsOutput) {
    found.vocabulary = widthOf(width);
  }
  entry.output(port.name, Tensor(rows.model(), result.value));
  return {};
}

Status Evaluation::addOutput(const OnnxPort &port) {
  const auto value = values.find(port.name);
  if (value == values.end()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("output {} is not made, expected a value", quote(port.name)));
  }
  if (plan.isWhole) {
    return addWholeOutput(port);
  }
  HEDDLE_ASSIGN(Rows result, rowsOf(value->second));
  if (result.isEmpty()) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("output {} has no elements, expected some", quote(port.name)));
  }
  if (plan.isFunction && !result.pooled) {
    return addFunctionOutput(port, std::move(result));
  }
  return !plan.isFunction && isOfCache(result) ? Status() : addRowsOutput(port, std::move(result));
}

Status Evaluation::addOutputs() {
  node = nullptr;
  for (const OnnxPort &port : graph.outputs) {
    location =
        NameLoc::get(StringAttr::get(context, StringRef(port.name.data(), port.name.size())));
    HEDDLE_TRY(addOutput(port));
  }
  return {};
}

} // namespace heddle::onnx
