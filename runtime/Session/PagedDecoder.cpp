// SPDX-License-Identifier: Apache-2.0
///
/// Decoding with paged caches. Every call validates its arguments and reserves all it needs first,
/// so that a call that fails has changed nothing.
#include "runtime/Session/PagedDecoder.h"

#include "runtime/Session/ModelState.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <limits>

namespace heddle {

void PagedDecoder::Rows::clear() {
  offsets.clear();
  segmentOf.clear();
  lengths.clear();
  blocks.clear();
  longest = 0;
}

void PagedDecoder::Rows::prepare(int64_t segments, int64_t positions) {
  view.blocksPitch = (positions + HEDDLE_BLOCK - 1) / HEDDLE_BLOCK;
  const auto most = static_cast<size_t>(segments * view.blocksPitch);
  if (blocks.capacity() < most) {
    blocks.reserve(std::max(most, 2 * blocks.capacity()));
  }
  lengths.reserve(static_cast<size_t>(segments));
}

void PagedDecoder::Rows::addSegment(const BlockTable &table) {
  const std::span<const int32_t> list = table.blocks();
  blocks.insert(blocks.end(), list.begin(), list.end());
  // Kernels do not read beyond the length, but every entry must be a valid block.
  blocks.resize(blocks.size() + static_cast<size_t>(view.blocksPitch) - list.size(), 0);
  lengths.push_back(static_cast<int32_t>(table.length()));
  longest = std::max(longest, table.length());
  view.segments = static_cast<int64_t>(lengths.size());
  view.lengths = lengths.data();
  view.blocks = blocks.data();
}

void PagedDecoder::Rows::addState(const StateRow &state) {
  blocks.push_back(state.block());
  lengths.push_back(1);
  view.segments = static_cast<int64_t>(lengths.size());
  view.lengths = lengths.data();
  view.blocks = blocks.data();
}

uint64_t PagedDecoder::historyBytesPerPosition() const {
  return history.blockBytes() / HEDDLE_BLOCK;
}

uint64_t PagedDecoder::memoryBytesPerPosition() const { return memory.blockBytes() / HEDDLE_BLOCK; }

int32_t PagedDecoder::pad() const {
  const manifest::Generation *const table = loaded.state->artifact->manifest().generation();
  return table == nullptr ? -1 : table->pad();
}

std::vector<int32_t> PagedDecoder::start() const {
  const manifest::Generation *const table = loaded.state->artifact->manifest().generation();
  return table == nullptr ? std::vector<int32_t>()
                          : std::vector<int32_t>(table->start()->begin(), table->start()->end());
}

bool PagedDecoder::isEnd(int32_t token) const {
  const manifest::Generation *const table = loaded.state->artifact->manifest().generation();
  return table != nullptr &&
         std::find(table->end()->begin(), table->end()->end(), token) != table->end()->end();
}

const PagedDecoder::Source *PagedDecoder::find(SourceId id) const {
  const auto index = static_cast<size_t>(id);
  return static_cast<int32_t>(id) >= 0 && index < sources.size() && sources[index].live
             ? &sources[index]
             : nullptr;
}

PagedDecoder::Source *PagedDecoder::find(SourceId id) {
  return const_cast<Source *>(static_cast<const PagedDecoder *>(this)->find(id));
}

const PagedDecoder::Hypothesis *PagedDecoder::find(HypothesisId id) const {
  const auto index = static_cast<size_t>(id);
  return static_cast<int32_t>(id) >= 0 && index < hypotheses.size() && hypotheses[index].live
             ? &hypotheses[index]
             : nullptr;
}

PagedDecoder::Hypothesis *PagedDecoder::find(HypothesisId id) {
  return const_cast<Hypothesis *>(static_cast<const PagedDecoder *>(this)->find(id));
}

// --- Hypotheses --------------------------------------------------------------------------------

int32_t PagedDecoder::newHypothesis() {
  if (freeHypotheses.empty()) {
    hypotheses.emplace_back();
    freeHypotheses.reserve(hypotheses.capacity());
    freeHypotheses.push_back(static_cast<int32_t>(hypotheses.size()) - 1);
  }
  return freeHypotheses.back();
}

Result<HypothesisId> PagedDecoder::start(SourceId id) {
  return withoutExceptions([&]() -> Result<HypothesisId> {
    Source *const source = find(id);
    if (source == nullptr) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("no source {}", static_cast<int32_t>(id)));
    }
    const int32_t number = newHypothesis();
    Hypothesis &hypothesis = hypotheses[static_cast<size_t>(number)];
    hypothesis.live = true;
    hypothesis.life = ++lives;
    hypothesis.length = 0;
    hypothesis.place = PrefixTree::outside;
    hypothesis.source = static_cast<int32_t>(id);
    hypothesis.state.shareWith(states, source->state);
    source->hypotheses += 1;
    freeHypotheses.pop_back();
    return HypothesisId(number);
  });
}

Result<HypothesisId> PagedDecoder::fork(HypothesisId id) {
  return withoutExceptions([&]() -> Result<HypothesisId> {
    if (find(id) == nullptr) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("no hypothesis {}", static_cast<int32_t>(id)));
    }
    const int32_t number = newHypothesis();
    const Hypothesis &original = *find(id);
    Hypothesis &hypothesis = hypotheses[static_cast<size_t>(number)];
    hypothesis.table.prepare(original.table.length());
    hypothesis.table.shareWith(history, original.table);
    hypothesis.state.shareWith(states, original.state);
    hypothesis.keyed.prepare(original.keyed.length());
    hypothesis.keyed.shareWith(keyed, original.keyed);
    hypothesis.length = original.length;
    hypothesis.place = original.place;
    hypothesis.rest = original.rest;
    hypothesis.live = true;
    hypothesis.life = ++lives;
    hypothesis.source = original.source;
    sources[static_cast<size_t>(original.source)].hypotheses += 1;
    freeHypotheses.pop_back();
    return HypothesisId(number);
  });
}

void PagedDecoder::release(HypothesisId id) {
  Hypothesis *const hypothesis = find(id);
  assert(hypothesis != nullptr);
  if (hypothesis != nullptr) {
    hypothesis->table.clear(history);
    hypothesis->state.clear(states);
    hypothesis->keyed.clear(keyed);
    hypothesis->live = false;
    sources[static_cast<size_t>(hypothesis->source)].hypotheses -= 1;
    freeHypotheses.push_back(static_cast<int32_t>(id));
  }
}

int64_t PagedDecoder::length(HypothesisId id) const {
  const Hypothesis *const hypothesis = find(id);
  return hypothesis == nullptr ? 0 : hypothesis->length;
}

// --- Steps -------------------------------------------------------------------------------------

Result<PagedDecoder::Step *> PagedDecoder::stepFor(const std::vector<bool> &outputs) {
  for (const std::unique_ptr<Step> &step : steps) {
    if (step->outputs == outputs) {
      return step.get();
    }
  }
  PlanRequest request{outputs, true, logitsPort, selectionPort};
  if (selectionPort >= 0) {
    request.outputs[static_cast<size_t>(selectionPort)] = true;
  }
  const Artifact &artifact = *loaded.state->artifact;
  auto made = std::make_unique<Step>();
  made->outputs = outputs;
  made->plan = Plan::make(artifact, *decoder.table, request);
  if (selectionPort >= 0 && !made->plan.selection) {
    // Nothing would read the selection: one of another form, in models of older compilers.
    request = {outputs, true, logitsPort};
    made->plan = Plan::make(artifact, *decoder.table, request);
  }
  if (made->plan.deferred && !Projection::canCut(*made->plan.deferred)) {
    request = {outputs, true, -1};
    made->plan = Plan::make(artifact, *decoder.table, request);
  }
  made->projection = Projection(made->plan, made->plan.outputs[static_cast<size_t>(logitsPort)],
                                *artifact.program(), vocabularySize, executor->lanes());
  steps.push_back(std::move(made));
  return steps.back().get();
}

Status PagedDecoder::checkExtension(const Extension &extension) const {
  const int32_t number = static_cast<int32_t>(extension.hypothesis);
  const Hypothesis *const hypothesis = find(extension.hypothesis);
  if (hypothesis == nullptr) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("no hypothesis {}", number));
  }
  if (hypothesis->step == stepNumber) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("hypothesis {} is extended twice", number));
  }
  if (!sources[static_cast<size_t>(hypothesis->source)].live) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("hypothesis {} is of source {}, which was "
                                                     "released",
                                                     number, hypothesis->source));
  }
  const int64_t length = hypothesis->length + extension.count();
  // Positions are i32. Caches would be full long before, but states do not grow.
  const int64_t most = longestTarget() != 0 ? longestTarget() : std::numeric_limits<int32_t>::max();
  if (length > most) {
    return HEDDLE_ERROR(OutOfRange, fmt::format("hypothesis {} would have {} tokens, the model "
                                                "allows at most {}",
                                                number, length, most));
  }
  return {};
}

/// Checks all arguments, and concatenates the tokens.
Status PagedDecoder::gather(std::span<const Extension> extensions) {
  ++stepNumber;
  lengths.clear();
  ids.clear();
  starts.clear();
  for (const Extension &extension : extensions) {
    HEDDLE_TRY(checkExtension(extension));
    Hypothesis &hypothesis = *find(extension.hypothesis);
    hypothesis.step = stepNumber;
    lengths.push_back(static_cast<int32_t>(extension.count()));
    starts.push_back(static_cast<int32_t>(hypothesis.length));
    if (extension.follows()) {
      // Any token until the device replaces it with its own.
      ids.push_back(0);
    } else {
      ids.insert(ids.end(), extension.tokens.begin(), extension.tokens.end());
    }
  }
  const Input input{decoder.input->name, ids};
  HEDDLE_TRY_WITH(batch.bind(*decoder.info, {lengths}, {&input, 1}, {}), "entry \"decode\"");
  return {};
}

/// Counts the copies of the blocks in `shared`, once for each hypothesis that changes a block. The
/// count is exact: if all owners change a block, all but the last copy it.
int64_t PagedDecoder::blocksToCopy(const BlockPool &pool) {
  int64_t blocks = 0;
  std::sort(shared.begin(), shared.end());
  for (size_t begin = 0; begin < shared.size();) {
    size_t end = begin;
    while (end < shared.size() && shared[end] == shared[begin]) {
      ++end;
    }
    blocks +=
        std::min(static_cast<int64_t>(end - begin), int64_t(pool.referencesOf(shared[begin])) - 1);
    begin = end;
  }
  return blocks;
}

/// Counts the blocks that the states of all extensions together need.
int64_t PagedDecoder::rowsToTake(std::span<const Extension> extensions) {
  int64_t rows = 0;
  shared.clear();
  for (size_t i = 0; keepsStates() && i < extensions.size(); ++i) {
    const int32_t row = find(extensions[i].hypothesis)->state.block();
    const bool isApart = extensions[i].order != nullptr;
    rows += row < 0 || isApart ? 1 : 0;
    if (row >= 0 && !isApart && states.referencesOf(row) > 1) {
      shared.push_back(row);
    }
  }
  return rows + blocksToCopy(states);
}

/// As rowsToTake(), for states with keys, all of whose blocks a step changes.
int64_t PagedDecoder::keyedBlocksToTake(std::span<const Extension> extensions) {
  int64_t blocks = 0;
  shared.clear();
  for (size_t i = 0; keepsKeyed() && i < extensions.size(); ++i) {
    Hypothesis &hypothesis = *find(extensions[i].hypothesis);
    const int64_t more = keysOf(hypothesis) - hypothesis.keyed.length();
    blocks += hypothesis.keyed.blocksFor(more);
    hypothesis.keyed.prepare(more);
    for (const int32_t block : hypothesis.keyed.blocks()) {
      if (keyed.referencesOf(block) > 1) {
        shared.push_back(block);
      }
    }
  }
  return blocks + blocksToCopy(keyed);
}

/// Checks that there is room for the blocks that all extensions together need.
Status PagedDecoder::checkHistoryRoom(std::span<const Extension> extensions) {
  const int64_t rows = rowsToTake(extensions);
  const int64_t keys = keyedBlocksToTake(extensions);
  int64_t blocks = 0;
  shared.clear();
  for (size_t i = 0; keepsHistory() && i < extensions.size(); ++i) {
    BlockTable &table = find(extensions[i].hypothesis)->table;
    const bool isApart = extensions[i].order != nullptr;
    blocks += isApart ? 1 : table.blocksFor(lengths[i]);
    table.prepare(lengths[i]);
    if (isApart) {
      continue;
    }
    if (const int32_t last = table.partialBlock(); last >= 0 && history.referencesOf(last) > 1) {
      shared.push_back(last);
    }
  }
  blocks += blocksToCopy(history);
  HEDDLE_TRY(states.checkRoom(rows));
  uint64_t promised = static_cast<uint64_t>(rows) * states.blockBytes();
  HEDDLE_TRY(keyed.checkRoom(keys, promised));
  promised += static_cast<uint64_t>(keys) * keyed.blockBytes();
  HEDDLE_TRY(history.checkRoom(blocks, promised));
  states.prepare(rows);
  keyed.prepare(keys);
  history.prepare(blocks);
  if (sharesPrefixes()) {
    prefixes.prepare(blocks);
  }
  return {};
}

int64_t PagedDecoder::firstRead(int64_t position) const {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const manifest::PositionBound &bound : historyReads) {
    first =
        std::min(first, (position + bound.shift()) / bound.size() * bound.step() + bound.offset());
  }
  return std::max<int64_t>(first, 0);
}

/// Extends the hypotheses. There must be room.
void PagedDecoder::extend(std::span<const Extension> extensions) {
  for (size_t i = 0; i < extensions.size(); ++i) {
    Hypothesis &hypothesis = *find(extensions[i].hypothesis);
    const bool isApart = extensions[i].order != nullptr;
    if (keepsHistory()) {
      isApart ? hypothesis.table.extendApart(history)
              : hypothesis.table.extend(history, lengths[i]);
    }
    if (keepsStates()) {
      isApart ? hypothesis.state.changeApart(states) : hypothesis.state.change(states);
    }
    if (isApart) {
      // Its tokens are not known, so its blocks are not published until settle().
      hypothesis.place = PrefixTree::outside;
    }
    if (keepsKeyed()) {
      hypothesis.keyed.own(keyed);
      hypothesis.keyed.extend(keyed, keysOf(hypothesis) - hypothesis.keyed.length());
    }
    hypothesis.length += lengths[i];
  }
}

/// Describes the memories for kernels. Rows of adjacent hypotheses of one source form one segment:
/// they read its keys together.
void PagedDecoder::describeMemory(std::span<const Extension> extensions) {
  memoryRows.clear();
  int64_t longest = 0;
  for (const Extension &extension : extensions) {
    const int32_t source = find(extension.hypothesis)->source;
    longest = std::max(longest, sources[static_cast<size_t>(source)].table.length());
  }
  memoryRows.prepare(static_cast<int64_t>(extensions.size()), longest);
  int32_t previous = -1;
  int32_t row = 0;
  for (size_t i = 0; i < extensions.size(); ++i) {
    const int32_t source = find(extensions[i].hypothesis)->source;
    if (source != previous) {
      memoryRows.offsets.push_back(row);
      memoryRows.addSegment(sources[static_cast<size_t>(source)].table);
      previous = source;
    }
    memoryRows.segmentOf.insert(memoryRows.segmentOf.end(), static_cast<size_t>(lengths[i]),
                                static_cast<int32_t>(memoryRows.lengths.size()) - 1);
    row += lengths[i];
  }
  memoryRows.offsets.push_back(row);
  memoryRows.view.offsets = memoryRows.offsets.data();
  memoryRows.view.segmentOf = memoryRows.segmentOf.data();
}

/// Describes the histories for kernels, after the hypotheses were extended.
void PagedDecoder::describeHistory(std::span<const Extension> extensions) {
  for (const Extension &extension : extensions) {
    const Hypothesis &hypothesis = *find(extension.hypothesis);
    if (keepsHistory()) {
      historyRows.addSegment(hypothesis.table);
    }
    if (keepsStates()) {
      stateRows.addState(hypothesis.state);
    }
    if (keepsKeyed()) {
      keyedRows.addSegment(hypothesis.keyed);
    }
  }
}

} // namespace heddle
