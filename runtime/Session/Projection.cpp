// SPDX-License-Identifier: Apache-2.0
///
/// A kernel computes whole columns of its grid. A chunk is computed by the columns that overlap it,
/// which may include a few extra elements on both sides; the sink gets only the chunk.
#include "runtime/Session/Projection.h"

#include "heddle/Abi.h"

#include <algorithm>
#include <utility>

namespace heddle {

/// Reading the weights again takes as long as computing some rows: 8 at 118 GFLOP/s and 31 GB/s, 25
/// at 190 GFLOP/s and 15 GB/s. Wanted rows that are no further apart are computed together.
static constexpr int64_t tilesOfReading = 4;

bool Projection::canCut(const PlannedDispatch &dispatch) {
  return dispatch.columnElements != 0 && dispatch.columnElements <= logitsChunk;
}

Projection::Projection(const Plan &plan, const PlannedOutput &output, int64_t vocabulary, int lanes)
    : plan(&plan), buffer(output.buffer), vocabulary(vocabulary),
      chunks((vocabulary + logitsChunk - 1) / logitsChunk), workers(static_cast<size_t>(lanes)) {
  if (!plan.deferred) {
    return;
  }
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const Range elements = plan.deferred->elementsOf(plan.deferred->columnsOver(chunkOf(chunk)));
    rowStride = std::max(rowStride, elements.end - elements.begin);
  }
  for (Worker &worker : workers) {
    worker.operands.resize(plan.deferred->operandCount);
  }
}

Projection::Projection(Projection &&other) noexcept { *this = std::move(other); }

Projection &Projection::operator=(Projection &&other) noexcept {
  plan = other.plan;
  buffer = other.buffer;
  vocabulary = other.vocabulary;
  chunks = other.chunks;
  rowStride = other.rowStride;
  workers = std::move(other.workers);
  return *this;
}

Range Projection::chunkOf(int64_t number) const {
  return {number * logitsChunk, std::min((number + 1) * logitsChunk, vocabulary)};
}

Status Projection::begin(LogitsSink &wanted, int64_t count, Device &device) {
  sink = &wanted;
  rows = count;
  next = 0;
  for (Worker &worker : workers) {
    HEDDLE_TRY(worker.memory.grow(device, static_cast<uint64_t>(rows * rowStride) * sizeof(float)));
  }
  sink->begin(rows, vocabulary, static_cast<int>(workers.size()));
  ranges.clear();
  ranges.reserve(static_cast<size_t>(rows));
  const int64_t few = plan->deferred ? tilesOfReading * plan->deferred->rowTile : 1;
  for (int64_t row = 0; row < rows; ++row) {
    if (!sink->wantsRow(row)) {
      continue;
    }
    if (ranges.empty() || ranges.back().end + few <= row) {
      ranges.push_back({row, row});
    }
    ranges.back().end = row + 1;
  }
  return {};
}

void Projection::run(int lane, const RunView &view) {
  for (int64_t chunk = next.fetch_add(1, std::memory_order_relaxed); chunk < chunks;
       chunk = next.fetch_add(1, std::memory_order_relaxed)) {
    if (!sink->wants(chunk)) {
      continue;
    }
    if (plan->deferred) {
      computeChunk(lane, chunk, view);
    } else {
      handOut(lane, chunk, view);
    }
  }
}

void Projection::handOut(int lane, int64_t chunk, const RunView &view) {
  const auto *const logits = static_cast<const float *>(view.bases[buffer]);
  deliver(lane, chunk, view.stream, logits + chunkOf(chunk).begin, vocabulary);
}

/// Passes a chunk to the sink; its logits start at `values` with `stride` elements per row.
void Projection::deliver(int lane, int64_t chunk, DeviceStream &stream, const float *values,
                         int64_t stride) {
  const Range tokens = chunkOf(chunk);
  const int64_t count = tokens.end - tokens.begin;
  const FetchedRows found = stream.fetchRows(
      lane, reinterpret_cast<const std::byte *>(values), static_cast<uint64_t>(rows),
      static_cast<uint64_t>(count) * sizeof(float), static_cast<uint64_t>(stride) * sizeof(float));
  if (found.first != nullptr) {
    sink->deliver(lane, chunk, count, reinterpret_cast<const float *>(found.first),
                  static_cast<int64_t>(found.pitch / sizeof(float)));
  }
}

void Projection::computeChunk(int lane, int64_t chunk, const RunView &view) {
  Worker &own = workers[static_cast<size_t>(lane)];
  const PlannedDispatch &dispatch = *plan->deferred;
  const Range tokens = chunkOf(chunk);
  const Range columns = dispatch.columnsOver(tokens);
  const int64_t first = dispatch.elementsOf(columns).begin;
  HeddleResult result{own.memory.data(), 0, first, rowStride};
  std::copy_n(view.context.operands, dispatch.operandCount, own.operands.begin());
  own.operands[0] = &result;
  HeddleKernelContext context = view.context;
  context.operands = own.operands.data();
  for (const Range wanted : ranges) {
    view.stream.launch(
        lane, {dispatch.kernel, nullptr, &context, wanted, columns, dispatch.rowTile, view.scratch},
        nullptr);
  }
  const auto *const values = reinterpret_cast<const float *>(own.memory.data());
  deliver(lane, chunk, view.stream, values + (tokens.begin - first), rowStride);
}

} // namespace heddle
