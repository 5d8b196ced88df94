// SPDX-License-Identifier: Apache-2.0
///
/// The parts of the working memory are in the order arena, outputs, inputs, offsets, sequence
/// numbers, positions, scratch; each begins aligned, and after each there is room to read on. What
/// the host writes of it is one piece, from the inputs to the positions.
#include "runtime/Session/ChunkMemory.h"

#include "formats/Binary/Layout.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <numeric>

namespace heddle {

static WorkSize sizeOf(const Chunk &chunk) {
  return {chunk.tokens, chunk.sequences, chunk.longest};
}

/// Aligned, with room to read on.
static uint64_t padded(uint64_t bytes) {
  return alignUp(bytes, HEDDLE_ALIGNMENT) + HEDDLE_ALIGNMENT;
}

uint64_t ChunkMemory::inputBytes(const PlannedInput &input, const Chunk &chunk) {
  return input.used ? padded(static_cast<uint64_t>(chunk.tokens) * input.rowBytes) : 0;
}

Result<ChunkMemory::Layout> ChunkMemory::layoutOf(const Plan &plan, const Chunk &chunk,
                                                  int callers) {
  // With the inputs, so that no sum overflows.
  if (!(plan.memory + plan.inputMemory).evaluate(sizeOf(chunk))) {
    return HEDDLE_ERROR(ResourceExhausted,
                        fmt::format("{} tokens in {} sequences, the longest of {}, need more than "
                                    "2^62 bytes of working memory",
                                    chunk.tokens, chunk.sequences, chunk.longest));
  }
  const auto tokens = static_cast<uint64_t>(chunk.tokens);
  const auto sequences = static_cast<uint64_t>(chunk.sequences);
  Layout layout{};
  layout.inputs = padded(*plan.memory.evaluate(sizeOf(chunk)));
  layout.offsets = layout.inputs;
  for (const PlannedInput &input : plan.inputs) {
    layout.offsets += inputBytes(input, chunk);
  }
  layout.sequenceOf = layout.offsets + padded((sequences + 1) * sizeof(int32_t));
  layout.positions = layout.sequenceOf + padded(tokens * sizeof(int32_t));
  layout.scratch = layout.positions + padded(tokens * sizeof(int32_t));
  layout.scratchStride =
      padded(plan.scratch + plan.scratchPerLongest * static_cast<uint64_t>(chunk.longest));
  layout.total = layout.scratch + layout.scratchStride * static_cast<uint64_t>(callers);
  return layout;
}

Result<uint64_t> ChunkMemory::bytesFor(const Plan &plan, const Chunk &chunk, int callers) {
  HEDDLE_ASSIGN(const Layout layout, layoutOf(plan, chunk, callers));
  return layout.total;
}

Status ChunkMemory::reserve(const Run &run, Device &device, uint64_t bytes) {
  inputPlaces.resize(run.plan.inputs.size());
  bases.resize(run.plan.buffers.size());
  operands.resize(run.plan.operands.size());
  results.resize(run.plan.results.size());
  caches.resize(run.caches.size());
  return memory.grow(device, bytes);
}

/// The rows of a chunk in an output.
static Range rowsOf(const Chunk &chunk, bool overTokens) {
  return overTokens ? Range{chunk.firstToken, chunk.firstToken + chunk.tokens}
                    : Range{chunk.firstSequence, chunk.firstSequence + chunk.sequences};
}

/// Where a chunk's rows of an output are in the caller's memory, if they can be computed there.
static std::byte *directAddress(const PlannedOutput &output, float *values, const Chunk &chunk,
                                const Device &device) {
  // A decoder leaves outputs that it reads itself without a place of their own.
  if (!output.requested || output.readBack || output.rowBytes == 0 || values == nullptr ||
      !device.sharesHostMemory()) {
    return nullptr;
  }
  std::byte *const address =
      reinterpret_cast<std::byte *>(values) +
      static_cast<uint64_t>(rowsOf(chunk, output.overTokens).begin) * output.rowBytes;
  return reinterpret_cast<uintptr_t>(address) % HEDDLE_ALIGNMENT == 0 ? address : nullptr;
}

std::byte *ChunkMemory::outputAddress(const Run &run, const Chunk &chunk, uint32_t port,
                                      const Device &device) const {
  const PlannedOutput &output = run.plan.outputs[port];
  std::byte *const direct = directAddress(output, run.batch.outputs()[port], chunk, device);
  return direct != nullptr ? direct : memory.data() + *output.offset.evaluate(sizeOf(chunk));
}

HeddleKernelContext ChunkMemory::sendRows(const Run &run, const Chunk &chunk, DeviceStream &stream,
                                          int lane) {
  std::byte *const sent = memory.data() + layout.inputs;
  std::byte *const staged = stream.stage(lane, sent, layout.scratch - layout.inputs);
  const auto at = [&](std::byte *begin, uint64_t place) {
    return reinterpret_cast<int32_t *>(begin + (place - layout.inputs));
  };
  uint64_t place = layout.inputs;
  for (size_t i = 0; i < run.plan.inputs.size(); ++i) {
    const PlannedInput &input = run.plan.inputs[i];
    inputPlaces[i] = place;
    place += inputBytes(input, chunk);
    if (!input.used) {
      continue;
    }
    // Copied, because kernels may count on alignment and read past the end.
    std::byte *const copy = staged + (inputPlaces[i] - layout.inputs);
    const uint64_t bytes = static_cast<uint64_t>(chunk.tokens) * input.rowBytes;
    if (const std::byte *const values = run.batch.inputs()[i]) {
      std::memcpy(copy, values + static_cast<uint64_t>(chunk.firstToken) * input.rowBytes, bytes);
    } else {
      std::memset(copy, 0, bytes);
    }
  }
  int32_t *const offsets = at(staged, layout.offsets);
  int32_t *const sequenceOf = at(staged, layout.sequenceOf);
  int32_t *const positions = at(staged, layout.positions);
  offsets[0] = 0;
  for (int64_t i = 0; i < chunk.sequences; ++i) {
    const auto sequence = static_cast<size_t>(chunk.firstSequence + i);
    const int32_t length = run.batch.lengths()[sequence];
    offsets[i + 1] = offsets[i] + length;
    std::fill_n(sequenceOf + offsets[i], length, static_cast<int32_t>(i));
    std::iota(positions + offsets[i], positions + offsets[i + 1],
              run.starts.empty() ? 0 : run.starts[sequence]);
  }
  stream.send(lane);
  return {nullptr,
          at(sent, layout.offsets),
          at(sent, layout.sequenceOf),
          scratchOf(0),
          chunk.tokens,
          chunk.sequences,
          chunk.longest,
          at(sent, layout.positions)};
}

void ChunkMemory::bindCaches(const Run &run, const Chunk &chunk,
                             const HeddleKernelContext &context) {
  for (size_t i = 0; i < run.caches.size(); ++i) {
    const CacheOperand &cache = run.caches[i];
    const CacheRows &rows = *cache.rows;
    HeddleCache &operand = caches[i];
    operand.memory = cache.memory;
    operand.block_stride = cache.blockStride;
    operand.blocks_pitch = rows.blocksPitch;
    const bool ofSequences = rows.offsets == nullptr;
    const int64_t first = ofSequences ? chunk.firstSequence : 0;
    operand.offsets = ofSequences ? context.offsets : rows.offsets;
    operand.segment_of = ofSequences ? context.sequence_of : rows.segmentOf;
    operand.segments = ofSequences ? chunk.sequences : rows.segments;
    operand.lengths = rows.lengths + first;
    operand.blocks = rows.blocks + first * rows.blocksPitch;
  }
}

void ChunkMemory::bindBuffers(const Run &run, const Chunk &chunk, const Device &device) {
  const WorkSize work = sizeOf(chunk);
  for (size_t i = 0; i < run.plan.buffers.size(); ++i) {
    const BufferPlace &place = run.plan.buffers[i];
    switch (place.kind) {
    case BufferPlace::Kind::Unused:
      bases[i] = nullptr;
      break;
    case BufferPlace::Kind::Memory:
      bases[i] = memory.data() + *place.offset.evaluate(work);
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

void ChunkMemory::bindOperands(const Plan &plan, const WorkSize &work) {
  for (size_t i = 0; i < plan.operands.size(); ++i) {
    const PlannedOperand &operand = plan.operands[i];
    void *const base = bases[operand.buffer];
    operands[i] = base == nullptr ? nullptr : static_cast<std::byte *>(base) + operand.byteOffset;
  }
  for (size_t i = 0; i < plan.results.size(); ++i) {
    const PlannedResult &result = plan.results[i];
    void *&operand = operands[result.operand];
    results[i] = {operand, 0, 0, result.rowElements.evaluate(work)};
    operand = &results[i];
  }
}

HeddleKernelContext ChunkMemory::bind(const Run &run, const Chunk &chunk, int callers,
                                      const Device &device, DeviceStream &stream, int lane) {
  // It had a layout when its bytes were counted.
  layout = *layoutOf(run.plan, chunk, callers);
  const HeddleKernelContext context = sendRows(run, chunk, stream, lane);
  bindCaches(run, chunk, context);
  bindBuffers(run, chunk, device);
  bindOperands(run.plan, sizeOf(chunk));
  return context;
}

/// Copies rows of [tokens, heads, longest of the chunk] to rows of [tokens, heads, longest of all]:
/// of each the keys of its own sequence, then zeros.
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
        directAddress(output, values, chunk, device) != nullptr) {
      continue;
    }
    const Range rows = rowsOf(chunk, output.overTokens);
    const uint64_t rowBytes =
        output.rowBytes != 0 ? output.rowBytes
                             : output.heads * static_cast<uint64_t>(chunk.longest) * sizeof(float);
    const uint64_t bytes = static_cast<uint64_t>(rows.end - rows.begin) * rowBytes;
    const std::byte *const from =
        stream.fetch(lane, outputAddress(run, chunk, port, device), bytes);
    if (from == nullptr) {
      return;
    }
    if (output.rowBytes == 0) {
      copyKeys(run, chunk, output, reinterpret_cast<const float *>(from), values);
    } else {
      std::memcpy(reinterpret_cast<std::byte *>(values) +
                      static_cast<uint64_t>(rows.begin) * rowBytes,
                  from, bytes);
    }
  }
}

} // namespace heddle
