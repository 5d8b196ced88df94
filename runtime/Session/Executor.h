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
#include "runtime/Session/Scheduler.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace heddle {

/// What a dispatch has cost one worker.
struct DispatchCost {
  uint64_t calls = 0;
  double seconds = 0;
  double flops = 0;
};

/// Executes on a pool of threads; keeps working memory for each.
class Executor {
public:
  Executor(std::unique_ptr<ThreadPool> pool, const SessionOptions &options, size_t costs);

  /// Runs a batch of at least one sequence. `firstCost` is where the costs of the entry's
  /// dispatches are. Fails only for want of memory, before anything has run.
  Status run(const Plan &plan, const Batch &batch, size_t firstCost);

  /// The costs of all workers together, `costs` of them; zeros unless SessionOptions::profile.
  std::vector<DispatchCost> costs() const;
  void resetCosts();

private:
  struct alignas(64) Worker {
    WorkMemory memory;
    std::vector<void *> bases;
    std::vector<void *> operands;
    std::vector<DispatchCost> costs;
  };

  /// Where the parts of a working memory begin.
  struct Layout {
    uint64_t inputs;
    uint64_t inputStride;
    uint64_t offsets;
    uint64_t sequenceOf;
    uint64_t scratch;
    uint64_t scratchStride;
    uint64_t total;
  };

  /// One run.
  struct Job {
    const Plan &plan;
    const Batch &batch;
    size_t firstCost;
  };

  static Result<Layout> layoutOf(const Plan &plan, const Chunk &chunk, int threads);
  HeddleKernelContext prepare(const Job &job, const Chunk &chunk, const Layout &layout,
                              Worker &worker) const;
  void *outputAddress(const Job &job, const Chunk &chunk, uint32_t port, Worker &worker) const;
  void copyOutputs(const Job &job, const Chunk &chunk, Worker &worker) const;
  Status runChunked(const Job &job);
  Status runCooperative(const Job &job);
  void runChunk(const Job &job, const Chunk &chunk, Worker &worker);
  void shareDispatch(const PlannedDispatch &dispatch, const HeddleKernelContext &context,
                     int worker);
  template <typename Call>
  void timed(const Job &job, const PlannedDispatch &dispatch, const Chunk &chunk, Worker &worker,
             bool counts, const Call &call);

  std::unique_ptr<ThreadPool> pool;
  const SessionOptions options;
  Scheduler scheduler;
  std::vector<Worker> workers;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_EXECUTOR_H
