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

Status fixedBesidePast(std::string_view input, int64_t rows) {
  return HEDDLE_ERROR(
      Unsupported,
      fmt::format("input {} has {} of each sequence beside a past, expected any number; what the "
                  "exporter made for the first tokens has that, and is decoded a token at a time "
                  "as well",
                  quote(input), rows == 1 ? std::string("one row") : fmt::format("{} rows", rows)));
}

Expr Evaluation::earlier() {
  return totalSize ? expressions.subtract(expressions.size(*totalSize), sizeOf(*runSize))
                   : integer(0);
}

bool Evaluation::addPast(const OnnxPort &port) {
  if (!forms.pasts.contains(port.name)) {
    return false;
  }
  const size_t rowsAt = *headedRowsAxis(port);
  Rows value;
  value.past = port.name;
  for (size_t i = 0; i < port.shape->size(); ++i) {
    value.axes.push_back({i == 0        ? Atom{Atom::Kind::Batch, 0, 0}
                          : i == rowsAt ? Atom{Atom::Kind::Past, 0, 0}
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

/// Returns the name of the cache of a past, which is that of the input where there is no entry that
/// takes it: an entry has no input and cache of one name.
static std::string cacheOf(const Rows &past, const EntryPlan &plan) {
  return plan.pasts.empty() ? past.past : fmt::format("{} and its run", past.past);
}

Result<Rows> Evaluation::withPast(const Rows &past, Rows fresh, size_t axis) {
  enterRowsOf(fresh);
  const std::vector<Expr> before = shapeOf(past), after = shapeOf(fresh);
  bool fits = isAxisOf(past.axes[axis], Atom::Kind::Past) && !fresh.hasKeys() &&
              before.size() == after.size() && isAxisOf(fresh.axes[axis], Atom::Kind::Row) &&
              fresh.axes[axis].front().size == *sequenceSize && sequenceSize == runSize;
  for (size_t i = 0; i < before.size() && fits; ++i) {
    fits = i == axis || before[i] == after[i];
  }
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
  const Cache cache = entry.cache(cacheOf(past, plan), widthOf(order));
  const mlir::Value own = fresh.value;
  const Tensor seen = cache.append(Tensor(rows.model(), own), rows).rows(history());
  addPastEntry(past, widthOf(order));
  HEDDLE_TRY(builder.status());
  fresh.value = seen.value();
  fresh.maker.clear();
  fresh.axes[axis] = {{Atom::Kind::Row, *totalSize, 0}};
  caches.try_emplace(fresh.value, Joined{past.past, own});
  return fresh;
}

void Evaluation::addPastEntry(const Rows &past, int64_t width) {
  if (plan.pasts.empty()) {
    return;
  }
  if (!pastEntry) {
    pastEntry = builder.entry(plan.pasts);
  }
  pastEntry->cache(cacheOf(past, plan), width)
      .append(pastEntry->input(past.past, width), pastEntry->segments());
  described.push_back({plan.pasts, past.past, true, portAxes(past)});
}

Rows Evaluation::freshRows(const Rows &joined) const {
  Rows result = joined;
  result.value = caches.find(joined.value)->second.fresh;
  for (Atoms &axis : result.axes) {
    if (isAxisOf(axis, Atom::Kind::Row)) {
      axis.front().size = *runSize;
    }
  }
  return result;
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
  if (isOfSource(rowsOrKeys)) {
    return memory().value();
  }
  const bool isKept = isOfAll(rowsOrKeys) || (!totalSize && areTargets && !plan.isFunction);
  return isKept ? history().value() : segments();
}

} // namespace heddle::onnx
