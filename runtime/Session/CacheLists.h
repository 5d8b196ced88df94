// SPDX-License-Identifier: Apache-2.0
///
/// The lists by which kernels find their cache blocks on a device that cannot access the host's
/// memory: each chunk sends the lists of its own sequences. (On other devices kernels read the
/// host's lists.)
#ifndef HEDDLE_RUNTIME_SESSION_CACHELISTS_H
#define HEDDLE_RUNTIME_SESSION_CACHELISTS_H

#include "runtime/Session/Run.h"

#include <cstdint>
#include <vector>

namespace heddle {

/// Used for one chunk after another; keeps its memory.
class CacheLists {
public:
  /// Reserves room for the lists of any chunk of the run. Only the maximum number of blocks per
  /// segment must be known yet.
  Status reserve(const Run &run, DeviceStream &stream);

  /// Sends the lists of a chunk. Returns false if the device has failed.
  bool send(const Run &run, const Chunk &chunk, DeviceStream &stream, int lane);

  /// Returns, after send(), the chunk's view of `rows`, a cache of the run, for kernels to read.
  const CacheRows &sent(const CacheRows &rows) const;

private:
  /// The lists of a group of caches.
  struct Group {
    const CacheRows *rows;
    CacheRows seen;
    /// The offsets in the memory of `offsets`, the segments of rows, the lengths and the blocks.
    uint64_t places[4];
  };

  void group(const Run &run);
  uint64_t place(Group &group, int64_t tokens, uint64_t begin) const;

  DeviceMemory memory;
  std::vector<Group> groups;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_SESSION_CACHELISTS_H
