// SPDX-License-Identifier: Apache-2.0
///
/// The logits of a run. On processors they are never stored as a whole: one chunk of the vocabulary
/// at a time is computed for all wanted rows into memory that stays in a cache, passed to the sink,
/// and overwritten by the next chunk. A device with its own memory computes all of them, selects
/// tokens from them, and copies only these to the host; rows that need their logits go through
/// chunks there too.
#ifndef HEDDLE_RUNTIME_SESSION_PROJECTION_H
#define HEDDLE_RUNTIME_SESSION_PROJECTION_H

#include "runtime/Session/Decoder.h"
#include "runtime/Session/Executor.h"

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// What the device selects in a run. It is on its way to the host until the run is finished.
struct Selections {
  LogitsSink *sink = nullptr;
  /// The rows, among them short gaps, and the number of best tokens and of chunks of each.
  std::vector<Range> ranges;
  int64_t best = 0;
  int64_t chunks = 0;
  FetchedRows found = {};
  bool isDelivered = false;
  /// The pairs of the first row in the device's memory, and the bytes from one row to the next.
  const std::byte *pairs = nullptr;
  uint64_t pitch = 0;

  /// Returns whether a row of the ranges is selected from; gaps are not.
  bool isSelected(int64_t row) const { return sink->wantsRow(row) && sink->bestNeeded(row) >= 0; }
  /// Passes the rows to the sink once, after the run was finished or the rows were fetched.
  void deliver();
  /// Return where the device has the pairs of a row, and its best token; null if it selects none.
  const std::byte *pairsOf(int64_t row) const;
  const std::byte *bestToken(int64_t row) const;
  /// Returns the best token of a row for which that is not null, after the run was finished.
  int32_t bestTokenFound(int64_t row) const;

private:
  int64_t indexOf(int64_t row) const;
  const SelectedToken *bestOf(int64_t index) const;
};

/// Runs Plan::deferred chunk by chunk on all lanes. If the plan has no such dispatch, the logits
/// were computed as a whole, and are passed on in the same chunks.
class Projection : public RunTail {
public:
  /// `output` is the logits, [tokens, vocabulary]; the plan and the program must outlive this
  /// object.
  Projection(const Plan &plan, const PlannedOutput &output, const DeviceProgram &program,
             int64_t vocabulary, int lanes);
  Projection() = default;
  Projection(Projection &&other) noexcept;
  Projection &operator=(Projection &&other) noexcept;

  /// Returns how many of the best tokens a selection of `width` floats has of such a vocabulary; 0
  /// if its width is not that of any selection.
  static int64_t bestOfSelection(int64_t width, int64_t vocabulary);
  /// Returns whether a dispatch can compute a chunk of its result with little extra work.
  static bool canCut(const PlannedDispatch &dispatch);

  /// Prepares for a run of `rows` rows, which will fill `selections`. Fails only if memory runs
  /// out. The run may read what the run before it selects.
  Status begin(LogitsSink &sink, int64_t rows, DeviceStream &stream, Selections &selections);
  void send(DeviceStream &stream) override;
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
  void splitRows();
  Status reserveSelection(DeviceStream &stream);
  /// Returns the number of rows of a chunk in memory.
  int64_t rowsOfChunk() const;
  void addRow(std::vector<Range> &list, int64_t row) const;
  void findExcluded();
  void exclude(const RunView &view);
  void select(const RunView &view);
  void launchProduct(const RunView &view, Range wanted, int64_t before);
  void launchPeaks(const RunView &view, Range wanted, int64_t before);
  void launchBest(const RunView &view, Range wanted, int64_t before);
  void computeChunk(int lane, int64_t chunk, const RunView &view);
  void handOut(int lane, int64_t chunk, const RunView &view);
  void deliver(int lane, int64_t chunk, DeviceStream &stream, const float *values, int64_t stride);

  const Plan *plan = nullptr;
  const DeviceKernel *exclusion = nullptr;
  uint32_t buffer = 0;
  int64_t vocabulary = 0;
  int64_t chunks = 0;
  /// The stride between rows of a chunk, in elements.
  int64_t rowStride = 0;
  std::vector<Worker> workers;
  LogitsSink *sink = nullptr;
  int64_t rows = 0;
  /// The rows that are selected from, and how.
  Selections *selections = nullptr;
  /// All rows that are computed, and those whose logits are copied.
  std::vector<Range> ranges;
  std::vector<Range> copiedRanges;
  /// The number of best tokens that the device can select; 0: none.
  int64_t selectable = 0;
  /// The logits of all rows of `selections`, and what their pieces have.
  DeviceMemory selectedLogits, peaks;
  /// Elements of these logits that count as minus infinity, those that were sent last, and where.
  std::vector<int64_t> excluded, excludedSent;
  DeviceMemory excludedElements;
  std::vector<int32_t> excludedOfRow;
  /// What the run selects, and what the run before it has selected.
  DeviceMemory selectedPairs, selectedBefore;
  /// Whether a run selects to the first of them.
  bool isFilled = false;
  std::vector<void *> selectionOperands;
  std::atomic<int64_t> next = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_PROJECTION_H
