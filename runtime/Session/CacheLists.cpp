// SPDX-License-Identifier: Apache-2.0
///
/// The caches of a group have the same lists, which are sent once. All groups of a chunk are sent
/// together.
#include "runtime/Session/CacheLists.h"

#include "formats/Binary/Layout.h"

#include <algorithm>
#include <cassert>

namespace heddle {

/// Returns the bytes of a list, including the padding that kernels may read.
static uint64_t bytesOf(int64_t count) {
  return alignUp(static_cast<uint64_t>(count) * sizeof(int32_t), HEDDLE_ALIGNMENT) +
         HEDDLE_ALIGNMENT;
}

static int64_t blocksOf(const CacheRows &rows) { return rows.segments * rows.blocksPitch; }

/// Finds the groups of a run's caches.
void CacheLists::group(const Run &run) {
  groups.clear();
  for (const CacheOperand &cache : run.caches) {
    if (std::none_of(groups.begin(), groups.end(),
                     [&](const Group &group) { return group.rows == cache.rows; })) {
      groups.push_back({cache.rows, *cache.rows, {}});
    }
  }
}

/// Places the lists of a group from `begin` on, and returns the end.
uint64_t CacheLists::place(Group &group, int64_t tokens, uint64_t begin) const {
  const CacheRows &seen = group.seen;
  // If sequences are the segments, these lists are those of tokens.
  const bool hasOwn = seen.offsets != nullptr;
  const int64_t counts[] = {hasOwn ? seen.segments + 1 : 0, hasOwn ? tokens : 0, seen.segments,
                            blocksOf(seen)};
  for (size_t i = 0; i < std::size(counts); ++i) {
    group.places[i] = begin;
    begin += bytesOf(counts[i]);
  }
  return begin;
}

Status CacheLists::reserve(const Run &run, DeviceStream &stream) {
  group(run);
  const auto sequences = static_cast<int64_t>(run.batch.lengths().size());
  uint64_t bytes = 0;
  for (const Group &group : groups) {
    bytes += bytesOf(sequences + 1) + bytesOf(run.batch.tokens()) + bytesOf(sequences) +
             bytesOf(sequences * group.rows->blocksPitch);
  }
  return stream.grow(memory, bytes);
}

bool CacheLists::send(const Run &run, const Chunk &chunk, DeviceStream &stream, int lane) {
  group(run);
  uint64_t bytes = 0;
  for (Group &group : groups) {
    group.seen = group.rows->seenBy(chunk);
    bytes = place(group, chunk.tokens, bytes);
  }
  if (bytes == 0) {
    return true;
  }
  std::byte *const staged = stream.stage(lane, memory.data(), bytes);
  if (staged == nullptr) {
    return false;
  }
  for (Group &group : groups) {
    const auto copy = [&](const int32_t *&list, size_t number, int64_t count) {
      if (list != nullptr) {
        std::copy_n(list, count, reinterpret_cast<int32_t *>(staged + group.places[number]));
        list = reinterpret_cast<const int32_t *>(memory.data() + group.places[number]);
      }
    };
    copy(group.seen.offsets, 0, group.seen.segments + 1);
    copy(group.seen.segmentOf, 1, chunk.tokens);
    copy(group.seen.lengths, 2, group.seen.segments);
    copy(group.seen.blocks, 3, blocksOf(group.seen));
  }
  stream.send(lane);
  return true;
}

const CacheRows &CacheLists::sent(const CacheRows &rows) const {
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const Group &group) { return group.rows == &rows; });
  assert(found != groups.end() && "a cache of the run has these rows");
  return found->seen;
}

} // namespace heddle
