// SPDX-License-Identifier: Apache-2.0
///
/// Entries that pass rows through caches. Whether a cache holds rows of the source, or of earlier
/// runs and of this one, follows from the entries that append to it.
#include "runtime/Session/LinkedEntries.h"

#include "base/Utf8.h"
#include "heddle/RectangleEntries.h"
#include "runtime/Session/ModelState.h"

#include <algorithm>
#include <fmt/format.h>

namespace heddle {

LinkedEntries::LinkedEntries(const Model &model, const SessionOptions &options)
    : loaded(model), options(options) {
  budget.bound = options.cacheBytes;
  size_t first = 0;
  for (const EntryInfo &entry : model.entries()) {
    firstCosts.push_back(first);
    first += static_cast<size_t>(entry.dispatches + entry.observedDispatches);
  }
}

Result<std::unique_ptr<LinkedEntries>> LinkedEntries::create(const Model &model,
                                                             const SessionOptions &options) {
  return withoutExceptions([&]() -> Result<std::unique_ptr<LinkedEntries>> {
    std::unique_ptr<LinkedEntries> made(new LinkedEntries(model, options));
    HEDDLE_ASSIGN(made->executor, Executor::create(model, options));
    HEDDLE_TRY(made->bindCaches());
    return made;
  });
}

/// Returns the entries that append to a cache.
static std::vector<size_t> writersOf(const Model &model, std::string_view cache) {
  std::vector<size_t> writers;
  for (size_t entry = 0; entry < model.entries().size(); ++entry) {
    const std::vector<CacheInfo> &caches = model.entries()[entry].caches;
    if (std::any_of(caches.begin(), caches.end(),
                    [&](const CacheInfo &each) { return each.written && each.name == cache; })) {
      writers.push_back(entry);
    }
  }
  return writers;
}

/// Groups the caches by the entries that append to them, and makes their memory.
Status LinkedEntries::bindCaches() {
  std::vector<std::vector<CacheShape>> shapes;
  std::vector<std::pair<std::string, Place>> known;
  for (const EntryInfo &entry : loaded.entries()) {
    std::vector<Place> &own = places.emplace_back();
    for (const CacheInfo &cache : entry.caches) {
      std::vector<size_t> writers = writersOf(loaded, cache.name);
      if (cache.state || writers.empty() || cache.rows != RowSpace::tokens()) {
        return HEDDLE_ERROR(
            Unsupported,
            fmt::format("{}: entry {} has the {} {}, expected caches of rows to which an entry "
                        "appends",
                        loaded.path(), quote(entry.name), cache.state ? "state" : "cache",
                        quote(cache.name)));
      }
      const auto found = std::find_if(known.begin(), known.end(),
                                      [&](const auto &each) { return each.first == cache.name; });
      if (found != known.end()) {
        own.push_back(found->second);
        continue;
      }
      auto group = std::find_if(groups.begin(), groups.end(),
                                [&](const Group &each) { return each.writers == writers; });
      if (group == groups.end()) {
        groups.emplace_back().writers = std::move(writers);
        shapes.emplace_back();
        group = groups.end() - 1;
      }
      const auto index = static_cast<size_t>(group - groups.begin());
      own.push_back({index, shapes[index].size()});
      shapes[index].push_back({cache.width, cache.element, cache.transposed});
      known.emplace_back(cache.name, own.back());
    }
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    HEDDLE_ASSIGN(groups[i].pool,
                  BlockPool::create(fmt::format("caches {}", i + 1), shapes[i], budget,
                                    executor->device(), executor->deviceStream()));
  }
  return {};
}

int64_t LinkedEntries::Group::longest() const {
  int64_t longest = 0;
  for (const BlockTable &table : tables) {
    longest = std::max(longest, table.length());
  }
  return longest;
}

void LinkedEntries::clear() {
  for (Group &group : groups) {
    for (BlockTable &table : group.tables) {
      table.clear(group.pool);
    }
    group.tables.clear();
  }
}

Status LinkedEntries::run(std::span<const LinkedCall> calls) {
  return withoutExceptions([&]() -> Status {
    Status status;
    for (size_t i = 0; i < calls.size() && status.ok(); ++i) {
      if (calls[i].lengths.size() != calls.front().lengths.size()) {
        status = HEDDLE_ERROR(
            InvalidArgument, fmt::format("{} sequences of entry {} and {} of entry {}, expected "
                                         "as many",
                                         calls[i].lengths.size(), quote(calls[i].entry),
                                         calls.front().lengths.size(), quote(calls.front().entry)));
        break;
      }
      status = runOne(calls[i]);
    }
    clear();
    return status;
  });
}

/// Makes room for the rows that an entry appends, and notes the positions before them.
Status LinkedEntries::extend(size_t entry, std::span<const int32_t> lengths) {
  const EntryInfo &info = loaded.entries()[entry];
  starts.clear();
  for (Group &group : groups) {
    group.tables.resize(lengths.size());
    if (std::find(group.writers.begin(), group.writers.end(), entry) == group.writers.end()) {
      continue;
    }
    int64_t blocks = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      blocks += group.tables[i].blocksFor(lengths[i]);
    }
    HEDDLE_TRY(group.pool.checkRoom(blocks));
    group.pool.prepare(blocks);
    const bool isFirst = starts.empty();
    for (size_t i = 0; i < lengths.size(); ++i) {
      const int64_t before = group.tables[i].length(), after = before + lengths[i];
      if (info.maxLength != 0 && after > info.maxLength) {
        return HEDDLE_ERROR(OutOfRange,
                            fmt::format("entry {}: sequence {} would have {} rows, {} of them of "
                                        "earlier runs, the model allows at most {}",
                                        quote(info.name), i + 1, after, before, info.maxLength));
      }
      if (isFirst) {
        starts.push_back(static_cast<int32_t>(before));
      } else if (starts[i] != before) {
        return HEDDLE_ERROR(InvalidArgument,
                            fmt::format("entry {}: caches of sequence {} have {} and {} rows "
                                        "before it, expected as many",
                                        quote(info.name), i + 1, starts[i], before));
      }
      group.tables[i].prepare(lengths[i]);
      group.tables[i].extend(group.pool, lengths[i]);
    }
  }
  return {};
}

/// Describes the rows of a group for kernels: one segment for each sequence.
void LinkedEntries::describe(Group &group) {
  group.rows = {};
  group.rows.blocksPitch = (group.longest() + HEDDLE_BLOCK - 1) / HEDDLE_BLOCK;
  group.lengths.clear();
  group.blocks.clear();
  for (const BlockTable &table : group.tables) {
    group.lengths.push_back(static_cast<int32_t>(table.length()));
    group.blocks.insert(group.blocks.end(), table.blocks().begin(), table.blocks().end());
    // Kernels do not read beyond the length, but every entry must be a valid block.
    group.blocks.resize(group.lengths.size() * static_cast<size_t>(group.rows.blocksPitch), 0);
  }
  group.rows.segments = static_cast<int64_t>(group.lengths.size());
  group.rows.lengths = group.lengths.data();
  group.rows.blocks = group.blocks.data();
}

/// Reads weights: for each head of each row the numbers of its sequence's keys, then zeros.
Status LinkedEntries::readKeys(const Run &run, const PlannedOutput &output, const Group &group,
                               AttentionWeights &weights) {
  const auto longest = static_cast<size_t>(std::max(run.longestCached, run.batch.longest()));
  weights.heads = static_cast<int64_t>(output.heads);
  weights.pitch = group.longest();
  const auto pieces = static_cast<size_t>(run.batch.tokens() * weights.heads);
  HEDDLE_ASSIGN(const float *values, executor->kept(output, pieces * longest));
  weights.values.assign(pieces * static_cast<size_t>(weights.pitch), 0.0F);
  auto to = weights.values.begin();
  for (size_t sequence = 0; sequence < group.tables.size(); ++sequence) {
    const int64_t rows = run.batch.lengths()[sequence];
    for (int64_t piece = 0; piece < rows * weights.heads; ++piece) {
      std::copy_n(values, group.tables[sequence].length(), to);
      values += longest;
      to += weights.pitch;
    }
  }
  return {};
}

/// Returns the caches with the keys of an output of weights: those that other entries alone append
/// to hold the source.
const LinkedEntries::Group *LinkedEntries::groupOfKeys(size_t entry, const PortInfo &port) const {
  const bool isOfSource =
      std::find(port.axes.begin(), port.axes.end(), sourceKeysAxis) != port.axes.end();
  const auto found = std::find_if(places[entry].begin(), places[entry].end(), [&](Place place) {
    const std::vector<size_t> &writers = groups[place.group].writers;
    return (std::find(writers.begin(), writers.end(), entry) == writers.end()) == isOfSource;
  });
  return found == places[entry].end() ? nullptr : &groups[found->group];
}

Status LinkedEntries::runOne(const LinkedCall &call) {
  const EntryInfo *const info = loaded.findEntry(call.entry);
  if (info == nullptr) {
    return HEDDLE_ERROR(NotFound, fmt::format("{}: no entry {}", loaded.path(), quote(call.entry)));
  }
  const auto index = static_cast<size_t>(info - loaded.entries().data());
  HEDDLE_TRY_WITH(batch.bind(*info, {call.lengths, {}}, call.inputs, call.outputs),
                  fmt::format("entry {}", quote(call.entry)));
  std::vector<bool> requested = batch.requested();
  std::vector<std::pair<size_t, const Group *>> numbers;
  for (const KeysOutput &keys : call.keys) {
    const auto port = std::find_if(info->outputs.begin(), info->outputs.end(),
                                   [&](const PortInfo &each) { return each.name == keys.name; });
    const bool isOfKeys = port != info->outputs.end() && port->shape.back() == longestDimension;
    const Group *const group = isOfKeys ? groupOfKeys(index, *port) : nullptr;
    if (group == nullptr) {
      return HEDDLE_ERROR(NotFound, fmt::format("entry {}: no output {} of keys in caches",
                                                quote(call.entry), quote(keys.name)));
    }
    numbers.emplace_back(static_cast<size_t>(port - info->outputs.begin()), group);
    requested[numbers.back().first] = true;
  }
  if (call.lengths.empty()) {
    return {};
  }
  HEDDLE_TRY(extend(index, call.lengths));
  const Artifact &artifact = *loaded.state->artifact;
  const Plan plan =
      Plan::make(artifact, *artifact.manifest().entries()->Get(static_cast<uint32_t>(index)),
                 {requested, true, -1});
  std::vector<CacheOperand> operands;
  int64_t longest = 0;
  for (Group &group : groups) {
    describe(group);
  }
  for (const Place &place : places[index]) {
    Group &group = groups[place.group];
    longest = std::max(longest, group.longest());
    operands.push_back({group.pool.memory(place.number),
                        static_cast<int64_t>(group.pool.blockBytes()), &group.rows});
  }
  Run run{.plan = plan, .batch = batch, .firstCost = firstCosts[index]};
  run.caches = operands;
  run.starts = starts;
  run.longestCached = longest;
  run.whole = true;
  HEDDLE_TRY(executor->run(run));
  for (size_t i = 0; i < numbers.size(); ++i) {
    HEDDLE_TRY(
        readKeys(run, plan.outputs[numbers[i].first], *numbers[i].second, call.keys[i].weights));
  }
  return {};
}

} // namespace heddle
