// SPDX-License-Identifier: Apache-2.0
///
/// Runs plans over batches on a device, in one of two ways that give the same bits:
///   chunked      each lane takes chunks of whole sequences through the whole graph on its own
///   cooperative  all lanes share every dispatch and meet before the next; loops that read nothing
///                of each other have a lane each, if that is faster
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
  /// With costs for the dispatches of all entries of the model, in their order.
  static Result<std::shared_ptr<Executor>> create(const Model &model,
                                                  const SessionOptions &options);
  Executor(std::shared_ptr<Device> device, std::unique_ptr<DeviceStream> stream,
           const SessionOptions &options, size_t costs);

  int lanes() const { return stream->lanes(); }
  Device &device() const { return *shared; }
  DeviceStream &deviceStream() const { return *stream; }

  /// Fails for want of memory, before anything has run, or when the device fails.
  Status run(const Run &run);

  /// Makes a whole run possible: memory cannot be what it fails for afterwards.
  Status reserve(const Run &run);

  /// After a whole run and until the next call: the first `count` values of an output that the plan
  /// has and the batch did not ask for.
  Result<const float *> kept(const PlannedOutput &output, uint64_t count);

  /// The costs of all workers together, `costs` of them; zeros unless SessionOptions::profile.
  std::vector<DispatchCost> costs() const;
  /// Single runs, worker by worker; none unless SessionOptions::traceRuns.
  std::vector<DispatchSpan> spans() const;
  void resetCosts();

private:
  /// A dispatch as a lane has launched it.
  struct TimedLaunch {
    size_t index;
    DispatchWork work;
    /// On one of the lanes that share it.
    bool counts;
    LaunchTime time;
  };
  /// What a dispatch is launched over: these rows of a chunk, with operands of its own in a loop.
  struct Launched {
    const Chunk &chunk;
    void *const *operands;
    Range rows;

    /// The group of weights that each row chose. Only where the dispatch has groups.
    std::span<const int32_t> chosenBy(const PlannedDispatch &dispatch) const {
      return {static_cast<const int32_t *>(operands[dispatch.chosenBy]) + rows.begin,
              static_cast<size_t>(rows.end - rows.begin)};
    }
  };
  /// State of one lane.
  struct alignas(64) Worker {
    ChunkMemory memory;
    /// The operands of a loop at the step that runs: there is room for all.
    std::vector<void *> stepOperands;
    /// With SessionOptions::profile, the launches of the run at hand: there is room for all.
    std::vector<TimedLaunch> launches;
    /// How many rows of the launch at hand chose each group of weights.
    std::vector<uint64_t> groupRows;
    std::vector<DispatchCost> costs;
    /// At most SessionOptions::traceRuns, for which there is room from the start.
    std::vector<DispatchSpan> spans;
  };

  static Chunk wholeOf(const Run &run);
  bool worthSharing(const Run &run, const Chunk &chunk) const;
  bool fasterSideBySide(const Run &run, const Chunk &chunk,
                        std::span<const PlannedLoop> loops) const;
  bool fasterThanChunks(const Run &run, int64_t chunkTokens) const;
  Status runChunked(const Run &run);
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
  /// The same; null unless somebody wants it.
  LaunchTime *timeOf(const Run &run, const PlannedDispatch &dispatch, const Launched &launched,
                     int lane, bool counts) {
    return options.profile ? startTiming(run, dispatch, launched, lane, counts) : nullptr;
  }
  void countLaunches(Worker &worker);

  // In this order: streams do not outlive their device, nor memory.
  std::shared_ptr<Device> shared;
  std::unique_ptr<DeviceStream> stream;
  const SessionOptions options;
  Scheduler scheduler;
  std::vector<Worker> workers;
  /// What the times of spans count from.
  double epoch = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_EXECUTOR_H
