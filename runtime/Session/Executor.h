// SPDX-License-Identifier: Apache-2.0
///
/// Runs plans over batches, in one of two ways that give the same bits:
///   chunked      each thread takes chunks of whole sequences through the whole graph on its own
///   cooperative  all threads share every dispatch and meet before the next
#ifndef HEDDLE_RUNTIME_SESSION_EXECUTOR_H
#define HEDDLE_RUNTIME_SESSION_EXECUTOR_H

#include "runtime/Device/Cpu/ThreadPool.h"
#include "runtime/Device/Cpu/WorkMemory.h"
#include "runtime/Session/Batch.h"
#include "runtime/Session/Plan.h"
#include "runtime/Session/Profile.h"
#include "runtime/Session/Scheduler.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace heddle {

/// Which blocks the rows of a run see in the caches of one group.
struct CacheRows {
  /// The segments, as in HeddleCache; null: they are the sequences of the run, as they must be when
  /// it may be cut.
  const int32_t *offsets = nullptr;
  const int32_t *segmentOf = nullptr;
  int64_t segments = 0;
  /// Of each segment.
  const int32_t *lengths = nullptr;
  const int32_t *blocks = nullptr;
  int64_t blocksPitch = 0;
};

/// One cache of the entry in a run.
struct CacheOperand {
  float *memory = nullptr;
  int64_t blockStride = 0;
  const CacheRows *rows = nullptr;
};

/// Where a run's buffers are, for RunTail.
struct RunView {
  /// With the operands of Plan::deferred, whose result has no memory; else none.
  HeddleKernelContext context;
  /// Of every buffer.
  std::span<void *const> bases;
};

/// Work that every thread of a run that is not cut does after all dispatches are done.
class RunTail {
public:
  virtual ~RunTail() = default;
  virtual void run(int worker, const RunView &view) = 0;
};

/// One run of at least one sequence.
struct Run {
  const Plan &plan;
  const Batch &batch;
  /// Where the costs of the entry's dispatches are.
  size_t firstCost = 0;
  /// By the number of the cache in the entry.
  std::span<const CacheOperand> caches = {};
  /// Of each sequence: positions in its history before this run; empty: none anywhere.
  std::span<const int32_t> starts = {};
  /// The most positions of any segment of a cache.
  int64_t longestCached = 0;
  /// Not cut into chunks: all threads work on all of it together.
  bool whole = false;
  RunTail *tail = nullptr;
};

/// Executes on a pool of threads; keeps working memory for each.
class Executor {
public:
  /// With costs for the dispatches of all entries of the model, in their order.
  static Result<std::shared_ptr<Executor>> create(const Model &model,
                                                  const SessionOptions &options);
  Executor(std::unique_ptr<ThreadPool> pool, const SessionOptions &options, size_t costs);

  int threads() const { return pool->threads(); }

  /// Fails only for want of memory, before anything has run.
  Status run(const Run &run);

  /// Makes a whole run possible: it cannot fail afterwards.
  Status reserve(const Run &run);

  /// After a whole run and until the next: the values of an output that the plan has and the batch
  /// did not ask for.
  const float *kept(const PlannedOutput &output) const {
    return static_cast<const float *>(workers[0].bases[output.buffer]);
  }

  /// The costs of all workers together, `costs` of them; zeros unless SessionOptions::profile.
  std::vector<DispatchCost> costs() const;
  /// Single runs, worker by worker; none unless SessionOptions::traceRuns.
  std::vector<DispatchSpan> spans() const;
  void resetCosts();

private:
  struct alignas(64) Worker {
    WorkMemory memory;
    std::vector<void *> bases;
    std::vector<void *> operands;
    std::vector<HeddleCache> caches;
    std::vector<HeddleResult> results;
    std::vector<DispatchCost> costs;
    /// At most SessionOptions::traceRuns, for which there is room from the start.
    std::vector<DispatchSpan> spans;
  };

  /// Where the parts of a working memory begin.
  struct Layout {
    uint64_t inputs;
    uint64_t inputStride;
    uint64_t offsets;
    uint64_t sequenceOf;
    uint64_t positions;
    uint64_t scratch;
    uint64_t scratchStride;
    uint64_t total;
  };

  static Result<Layout> layoutOf(const Plan &plan, const Chunk &chunk, int threads);
  HeddleKernelContext prepare(const Run &run, const Chunk &chunk, const Layout &layout,
                              Worker &worker) const;
  void prepareCaches(const Run &run, const Chunk &chunk, const HeddleKernelContext &context,
                     Worker &worker) const;
  void prepareOperands(const Run &run, const Chunk &chunk, const Layout &layout,
                       Worker &worker) const;
  static void resizeFor(const Run &run, Worker &worker);
  static Chunk wholeOf(const Run &run);
  bool worthSharing(const Run &run, const Chunk &chunk) const;
  void *outputAddress(const Run &run, const Chunk &chunk, uint32_t port, Worker &worker) const;
  void copyOutputs(const Run &run, const Chunk &chunk, Worker &worker) const;
  Status runChunked(const Run &run);
  Status runCooperative(const Run &run, const Chunk &chunk);
  void runChunk(const Run &run, const Chunk &chunk, Worker &worker);
  void runTail(const Run &run, const Chunk &chunk, HeddleKernelContext context, int worker);
  void shareDispatch(const PlannedDispatch &dispatch, const HeddleKernelContext &context,
                     int worker);
  DispatchWork workOf(const Run &run, const PlannedDispatch &dispatch, const Chunk &chunk,
                      const Worker &bound) const;
  template <typename Call>
  void timed(const Run &run, const PlannedDispatch &dispatch, const Chunk &chunk,
             const Worker &bound, Worker &worker, bool counts, const Call &call);

  std::unique_ptr<ThreadPool> pool;
  const SessionOptions options;
  Scheduler scheduler;
  std::vector<Worker> workers;
  /// What the times of spans count from.
  std::chrono::steady_clock::time_point epoch = std::chrono::steady_clock::now();
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_EXECUTOR_H
