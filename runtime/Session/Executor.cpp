// SPDX-License-Identifier: Apache-2.0
///
/// Execution.
#include "runtime/Session/Executor.h"

#include "formats/Binary/Layout.h"
#include "runtime/Device/Cpu/FloatingPoint.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <numeric>

namespace heddle {

/// More threads than a machine has use for.
static constexpr int mostThreads = 1024;
/// 4 GiB of them.
static constexpr int64_t mostTraceRuns = int64_t(1) << 26;

/// Part `index` of `parts` of [0, size), cut at multiples of `tile`, as evenly as that allows.
static Range partOf(int64_t size, int64_t tile, int index, int parts) {
  const int64_t tiles = (size + tile - 1) / tile;
  return {std::min(size, tiles * index / parts * tile),
          std::min(size, tiles * (index + 1) / parts * tile)};
}

/// The mean load over the largest when `pieces` are shared by `threads`.
static double evenness(int64_t pieces, int threads) {
  const int64_t rounds = (pieces + threads - 1) / threads;
  return static_cast<double>(pieces) / static_cast<double>(rounds * threads);
}

/// More rows than these use each weight often enough that reading it is not what takes the time;
/// and what is lost to uneven columns must not exceed what is won.
static constexpr int64_t mostStreamedRows = 64;
static constexpr double evenEnoughColumns = 0.8;

/// Whether a dispatch is better divided by columns: rows are the first choice, as a thread then
/// reads on what it wrote, but too few of them leave threads idle. And where there are few, reading
/// the weights is what takes the time: each thread had better read a part of its own.
static bool dividesColumns(const PlannedDispatch &dispatch, int64_t rows, int threads) {
  if (rows <= mostStreamedRows && dispatch.columns > 1 &&
      evenness(dispatch.columns, threads) >= evenEnoughColumns) {
    return true;
  }
  const int64_t tiles = (rows + dispatch.rowTile - 1) / dispatch.rowTile;
  return tiles < int64_t(threads) * 2 && dispatch.columns > 1 &&
         evenness(dispatch.columns, threads) > evenness(tiles, threads);
}

Result<std::shared_ptr<Executor>> Executor::create(const Model &model,
                                                   const SessionOptions &options) {
  if (options.threads < 1 || options.threads > mostThreads) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("{} threads, expected 1 to {}", options.threads, mostThreads));
  }
  if (options.chunkTokens < 0) {
    return HEDDLE_ERROR(InvalidArgument,
                        fmt::format("chunks of {} tokens, expected at least 1, or 0 for the usual",
                                    options.chunkTokens));
  }
  if (options.traceRuns < 0 || options.traceRuns > mostTraceRuns) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("a trace of {} runs, expected 0 to {}",
                                                     options.traceRuns, mostTraceRuns));
  }
  if (model.isa().empty()) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: loaded with describeOnly, expected a model with code", model.path()));
  }
  size_t costs = 0;
  for (const EntryInfo &entry : model.entries()) {
    costs += static_cast<size_t>(entry.dispatches + entry.observedDispatches);
  }
  HEDDLE_ASSIGN(std::unique_ptr<ThreadPool> pool, ThreadPool::create(options.threads));
  return std::make_shared<Executor>(std::move(pool), options, costs);
}

Executor::Executor(std::unique_ptr<ThreadPool> threads, const SessionOptions &options, size_t costs)
    : pool(std::move(threads)), options(options), workers(static_cast<size_t>(pool->threads())) {
  for (Worker &worker : workers) {
    worker.costs.resize(options.profile ? costs : 0);
    worker.spans.reserve(options.profile ? static_cast<size_t>(options.traceRuns) : 0);
  }
}

/// The parts are in the order arena, outputs, inputs, offsets, sequence numbers, positions,
/// scratch; each begins aligned, and after each there is room to read on.
Result<Executor::Layout> Executor::layoutOf(const Plan &plan, const Chunk &chunk, int threads) {
  const WorkSize work{chunk.tokens, chunk.sequences, chunk.longest};
  const std::optional<uint64_t> memory = plan.memory.evaluate(work);
  if (!memory) {
    return HEDDLE_ERROR(ResourceExhausted,
                        fmt::format("{} tokens in {} sequences, the longest of {}, need more than "
                                    "2^62 bytes of working memory",
                                    chunk.tokens, chunk.sequences, chunk.longest));
  }
  const auto tokens = static_cast<uint64_t>(chunk.tokens);
  const auto sequences = static_cast<uint64_t>(chunk.sequences);
  auto padded = [](uint64_t bytes) { return alignUp(bytes, HEDDLE_ALIGNMENT) + HEDDLE_ALIGNMENT; };
  Layout layout{};
  layout.inputs = padded(*memory);
  layout.inputStride = padded(tokens * sizeof(int32_t));
  layout.offsets = layout.inputs + layout.inputStride * plan.inputsUsed.size();
  layout.sequenceOf = layout.offsets + padded((sequences + 1) * sizeof(int32_t));
  layout.positions = layout.sequenceOf + padded(tokens * sizeof(int32_t));
  layout.scratch = layout.positions + padded(tokens * sizeof(int32_t));
  layout.scratchStride =
      padded(plan.scratch + plan.scratchPerLongest * static_cast<uint64_t>(chunk.longest));
  layout.total = layout.scratch + layout.scratchStride * static_cast<uint64_t>(threads);
  return layout;
}

/// The rows of a chunk in an output or of an output.
static Range rowsOf(const Chunk &chunk, bool overTokens) {
  return overTokens ? Range{chunk.firstToken, chunk.firstToken + chunk.tokens}
                    : Range{chunk.firstSequence, chunk.firstSequence + chunk.sequences};
}

/// Where a chunk's rows of an output are in the caller's memory, if they can be computed there.
static std::byte *directAddress(const PlannedOutput &output, float *values, const Chunk &chunk) {
  // A decoder leaves outputs that it reads itself without a place of their own.
  if (!output.requested || output.readBack || output.rowBytes == 0 || values == nullptr) {
    return nullptr;
  }
  std::byte *const address =
      reinterpret_cast<std::byte *>(values) +
      static_cast<uint64_t>(rowsOf(chunk, output.overTokens).begin) * output.rowBytes;
  return reinterpret_cast<uintptr_t>(address) % HEDDLE_ALIGNMENT == 0 ? address : nullptr;
}

void *Executor::outputAddress(const Run &run, const Chunk &chunk, uint32_t port,
                              Worker &worker) const {
  const PlannedOutput &output = run.plan.outputs[port];
  std::byte *const direct = directAddress(output, run.batch.outputs()[port], chunk);
  const WorkSize work{chunk.tokens, chunk.sequences, chunk.longest};
  return direct != nullptr ? direct : worker.memory.data() + *output.offset.evaluate(work);
}

void Executor::prepareOperands(const Run &run, const Chunk &chunk, const Layout &layout,
                               Worker &worker) const {
  std::byte *const memory = worker.memory.data();
  const WorkSize work{chunk.tokens, chunk.sequences, chunk.longest};
  for (size_t i = 0; i < run.plan.buffers.size(); ++i) {
    const BufferPlace &place = run.plan.buffers[i];
    switch (place.kind) {
    case BufferPlace::Kind::Unused:
      worker.bases[i] = nullptr;
      break;
    case BufferPlace::Kind::Memory:
      worker.bases[i] = memory + *place.offset.evaluate(work);
      break;
    case BufferPlace::Kind::Weights:
      worker.bases[i] = const_cast<void *>(place.address);
      break;
    case BufferPlace::Kind::Input:
      worker.bases[i] = memory + layout.inputs + layout.inputStride * place.port;
      break;
    case BufferPlace::Kind::Output:
      worker.bases[i] = outputAddress(run, chunk, place.port, worker);
      break;
    case BufferPlace::Kind::Cache:
      worker.bases[i] = &worker.caches[place.port];
      break;
    }
  }
  for (size_t i = 0; i < run.plan.operands.size(); ++i) {
    const PlannedOperand &operand = run.plan.operands[i];
    void *const base = worker.bases[operand.buffer];
    worker.operands[i] =
        base == nullptr ? nullptr : static_cast<std::byte *>(base) + operand.byteOffset;
  }
  for (size_t i = 0; i < run.plan.results.size(); ++i) {
    const PlannedResult &result = run.plan.results[i];
    void *&operand = worker.operands[result.operand];
    worker.results[i] = {operand, 0, 0, result.rowElements.evaluate(work)};
    operand = &worker.results[i];
  }
}

void Executor::prepareCaches(const Run &run, const Chunk &chunk, const HeddleKernelContext &context,
                             Worker &worker) const {
  for (size_t i = 0; i < run.caches.size(); ++i) {
    const CacheOperand &cache = run.caches[i];
    const CacheRows &rows = *cache.rows;
    HeddleCache &operand = worker.caches[i];
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

/// Fills in what does not depend on the dispatch; `scratch` and `operands` are the caller's to set.
HeddleKernelContext Executor::prepare(const Run &run, const Chunk &chunk, const Layout &layout,
                                      Worker &worker) const {
  std::byte *const memory = worker.memory.data();
  const auto tokens = static_cast<size_t>(chunk.tokens);
  for (size_t i = 0; i < run.plan.inputsUsed.size(); ++i) {
    // Copied, because kernels may count on alignment and read past the end.
    std::byte *const copy = memory + layout.inputs + layout.inputStride * i;
    if (!run.plan.inputsUsed[i]) {
      continue;
    }
    if (const int32_t *const values = run.batch.inputs()[i]) {
      std::memcpy(copy, values + chunk.firstToken, tokens * sizeof(int32_t));
    } else {
      std::memset(copy, 0, tokens * sizeof(int32_t));
    }
  }
  auto *const offsets = reinterpret_cast<int32_t *>(memory + layout.offsets);
  auto *const sequenceOf = reinterpret_cast<int32_t *>(memory + layout.sequenceOf);
  auto *const positions = reinterpret_cast<int32_t *>(memory + layout.positions);
  offsets[0] = 0;
  for (int64_t i = 0; i < chunk.sequences; ++i) {
    const auto sequence = static_cast<size_t>(chunk.firstSequence + i);
    const int32_t length = run.batch.lengths()[sequence];
    offsets[i + 1] = offsets[i] + length;
    std::fill_n(sequenceOf + offsets[i], length, static_cast<int32_t>(i));
    std::iota(positions + offsets[i], positions + offsets[i + 1],
              run.starts.empty() ? 0 : run.starts[sequence]);
  }
  const HeddleKernelContext context{
      nullptr,      offsets,         sequenceOf,    memory + layout.scratch,
      chunk.tokens, chunk.sequences, chunk.longest, positions};
  prepareCaches(run, chunk, context, worker);
  prepareOperands(run, chunk, layout, worker);
  return context;
}

void Executor::resizeFor(const Run &run, Worker &worker) {
  worker.bases.resize(run.plan.buffers.size());
  worker.operands.resize(run.plan.operands.size());
  worker.results.resize(run.plan.results.size());
  worker.caches.resize(run.caches.size());
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

void Executor::copyOutputs(const Run &run, const Chunk &chunk, Worker &worker) const {
  for (uint32_t port = 0; port < run.plan.outputs.size(); ++port) {
    const PlannedOutput &output = run.plan.outputs[port];
    float *const values = run.batch.outputs()[port];
    if (!output.requested || values == nullptr || directAddress(output, values, chunk) != nullptr) {
      continue;
    }
    if (output.rowBytes == 0) {
      copyKeys(run, chunk, output,
               static_cast<const float *>(outputAddress(run, chunk, port, worker)), values);
      continue;
    }
    const Range rows = rowsOf(chunk, output.overTokens);
    std::memcpy(reinterpret_cast<std::byte *>(values) +
                    static_cast<uint64_t>(rows.begin) * output.rowBytes,
                outputAddress(run, chunk, port, worker),
                static_cast<uint64_t>(rows.end - rows.begin) * output.rowBytes);
  }
}

/// What a call of a dispatch over a chunk does. The caches are where `bound` has them.
DispatchWork Executor::workOf(const Run &run, const PlannedDispatch &dispatch, const Chunk &chunk,
                              const Worker &bound) const {
  const auto tokens = static_cast<double>(chunk.tokens);
  DispatchWork work;
  work.weightBytes = dispatch.weightBytes + dispatch.weightBytesPerToken * tokens;
  double pairs = chunk.pairs;
  // The first operand is written, the others are read.
  for (uint32_t i = 1; i < dispatch.operandCount; ++i) {
    const BufferPlace &place =
        run.plan.buffers[run.plan.operands[dispatch.firstOperand + i].buffer];
    if (place.kind != BufferPlace::Kind::Cache) {
      continue;
    }
    const CachedWork cached = cachedWork(bound.caches[place.port], place.positionBytes);
    work.cacheBytes += cached.bytes;
    pairs = cached.pairs;
  }
  work.flops = dispatch.flopsPerToken * tokens + dispatch.flopsPerTokenKey * pairs;
  return work;
}

/// Runs `call`, and with SessionOptions::profile writes down how long it took; `counts` on the one
/// worker that counts the call. The operands are those of `bound`.
template <typename Call>
void Executor::timed(const Run &run, const PlannedDispatch &dispatch, const Chunk &chunk,
                     const Worker &bound, Worker &worker, bool counts, const Call &call) {
  if (!options.profile) {
    call();
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  call();
  const auto end = std::chrono::steady_clock::now();
  const std::chrono::duration<double> time = end - begin;
  const size_t index = run.firstCost + dispatch.index;
  DispatchCost &cost = worker.costs[index];
  cost.seconds += time.count();
  const bool kept = worker.spans.size() < worker.spans.capacity();
  if (!counts && !kept) {
    return;
  }
  const DispatchWork work = workOf(run, dispatch, chunk, bound);
  if (counts) {
    cost.calls += 1;
    cost.work += work;
  }
  if (kept) {
    const std::chrono::duration<double> start = begin - epoch;
    worker.spans.push_back({index, 0, start.count(), time.count(), work});
  }
}

void Executor::runChunk(const Run &run, const Chunk &chunk, Worker &worker) {
  // Memory for the largest chunk was reserved, so this cannot fail.
  const Result<Layout> layout = layoutOf(run.plan, chunk, 1);
  HeddleKernelContext context = prepare(run, chunk, *layout, worker);
  for (const PlannedDispatch &dispatch : run.plan.dispatches) {
    context.operands = worker.operands.data() + dispatch.firstOperand;
    const int64_t rows = dispatch.overTokens ? chunk.tokens : chunk.sequences;
    timed(run, dispatch, chunk, worker, worker, true, [&] {
      dispatch.kernel(&context, 0, rows, 0, dispatch.columns);
      if (dispatch.finish != nullptr) {
        dispatch.finish(&context, 0, rows, 0, dispatch.columns);
      }
    });
  }
  copyOutputs(run, chunk, worker);
  runTail(run, chunk, context, 0);
}

/// `context` is that of the dispatches; a tail is of whole runs, whose buffers are worker 0's.
void Executor::runTail(const Run &run, const Chunk &chunk, HeddleKernelContext context,
                       int worker) {
  if (run.tail == nullptr) {
    return;
  }
  const std::optional<PlannedDispatch> &deferred = run.plan.deferred;
  context.operands = deferred ? workers[0].operands.data() + deferred->firstOperand : nullptr;
  const auto call = [&] { run.tail->run(worker, {context, workers[0].bases}); };
  if (deferred) {
    timed(run, *deferred, chunk, workers[0], workers[static_cast<size_t>(worker)], worker == 0,
          call);
  } else {
    call();
  }
}

Status Executor::runChunked(const Run &run) {
  uint64_t largest = 0;
  for (const Chunk &chunk : scheduler.chunks()) {
    HEDDLE_ASSIGN(const Layout layout, layoutOf(run.plan, chunk, 1));
    largest = std::max(largest, layout.total);
  }
  const size_t used = std::min(workers.size(), scheduler.chunks().size());
  for (size_t i = 0; i < used; ++i) {
    HEDDLE_TRY(workers[i].memory.reserve(largest));
    resizeFor(run, workers[i]);
  }
  std::atomic<size_t> next = 0;
  auto task = [&](int index) {
    if (static_cast<size_t>(index) >= used) {
      return;
    }
    const DefaultFloatingPoint control;
    for (size_t i = next.fetch_add(1, std::memory_order_relaxed); i < scheduler.chunks().size();
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      runChunk(run, scheduler.chunks()[i], workers[static_cast<size_t>(index)]);
    }
  };
  if (used == 1) {
    task(0);
  } else {
    pool->run(task);
  }
  return {};
}

/// The part of one worker in a dispatch that all share.
void Executor::shareDispatch(const PlannedDispatch &dispatch, const HeddleKernelContext &context,
                             int worker) {
  const int threads = pool->threads();
  const int64_t rows = dispatch.overTokens ? context.tokens : context.sequences;
  const Range ownRows = partOf(rows, dispatch.rowTile, worker, threads);
  const bool byColumns = dividesColumns(dispatch, rows, threads);
  const Range columns =
      byColumns ? partOf(dispatch.columns, 1, worker, threads) : Range{0, dispatch.columns};
  const Range kernelRows = byColumns ? Range{0, rows} : ownRows;
  if (kernelRows.begin < kernelRows.end && columns.begin < columns.end) {
    dispatch.kernel(&context, kernelRows.begin, kernelRows.end, columns.begin, columns.end);
  }
  if (dispatch.finish == nullptr) {
    return;
  }
  if (byColumns) {
    // A row is done when all its columns are.
    pool->barrier();
  }
  if (ownRows.begin < ownRows.end) {
    dispatch.finish(&context, ownRows.begin, ownRows.end, 0, dispatch.columns);
  }
}

Status Executor::runCooperative(const Run &run, const Chunk &chunk) {
  HEDDLE_ASSIGN(const Layout layout, layoutOf(run.plan, chunk, pool->threads()));
  Worker &first = workers[0];
  HEDDLE_TRY(first.memory.reserve(layout.total));
  resizeFor(run, first);
  const HeddleKernelContext shared = prepare(run, chunk, layout, first);
  auto task = [&](int index) {
    const DefaultFloatingPoint control;
    HeddleKernelContext context = shared;
    context.scratch =
        first.memory.data() + layout.scratch + layout.scratchStride * static_cast<uint64_t>(index);
    for (const PlannedDispatch &dispatch : run.plan.dispatches) {
      context.operands = first.operands.data() + dispatch.firstOperand;
      timed(run, dispatch, chunk, first, workers[static_cast<size_t>(index)], index == 0,
            [&] { shareDispatch(dispatch, context, index); });
      pool->barrier();
    }
    runTail(run, chunk, context, index);
  };
  pool->run(task);
  copyOutputs(run, chunk, first);
  return {};
}

/// All of a run as one chunk.
Chunk Executor::wholeOf(const Run &run) {
  Chunk chunk;
  chunk.sequences = static_cast<int64_t>(run.batch.lengths().size());
  chunk.tokens = run.batch.tokens();
  chunk.longest = run.longestCached;
  for (size_t i = 0; i < run.batch.lengths().size(); ++i) {
    const int64_t rows = run.batch.lengths()[i];
    const int64_t start = run.starts.empty() ? 0 : run.starts[i];
    chunk.longest = std::max(chunk.longest, rows);
    chunk.pairs += static_cast<double>(rows * (start + rows));
  }
  return chunk;
}

Status Executor::reserve(const Run &run) {
  HEDDLE_ASSIGN(const Layout layout, layoutOf(run.plan, wholeOf(run), pool->threads()));
  resizeFor(run, workers[0]);
  return workers[0].memory.reserve(layout.total);
}

/// Operations in the time that threads take to meet, some microseconds where each has a processor
/// to itself and a scheduler's slice where not: less than that is not worth sharing.
static constexpr double meetingFlops = 4e4;

/// Whether all threads together are faster than one, as far as their work can tell.
bool Executor::worthSharing(const Run &run, const Chunk &chunk) const {
  if (pool->threads() == 1 || options.schedule == Schedule::Cooperative) {
    return options.schedule == Schedule::Cooperative;
  }
  const auto meetings = static_cast<double>(run.plan.dispatches.size() + 2);
  const double flops = run.plan.flopsPerToken * static_cast<double>(chunk.tokens) +
                       run.plan.flopsPerTokenKey * chunk.pairs;
  return flops >= meetingFlops * meetings;
}

Status Executor::run(const Run &run) {
  if (run.whole) {
    HEDDLE_TRY(reserve(run));
    const Chunk chunk = wholeOf(run);
    if (worthSharing(run, chunk)) {
      return runCooperative(run, chunk);
    }
    const DefaultFloatingPoint control;
    runChunk(run, chunk, workers[0]);
    return {};
  }
  SequenceCost cost{run.plan.flopsPerToken, run.plan.flopsPerTokenKey};
  if (cost.perToken <= 0) {
    cost.perToken = 1;
  }
  const int64_t chunkTokens =
      options.chunkTokens > 0 ? options.chunkTokens : Scheduler::defaultChunkTokens;
  const bool chunked =
      scheduler.cut(run.batch.lengths(), cost, pool->threads(), chunkTokens, options.schedule);
  const Chunk &first = scheduler.chunks()[0];
  return chunked || !worthSharing(run, first) ? runChunked(run) : runCooperative(run, first);
}

std::vector<DispatchCost> Executor::costs() const {
  std::vector<DispatchCost> total(workers[0].costs.size());
  for (const Worker &worker : workers) {
    for (size_t i = 0; i < total.size(); ++i) {
      total[i] += worker.costs[i];
    }
  }
  return total;
}

std::vector<DispatchSpan> Executor::spans() const {
  std::vector<DispatchSpan> list;
  for (size_t i = 0; i < workers.size(); ++i) {
    for (DispatchSpan span : workers[i].spans) {
      span.thread = static_cast<int>(i);
      list.push_back(span);
    }
  }
  return list;
}

void Executor::resetCosts() {
  for (Worker &worker : workers) {
    std::fill(worker.costs.begin(), worker.costs.end(), DispatchCost{});
    worker.spans.clear();
  }
  epoch = std::chrono::steady_clock::now();
}

} // namespace heddle
