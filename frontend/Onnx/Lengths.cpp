// SPDX-License-Identifier: Apache-2.0
///
/// Graphs with two lengths: decoders with cross-attention to the rows of a source. Each length has
/// an entry, and a node is emitted to the entry of its operands. Where queries of targets are
/// multiplied by keys of the source, the entry of the source stores the keys in a cache that the
/// other entry reads. Keys of targets are cached as well: targets are causal, so that decoding
/// token by token gives the results of the whole graph.
#include "frontend/Onnx/Evaluation.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle::onnx {

static constexpr std::string_view memoryName = "memory";

/// Returns the number of the symbolic size of a value's rows.
static std::optional<int64_t> lengthOf(const Rows &rows) {
  for (const Atoms &axis : rows.axes) {
    for (const Atom &atom : axis) {
      if (atom.kind == Atom::Kind::Row) {
        return atom.size;
      }
    }
  }
  return std::nullopt;
}

bool Evaluation::enterOther() {
  if (!other) {
    return false;
  }
  std::swap(entry, other->entry);
  std::swap(rows, other->rows);
  std::swap(seen, other->seen);
  std::swap(remembered, other->remembered);
  std::swap(block, other->block);
  std::swap(sequenceSize, other->sequenceSize);
  std::swap(areTargets, other->areTargets);
  return true;
}

bool Evaluation::enterLength(int64_t size) {
  // The rows that are joined with a past are targets.
  const std::optional<int64_t> targets =
      runSize || plan.known == nullptr ? runSize : plan.known->targets;
  for (const bool isLast : {false, true}) {
    if (sequenceSize == size) {
      return true;
    }
    if (!sequenceSize && (!other || !targets || areTargets == (targets == size))) {
      sequenceSize = size;
      return true;
    }
    if (isLast || !enterOther()) {
      break;
    }
  }
  return false;
}

void Evaluation::enterRowsOf(const Rows &value) {
  mlir::Value made = value.value;
  if (other && made && made.getParentBlock() != block) {
    enterOther();
  }
}

void Evaluation::enterShape(const std::vector<Expr> &shape) {
  const auto hasSize = [&](const std::optional<int64_t> &size) {
    return size && std::find(shape.begin(), shape.end(), sizeOf(*size)) != shape.end();
  };
  // An axis of size 1 may be any.
  const bool isAny = sequenceSize && sizeOf(*sequenceSize)->isConstant(1);
  if (other && (!hasSize(sequenceSize) || isAny) && hasSize(other->sequenceSize)) {
    enterOther();
  }
}

const Segments &Evaluation::memory() {
  if (!remembered.valid()) {
    remembered = entry.memory(memoryName);
  }
  return remembered;
}

/// Records that rows of one length attend to those of the other. Only one direction is supported.
Status Evaluation::noteCrossing(int64_t queries, int64_t keys) {
  if (found.targets && *found.targets != queries) {
    return failure(StatusCode::Unsupported,
                   fmt::format("lets rows of {} see those of {}, but {} does so the other way "
                               "round, expected one direction",
                               expressions.print(expressions.size(queries)),
                               expressions.print(expressions.size(keys)), found.crossing));
  }
  if (!found.targets) {
    found.targets = queries;
    found.sources = keys;
    found.target = sizeName(queries);
    found.source = sizeName(keys);
    found.crossing = node->describe();
  }
  return {};
}

bool Evaluation::isKept(const Rows &keys) const {
  const std::optional<int64_t> length = lengthOf(keys);
  return length && ((areTargets && !plan.isFunction) || !isOfRun({Atom::Kind::Row, *length, 0}));
}

/// Returns a cache name that is unique for each node that reads such keys.
std::string Evaluation::cacheName() {
  const std::string base = node->name.empty() ? node->describe() : node->name;
  std::string name = base;
  for (int number = 2; !cacheNames.insert(name).second; ++number) {
    name = fmt::format("{} {}", base, number);
  }
  return name;
}

Result<Rows> Evaluation::kept(Rows keys, const Rows &queries) {
  const std::optional<int64_t> length = lengthOf(keys);
  if (!other || !length || !lengthOf(queries) || length == totalSize) {
    return keys;
  }
  enterRowsOf(queries);
  const bool areOwn = *length == sequenceSize;
  if (!areOwn) {
    HEDDLE_TRY(noteCrossing(*sequenceSize, *length));
  }
  const bool keeps = !areOwn || (areTargets && !plan.isFunction);
  const Unwritten source(keys.value, keys.function);
  if (keeps || plan.known == nullptr) {
    keysRead.insert(source);
  }
  if (!keeps) {
    return keys;
  }
  Atoms order;
  for (const Atom &atom : flatten(keys.axes)) {
    if (atom.kind == Atom::Kind::Inner) {
      order.push_back(atom);
    }
  }
  auto &orders = keptKeys[source];
  const auto same = [&](const auto &each) { return each.first == order; };
  auto known = std::find_if(orders.begin(), orders.end(), same);
  if (known == orders.end()) {
    enterRowsOf(keys);
    HEDDLE_ASSIGN(keys, arranged(std::move(keys), {order}));
    const std::string name = cacheName();
    const Cache after =
        entry.cache(name, widthOf(order)).append(Tensor(rows.model(), keys.value), rows);
    enterRowsOf(queries);
    const Tensor read =
        areOwn ? after.rows(history()) : entry.cache(name, widthOf(order)).rows(memory());
    HEDDLE_TRY(builder.status());
    known = orders.emplace(orders.end(), order, read.value());
  }
  enterRowsOf(queries);
  keys.value = known->second;
  keys.function = nullptr;
  keys.spread.clear();
  keys.physical = {order};
  keys.maker.clear();
  return keys;
}

} // namespace heddle::onnx
