// SPDX-License-Identifier: Apache-2.0
///
/// The working memory is laid out in the order arena, outputs, inputs, the lists of each row space,
/// scratch. Each part is aligned and followed by padding that kernels may read. The host writes one
/// contiguous range of it, from the inputs to the lists.
#include "runtime/Session/ChunkMemory.h"

#include "formats/Binary/Layout.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <utility>

namespace heddle {

/// Returns the size aligned, including the padding that kernels may read.
static uint64_t padded(uint64_t bytes) {
  return alignUp(bytes, HEDDLE_ALIGNMENT) + HEDDLE_ALIGNMENT;
}

uint64_t ChunkMemory::inputBytes(const PlannedInput &input, const Chunk &chunk) {
  return input.used ? padded(static_cast<uint64_t>(chunk.tokens) * input.rowBytes) : 0;
}

/// Returns whether a run uses ordered row spaces.
static bool hasOrder(const Plan &plan) {
  for (size_t i = 0; i < plan.spaces.size(); ++i) {
    if (plan.spacesUsed[i] && plan.spaces[i].isOrdered()) {
      return true;
    }
  }
  return false;
}

/// Returns whether kernels read the width of each image in a space.
static bool listsWidths(const Plan &plan, size_t space) {
  return plan.hasWidths && (space == tokensSpace ||
                            (!plan.spaces[space].isSplit() && plan.spaces[space].hasWidths()));
}

/// Lays out the memory for the rows in `laidOut`.
Status ChunkMemory::place(const Run &run, const Chunk &chunk, int lanes,
                          const DeviceStream &stream) {
  const Plan &plan = run.plan;
  const WorkSize &work = laidOut.work;
  // With the inputs, so that no sum overflows.
  if (!plan.memoryWithInputs.evaluate(work)) {
    return HEDDLE_ERROR(ResourceExhausted,
                        fmt::format("{} tokens in {} sequences, the longest of {}, need more than "
                                    "2^62 bytes of working memory",
                                    chunk.tokens, chunk.sequences, chunk.longest));
  }
  for (size_t i = 0; i < plan.spaces.size(); ++i) {
    // Row numbers are i32.
    if (work.spaces[i].rows > std::numeric_limits<int32_t>::max()) {
      return HEDDLE_ERROR(ResourceExhausted,
                          fmt::format("{} tokens in {} sequences have {} rows of {}, expected at "
                                      "most 2^31 - 1",
                                      chunk.tokens, chunk.sequences, work.spaces[i].rows,
                                      plan.spaces[i].text()));
    }
  }
  const auto sequences = static_cast<uint64_t>(chunk.sequences);
  layout.inputs = padded(*plan.memory.evaluate(work));
  uint64_t end = layout.inputs;
  for (const PlannedInput &input : plan.inputs) {
    end += inputBytes(input, chunk);
  }
  const auto take = [&](uint64_t count) {
    return std::exchange(end, end + padded(count * sizeof(int32_t)));
  };
  layout.spaces.assign(plan.spaces.size(), SpaceLayout());
  for (size_t i = 0; i < plan.spaces.size(); ++i) {
    if (plan.spacesUsed[i]) {
      const auto rows = static_cast<uint64_t>(work.spaces[i].rows);
      const bool isOrdered = plan.spaces[i].isOrdered();
      const uint64_t pieces = isOrdered ? static_cast<uint64_t>(work.spaces[i].longest) : sequences;
      layout.spaces[i].offsets = take(pieces + 1);
      layout.spaces[i].sequenceOf = take(rows);
      layout.spaces[i].positions = take(rows);
      layout.spaces[i].ranks = take(isOrdered ? sequences : 0);
      layout.spaces[i].lengths = take(isOrdered ? sequences : 0);
      layout.spaces[i].widths = listsWidths(plan, i) ? take(sequences) : 0;
    }
  }
  // At most the size of a buffer of the arena with such rows.
  layout.zeroBytes = plan.earlierBytes * sequences;
  layout.zeros = std::exchange(end, end + (layout.zeroBytes > 0 ? padded(layout.zeroBytes) : 0));
  layout.scratch = end;
  layout.scratchOfCaller =
      padded(plan.scratch + plan.scratchPerLongest * static_cast<uint64_t>(chunk.longest));
  layout.scratchStride = stream.scratchBytes(layout.scratchOfCaller);
  layout.total = layout.scratch + layout.scratchStride * static_cast<uint64_t>(lanes);
  layout.lanes = lanes;
  return {};
}

Result<uint64_t> ChunkMemory::layOut(const Run &run, const Chunk &chunk, int lanes,
                                     const DeviceStream &stream) {
  counted.count(run.plan.spaces, chunk.sizesIn(run.batch.sizes()), chunk.longest);
  if (laidOut.plan != run.plan.number || layout.lanes != lanes ||
      laidOut.work.spaces != counted.spaces) {
    laidOut.plan = 0;
    std::swap(laidOut.work, counted);
    HEDDLE_TRY(place(run, chunk, lanes, stream));
    laidOut.plan = run.plan.number;
  }
  return layout.total;
}

Status ChunkMemory::reserve(const Run &run, const Device &device, DeviceStream &stream,
                            uint64_t bytes) {
  if (reserved != run.plan.number) {
    bound.plan = 0;
    reserved = 0;
    inputPlaces.resize(run.plan.inputs.size());
    bases.resize(run.plan.buffers.size());
    operands.resize(run.plan.operands.size());
    results.resize(run.plan.results.size());
    caches.resize(run.caches.size());
    rows.resize(run.plan.spaces.size());
    named.resize(run.plan.spacesNamed.size());
    counted.spaces.reserve(run.plan.spaces.size());
    laidOut.work.spaces.reserve(run.plan.spaces.size());
    bound.work.spaces.reserve(run.plan.spaces.size());
    layout.spaces.reserve(run.plan.spaces.size());
    reserved = run.plan.number;
  }
  if (hasOrder(run.plan)) {
    stepOrder.reserve(run.batch.lengths().size(), static_cast<size_t>(run.batch.longest()));
  }
  if (!device.sharesHostMemory()) {
    HEDDLE_TRY(cacheLists.reserve(run, stream));
  }
  copiedIds.reserve(run.ids.size());
  return stream.grow(memory, bytes);
}

/// Returns the address of a chunk's output rows in the caller's memory; null if they cannot be
/// computed there.
std::byte *ChunkMemory::directAddress(const Run &run, const Chunk &chunk, uint32_t port,
                                      const Device &device) const {
  const PlannedOutput &output = run.plan.outputs[port];
  float *const values = run.batch.outputs()[port];
  // A decoder leaves outputs that it reads itself without a caller's address.
  if (!output.requested || output.readBack || output.rowBytes == 0 || values == nullptr ||
      !device.sharesHostMemory()) {
    return nullptr;
  }
  std::byte *const address =
      reinterpret_cast<std::byte *>(values) +
      static_cast<uint64_t>(run.batch.firstRow(port, chunk.firstSequence)) * output.rowBytes;
  return reinterpret_cast<uintptr_t>(address) % HEDDLE_ALIGNMENT == 0 ? address : nullptr;
}

std::byte *ChunkMemory::outputAddress(const Run &run, const Chunk &chunk, uint32_t port,
                                      const Device &device) const {
  std::byte *const direct = directAddress(run, chunk, port, device);
  return direct != nullptr ? direct
                           : memory.data() + *run.plan.outputs[port].offset.evaluate(laidOut.work);
}

/// Writes the lists of a row space. `staged` is the host's copy of the memory from the inputs on.
void ChunkMemory::fillRows(const Run &run, const Chunk &chunk, size_t space, std::byte *staged) {
  const auto at = [&](std::byte *begin, uint64_t place) {
    return reinterpret_cast<int32_t *>(begin + (place - layout.inputs));
  };
  const SpaceLayout &places = layout.spaces[space];
  int32_t *const offsets = at(staged, places.offsets);
  int32_t *const sequenceOf = at(staged, places.sequenceOf);
  int32_t *const positions = at(staged, places.positions);
  // Only tokens may continue a sequence; the row of a whole sequence has the position at which it
  // continues.
  const bool hasStarts =
      (space == tokensSpace || run.plan.spaces[space].unit() == 0) && !run.starts.empty();
  int32_t *const widths = listsWidths(run.plan, space) ? at(staged, places.widths) : nullptr;
  offsets[0] = 0;
  for (int64_t i = 0; i < chunk.sequences; ++i) {
    const auto sequence = static_cast<size_t>(chunk.firstSequence + i);
    const int64_t count = run.batch.sizes().rowsIn(run.plan.spaces[space], sequence);
    if (widths != nullptr) {
      widths[i] = static_cast<int32_t>(
          run.plan.spaces[space].rowPixels(run.batch.sizes().widthOf(sequence)));
    }
    offsets[i + 1] = offsets[i] + static_cast<int32_t>(count);
    std::fill_n(sequenceOf + offsets[i], count, static_cast<int32_t>(i));
    std::iota(positions + offsets[i], positions + offsets[i + 1],
              hasStarts ? run.starts[sequence] : 0);
  }
  std::byte *const sent = memory.data() + layout.inputs;
  const RowCount &count = laidOut.work.spaces[space];
  rows[space] = {count.rows,
                 count.longest,
                 at(sent, places.offsets),
                 at(sent, places.sequenceOf),
                 at(sent, places.positions),
                 nullptr,
                 nullptr,
                 widths == nullptr ? nullptr : at(sent, places.widths)};
}

/// As fillRows(), for an ordered space.
void ChunkMemory::fillSteps(const Run &run, const Chunk &chunk, size_t space, std::byte *staged) {
  const SpaceLayout &places = layout.spaces[space];
  const auto listsFrom = [&](std::byte *begin) {
    const auto at = [&](uint64_t place) {
      return reinterpret_cast<int32_t *>(begin + (place - layout.inputs));
    };
    return HeddleRows{laidOut.work.spaces[space].rows,
                      laidOut.work.spaces[space].longest,
                      at(places.offsets),
                      at(places.sequenceOf),
                      at(places.positions),
                      at(places.ranks),
                      at(places.lengths),
                      nullptr};
  };
  const std::span<const int32_t> starts =
      run.starts.empty() ? run.starts : chunk.lengthsIn(run.starts);
  stepOrder.write(chunk.lengthsIn(run.batch.lengths()), starts, run.plan.spaces[space],
                  listsFrom(staged));
  rows[space] = listsFrom(memory.data() + layout.inputs);
}

/// Sends inputs and lists. Returns false if the device has failed.
bool ChunkMemory::sendRows(const Run &run, const Chunk &chunk, DeviceStream &stream, int lane) {
  if (hasOrder(run.plan)) {
    stepOrder.arrange(chunk.lengthsIn(run.batch.lengths()));
  }
  std::byte *const sent = memory.data() + layout.inputs;
  std::byte *const staged = stream.stage(lane, sent, layout.scratch - layout.inputs);
  if (staged == nullptr) {
    return false;
  }
  uint64_t place = layout.inputs;
  for (size_t i = 0; i < run.plan.inputs.size(); ++i) {
    const PlannedInput &input = run.plan.inputs[i];
    inputPlaces[i] = place;
    place += inputBytes(input, chunk);
    if (!input.used) {
      continue;
    }
    // Copied, because kernels may rely on alignment and read past the end.
    std::byte *const copy = staged + (inputPlaces[i] - layout.inputs);
    const uint64_t bytes = static_cast<uint64_t>(chunk.tokens) * input.rowBytes;
    if (const std::byte *const values = run.batch.inputs()[i]) {
      std::memcpy(copy, values + static_cast<uint64_t>(chunk.firstToken) * input.rowBytes, bytes);
    } else {
      std::memset(copy, 0, bytes);
    }
  }
  for (size_t i = 0; i < run.plan.spaces.size(); ++i) {
    if (run.plan.spacesUsed[i] && run.plan.spaces[i].isOrdered()) {
      fillSteps(run, chunk, i, staged);
    } else if (run.plan.spacesUsed[i]) {
      fillRows(run, chunk, i, staged);
    }
  }
  std::memset(staged + (layout.zeros - layout.inputs), 0, layout.zeroBytes);
  stream.send(lane);
  copyIds(run, stream);
  return true;
}

/// Replaces ids that were sent by those that the device has.
void ChunkMemory::copyIds(const Run &run, DeviceStream &stream) {
  constexpr uint64_t bytes = sizeof(int32_t);
  copiedIds.clear();
  for (const IdsOnDevice &ids : run.ids) {
    if (!run.plan.inputs[run.idsInput].used) {
      break;
    }
    std::byte *const to = memory.data() + inputPlaces[run.idsInput] + bytes * ids.firstRow;
    copiedIds.push_back({to, ids.from, ids.rows, bytes, bytes, ids.pitch});
  }
  if (!copiedIds.empty()) {
    stream.copy(copiedIds);
  }
}

void ChunkMemory::bindCaches(const Run &run, const Chunk &chunk, const Device &device) {
  const HeddleRows &tokens = rows[tokensSpace];
  for (size_t i = 0; i < run.caches.size(); ++i) {
    const CacheOperand &cache = run.caches[i];
    const CacheRows seen =
        device.sharesHostMemory() ? cache.rows->seenBy(chunk) : cacheLists.sent(*cache.rows);
    HeddleCache &operand = caches[i];
    operand.memory = cache.memory;
    operand.block_stride = cache.blockStride;
    operand.blocks_pitch = seen.blocksPitch;
    const bool ofSequences = seen.offsets == nullptr;
    operand.offsets = ofSequences ? tokens.offsets : seen.offsets;
    operand.segment_of = ofSequences ? tokens.sequence_of : seen.segmentOf;
    operand.segments = seen.segments;
    operand.lengths = seen.lengths;
    operand.blocks = seen.blocks;
  }
}

void ChunkMemory::bindBuffers(const Run &run, const Chunk &chunk, const Device &device) {
  for (size_t i = 0; i < run.plan.buffers.size(); ++i) {
    const BufferPlace &place = run.plan.buffers[i];
    switch (place.kind) {
    case BufferPlace::Kind::Unused:
      bases[i] = nullptr;
      break;
    case BufferPlace::Kind::Memory:
      bases[i] = memory.data() + *place.offset.evaluate(laidOut.work);
      break;
    case BufferPlace::Kind::Weights:
      bases[i] = const_cast<std::byte *>(place.address);
      break;
    case BufferPlace::Kind::Input:
      bases[i] = memory.data() + inputPlaces[place.port];
      break;
    case BufferPlace::Kind::Output:
      bases[i] = outputAddress(run, chunk, place.port, device);
      break;
    case BufferPlace::Kind::Cache:
    case BufferPlace::Kind::State:
      bases[i] = &caches[place.port];
      break;
    }
  }
}

void ChunkMemory::bindOperands(const Plan &plan) {
  for (size_t i = 0; i < plan.operands.size(); ++i) {
    const PlannedOperand &operand = plan.operands[i];
    void *const base = bases[operand.buffer];
    operands[i] = base == nullptr ? nullptr : static_cast<std::byte *>(base) + operand.byteOffset;
  }
  for (size_t i = 0; i < plan.results.size(); ++i) {
    const PlannedResult &result = plan.results[i];
    void *&operand = operands[result.operand];
    results[i] = {operand, 0, 0, result.rowElements.evaluate(laidOut.work)};
    operand = &results[i];
  }
  for (size_t i = 0; i < plan.spacesNamed.size(); ++i) {
    named[i] = &rows[plan.spacesNamed[i]];
  }
}

/// Returns whether the bases, operands and results are those of the chunk that is laid out.
bool ChunkMemory::isBound(const Run &run, const Chunk &chunk, const Device &device) const {
  if (bound.plan != run.plan.number || boundMemory != memory.data()) {
    return false;
  }
  const auto isSame = [&](const RowCount &before, const RowCount &now) {
    return before.rows == now.rows &&
           (before.longest == now.longest || !run.plan.placesFollowLongest);
  };
  const std::vector<RowCount> &spaces = laidOut.work.spaces;
  if (!std::equal(spaces.begin(), spaces.end(), bound.work.spaces.begin(), isSame)) {
    return false;
  }
  for (uint32_t port = 0; port < run.plan.outputs.size(); ++port) {
    const PlannedOutput &output = run.plan.outputs[port];
    if (output.live && bases[output.buffer] != outputAddress(run, chunk, port, device)) {
      return false;
    }
  }
  return true;
}

std::optional<HeddleKernelContext> ChunkMemory::bind(const Run &run, const Chunk &chunk, int lanes,
                                                     const Device &device, DeviceStream &stream,
                                                     int lane) {
  // The same layout succeeded when its size was computed.
  [[maybe_unused]] const Result<uint64_t> bytes = layOut(run, chunk, lanes, stream);
  if (!sendRows(run, chunk, stream, lane) ||
      (!device.sharesHostMemory() && !cacheLists.send(run, chunk, stream, lane))) {
    return std::nullopt;
  }
  bindCaches(run, chunk, device);
  if (!isBound(run, chunk, device)) {
    bindBuffers(run, chunk, device);
    bindOperands(run.plan);
    bound = laidOut;
    boundMemory = memory.data();
  }
  return HeddleKernelContext{nullptr, nullptr, scratchOf(0)};
}

/// Copies rows of [tokens, heads, longest of the chunk] to rows of [tokens, heads, longest of all]:
/// the keys of each row's own sequence, then zeros.
static void copyKeys(const Run &run, const Chunk &chunk, const PlannedOutput &output,
                     const float *from, float *values) {
  const auto heads = static_cast<int64_t>(output.heads);
  const int64_t pitch = run.batch.longest();
  float *to = values + chunk.firstToken * heads * pitch;
  for (int64_t i = 0; i < chunk.sequences; ++i) {
    const int64_t length = run.batch.lengths()[static_cast<size_t>(chunk.firstSequence + i)];
    for (int64_t piece = 0; piece < length * heads; ++piece) {
      std::fill(std::copy_n(from, length, to), to + pitch, 0.0F);
      from += chunk.longest;
      to += pitch;
    }
  }
}

void ChunkMemory::copyOutputs(const Run &run, const Chunk &chunk, const Device &device,
                              DeviceStream &stream, int lane) const {
  for (uint32_t port = 0; port < run.plan.outputs.size(); ++port) {
    const PlannedOutput &output = run.plan.outputs[port];
    float *const values = run.batch.outputs()[port];
    if (!output.requested || values == nullptr ||
        directAddress(run, chunk, port, device) != nullptr) {
      continue;
    }
    const uint64_t rowBytes =
        output.rowBytes != 0 ? output.rowBytes
                             : output.heads * static_cast<uint64_t>(chunk.longest) * sizeof(float);
    const uint64_t bytes = static_cast<uint64_t>(rowsIn(output.rows)) * rowBytes;
    const std::byte *const from =
        stream.fetch(lane, outputAddress(run, chunk, port, device), bytes);
    if (from == nullptr) {
      return;
    }
    if (output.rowBytes == 0) {
      copyKeys(run, chunk, output, reinterpret_cast<const float *>(from), values);
    } else {
      const auto first = static_cast<uint64_t>(run.batch.firstRow(port, chunk.firstSequence));
      std::memcpy(reinterpret_cast<std::byte *>(values) + first * rowBytes, from, bytes);
    }
  }
}

} // namespace heddle
