// SPDX-License-Identifier: Apache-2.0
///
/// Logits in chunks.
#include "runtime/Session/Projection.h"

#include "heddle/Abi.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle {

/// Rows of a kernel call. More read the panels of a call less often; but the rows it writes lie a
/// vocabulary apart, often a multiple of large powers of two, and a second-level cache keeps 16
/// lines of the same place. 32 are 4 % faster than 16, and 64 no faster (docs/decisions/0008).
static constexpr int64_t mostCallRows = 32;
/// Weights of a kernel call that stay in a second-level cache while all rows pass by.
static constexpr double callWeightBytes = 512 << 10;
static constexpr int64_t chunkPanels = logitsChunk / HEDDLE_PANEL;
static_assert(logitsChunk % HEDDLE_PANEL == 0);

Result<Projection> Projection::create(const Plan &plan, const PlannedOutput &output,
                                      int64_t vocabulary, int threads) {
  Projection projection;
  projection.plan = &plan;
  projection.buffer = output.buffer;
  projection.vocabulary = vocabulary;
  projection.chunks = (vocabulary + logitsChunk - 1) / logitsChunk;
  projection.workers.resize(static_cast<size_t>(threads));
  if (!plan.deferred) {
    return projection;
  }
  const PlannedDispatch &dispatch = *plan.deferred;
  projection.callRows =
      std::max(dispatch.rowTile, mostCallRows / dispatch.rowTile * dispatch.rowTile);
  // Two operations a weight of four bytes.
  const double panelBytes = 2 * dispatch.flopsPerToken / static_cast<double>(dispatch.columns);
  projection.callColumns = std::clamp(
      static_cast<int64_t>(callWeightBytes / std::max(panelBytes, 1.0)), int64_t(1), chunkPanels);
  for (Worker &worker : projection.workers) {
    const auto floats = static_cast<uint64_t>(projection.callRows * vocabulary + logitsChunk);
    HEDDLE_ASSIGN(worker.spread,
                  AddressSpace::reserve(floats * sizeof(float), "logits", Filling::Sparse));
    worker.operands.resize(dispatch.operandCount);
  }
  return projection;
}

Projection::Projection(Projection &&other) noexcept { *this = std::move(other); }

Projection &Projection::operator=(Projection &&other) noexcept {
  plan = other.plan;
  buffer = other.buffer;
  vocabulary = other.vocabulary;
  chunks = other.chunks;
  callRows = other.callRows;
  callColumns = other.callColumns;
  workers = std::move(other.workers);
  return *this;
}

void Projection::begin(LogitsSink &wanted, int64_t count) {
  sink = &wanted;
  rows = count;
  next = 0;
  if (plan->deferred && rows > callRows) {
    const auto floats = static_cast<size_t>(rows * std::min(vocabulary, logitsChunk));
    for (Worker &worker : workers) {
      worker.packed.resize(std::max(worker.packed.size(), floats));
    }
  }
  sink->begin(rows, vocabulary, static_cast<int>(workers.size()));
}

void Projection::run(int worker, const RunView &view) {
  for (int64_t chunk = next.fetch_add(1, std::memory_order_relaxed); chunk < chunks;
       chunk = next.fetch_add(1, std::memory_order_relaxed)) {
    if (!sink->wants(chunk)) {
      continue;
    }
    if (plan->deferred) {
      computeChunk(worker, chunk, view);
    } else {
      handOut(worker, chunk, view);
    }
  }
}

void Projection::handOut(int worker, int64_t chunk, const RunView &view) {
  const int64_t first = chunk * logitsChunk;
  const auto *const values = static_cast<const float *>(view.bases[buffer]);
  sink->deliver(worker, chunk, std::min(logitsChunk, vocabulary - first), values + first,
                vocabulary);
}

void Projection::computeChunk(int worker, int64_t chunk, const RunView &view) {
  Worker &own = workers[static_cast<size_t>(worker)];
  const PlannedDispatch &dispatch = *plan->deferred;
  const int64_t first = chunk * logitsChunk;
  const int64_t count = std::min(logitsChunk, vocabulary - first);
  std::copy_n(view.context.operands, dispatch.operandCount, own.operands.begin());
  HeddleKernelContext context = view.context;
  context.operands = own.operands.data();
  auto *const spread = reinterpret_cast<float *>(own.spread.data());
  const int64_t columnEnd = std::min(dispatch.columns, (chunk + 1) * chunkPanels);
  for (int64_t column = chunk * chunkPanels; column < columnEnd; column += callColumns) {
    const int64_t begin = column * HEDDLE_PANEL;
    const int64_t width = std::min(callColumns * HEDDLE_PANEL, first + count - begin);
    for (int64_t row = 0; row < rows; row += callRows) {
      const int64_t rowEnd = std::min(rows, row + callRows);
      // The kernel writes logit j of row r to result[r * vocabulary + j]: the first row and column
      // of this call land at the beginning. Integers, as no such array is there.
      const auto shift = static_cast<uintptr_t>(row * vocabulary + first) * sizeof(float);
      own.operands[0] = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(spread) - shift);
      dispatch.kernel(&context, row, rowEnd, column, std::min(columnEnd, column + callColumns));
      for (int64_t r = row; rows > callRows && r < rowEnd; ++r) {
        std::memcpy(own.packed.data() + r * count + (begin - first),
                    spread + (r - row) * vocabulary + (begin - first),
                    static_cast<size_t>(width) * sizeof(float));
      }
    }
  }
  if (rows > callRows) {
    sink->deliver(worker, chunk, count, own.packed.data(), count);
  } else {
    sink->deliver(worker, chunk, count, spread, vocabulary);
  }
}

} // namespace heddle
