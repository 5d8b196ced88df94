// SPDX-License-Identifier: Apache-2.0
///
/// The description of one run of an entry that the executor takes.
#ifndef HEDDLE_RUNTIME_SESSION_RUN_H
#define HEDDLE_RUNTIME_SESSION_RUN_H

#include "runtime/Device/Device.h"
#include "runtime/Session/Batch.h"
#include "runtime/Session/Plan.h"
#include "runtime/Session/Scheduler.h"

#include <cstdint>
#include <optional>
#include <span>

namespace heddle {

/// The blocks that the rows of a run see in the caches of one group.
struct CacheRows {
  /// The segments, as in HeddleCache; null: the segments are the sequences of the run, which is
  /// required if the run may be cut.
  const int32_t *offsets = nullptr;
  const int32_t *segmentOf = nullptr;
  int64_t segments = 0;
  /// For each segment.
  const int32_t *lengths = nullptr;
  const int32_t *blocks = nullptr;
  int64_t blocksPitch = 0;

  /// Returns the blocks that the sequences of a chunk see.
  CacheRows seenBy(const Chunk &chunk) const {
    CacheRows seen = *this;
    if (offsets == nullptr) {
      seen.segments = chunk.sequences;
      seen.lengths += chunk.firstSequence;
      seen.blocks += chunk.firstSequence * blocksPitch;
    }
    return seen;
  }
};

/// One cache of the entry in a run.
struct CacheOperand {
  std::byte *memory = nullptr;
  /// In bytes.
  int64_t blockStride = 0;
  const CacheRows *rows = nullptr;
};

/// Ids of consecutive rows that the host does not know, because a step that may still be under way
/// has left them in the device's memory.
struct IdsOnDevice {
  const std::byte *from = nullptr;
  /// Bytes from one id to the next.
  uint64_t pitch = 0;
  uint64_t firstRow = 0;
  uint64_t rows = 0;
};

class ChunkMemory;
struct Run;

/// Work before the dispatches of an uncut run, after everything that they read was sent.
class RunHead {
public:
  virtual ~RunHead() = default;
  virtual void run(DeviceStream &stream, const Run &run, const ChunkMemory &memory) = 0;
};

/// The results of a run after all its dispatches are done, for RunTail.
struct RunView {
  DeviceStream &stream;
  /// With the operands of Plan::deferred, whose result has no memory; otherwise null.
  HeddleKernelContext context;
  /// The row spaces of the dispatches of Plan::selection; null if there is none.
  const HeddleRows *const *spacesOfPeaks;
  const HeddleRows *const *spacesOfBest;
  /// Launch::scratch.
  uint64_t scratch;
  /// The address of every buffer.
  std::span<void *const> bases;
  /// Whether the tail is timed: then it waits for its results.
  bool isTimed;
};

/// Work that every lane of an uncut run does after all dispatches are done.
class RunTail {
public:
  virtual ~RunTail() = default;
  /// Sends, before the dispatches, what kernels of the tail read, so that all launches follow each
  /// other.
  virtual void send(DeviceStream &stream) = 0;
  virtual void run(int lane, const RunView &view) = 0;
};

/// One run of at least one sequence.
struct Run {
  const Plan &plan;
  const Batch &batch;
  /// The index of the first cost of the entry's dispatches.
  size_t firstCost = 0;
  /// By the number of the cache in the entry.
  std::span<const CacheOperand> caches = {};
  /// The number of positions in each sequence's history before this run; empty: all zero.
  std::span<const int32_t> starts = {};
  /// The maximum number of positions of any segment of a cache.
  int64_t longestCached = 0;
  /// Whether the run is not cut into chunks: all lanes work on all of it together.
  bool whole = false;
  RunHead *head = nullptr;
  RunTail *tail = nullptr;
  /// The rows of Plan::deferred that the tail will ask for, in order; nullopt: any.
  std::optional<std::span<const Range>> wanted = {};
  /// The ids of some rows of an input, which replace those of the batch. Only if the run is not
  /// cut.
  std::span<const IdsOnDevice> ids = {};
  size_t idsInput = 0;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_RUN_H
