// SPDX-License-Identifier: Apache-2.0
///
/// Caches and what they are of: histories and memories.
#include "frontend/Builder/ModelState.h"

#include "runtime/Base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>

using namespace mlir;

namespace heddle {

EntryState *ModelState::entryOf(Block *block) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](EntryState &entry) { return &entry.body() == block; });
  return found == entries.end() ? nullptr : &*found;
}

Segments Entry::memory(std::string_view name) {
  if (!state->works()) {
    return {};
  }
  EntryState &entry = state->entries[index];
  if (name.empty() || !entry.memory.empty()) {
    state->fail(entry.name,
                fmt::format("memory {} {}", quote(name),
                            name.empty() ? "has no name" : "is the second of the entry"));
    return {};
  }
  entry.memory = name;
  BlockArgument argument = entry.body().insertArgument(
      static_cast<unsigned>(entry.inputs.size()) + 1,
      transformer::SegmentsType::get(state->context), state->nameLocation(name));
  return Segments(state, argument);
}

Cache Entry::cache(std::string_view name, int64_t width) {
  if (!state->works()) {
    return {};
  }
  EntryState &entry = state->entries[index];
  const auto known =
      std::find_if(entry.caches.begin(), entry.caches.end(),
                   [&](const EntryState::Cache &cache) { return cache.name == name; });
  if (name.empty() || width < 1 || known != entry.caches.end()) {
    const std::string wrong = name.empty() ? "has no name"
                              : width < 1  ? fmt::format("has width {}, expected 1 or more", width)
                                           : "is there twice";
    state->fail(entry.name, fmt::format("cache {} {}", quote(name), wrong));
    return {};
  }
  BlockArgument argument = entry.body().addArgument(
      transformer::CacheType::get(state->context, width), state->nameLocation(name));
  entry.caches.push_back({std::string(name), argument});
  return Cache(state, argument);
}

/// The width of a valid cache.
static int64_t widthOf(const Cache &cache) {
  return cast<transformer::CacheType>(cache.value().getType()).getWidth();
}

Cache Cache::append(const Tensor &x, const Segments &rows) const {
  OperationSite site({this, &x, &rows});
  if (!site.ok()) {
    return {};
  }
  const int64_t width = widthOf(*this);
  if (typeOf(x) != site.tensorType({ShapedType::kDynamic, width})) {
    site.fail(fmt::format("rows of shape {} for the cache, expected [?, {}]",
                          printSizes(typeOf(x).getShape()), width));
    return {};
  }
  std::vector<EntryState::Cache> &caches = site.entry().caches;
  const auto newest =
      std::find_if(caches.begin(), caches.end(),
                   [&](const EntryState::Cache &cache) { return cache.value == content; });
  if (newest == caches.end()) {
    site.fail("the cache was appended to before, expected what that gave");
    return {};
  }
  const auto appended =
      site.make<Cache, transformer::AppendOp>(content.getType(), content, x.value(), rows.value());
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
      site.tensorType({ShapedType::kDynamic, widthOf(*this)}), content, segments.value());
}

Segments Segments::history() const {
  OperationSite site({this});
  if (!site.ok()) {
    return {};
  }
  return site.make<Segments, transformer::HistoryOp>(content.getType(), content);
}

} // namespace heddle
