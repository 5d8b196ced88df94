// SPDX-License-Identifier: Apache-2.0
///
/// The logits of a run, which never exist as a whole: a chunk of the vocabulary is computed for all
/// rows that are wanted into memory that stays in a cache, handed to the sink, and overwritten by
/// the next.
#ifndef HEDDLE_RUNTIME_SESSION_PROJECTION_H
#define HEDDLE_RUNTIME_SESSION_PROJECTION_H

#include "runtime/Session/Decoder.h"
#include "runtime/Session/Executor.h"

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// Runs Plan::deferred chunk by chunk on all lanes. Where the plan has no such dispatch, the
/// logits were computed as a whole, and are handed out in the same chunks.
class Projection : public RunTail {
public:
  /// `output` is the logits, [tokens, vocabulary]; the plan must outlive this.
  Projection(const Plan &plan, const PlannedOutput &output, int64_t vocabulary, int lanes);
  Projection() = default;
  Projection(Projection &&other) noexcept;
  Projection &operator=(Projection &&other) noexcept;

  /// Whether a dispatch can compute a chunk of its result without computing much else.
  static bool canCut(const PlannedDispatch &dispatch);

  /// Before a run of `rows` rows. Fails only for want of memory.
  Status begin(LogitsSink &sink, int64_t rows, Device &device);
  void run(int lane, const RunView &view) override;

  /// After begin(): the rows that will be computed, those that the sink wants and what lies between
  /// two of them where there is little of it.
  std::span<const Range> rowsWanted() const { return ranges; }

private:
  /// State of one lane.
  struct alignas(64) Worker {
    /// The logits of a chunk for all rows.
    DeviceMemory memory;
    std::vector<void *> operands;
  };

  /// The tokens of a chunk.
  Range chunkOf(int64_t number) const;
  void computeChunk(int lane, int64_t chunk, const RunView &view);
  void handOut(int lane, int64_t chunk, const RunView &view);
  void deliver(int lane, int64_t chunk, DeviceStream &stream, const float *values, int64_t stride);

  const Plan *plan = nullptr;
  uint32_t buffer = 0;
  int64_t vocabulary = 0;
  int64_t chunks = 0;
  /// Elements from a row of a chunk to the next.
  int64_t rowStride = 0;
  std::vector<Worker> workers;
  LogitsSink *sink = nullptr;
  int64_t rows = 0;
  std::vector<Range> ranges;
  std::atomic<int64_t> next = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_PROJECTION_H
