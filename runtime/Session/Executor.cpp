// SPDX-License-Identifier: Apache-2.0
///
/// Determines what is launched, on which lane and in which order. The device decides how to divide
/// a launch.
#include "runtime/Session/Executor.h"

#include "runtime/Session/ModelState.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <numeric>

namespace heddle {

/// The number of sequences per lane below which loops run concurrently instead of chunks, and the
/// minimum fraction of the work that must be in such loops.
static constexpr size_t fewSequences = 2;
static constexpr double leastShareOfLoops = 0.3;
/// More threads than are useful on any machine.
static constexpr int mostThreads = 1024;
/// Smaller chunks bring no benefit above this size.
static constexpr int64_t mostChunkTokens = 8192;
/// 4 GiB of records.
static constexpr int64_t mostTraceRuns = int64_t(1) << 26;

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
  const std::shared_ptr<Device> &device = model.state->artifact->device();
  HEDDLE_ASSIGN(std::unique_ptr<DeviceStream> stream, device->createStream(options.threads));
  return std::make_shared<Executor>(device, std::move(stream), options, costs);
}

Executor::Executor(std::shared_ptr<Device> device, std::unique_ptr<DeviceStream> ownStream,
                   const SessionOptions &options, size_t costs)
    : shared(std::move(device)), stream(std::move(ownStream)), options(options),
      workers(static_cast<size_t>(stream->lanes())), epoch(stream->now()) {
  for (Worker &worker : workers) {
    worker.costs.resize(options.profile ? costs : 0);
    worker.spans.reserve(options.profile ? static_cast<size_t>(options.traceRuns) : 0);
  }
}

/// Returns the work of a launch of a dispatch over rows of a chunk.
DispatchWork Executor::workOf(const Run &run, const PlannedDispatch &dispatch,
                              const Launched &launched) {
  const Chunk &chunk = launched.chunk;
  RowPairs counted = {static_cast<double>(chunk.tokens), chunk.pairs};
  // A step has as many rows of steps as tokens.
  const auto areTokens = [&](uint8_t space) {
    return space == tokensSpace || run.plan.spaces[space].isOfSteps();
  };
  if (!areTokens(dispatch.countedRows) || !areTokens(dispatch.countedKeys) ||
      dispatch.mostKeys != 0) {
    counted = countRows(chunk.sizesIn(run.batch.sizes()), run.plan.spaces[dispatch.countedRows],
                        run.plan.spaces[dispatch.countedKeys], dispatch.mostKeys);
  }
  // Only rows of tokens are launched in part.
  const bool isPart =
      dispatch.rows == tokensSpace && launched.rows.end - launched.rows.begin < chunk.tokens;
  if (isPart) {
    const auto rows = static_cast<double>(launched.rows.end - launched.rows.begin);
    counted = {rows, counted.pairs * rows / counted.rows};
  }
  const Range rows = isPart ? launched.rows : allRows;
  DispatchWork work;
  work.weightBytes = dispatch.weightBytes + dispatch.weightBytesPerRow * counted.rows;
  for (uint32_t i = 0; i < dispatch.operandCount; ++i) {
    const BufferPlace &place =
        run.plan.buffers[run.plan.operands[dispatch.firstOperand + i].buffer];
    // A state is read when it is updated; appending to a cache reads nothing of it.
    const bool isRead = place.kind == BufferPlace::Kind::State ||
                        (place.kind == BufferPlace::Kind::Cache && i >= dispatch.written);
    if (!isRead) {
      continue;
    }
    const CachedWork cached =
        cachedWork(run.caches[place.port].rows->seenBy(chunk), chunk.lengthsIn(run.batch.lengths()),
                   {static_cast<double>(place.positionBytes), dispatch.mostKeys, rows});
    work.cacheBytes += cached.bytes;
    counted.pairs = cached.pairs;
  }
  work.flops = dispatch.flopsPerRow * counted.rows + dispatch.flopsPerRowKey * counted.pairs;
  return work;
}

/// Reserves room for the launches of a run, so that its task allocates nothing: any lane may get
/// all chunks.
void Executor::expectLaunches(const Run &run, size_t chunks, int lanes) {
  size_t operands = 0;
  for (const PlannedLoop &loop : run.plan.loops) {
    operands = std::max<size_t>(operands, loop.operandCount);
  }
  const size_t parts =
      run.wanted ? run.wanted->size() * (run.plan.dispatches.size() - run.plan.firstForDeferred)
                 : 0;
  for (int lane = 0; lane < lanes; ++lane) {
    Worker &worker = workers[static_cast<size_t>(lane)];
    worker.stepOperands.reserve(operands);
    if (options.profile) {
      worker.launches.clear();
      worker.launches.reserve((run.plan.launches(run.batch.longest()) + parts + 1) * chunks);
      for (const PlannedDispatch &dispatch : run.plan.dispatches) {
        // The chosen groups are examined only if that costs nothing.
        const size_t groups = shared->sharesHostMemory() ? dispatch.chosenGroups : 0;
        worker.groupRows.reserve(groups);
        worker.costs[run.firstCost + dispatch.index].groupRows.resize(groups);
      }
    }
  }
}

/// Returns where the time of a launch is written.
LaunchTime *Executor::startTiming(const Run &run, const PlannedDispatch &dispatch,
                                  const Launched &launched, int lane, bool counts) {
  Worker &worker = workers[static_cast<size_t>(lane)];
  const bool kept = worker.spans.size() + worker.launches.size() < worker.spans.capacity();
  DispatchWork work;
  if (counts || kept) {
    work = workOf(run, dispatch, launched);
    // The choices were written before: the launches of a lane are sequential.
    if (dispatch.chosenGroups != 0 && shared->sharesHostMemory()) {
      countGroups(launched.chosenBy(dispatch), dispatch.chosenGroups, worker.groupRows);
      work.weightBytes *= shareOfGroups(worker.groupRows);
      if (counts) {
        addGroups(worker.costs[run.firstCost + dispatch.index].groupRows, worker.groupRows);
      }
    }
  }
  worker.launches.push_back({run.firstCost + dispatch.index, work, counts, {}});
  return &worker.launches.back().time;
}

void Executor::countLaunches(Worker &worker) {
  for (const TimedLaunch &launch : worker.launches) {
    DispatchCost &cost = worker.costs[launch.index];
    const double seconds = launch.time.end - launch.time.begin;
    cost.seconds += seconds;
    if (launch.counts) {
      cost.calls += 1;
      cost.work += launch.work;
    }
    if (worker.spans.size() < worker.spans.capacity()) {
      worker.spans.push_back({launch.index, 0, launch.time.begin - epoch, seconds, launch.work});
    }
  }
  worker.launches.clear();
}

/// Returns the launch of a dispatch over all of a chunk; sets the dispatch's operands in `context`.
static Launch launchOf(const PlannedDispatch &dispatch, const ChunkMemory &memory,
                       HeddleKernelContext &context) {
  context.operands = memory.operandsOf(dispatch);
  context.spaces = memory.spacesOf(dispatch);
  return {dispatch.kernel,
          dispatch.finish,
          &context,
          {0, memory.rowsOf(dispatch)},
          {0, dispatch.columns},
          dispatch.rowTile,
          memory.scratchOfCaller()};
}

/// Runs the dispatches of a loop over the rows of one step after another. An operand from the
/// previous step is offset by the number of rows of that step.
void Executor::runLoop(const Run &run, const Chunk &chunk, const PlannedLoop &loop,
                       const ChunkMemory &memory, HeddleKernelContext &context, int lane,
                       bool together) {
  const StepOrder &steps = memory.steps();
  const std::span<void *const> bound = memory.operandsOf(loop);
  std::vector<void *> &operands = workers[static_cast<size_t>(lane)].stepOperands;
  operands.assign(bound.begin(), bound.end());
  Chunk ofStep = chunk;
  ofStep.longest = 1;
  ofStep.pairs = 0;
  for (int64_t step = 0; step < steps.steps(); ++step) {
    for (const EarlierOperand &earlier : loop.earlier) {
      const size_t place = earlier.operand - loop.firstOperand;
      const int64_t before = step == 0 ? 0 : steps.start(step) - steps.start(step - 1);
      std::byte *const from = step == 0 ? memory.beforeFirst(run.plan, earlier)
                                        : static_cast<std::byte *>(bound[place]);
      operands[place] = from - static_cast<uint64_t>(before) * memory.rowBytes(earlier);
    }
    const Range rows = {steps.start(step), steps.start(step + 1)};
    ofStep.tokens = rows.end - rows.begin;
    for (uint32_t i = 0; i < loop.count; ++i) {
      const PlannedDispatch &dispatch = run.plan.dispatches[loop.first + i];
      const Launch launch = launchOf(dispatch, memory, context);
      context.operands = operands.data() + (dispatch.firstOperand - loop.firstOperand);
      launchRows(run, dispatch, {ofStep, context.operands, rows}, launch, lane, together);
    }
  }
}

/// Runs loops that may run at the same time, one after another or each on its own lane.
void Executor::runLoops(const Run &run, const Chunk &chunk, std::span<const PlannedLoop> loops,
                        const ChunkMemory &memory, HeddleKernelContext &context, int lane,
                        bool together) {
  if (!together || !fasterSideBySide(run, chunk, loops)) {
    for (const PlannedLoop &loop : loops) {
      runLoop(run, chunk, loop, memory, context, lane, together);
    }
    return;
  }
  const auto lanes = static_cast<size_t>(stream->lanes());
  for (size_t i = static_cast<size_t>(lane); i < loops.size(); i += lanes) {
    runLoop(run, chunk, loops[i], memory, context, lane, /*together=*/false);
  }
  stream->meet(lane);
}

/// Runs one launch, on one lane or, if `together`, on all.
void Executor::launchRows(const Run &run, const PlannedDispatch &dispatch, const Launched &launched,
                          Launch launch, int lane, bool together) {
  launch.rows = launched.rows;
  LaunchTime *const time = timeOf(run, dispatch, launched, lane, !together || lane == 0);
  together ? stream->launchTogether(lane, launch, time) : stream->launch(lane, launch, time);
}

/// Runs all dispatches of a plan over a chunk, on one lane or, if `together`, on all lanes of the
/// run.
void Executor::runDispatches(const Run &run, const Chunk &chunk, const ChunkMemory &memory,
                             HeddleKernelContext &context, int lane, bool together) {
  size_t loop = 0;
  for (size_t i = 0; i < run.plan.dispatches.size();) {
    if (loop < run.plan.loops.size() && run.plan.loops[loop].first == i) {
      const std::span<const PlannedLoop> loops = run.plan.loopsBeside(loop);
      runLoops(run, chunk, loops, memory, context, lane, together);
      i = loops.back().first + loops.back().count;
      loop += loops.size();
      continue;
    }
    const bool isForDeferred = i >= run.plan.firstForDeferred;
    const PlannedDispatch &dispatch = run.plan.dispatches[i++];
    const Launch launch = launchOf(dispatch, memory, context);
    const std::span<const Range> all(&launch.rows, 1);
    for (const Range rows : isForDeferred ? run.wanted.value_or(all) : all) {
      launchRows(run, dispatch, {chunk, context.operands, rows}, launch, lane, together);
    }
  }
}

void Executor::runChunk(const Run &run, const Chunk &chunk, int lane) {
  ChunkMemory &memory = workers[static_cast<size_t>(lane)].memory;
  std::optional<HeddleKernelContext> context = memory.bind(run, chunk, 1, *shared, *stream, lane);
  if (!context) {
    return;
  }
  runDispatches(run, chunk, memory, *context, lane, /*together=*/false);
  memory.copyOutputs(run, chunk, *shared, *stream, lane);
}

/// `context` is that of the dispatches; tails only follow whole runs, whose buffers belong to lane
/// 0.
void Executor::runTail(const Run &run, const Chunk &chunk, HeddleKernelContext context, int lane) {
  if (run.tail == nullptr) {
    return;
  }
  const ChunkMemory &memory = workers[0].memory;
  const std::optional<PlannedDispatch> &deferred = run.plan.deferred;
  context.operands = deferred ? memory.operandsOf(*deferred) : nullptr;
  context.spaces = deferred ? memory.spacesOf(*deferred) : nullptr;
  LaunchTime *time = nullptr;
  if (deferred) {
    Range rows{0, memory.rowsOf(*deferred)};
    if (run.wanted) {
      rows.end =
          std::accumulate(run.wanted->begin(), run.wanted->end(), int64_t(0),
                          [](int64_t sum, Range part) { return sum + part.end - part.begin; });
    }
    const Launched launched{chunk, context.operands, rows};
    time = timeOf(run, *deferred, launched, lane, lane == 0);
  }
  double begin = 0;
  if (time != nullptr) {
    // The dispatches before have times of their own.
    stream->await(lane);
    begin = stream->now();
  }
  const std::optional<PlannedSelection> &selection = run.plan.selection;
  run.tail->run(lane, {*stream, context, selection ? memory.spacesOf(selection->peaks) : nullptr,
                       selection ? memory.spacesOf(selection->best) : nullptr,
                       memory.scratchOfCaller(), memory.places(), /*isTimed=*/time != nullptr});
  if (time != nullptr) {
    *time = {begin, stream->now()};
  }
}

Status Executor::runChunked(const Run &run) {
  uint64_t largest = 0;
  for (const Chunk &chunk : scheduler.chunks()) {
    HEDDLE_ASSIGN(const uint64_t bytes, workers[0].memory.layOut(run, chunk, 1, *stream));
    largest = std::max(largest, bytes);
  }
  const size_t used = std::min(workers.size(), scheduler.chunks().size());
  for (size_t i = 0; i < used; ++i) {
    HEDDLE_TRY(workers[i].memory.reserve(run, *shared, *stream, largest));
  }
  expectLaunches(run, scheduler.chunks().size(), static_cast<int>(used));
  std::atomic<size_t> next = 0;
  auto task = [&](int lane) {
    for (size_t i = next.fetch_add(1, std::memory_order_relaxed); i < scheduler.chunks().size();
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      runChunk(run, scheduler.chunks()[i], lane);
    }
  };
  HEDDLE_TRY(stream->run(static_cast<int>(used), task));
  std::for_each_n(workers.begin(), used, [&](Worker &worker) { countLaunches(worker); });
  return {};
}

/// Starts all of a run on one lane, or shared by all lanes.
Result<StartedRun> Executor::startWhole(const Run &run, const Chunk &chunk, int lanes) {
  ChunkMemory &memory = workers[0].memory;
  HEDDLE_ASSIGN(const uint64_t bytes, memory.layOut(run, chunk, stream->lanes(), *stream));
  HEDDLE_TRY(memory.reserve(run, *shared, *stream, bytes));
  expectLaunches(run, 1, lanes);
  const std::optional<HeddleKernelContext> common =
      memory.bind(run, chunk, stream->lanes(), *shared, *stream, /*lane=*/0);
  if (!common) {
    return stream->failure();
  }
  auto task = [&](int lane) {
    HeddleKernelContext context = *common;
    context.scratch = memory.scratchOf(lane);
    if (run.tail != nullptr && lane == 0) {
      run.tail->send(*stream);
    }
    if (run.head != nullptr && lane == 0) {
      run.head->run(*stream, run, memory);
    }
    runDispatches(run, chunk, memory, context, lane, /*together=*/lanes > 1);
    runTail(run, chunk, context, lane);
  };
  return stream->start(lanes, task);
}

Status Executor::finish(StartedRun started) {
  HEDDLE_TRY(stream->finish(started));
  for (Worker &worker : workers) {
    countLaunches(worker);
  }
  return {};
}

Status Executor::runWhole(const Run &run, const Chunk &chunk, int lanes) {
  HEDDLE_ASSIGN(const StartedRun started, startWhole(run, chunk, lanes));
  HEDDLE_TRY(finish(started));
  workers[0].memory.copyOutputs(run, chunk, *shared, *stream, /*lane=*/0);
  return stream->failure();
}

/// Returns all of a run as one chunk.
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
  ChunkMemory &memory = workers[0].memory;
  HEDDLE_ASSIGN(const uint64_t bytes, memory.layOut(run, wholeOf(run), stream->lanes(), *stream));
  expectLaunches(run, 1, stream->lanes());
  return memory.reserve(run, *shared, *stream, bytes);
}

Result<const float *> Executor::kept(const PlannedOutput &output, uint64_t count) {
  void *const place = workers[0].memory.places()[output.buffer];
  const std::byte *const values =
      stream->fetch(0, static_cast<const std::byte *>(place), count * sizeof(float));
  if (values == nullptr) {
    return stream->failure();
  }
  return reinterpret_cast<const float *>(values);
}

/// Returns all operations of a plan.
static double flopsIn(const Plan &plan, const Chunk &chunk) {
  const auto tokens = static_cast<double>(chunk.tokens);
  return plan.flopsPerToken * tokens + plan.flopsPerTokenKey * chunk.pairs +
         plan.boundedFlops(chunk.longest) * tokens;
}

/// Returns the operations of a loop, summed over all steps.
static double flopsIn(const PlannedLoop &loop, const Chunk &chunk) {
  return static_cast<double>(loop.flops.perToken) * static_cast<double>(chunk.tokens) +
         static_cast<double>(loop.flops.perTokenKey) * chunk.pairs;
}

/// Returns the number of launches of loops' dispatches.
static double launchesIn(std::span<const PlannedLoop> loops, int64_t steps) {
  double launches = 0;
  for (const PlannedLoop &loop : loops) {
    launches += loop.count * static_cast<double>(steps);
  }
  return launches;
}

/// Returns whether loops finish earlier if each runs on its own lane than if all lanes share each
/// step of one loop after another: steps then need no barriers, but few loops leave lanes idle.
bool Executor::fasterSideBySide(const Run &run, const Chunk &chunk,
                                std::span<const PlannedLoop> loops) const {
  if (loops.size() < 2 || stream->lanes() == 1) {
    return false;
  }
  const auto lanes = static_cast<size_t>(stream->lanes());
  double all = 0, longest = 0;
  for (size_t lane = 0; lane < std::min(lanes, loops.size()); ++lane) {
    double own = 0;
    for (size_t i = lane; i < loops.size(); i += lanes) {
      own += flopsIn(loops[i], chunk);
    }
    all += own;
    longest = std::max(longest, own);
  }
  return longest <= all / static_cast<double>(lanes) +
                        stream->meetingFlops() * launchesIn(loops, run.batch.longest());
}

/// Returns whether concurrent loops are faster than chunks of sequences: a chunk of few sequences
/// reads all weights in each step for few rows, and each lane reads those of all loops.
bool Executor::fasterThanChunks(const Run &run, int64_t chunkTokens) const {
  const auto lanes = static_cast<size_t>(stream->lanes());
  const std::span<const int32_t> lengths = run.batch.lengths();
  if (options.schedule != Schedule::Automatic || lengths.size() > fewSequences * lanes ||
      run.batch.tokens() > chunkTokens) {
    return false;
  }
  const Chunk chunk = wholeOf(run);
  double flops = 0;
  for (size_t i = 0; i < run.plan.loops.size();) {
    const std::span<const PlannedLoop> loops = run.plan.loopsBeside(i);
    const bool areFaster = loops.size() >= lanes && fasterSideBySide(run, chunk, loops);
    for (const PlannedLoop &loop : loops) {
      flops += areFaster ? flopsIn(loop, chunk) : 0;
    }
    i += loops.size();
  }
  // The remaining work takes about the same time either way.
  return flops > flopsIn(run.plan, chunk) * leastShareOfLoops && worthSharing(run, chunk);
}

/// Estimates whether all lanes together are faster than one.
bool Executor::worthSharing(const Run &run, const Chunk &chunk) const {
  if (stream->lanes() == 1) {
    return false;
  }
  if (options.schedule == Schedule::Cooperative) {
    return true;
  }
  auto meetings = static_cast<double>(run.plan.launches(run.batch.longest()) + 2);
  for (size_t i = 0; i < run.plan.loops.size();) {
    const std::span<const PlannedLoop> loops = run.plan.loopsBeside(i);
    if (fasterSideBySide(run, chunk, loops)) {
      meetings -= launchesIn(loops, run.batch.longest()) - 1;
    }
    i += loops.size();
  }
  return flopsIn(run.plan, chunk) >= stream->meetingFlops() * meetings;
}

Result<StartedRun> Executor::start(const Run &run) {
  const Chunk chunk = wholeOf(run);
  return startWhole(run, chunk, worthSharing(run, chunk) ? stream->lanes() : 1);
}

Status Executor::run(const Run &run) {
  if (run.whole) {
    const Chunk chunk = wholeOf(run);
    return runWhole(run, chunk, worthSharing(run, chunk) ? stream->lanes() : 1);
  }
  const std::span<const int32_t> lengths = run.batch.lengths();
  const int64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  SequenceCost cost{run.plan.flopsPerToken + run.plan.boundedFlops(longest),
                    run.plan.flopsPerTokenKey};
  if (cost.perToken <= 0) {
    cost.perToken = 1;
  }
  // The sequences of a loop run concurrently: the more there are, the more often a weight is
  // reused.
  const int64_t usual = run.plan.loops.empty() ? stream->chunkTokens() : mostChunkTokens;
  const int64_t chunkTokens = options.chunkTokens > 0 ? options.chunkTokens : usual;
  const Schedule schedule =
      fasterThanChunks(run, chunkTokens) ? Schedule::Cooperative : options.schedule;
  const bool chunked =
      scheduler.cut(run.batch.lengths(), cost, stream->lanes(), chunkTokens, schedule);
  const Chunk &first = scheduler.chunks()[0];
  return chunked || !worthSharing(run, first) ? runChunked(run)
                                              : runWhole(run, first, stream->lanes());
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
  epoch = stream->now();
}

} // namespace heddle
