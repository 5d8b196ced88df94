// SPDX-License-Identifier: Apache-2.0
///
/// A kernel computes whole columns of its grid. A chunk is computed by the columns that overlap it,
/// which may include a few extra elements on both sides; the sink gets only the chunk.
///
/// Selected and copied logits have the same bits, and so have the sums over them. Which way a row
/// goes therefore only matters for time.
#include "runtime/Session/Projection.h"

#include "heddle/Abi.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace heddle {

/// Reading the weights again takes as long as computing some rows: 8 at 118 GFLOP/s and 31 GB/s, 25
/// at 190 GFLOP/s and 15 GB/s. Wanted rows that are no further apart are computed together.
static constexpr int64_t tilesOfReading = 4;

/// Rows whose logits together take more memory than this are copied chunk by chunk.
static constexpr int64_t mostSelectedBytes = int64_t(256) << 20;

int64_t Projection::bestOfSelection(int64_t width, int64_t vocabulary) {
  const int64_t best = width / selectedPair - piecesOf(vocabulary, logitsChunk);
  return width % selectedPair == 0 && best <= std::min(vocabulary, mostSelected)
             ? std::max<int64_t>(best, 0)
             : 0;
}

bool Projection::canCut(const PlannedDispatch &dispatch) {
  return dispatch.columnElements != 0 && dispatch.columnElements <= logitsChunk;
}

// --- What the device has selected --------------------------------------------------------------

/// Returns the index of a row among the rows of the ranges; -1 if it is in none.
int64_t Selections::indexOf(int64_t row) const {
  int64_t before = 0;
  for (const Range range : ranges) {
    if (row >= range.begin && row < range.end) {
      return before + row - range.begin;
    }
    before += range.end - range.begin;
  }
  return -1;
}

const SelectedToken *Selections::bestOf(int64_t index) const {
  const std::byte *const row = found.first + static_cast<uint64_t>(index) * found.pitch;
  return reinterpret_cast<const SelectedToken *>(row) + chunks;
}

void Selections::deliver() {
  if (std::exchange(isDelivered, true)) {
    return;
  }
  int64_t index = 0;
  for (const Range range : ranges) {
    for (int64_t row = range.begin; row < range.end; ++row, ++index) {
      if (isSelected(row)) {
        const SelectedToken *const tokens = bestOf(index);
        sink->deliverSelected(row, {{reinterpret_cast<const float *>(tokens - chunks),
                                     static_cast<size_t>(chunks * selectedPair)},
                                    {tokens, static_cast<size_t>(best)}});
      }
    }
  }
}

const std::byte *Selections::pairsOf(int64_t row) const {
  const int64_t index = sink->wantsRow(row) && sink->bestNeeded(row) > 0 ? indexOf(row) : -1;
  return index < 0 ? nullptr : pairs + static_cast<uint64_t>(index) * pitch;
}

const std::byte *Selections::bestToken(int64_t row) const {
  const std::byte *const own = pairsOf(row);
  const auto pair = static_cast<uint64_t>(chunks) * sizeof(SelectedToken);
  return own == nullptr ? nullptr : own + pair + offsetof(SelectedToken, token);
}

int32_t Selections::bestTokenFound(int64_t row) const { return bestOf(indexOf(row))->token; }

// --- Runs --------------------------------------------------------------------------------------

Projection::Projection(const Plan &plan, const PlannedOutput &output, const DeviceProgram &program,
                       int64_t vocabulary, int lanes)
    : plan(&plan), exclusion(program.ownKernel(OwnKernel::ExcludeTokens)), buffer(output.buffer),
      vocabulary(vocabulary), chunks((vocabulary + logitsChunk - 1) / logitsChunk),
      workers(static_cast<size_t>(lanes)) {
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
  if (plan.selection && plan.selection->peaks.columns == chunks && exclusion != nullptr) {
    selectable = plan.selection->best.columns - chunks;
    selectionOperands.resize(plan.selection->best.operandCount);
  }
}

Projection::Projection(Projection &&other) noexcept { *this = std::move(other); }

Projection &Projection::operator=(Projection &&other) noexcept {
  plan = other.plan;
  exclusion = other.exclusion;
  buffer = other.buffer;
  vocabulary = other.vocabulary;
  chunks = other.chunks;
  rowStride = other.rowStride;
  workers = std::move(other.workers);
  selectable = other.selectable;
  selectionOperands = std::move(other.selectionOperands);
  return *this;
}

Range Projection::chunkOf(int64_t number) const {
  return {number * logitsChunk, std::min((number + 1) * logitsChunk, vocabulary)};
}

void Projection::addRow(std::vector<Range> &list, int64_t row) const {
  const int64_t few = plan->deferred ? tilesOfReading * plan->deferred->rowTile : 1;
  if (list.empty() || list.back().end + few <= row) {
    list.push_back({row, row});
  }
  list.back().end = row + 1;
}

static int64_t countRows(std::span<const Range> ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), int64_t(0),
                         [](int64_t sum, Range part) { return sum + part.end - part.begin; });
}

int64_t Projection::rowsOfChunk() const {
  if (selections->ranges.empty()) {
    return rows;
  }
  return copiedRanges.empty() ? 0 : copiedRanges.back().end;
}

/// Divides the wanted rows into those that are selected from and those that are copied.
void Projection::splitRows() {
  for (std::vector<Range> *const list : {&ranges, &selections->ranges, &copiedRanges}) {
    list->clear();
    list->reserve(static_cast<size_t>(rows));
  }
  selections->best = 0;
  for (int64_t row = 0; row < rows; ++row) {
    if (!sink->wantsRow(row)) {
      continue;
    }
    addRow(ranges, row);
    const int64_t best = selectable > 0 ? sink->bestNeeded(row) : -1;
    addRow(best < 0 ? copiedRanges : selections->ranges, row);
    selections->best = std::max(selections->best, best);
  }
}

/// Reserves memory for the selection.
Status Projection::reserveSelection(DeviceStream &stream) {
  const auto selected = static_cast<uint64_t>(countRows(selections->ranges));
  selections->chunks = chunks;
  selections->pitch =
      static_cast<uint64_t>(plan->selection->best.columns * selectedPair) * sizeof(float);
  HEDDLE_TRY(
      stream.grow(selectedLogits, selected * static_cast<uint64_t>(vocabulary) * sizeof(float)));
  HEDDLE_TRY(
      stream.grow(peaks, selected * static_cast<uint64_t>(chunks * peakWords) * sizeof(float)));
  if (std::exchange(isFilled, false)) {
    std::swap(selectedPairs, selectedBefore);
  }
  HEDDLE_TRY(stream.grow(selectedPairs, selected * selections->pitch));
  selections->pairs = selectedPairs.data();
  findExcluded();
  const uint64_t before = excludedElements.size();
  HEDDLE_TRY(stream.grow(excludedElements, excluded.size() * sizeof(int64_t)));
  if (excludedElements.size() != before) {
    excludedSent.clear();
  }
  excludedSent.reserve(excluded.size());
  return {};
}

Status Projection::begin(LogitsSink &wanted, int64_t count, DeviceStream &stream,
                         Selections &selected) {
  sink = &wanted;
  selections = &selected;
  selections->sink = sink;
  selections->found = {};
  selections->isDelivered = false;
  rows = count;
  next = 0;
  sink->offerSelection(selectable, vocabulary);
  splitRows();
  const int64_t rowBytes = vocabulary * static_cast<int64_t>(sizeof(float));
  if (countRows(selections->ranges) > mostSelectedBytes / rowBytes) {
    sink->offerSelection(0, vocabulary);
    copiedRanges = ranges;
    selections->ranges.clear();
  }
  if (!selections->ranges.empty()) {
    HEDDLE_TRY(reserveSelection(stream));
  }
  for (Worker &worker : workers) {
    HEDDLE_TRY(stream.grow(worker.memory,
                           static_cast<uint64_t>(rowsOfChunk() * rowStride) * sizeof(float)));
  }
  sink->begin(rows, vocabulary, static_cast<int>(workers.size()));
  return {};
}

/// Finds the logits that count as minus infinity.
void Projection::findExcluded() {
  excluded.clear();
  int64_t index = 0;
  for (const Range wanted : selections->ranges) {
    for (int64_t row = wanted.begin; row < wanted.end; ++row, ++index) {
      excludedOfRow.clear();
      if (selections->isSelected(row)) {
        sink->exclude(row, excludedOfRow);
      }
      for (const int32_t token : excludedOfRow) {
        if (token >= 0 && token < vocabulary) {
          excluded.push_back(index * vocabulary + token);
        }
      }
    }
  }
}

/// Most steps exclude what the step before has excluded.
void Projection::send(DeviceStream &stream) {
  if (selections->ranges.empty() || excluded.empty() || excluded == excludedSent) {
    return;
  }
  const uint64_t bytes = excluded.size() * sizeof(int64_t);
  if (std::byte *const staged = stream.stage(0, excludedElements.data(), bytes)) {
    std::copy(excluded.begin(), excluded.end(), reinterpret_cast<int64_t *>(staged));
    stream.send(0);
    excludedSent = excluded;
  }
}

/// Excludes tokens, after the product.
void Projection::exclude(const RunView &view) {
  if (excluded.empty()) {
    return;
  }
  void *const operands[] = {selectedLogits.data(), excludedElements.data()};
  const HeddleKernelContext context = {operands, nullptr, nullptr};
  const auto count = static_cast<int64_t>(excluded.size());
  view.stream.launch(0, {exclusion, nullptr, &context, {0, count}, {0, 1}, 1, 0}, nullptr);
}

/// Returns the address of an element.
static std::byte *elementAt(const DeviceMemory &memory, int64_t element) {
  return memory.data() + element * int64_t(sizeof(float));
}

/// Returns where the first row of a run would be if the memory had the `skipped` rows before its
/// own: kernels count the rows that they read from there.
static void *firstRow(const DeviceMemory &memory, int64_t skipped, int64_t rowElements) {
  const auto own = reinterpret_cast<uintptr_t>(memory.data());
  const auto bytes = static_cast<uintptr_t>(skipped * rowElements) * sizeof(float);
  return reinterpret_cast<void *>(own - bytes);
}

/// Launches a dispatch without a kernel that finishes it, over some rows and columns. Operand 0 is
/// `result`; the others are set.
static void launchOver(const RunView &view, int lane, const PlannedDispatch &dispatch,
                       std::span<void *> operands, HeddleResult result,
                       const HeddleRows *const *spaces, Range rows, Range columns) {
  operands[0] = &result;
  HeddleKernelContext context = view.context;
  context.operands = operands.data();
  context.spaces = spaces;
  view.stream.launch(
      lane, {dispatch.kernel, nullptr, &context, rows, columns, dispatch.rowTile, view.scratch},
      nullptr);
}

/// Computes the logits of some rows. `before` is the number of rows of the ranges before these.
void Projection::launchProduct(const RunView &view, Range wanted, int64_t before) {
  const PlannedDispatch &product = *plan->deferred;
  std::vector<void *> &operands = workers[0].operands;
  std::copy_n(view.context.operands, product.operandCount, operands.begin());
  launchOver(view, 0, product, operands,
             {elementAt(selectedLogits, before * vocabulary), wanted.begin, 0, vocabulary},
             view.context.spaces, wanted, {0, product.columns});
}

/// Finds what the pieces of the logits of the same rows have.
void Projection::launchPeaks(const RunView &view, Range wanted, int64_t before) {
  const int64_t words = chunks * peakWords;
  selectionOperands[1] = firstRow(selectedLogits, wanted.begin - before, vocabulary);
  launchOver(view, 0, plan->selection->peaks, selectionOperands,
             {elementAt(peaks, before * words), wanted.begin, 0, words}, view.spacesOfPeaks, wanted,
             {0, chunks});
}

/// Selects from the logits of the same rows.
void Projection::launchBest(const RunView &view, Range wanted, int64_t before) {
  const PlannedDispatch &dispatch = plan->selection->best;
  const int64_t rowPairs = dispatch.columns * selectedPair;
  const int64_t skipped = wanted.begin - before;
  selectionOperands[1] = firstRow(selectedLogits, skipped, vocabulary);
  selectionOperands[2] = firstRow(peaks, skipped, chunks * peakWords);
  launchOver(view, 0, dispatch, selectionOperands,
             {elementAt(selectedPairs, before * rowPairs), wanted.begin, 0, rowPairs},
             view.spacesOfBest, wanted, {0, chunks + selections->best});
}

/// Selects on the device, and begins to copy what it selects to the host.
void Projection::select(const RunView &view) {
  isFilled = true;
  int64_t before = 0;
  for (const Range wanted : selections->ranges) {
    launchProduct(view, wanted, before);
    before += wanted.end - wanted.begin;
  }
  exclude(view);
  before = 0;
  for (const Range wanted : selections->ranges) {
    launchPeaks(view, wanted, before);
    launchBest(view, wanted, before);
    before += wanted.end - wanted.begin;
  }
  const auto count = static_cast<uint64_t>(before);
  const auto used =
      static_cast<uint64_t>((chunks + selections->best) * selectedPair) * sizeof(float);
  if (!view.isTimed) {
    selections->found =
        view.stream.fetchLater(selectedPairs.data(), count, used, selections->pitch);
    return;
  }
  selections->found =
      view.stream.fetchRows(0, selectedPairs.data(), count, used, selections->pitch);
  if (selections->found.first != nullptr) {
    // The logits of other rows will be fetched into the same memory.
    selections->deliver();
  }
}

void Projection::run(int lane, const RunView &view) {
  if (lane == 0 && !selections->ranges.empty()) {
    select(view);
  }
  if (rowsOfChunk() == 0) {
    return;
  }
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
      lane, reinterpret_cast<const std::byte *>(values), static_cast<uint64_t>(rowsOfChunk()),
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
  std::copy_n(view.context.operands, dispatch.operandCount, own.operands.begin());
  for (const Range wanted : copiedRanges) {
    launchOver(view, lane, dispatch, own.operands, {own.memory.data(), 0, first, rowStride},
               view.context.spaces, wanted, columns);
  }
  const auto *const values = reinterpret_cast<const float *>(own.memory.data());
  deliver(lane, chunk, view.stream, values + (tokens.begin - first), rowStride);
}

} // namespace heddle
