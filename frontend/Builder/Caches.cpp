// SPDX-License-Identifier: Apache-2.0
///
/// Caches, states, and the segments that caches are read by: histories and memories.
#include "frontend/Builder/ModelState.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace heddle {

// Their names in messages.
static constexpr std::string_view cacheKind = "cache";
static constexpr std::string_view stateKind = "state";

EntryState *ModelState::entryOf(Block *block) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](EntryState &entry) { return &entry.body() == block; });
  return found == entries.end() ? nullptr : &*found;
}

bool ModelState::isSeenIn(Block *outer, Block *inner) const {
  for (const auto &[step, around] : llvm::reverse(steps)) {
    inner = inner == step && inner != outer ? around : inner;
  }
  return inner == outer;
}

Segments Entry::memory(std::string_view name) {
  if (!model->works()) {
    return {};
  }
  EntryState &entry = model->entries[index];
  if (name.empty() || !entry.memory.empty()) {
    model->fail(entry.name,
                fmt::format("memory {} {}", quote(name),
                            name.empty() ? "has no name" : "is the second of the entry"));
    return {};
  }
  entry.memory = name;
  BlockArgument argument = entry.body().insertArgument(
      static_cast<unsigned>(entry.inputs.size()) + 1,
      transformer::SegmentsType::get(model->context), model->nameLocation(name));
  return Segments(model, argument);
}

/// Adds an argument that persists between runs; null after an error.
Value Entry::addKept(std::string_view kind, std::string_view name, int64_t width, bool keyed) {
  if (!model->works()) {
    return {};
  }
  EntryState &entry = model->entries[index];
  const auto known =
      std::find_if(entry.caches.begin(), entry.caches.end(),
                   [&](const EntryState::Cache &cache) { return cache.name == name; });
  if (name.empty() || width < 1 || known != entry.caches.end()) {
    const std::string wrong = name.empty() ? "has no name"
                              : width < 1  ? fmt::format("has width {}, expected 1 or more", width)
                                           : "appears twice";
    model->fail(entry.name, fmt::format("{} {} {}", kind, quote(name), wrong));
    return {};
  }
  const Type type = kind == stateKind
                        ? Type(transformer::StateType::get(model->context, width, keyed))
                        : transformer::CacheType::get(model->context, width);
  BlockArgument argument = entry.body().addArgument(type, model->nameLocation(name));
  entry.caches.push_back({std::string(name), argument});
  return argument;
}

Cache Entry::cache(std::string_view name, int64_t width) {
  return Cache(model, addKept(cacheKind, name, width));
}

State Entry::state(std::string_view name, int64_t width) {
  return State(model, addKept(stateKind, name, width));
}

State Entry::keyedState(std::string_view name, int64_t heads) {
  return State(model, addKept(stateKind, name, heads, /*keyed=*/true));
}

/// Returns the width of a valid cache or state.
static int64_t widthOf(const ModelValue &kept) {
  const Type type = kept.value().getType();
  const auto state = dyn_cast<transformer::StateType>(type);
  return state ? state.getWidth() : cast<transformer::CacheType>(type).getWidth();
}

/// Fails if the rows and the cache or state differ in width.
static bool expectWidth(OperationSite &site, std::string_view kind, const ModelValue &kept,
                        const Tensor &x) {
  const auto state = dyn_cast<transformer::StateType>(kept.value().getType());
  const RankedTensorType expected =
      state ? state.getRows() : site.tensorType({ShapedType::kDynamic, widthOf(kept)});
  if (typeOf(x) == expected) {
    return true;
  }
  site.fail(fmt::format("rows of shape {} for the {}, expected {}",
                        printSizes(typeOf(x).getShape()), kind, printSizes(expected.getShape())));
  return false;
}

/// Returns the entry's record of a cache or state that has not been changed yet; otherwise null.
static EntryState::Cache *findUnchanged(OperationSite &site, const ModelValue &kept) {
  std::vector<EntryState::Cache> &caches = site.entry().caches;
  const auto newest =
      std::find_if(caches.begin(), caches.end(),
                   [&](const EntryState::Cache &cache) { return cache.value == kept.value(); });
  return newest == caches.end() ? nullptr : &*newest;
}

Cache Cache::append(const Tensor &x, const Segments &rows) const {
  OperationSite site({this, &x, &rows});
  if (!site.ok()) {
    return {};
  }
  if (!expectWidth(site, cacheKind, *this, x)) {
    return {};
  }
  EntryState::Cache *const newest = findUnchanged(site, *this);
  if (newest == nullptr) {
    site.fail("the cache was appended to before, expected what that gave");
    return {};
  }
  const auto appended =
      site.make<Cache, transformer::AppendOp>(value().getType(), value(), x.value(), rows.value());
  newest->value = appended.value();
  newest->appended = true;
  return appended;
}

Tensor Cache::rows(const Segments &segments) const {
  OperationSite site({this, &segments});
  if (!site.ok()) {
    return {};
  }
  return site.make<Tensor, transformer::CachedOp>(
      site.tensorType({ShapedType::kDynamic, widthOf(*this)}), value(), segments.value());
}

Tensor State::prefixMean(const Tensor &x, const Segments &rows) const {
  OperationSite site({this, &x, &rows});
  if (!site.ok() || !expectWidth(site, stateKind, *this, x)) {
    return {};
  }
  return site.make<Tensor, transformer::PrefixMeanOp>(typeOf(x), x.value(), value(), rows.value());
}

/// Changes a state by rows of its sequences; `operands` are those of the operation.
template <typename Op, typename... Operands>
static State changeState(const State &before, OperationSite &site, Operands... operands) {
  EntryState::Cache *const newest = findUnchanged(site, before);
  if (newest == nullptr) {
    site.fail("the state was changed before, expected what it was");
    return {};
  }
  const auto after = site.make<State, Op>(before.value().getType(), before.value(), operands...);
  newest->value = after.value();
  newest->appended = true;
  return after;
}

State State::accumulate(const Tensor &x, const Segments &rows) const {
  OperationSite site({this, &x, &rows});
  if (!site.ok() || !expectWidth(site, stateKind, *this, x)) {
    return {};
  }
  return changeState<transformer::AccumulateOp>(*this, site, x.value(), rows.value());
}

State State::keep(const Tensor &x, const Segments &rows) const {
  OperationSite site({this, &x, &rows});
  return site.ok() ? changeState<transformer::KeepOp>(*this, site, x.value(), rows.value())
                   : State();
}

Tensor State::load(Begins begins) const {
  OperationSite site({this});
  if (!site.ok()) {
    return {};
  }
  return site.make<Tensor, transformer::LoadOp>(
      cast<transformer::StateType>(value().getType()).getRows(), value(), Value(),
      begins == Begins::Given);
}

Tensor State::load(const Segments &memory) const {
  OperationSite site({this, &memory});
  if (!site.ok()) {
    return {};
  }
  return site.make<Tensor, transformer::LoadOp>(
      cast<transformer::StateType>(value().getType()).getRows(), value(), memory.value(),
      /*given=*/false);
}

State State::store(const Tensor &row) const {
  OperationSite site({this, &row});
  if (!site.ok() || !expectWidth(site, stateKind, *this, row)) {
    return {};
  }
  return changeState<transformer::StoreOp>(*this, site, row.value());
}

Segments Segments::history() const {
  OperationSite site({this});
  if (!site.ok()) {
    return {};
  }
  return site.make<Segments, transformer::HistoryOp>(value().getType(), value());
}

Segments Segments::blocks(int64_t size) const {
  OperationSite site({this});
  if (!site.ok()) {
    return {};
  }
  return site.make<Segments, transformer::BlocksOp>(value().getType(), value(),
                                                    static_cast<uint64_t>(size));
}

Segments Segments::choices(int64_t count) const {
  OperationSite site({this});
  if (!site.ok()) {
    return {};
  }
  return site.make<Segments, transformer::ChoicesOp>(value().getType(), value(),
                                                     static_cast<uint64_t>(count));
}

} // namespace heddle
