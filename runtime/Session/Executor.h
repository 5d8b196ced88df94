// SPDX-License-Identifier: Apache-2.0
///
/// Runs plans over batches on a device, in one of two ways that give the same bits:
///   chunked      each lane takes chunks of whole sequences through the whole graph on its own
///   cooperative  all lanes share every dispatch, with a barrier after each; independent loops have
///                one lane each, if that is faster
#ifndef HEDDLE_RUNTIME_SESSION_EXECUTOR_H
#define HEDDLE_RUNTIME_SESSION_EXECUTOR_H

#include "runtime/Session/ChunkMemory.h"
#include "runtime/Session/Profile.h"
#include "runtime/Session/Run.h"
#include "runtime/Session/Scheduler.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace heddle {

/// Executes on the lanes of one stream; keeps working memory for each.
class Executor {
public:
  /// Creates an executor with costs for the dispatches of all entries of the model, in order.
  static Result<std::shared_ptr<Executor>> create(const Model &model,
                                                  const SessionOptions &options);
  Executor(std::shared_ptr<Device> device, std::unique_ptr<DeviceStream> stream,
           const SessionOptions &options, size_t costs);

  int lanes() const { return stream->lanes(); }
  Device &device() const { return *shared; }
  DeviceStream &deviceStream() const { return *stream; }

  /// Runs a plan. Fails if memory runs out, before anything has run, or if the device fails.
  Status run(const Run &run);

  /// Starts an uncut run, which a device with its own memory may still execute on return. finish()
  /// waits for one of the last two; the batch of the run has no outputs.
  Result<StartedRun> start(const Run &run);
  Status finish(StartedRun started);

  /// Reserves the memory for an uncut run, which then cannot fail for lack of memory.
  Status reserve(const Run &run);

  /// Returns, after an uncut run and until the next call, the first `count` values of an output
  /// that the plan computes and the batch did not request.
  Result<const float *> kept(const PlannedOutput &output, uint64_t count);

  /// Returns the summed costs of all workers; zeros unless SessionOptions::profile.
  std::vector<DispatchCost> costs() const;
  /// Returns single runs, worker by worker; none unless SessionOptions::traceRuns.
  std::vector<DispatchSpan> spans() const;
  void resetCosts();

private:
  /// A dispatch that a lane has launched.
  struct TimedLaunch {
    size_t index;
    DispatchWork work;
    /// Set on one of the lanes that share the dispatch.
    bool counts;
    LaunchTime time;
  };
  /// The rows of a chunk that a dispatch is launched over; a loop has its own operands.
  struct Launched {
    const Chunk &chunk;
    void *const *operands;
    Range rows;

    /// Returns the group of weights that each row chose. Only for dispatches with groups.
    std::span<const int32_t> chosenBy(const PlannedDispatch &dispatch) const {
      return {static_cast<const int32_t *>(operands[dispatch.chosenBy]) + rows.begin,
              static_cast<size_t>(rows.end - rows.begin)};
    }
  };
  /// State of one lane.
  struct alignas(64) Worker {
    ChunkMemory memory;
    /// The operands of a loop at the current step, with capacity for all.
    std::vector<void *> stepOperands;
    /// The launches of the current run, with SessionOptions::profile, with capacity for all.
    std::vector<TimedLaunch> launches;
    /// The number of rows of the current launch that chose each group of weights.
    std::vector<uint64_t> groupRows;
    std::vector<DispatchCost> costs;
    /// At most SessionOptions::traceRuns, allocated at the start.
    std::vector<DispatchSpan> spans;
  };

  static Chunk wholeOf(const Run &run);
  bool worthSharing(const Run &run, const Chunk &chunk) const;
  bool fasterSideBySide(const Run &run, const Chunk &chunk,
                        std::span<const PlannedLoop> loops) const;
  bool fasterThanChunks(const Run &run, int64_t chunkTokens) const;
  Status runChunked(const Run &run);
  Result<StartedRun> startWhole(const Run &run, const Chunk &chunk, int lanes);
  Status runWhole(const Run &run, const Chunk &chunk, int lanes);
  void runChunk(const Run &run, const Chunk &chunk, int lane);
  void runDispatches(const Run &run, const Chunk &chunk, const ChunkMemory &memory,
                     HeddleKernelContext &context, int lane, bool together);
  void runLoop(const Run &run, const Chunk &chunk, const PlannedLoop &loop,
               const ChunkMemory &memory, HeddleKernelContext &context, int lane, bool together);
  void runLoops(const Run &run, const Chunk &chunk, std::span<const PlannedLoop> loops,
                const ChunkMemory &memory, HeddleKernelContext &context, int lane, bool together);
  void runTail(const Run &run, const Chunk &chunk, HeddleKernelContext context, int lane);
  void launchRows(const Run &run, const PlannedDispatch &dispatch, const Launched &launched,
                  Launch launch, int lane, bool together);
  static DispatchWork workOf(const Run &run, const PlannedDispatch &dispatch,
                             const Launched &launched);
  void expectLaunches(const Run &run, size_t chunks, int lanes);
  LaunchTime *startTiming(const Run &run, const PlannedDispatch &dispatch, const Launched &launched,
                          int lane, bool counts);
  /// As the other overload; null if the time is not needed.
  LaunchTime *timeOf(const Run &run, const PlannedDispatch &dispatch, const Launched &launched,
                     int lane, bool counts) {
    return options.profile ? startTiming(run, dispatch, launched, lane, counts) : nullptr;
  }
  void countLaunches(Worker &worker);

  // In this order: streams and memory must not outlive their device.
  std::shared_ptr<Device> shared;
  std::unique_ptr<DeviceStream> stream;
  const SessionOptions options;
  Scheduler scheduler;
  std::vector<Worker> workers;
  /// The origin of the times of spans.
  double epoch = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_EXECUTOR_H
