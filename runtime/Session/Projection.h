// SPDX-License-Identifier: Apache-2.0
///
/// The logits of a run, which are never stored as a whole: one chunk of the vocabulary at a time is
/// computed for all wanted rows into memory that stays in a cache, passed to the sink, and
/// overwritten by the next chunk.
#ifndef HEDDLE_RUNTIME_SESSION_PROJECTION_H
#define HEDDLE_RUNTIME_SESSION_PROJECTION_H

#include "runtime/Session/Decoder.h"
#include "runtime/Session/Executor.h"

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// Runs Plan::deferred chunk by chunk on all lanes. If the plan has no such dispatch, the logits
/// were computed as a whole, and are passed on in the same chunks.
class Projection : public RunTail {
public:
  /// `output` is the logits, [tokens, vocabulary]; the plan must outlive this object.
  Projection(const Plan &plan, const PlannedOutput &output, int64_t vocabulary, int lanes);
  Projection() = default;
  Projection(Projection &&other) noexcept;
  Projection &operator=(Projection &&other) noexcept;

  /// Returns whether a dispatch can compute a chunk of its result with little extra work.
  static bool canCut(const PlannedDispatch &dispatch);

  /// Prepares for a run of `rows` rows. Fails only if memory runs out.
  Status begin(LogitsSink &sink, int64_t rows, Device &device);
  void run(int lane, const RunView &view) override;

  /// Returns, after begin(), the rows that will be computed: those that the sink wants, and short
  /// gaps between them.
  std::span<const Range> rowsWanted() const { return ranges; }

private:
  /// State of one lane.
  struct alignas(64) Worker {
    /// The logits of a chunk for all rows.
    DeviceMemory memory;
    std::vector<void *> operands;
  };

  /// Returns the tokens of a chunk.
  Range chunkOf(int64_t number) const;
  void computeChunk(int lane, int64_t chunk, const RunView &view);
  void handOut(int lane, int64_t chunk, const RunView &view);
  void deliver(int lane, int64_t chunk, DeviceStream &stream, const float *values, int64_t stride);

  const Plan *plan = nullptr;
  uint32_t buffer = 0;
  int64_t vocabulary = 0;
  int64_t chunks = 0;
  /// The stride between rows of a chunk, in elements.
  int64_t rowStride = 0;
  std::vector<Worker> workers;
  LogitsSink *sink = nullptr;
  int64_t rows = 0;
  std::vector<Range> ranges;
  std::atomic<int64_t> next = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_PROJECTION_H
