// SPDX-License-Identifier: Apache-2.0
///
/// The lists by which kernels find their blocks of caches, on a device that does not see the host's
/// memory: each chunk sends those of its own sequences. (Elsewhere kernels read the host's.)
#ifndef HEDDLE_RUNTIME_SESSION_CACHELISTS_H
#define HEDDLE_RUNTIME_SESSION_CACHELISTS_H

#include "runtime/Session/Run.h"

#include <cstdint>
#include <vector>

namespace heddle {

/// Used for one chunk after the other; keeps its memory.
class CacheLists {
public:
  /// Room for the lists of any chunk of the run. What the caches see need not be known yet, but for
  /// how many blocks a segment has at most.
  Status reserve(const Run &run, Device &device);

  /// Sends what a chunk sees. False when the device has failed.
  bool send(const Run &run, const Chunk &chunk, DeviceStream &stream, int lane);

  /// After send(): what a chunk sees of `rows`, those of a cache of the run, for kernels to read.
  const CacheRows &sent(const CacheRows &rows) const;

private:
  /// The lists of a group of caches.
  struct Group {
    const CacheRows *rows;
    CacheRows seen;
    /// Where the offsets, segments of rows, lengths and blocks begin in the memory.
    uint64_t places[4];
  };

  void group(const Run &run);
  uint64_t place(Group &group, int64_t tokens, uint64_t begin) const;

  DeviceMemory memory;
  std::vector<Group> groups;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_CACHELISTS_H
