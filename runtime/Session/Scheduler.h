// SPDX-License-Identifier: Apache-2.0
///
/// Divides a batch among threads: it is either cut into chunks of whole sequences, which need no
/// synchronisation, or kept whole, if its sequences are too few or too uneven to keep all threads
/// busy.
#ifndef HEDDLE_RUNTIME_SESSION_SCHEDULER_H
#define HEDDLE_RUNTIME_SESSION_SCHEDULER_H

#include "heddle/Session.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// Consecutive sequences that pass through the graph together.
struct Chunk {
  int64_t firstSequence = 0;
  int64_t sequences = 0;
  int64_t firstToken = 0;
  int64_t tokens = 0;
  int64_t longest = 0;
  /// Sums over its sequences: the squares of their lengths, and the operations.
  double pairs = 0;
  double cost = 0;

  /// Returns the lengths of its sequences; `all` are those of the batch.
  std::span<const int32_t> lengthsIn(std::span<const int32_t> all) const {
    return all.subspan(static_cast<size_t>(firstSequence), static_cast<size_t>(sequences));
  }
  SequenceSizes sizesIn(const SequenceSizes &all) const {
    return all.part(static_cast<size_t>(firstSequence), static_cast<size_t>(sequences));
  }
};

/// The cost of a sequence: perToken * length + perPair * length^2.
struct SequenceCost {
  double perToken = 1;
  double perPair = 0;
};

/// Makes schedules. Keeps its lists, so that it allocates nothing once they have grown.
class Scheduler {
public:
  /// With fewer tokens, reading all weights is not worthwhile.
  static constexpr int64_t smallestChunkTokens = 32;

  /// Cuts a batch. Returns whether the threads take the chunks one by one; otherwise there is one
  /// chunk, on which all threads work together.
  bool cut(std::span<const int32_t> lengths, const SequenceCost &cost, int threads,
           int64_t chunkTokens, Schedule wanted);

  /// Returns the chunks, in descending order of cost.
  std::span<const Chunk> chunks() const { return list; }

private:
  void cutInto(std::span<const int32_t> lengths, const SequenceCost &cost, int64_t count);
  double imbalance(int threads);

  std::vector<Chunk> list;
  // The finish time of each thread, in imbalance().
  std::vector<double> busy;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_SCHEDULER_H
