// SPDX-License-Identifier: Apache-2.0
///
/// Sources: their values are concatenated, and the memory for the rows that "encode" appends is
/// reserved before it runs.
#include "runtime/Session/PagedDecoder.h"

#include "base/Utf8.h"
#include "formats/Binary/GenerationCheck.h"
#include "runtime/Session/ModelState.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <limits>

namespace heddle {

Status PagedDecoder::encode(std::span<const SourceView> list, std::span<SourceId> found) {
  return encode(list, found, {});
}

Status PagedDecoder::encode(std::span<const SourceView> list, std::span<SourceId> found,
                            std::span<const Output> outputs) {
  return withoutExceptions([&] { return encodeUnguarded(list, found, outputs); });
}

int64_t PagedDecoder::positions(SourceId id) const {
  const Source *const source = find(id);
  return source == nullptr ? 0 : source->table.length();
}

/// Concatenates the values of sources.
Status PagedDecoder::gatherSources(std::span<const SourceView> list) {
  const PortInfo &port = *encoder.input;
  const size_t width = port.shape.size() == 1 ? 1 : static_cast<size_t>(port.shape.back());
  const size_t rowBytes = infoOf(port.element).bytes() * width;
  lengths.clear();
  widths.clear();
  values.clear();
  for (size_t i = 0; i < list.size(); ++i) {
    const SourceView &source = list[i];
    const bool isOther = source.element != port.element && !source.bytes.empty();
    if (isOther || source.bytes.size() % rowBytes != 0) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("entry \"encode\": source {} has {} numbers of {}, expected "
                                      "rows of {} of {}",
                                      i + 1, source.bytes.size() / infoOf(source.element).bytes(),
                                      infoOf(source.element).name, width,
                                      infoOf(port.element).name));
    }
    const size_t rows = source.bytes.size() / rowBytes;
    lengths.push_back(static_cast<int32_t>(
        std::min<size_t>(rows, static_cast<size_t>(std::numeric_limits<int32_t>::max()))));
    widths.push_back(source.width);
    values.insert(values.end(), source.bytes.begin(), source.bytes.end());
  }
  // Texts have no widths.
  if (!encoder.info->hasWidths && std::ranges::all_of(widths, [](int32_t w) { return w == 0; })) {
    widths.clear();
  }
  return {};
}

/// Returns the number of a source that is not live, the last of the free ones. There must be room.
int32_t PagedDecoder::newSource() {
  if (freeSources.empty()) {
    freeSources.push_back(static_cast<int32_t>(sources.size()));
    sources.emplace_back();
  }
  return freeSources.back();
}

/// Creates the sources of a model without an encoder.
Status PagedDecoder::encodeNothing(std::span<const SourceView> list, std::span<SourceId> found,
                                   std::span<const Output> outputs) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i].bytes.empty()) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("source {} has {} numbers, expected none: the model has no "
                                      "entry {}",
                                      i + 1, list[i].bytes.size() / infoOf(list[i].element).bytes(),
                                      quote(encodeEntry)));
    }
  }
  if (!outputs.empty()) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("output {} is asked for, expected none: the model has no "
                                    "entry {}",
                                    quote(outputs.front().name), quote(encodeEntry)));
  }
  sources.reserve(sources.size() + list.size());
  freeSources.reserve(sources.capacity());
  for (SourceId &id : found) {
    id = SourceId(newSource());
    sources[static_cast<size_t>(id)].live = true;
    freeSources.pop_back();
  }
  return {};
}

Status PagedDecoder::encodeUnguarded(std::span<const SourceView> list, std::span<SourceId> found,
                                     std::span<const Output> outputs) {
  if (list.size() != found.size()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{} sources and room for {} numbers of them",
                                                     list.size(), found.size()));
  }
  if (!hasSources()) {
    return encodeNothing(list, found, outputs);
  }
  // The run takes the place of one of theirs, and the lists below may be those of their outputs.
  endSteps();
  HEDDLE_TRY(gatherSources(list));
  Input input{encoder.input->name, std::span<const int32_t>()};
  input.element = encoder.input->element;
  input.bytes = values;
  HEDDLE_TRY_WITH(batch.bind(*encoder.info, {lengths, widths}, {&input, 1}, outputs),
                  "entry \"encode\"");
  int64_t blocks = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    blocks += (batch.sizes().rowsIn(memorySpace, i) + HEDDLE_BLOCK - 1) / HEDDLE_BLOCK;
  }
  const int64_t rows = givesStates ? static_cast<int64_t>(list.size()) : 0;
  HEDDLE_TRY(states.checkRoom(rows));
  HEDDLE_TRY(memory.checkRoom(blocks, static_cast<uint64_t>(rows) * states.blockBytes()));
  // From here to the run, only memory exhaustion can fail, and then only numbers are lost.
  states.prepare(rows);
  memory.prepare(blocks);
  sources.reserve(sources.size() + list.size());
  freeSources.reserve(sources.capacity());
  for (size_t i = 0; i < list.size(); ++i) {
    const int32_t id = newSource();
    Source &source = sources[static_cast<size_t>(id)];
    const int64_t count = batch.sizes().rowsIn(memorySpace, i);
    source.table.prepare(count);
    freeSources.pop_back();
    source.live = true;
    source.table.extend(memory, count);
    if (givesStates) {
      source.state.change(states);
    }
    found[i] = SourceId(id);
  }
  const Status status = list.empty() ? Status() : runEncode(found);
  for (size_t i = found.size(); !status.ok() && i-- > 0;) {
    release(found[i]);
  }
  return status;
}

Status PagedDecoder::runEncode(std::span<const SourceId> found) {
  const auto same = [&](const auto &each) { return each.first == batch.requested(); };
  auto plan = std::find_if(encodePlans.begin(), encodePlans.end(), same);
  if (plan == encodePlans.end()) {
    encodePlans.emplace_back(batch.requested(), std::make_unique<Plan>(Plan::make(
                                                    *loaded.state->artifact, *encoder.table,
                                                    {batch.requested(), true, -1})));
    plan = encodePlans.end() - 1;
  }
  memoryRows.clear();
  int64_t longest = 0;
  for (const SourceId id : found) {
    longest = std::max(longest, positions(id));
  }
  memoryRows.prepare(static_cast<int64_t>(found.size()), longest);
  stateRows.clear();
  stateRows.prepare(static_cast<int64_t>(found.size()), 1);
  for (const SourceId id : found) {
    memoryRows.addSegment(find(id)->table);
    if (givesStates) {
      stateRows.addState(find(id)->state);
    }
  }
  memoryRows.view.offsets = nullptr;
  memoryRows.view.segmentOf = nullptr;
  const LaunchUse before = executor->deviceStream().launchUse();
  const Status status = executor->run({.plan = *plan->second,
                                       .batch = batch,
                                       .firstCost = encoder.firstCost,
                                       .caches = encoder.caches});
  ++encoded.encodings;
  encoded.ofEncodings += executor->deviceStream().launchUse();
  encoded.ofEncodings -= before;
  return status;
}

void PagedDecoder::release(SourceId id) {
  Source *const source = find(id);
  assert(source != nullptr && source->hypotheses == 0);
  if (source != nullptr) {
    source->table.clear(memory);
    source->state.clear(states);
    source->live = false;
    freeSources.push_back(static_cast<int32_t>(id));
  }
}

} // namespace heddle
