// SPDX-License-Identifier: Apache-2.0
///
/// Past inputs hold the keys or values of earlier runs, which a graph concatenates with those of
/// its own rows. The importer appends the new rows to a cache and replaces the concatenation with
/// the rows of the history, so that the same graph computes a prompt and each token after it. Row
/// positions include the past.
#include "frontend/Onnx/Evaluation.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle::onnx {

/// Returns the only dynamic axis besides the batch of an input [batch, heads, past, size] in any
/// axis order, or nullopt if the input does not have this form.
static std::optional<size_t> pastAxisOf(const OnnxPort &port) {
  if (!port.dtype || !infoOf(*port.dtype).isFloat() || !port.shape || port.shape->size() != 4 ||
      port.shape->front().number) {
    return std::nullopt;
  }
  std::optional<size_t> found;
  for (size_t axis = 1; axis < port.shape->size(); ++axis) {
    if (!(*port.shape)[axis].number) {
      if (found) {
        return std::nullopt;
      }
      found = axis;
    }
  }
  return found;
}

/// Returns whether some node can concatenate an input with the rows of a run.
static bool isJoined(const Graph &graph, std::string_view name) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const GraphNode &node) {
    const OperatorInfo *const info = findOperator(node);
    return info != nullptr && info->takesPasts && info->mostInputs > 1 &&
           std::find(node.inputs.begin(), node.inputs.end(), name) != node.inputs.end();
  });
}

GraphKind kindOf(const Graph &graph) {
  const bool hasPasts =
      std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](const OnnxPort &port) {
        return pastAxisOf(port).has_value() && isJoined(graph, port.name);
      });
  return hasPasts                       ? GraphKind::WithPasts
         : lengthsOf(graph).size() == 2 ? GraphKind::TwoLengths
                                        : GraphKind::Sequences;
}

Status fixedBesidePast(std::string_view input, int64_t rows) {
  return HEDDLE_ERROR(
      Unsupported,
      fmt::format("input {} has {} of each sequence beside a past, expected any number; what the "
                  "exporter made for the first tokens has that, and is decoded a token at a time "
                  "as well",
                  quote(input), rows == 1 ? std::string("one row") : fmt::format("{} rows", rows)));
}

Expr Evaluation::earlier() {
  return totalSize
             ? expressions.subtract(expressions.size(*totalSize), expressions.size(*sequenceSize))
             : integer(0);
}

bool Evaluation::addPast(const OnnxPort &port) {
  const std::optional<size_t> axis = pastAxisOf(port);
  if (!axis) {
    return false;
  }
  Rows value;
  value.past = port.name;
  for (size_t i = 0; i < port.shape->size(); ++i) {
    value.axes.push_back({i == 0       ? Atom{Atom::Kind::Batch, 0, 0}
                          : i == *axis ? Atom{Atom::Kind::Past, 0, 0}
                                       : newAtom(*(*port.shape)[i].number)});
  }
  pasts[std::string(port.name)] = false;
  values[std::string(port.name)] = {std::nullopt, std::move(value)};
  return true;
}

Status Evaluation::checkPasts(const Call &call, const OperatorInfo &info) const {
  for (const Value *const input : call.inputs) {
    if (input != nullptr && input->rows && !input->rows->past.empty() && !info.takesPasts) {
      return failure(StatusCode::Unsupported,
                     fmt::format("reads {}, the rows of earlier runs, before it is joined with "
                                 "those of this run, expected a Concat",
                                 quote(input->rows->past)));
    }
  }
  return {};
}

Status Evaluation::checkCaches() const {
  for (const auto &[name, isJoined] : pasts) {
    if (!isJoined) {
      return failure(StatusCode::Unsupported,
                     fmt::format("input {} is not read, expected its rows to be joined with those "
                                 "of a run",
                                 quote(name)));
    }
  }
  return {};
}

Result<Rows> Evaluation::withPast(const Rows &past, Rows fresh, size_t axis) {
  const bool fits = isAxisOf(past.axes[axis], Atom::Kind::Past) && !fresh.hasKeys() &&
                    isAxisOf(fresh.axes[axis], Atom::Kind::Row) &&
                    fresh.axes[axis].front().size == *sequenceSize;
  if (!fits || pasts[past.past]) {
    return failure(StatusCode::Unsupported,
                   fmt::format("joins {}, the rows of earlier runs, {}", quote(past.past),
                               fits ? "for the second time, expected one cache"
                                    : "with others than the rows of this run, along their axis"));
  }
  pasts[past.past] = true;
  Atoms order;
  for (const Atom &atom : flatten(fresh.axes)) {
    if (atom.kind == Atom::Kind::Inner) {
      order.push_back(atom);
    }
  }
  HEDDLE_ASSIGN(fresh, arranged(std::move(fresh), {order}));
  const Cache cache = entry.cache(past.past, widthOf(order));
  const Tensor seen = cache.append(Tensor(rows.model(), fresh.value), rows).rows(history());
  HEDDLE_TRY(builder.status());
  fresh.value = seen.value();
  fresh.maker.clear();
  fresh.axes[axis] = {{Atom::Kind::Row, *totalSize, 0}};
  caches.insert(fresh.value);
  return fresh;
}

const Segments &Evaluation::history() {
  if (!seen.valid()) {
    seen = rows.history();
  }
  return seen;
}

mlir::Value Evaluation::segmentsOf(const Atom &rowsOrKeys) {
  if (const auto space = spaces.find(rowsOrKeys.size); space != spaces.end()) {
    return parts(space->second);
  }
  if (other && !isOfRun(rowsOrKeys)) {
    return memory().value();
  }
  const bool isOfAll = totalSize ? rowsOrKeys.size == *totalSize : areTargets;
  return isOfAll ? history().value() : segments();
}

} // namespace heddle::onnx
